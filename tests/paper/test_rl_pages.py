"""The pages of the studies of reinforcement learning, from curves that are known."""

import pytest
import synthetic_records as synthetic
from paper.markdown import render_markdown
from paper.registry import find_page
from paper.rl_sparse_family.page import falls_as_bounded, states_needed

from thinrank.report.document import drawing


def shown(name, records):
    with drawing():
        return render_markdown(find_page(name)(name, records))


def test_blackjack():
    text = shown("rl-blackjack", synthetic.rl_blackjack())
    assert "GDT-FQI -0.40 ± 0.00 (group lasso) with 250 states, -0.10 ± 0.00 (group" in text
    assert "pursuit-FQI -0.48 ± 0.00 (group lasso) with 250 states" in text
    assert "with 250, 1000 states: GDT 0.40, 0.10; pursuit 0.32, 0.08; group lasso" in text
    assert "they play 200,000 hands" in text
    assert "standard error from playing: 0.09" in text
    one = synthetic.rl_blackjack(seeds=1)
    assert "-0.40 (group lasso)" in shown("rl-blackjack", one)  # without a standard error
    alone = [r for r in one if r["method"] == "GDT"]
    assert "do not contain both" in shown("rl-blackjack", alone)


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
    assert "best baseline, group lasso, needs 3.00 times the states" in text
    assert "(95 % bootstrap interval over the seeds: 3.00 to 3.00)" in text
    assert "of at least twice holds." in text
    assert "| ridge | 320 | 8.00 |" in text
    assert "GDT −1.00" in text
    one = [r for r in records if r["seed"] == 0]
    assert "bootstrap" not in shown("rl-sparse-family", one)
    alone = [r for r in one if r["method"] == "GDT"]
    assert "do not contain both" in shown("rl-sparse-family", alone)


@pytest.mark.parametrize(
    ("factor", "told"),
    [(1.5, ("1.50 times the states", "does not hold.")), (50.0, ("more than 8.00 times the",))],
)
def test_ratios_below_two_and_baselines_that_never_get_there(factor, told):
    text = shown("rl-sparse-family", synthetic.rl_sparse_family(worse={"group lasso": factor}))
    assert all(words in text for words in told)


def test_slope_and_claim():
    holds, numbers = falls_as_bounded("rl-sparse-family", synthetic.rl_sparse_family())
    assert holds
    assert "−1.00" in numbers
    slow = [{**r, "value_error": r["states"] ** -0.5} for r in synthetic.rl_sparse_family()]
    assert not falls_as_bounded("rl-sparse-family", slow)[0]
    assert falls_as_bounded("rl-sparse-family", []) is None
