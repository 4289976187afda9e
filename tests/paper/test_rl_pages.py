"""The pages of the studies of reinforcement learning, from curves that are known."""

import math

import pandas as pd
import pytest
import synthetic_records as synthetic
from paper.pages import markdown
from paper.rl_sparse_family import falls_as_bounded, q_error_bound, states_needed

from paper import STUDIES
from thinrank.report.document import drawing

KNOWN = {"n_tasks": 20, "n_features": 600, "rank": 3, "row_sparsity": 10, "discount": 0.9}


def shown(name, records):
    with drawing():
        return markdown(name, STUDIES[name].page(pd.DataFrame(records)))


def test_the_printed_bound():
    found = q_error_bound(50, **KNOWN, feature_norm=2.0)
    expected = 1 / 0.1**4 * (1 / 50 * 10**2 * 2.0**4 * (3 + 10 / 20 * (3 + math.log(600))))
    assert found == pytest.approx(expected, rel=1e-9)


def test_blackjack():
    text = shown("rl-blackjack", synthetic.rl_blackjack())
    assert "GDT-FQI -0.40 ± 0.00 (group lasso) with 250 states, -0.10 ± 0.00 (group" in text
    assert "pursuit-FQI -0.48 ± 0.00 (group lasso) with 250 states" in text
    assert "| GDT | 0.90 ± 0.00 | 0.60 ± 0.00 |" in text
    assert "| pursuit | 250 | 40.0 | 2.0 | 1.5 |" in text
    assert "they play 200,000 hands" in text
    assert "standard error from playing: 0.09" in text
    one = synthetic.rl_blackjack(seeds=1)
    assert "-0.40 (group lasso)" in shown("rl-blackjack", one)  # without a standard error


def test_states_are_interpolated_in_logarithms():
    curve = {20: 4.0, 80: 1.0}
    assert states_needed(curve, 2.0) == (pytest.approx(40), False)
    assert states_needed(curve, 5.0) == (20, False)
    assert states_needed(curve, 0.5) == (80, True)
    # a curve that rises counts where it first falls below
    assert states_needed({20: 4.0, 40: 1.0, 80: 3.0}, 1.0) == (pytest.approx(40), False)


def test_the_best_baseline_decides():
    records = synthetic.rl_sparse_family(worse={"group lasso": 3.0, "ridge": 8.0})
    text = shown("rl-sparse-family", records)
    assert "best baseline, group lasso, needs 3.00 times the states of GDT" in text
    assert "| ridge | 320 | 8.00 |" in text
    assert "GDT −1.00" in text
    one = [r for r in records if r["seed"] == 0]
    alone = [r for r in one if r["method"] == "GDT"]
    assert "No baseline was run" in shown("rl-sparse-family", alone)


def test_baselines_that_never_get_there():
    text = shown("rl-sparse-family", synthetic.rl_sparse_family(worse={"group lasso": 50.0}))
    assert "more than 8.00 times the" in text


def test_slope_and_claim():
    records = pd.DataFrame(synthetic.rl_sparse_family())
    holds, numbers = falls_as_bounded(records)
    assert holds
    assert "−1.00" in numbers
    assert not falls_as_bounded(records.assign(value_error=records["states"] ** -0.5))[0]
    assert falls_as_bounded(records[:0]) is None
