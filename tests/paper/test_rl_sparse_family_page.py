"""The page of the family of tasks: ratios and slopes from curves that are known."""

import pytest
import synthetic_records as synthetic

from thinrank.paper.rl_sparse_family.page import (
    best_ratio,
    falls_as_bounded,
    make_page,
    slope,
    states_needed,
)
from thinrank.report.markdown import render_markdown
from thinrank.report.style import drawing


def shown(records):
    with drawing():
        return render_markdown(make_page("rl-sparse-family", records))


def test_states_are_interpolated_in_logarithms():
    curve = {20: 4.0, 80: 1.0}
    assert states_needed(curve, 2.0) == (pytest.approx(40), False)
    assert states_needed(curve, 1.0) == (pytest.approx(80), False)
    assert states_needed(curve, 5.0) == (20, False)
    assert states_needed(curve, 0.5) == (80, True)


def test_a_curve_that_rises_counts_where_it_first_falls_below():
    assert states_needed({20: 4.0, 40: 1.0, 80: 3.0}, 1.0) == (pytest.approx(40), False)


def test_the_best_baseline_decides():
    records = synthetic.rl_sparse_family(worse={"group lasso": 3.0, "ridge": 8.0})
    baseline, ratio, bound = best_ratio(records)
    assert (baseline, ratio, bound) == ("group lasso", pytest.approx(3.0), False)
    text = shown(records)
    assert "best baseline, group lasso, needs 3.00 times the states" in text
    assert "(95 % bootstrap interval over the seeds: 3.00 to 3.00)" in text
    assert "of at least twice holds." in text
    assert "| ridge | 320 | 8.00 |" in text
    assert "GDT −1.00" in text


def test_a_ratio_below_two_is_said_to_be_so():
    records = synthetic.rl_sparse_family(worse={"group lasso": 1.5})
    assert "1.50 times the states" in shown(records)
    assert "does not hold." in shown(records)


def test_baselines_that_never_get_there():
    records = synthetic.rl_sparse_family(worse={"group lasso": 50.0})
    assert best_ratio(records) == ("group lasso", pytest.approx(8.0), True)
    assert "more than 8.00 times the states" in shown(records)


def test_parts_of_the_records():
    one = [r for r in synthetic.rl_sparse_family() if r["seed"] == 0]
    assert "bootstrap" not in shown(one)
    assert "do not contain both" in shown([r for r in one if r["method"] == "GDT"])
    assert best_ratio([]) is None


def test_slope_and_claim():
    assert slope({10: 1.0, 100: 0.01}) == pytest.approx(-2)
    holds, numbers = falls_as_bounded("rl-sparse-family", synthetic.rl_sparse_family())
    assert holds
    assert "−1.00" in numbers
    slow = [{**r, "value_error": r["states"] ** -0.5} for r in synthetic.rl_sparse_family()]
    assert not falls_as_bounded("rl-sparse-family", slow)[0]
    assert falls_as_bounded("rl-sparse-family", []) is None
