"""Which of several models is taken, on evaluations made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from thinrank.core.sizes import Sizes
from thinrank.selection.choice import (
    allowance,
    check_refit_rule,
    choices_in_turn,
    column_limit,
    contenders,
    may_be_thinner,
    most_accurate,
    thinnest,
)
from thinrank.selection.evaluation import Evaluation

N = 40
RULES = ("best", "one_se", "thinnest")


def model(score, rows, rank=1, columns=5, ridge=0.0, spread=0.0, parts=None):
    """Errors of the rows alternate by ``spread`` about the score."""
    errors = score + spread * np.resize([1.0, -1.0], N)
    parts = (score,) * 5 if parts is None else parts
    return Evaluation(
        Sizes(rank, rows, columns, ridge), score, parts, (), np.zeros((1, 1)), 0.0, errors
    )


def null(score, spread=0.0):
    return model(score, 0, rank=0, columns=0, spread=spread)


def standard_error(spread):
    return spread * np.sqrt(N / (N - 1)) / np.sqrt(N)


def test_thick_models_give_way_for_a_part_of_the_error():
    """Without spread 2 % for all predictors, so 1 % for half of them."""
    best = model(1.0, 30)
    assert allowance("best", best, model(1.0, 15)) == pytest.approx(0.01)
    assert thinnest("best", [best, model(1.0099, 15)]).sizes.rows == 15
    assert thinnest("best", [best, model(1.0101, 15)]).sizes.rows == 30


@pytest.mark.parametrize(
    ("rule", "spread", "expected"),
    [
        ("best", 0.0, 0.01),
        ("best", 0.2, standard_error(0.2) / 2),
        ("best", 9.0, 0.02),
        ("one_se", 0.0, 0.01),
        ("one_se", 0.2, standard_error(0.2) / 2),
        ("one_se", 9.0, 0.02),
        ("thinnest", 0.0, 0.03),
        ("thinnest", 0.3, standard_error(0.3)),
        ("thinnest", 9.0, 0.06),
    ],
)
def test_standard_errors_between_a_least_and_a_largest_part(rule, spread, expected):
    best, other = model(1.0, 30), model(1.005, 15, spread=spread)
    assert allowance(rule, best, other) == pytest.approx(expected)


def test_thin_models_are_left_alone_by_best_only():
    best, other = model(1.0, N // 4), model(1.001, 2)
    assert thinnest("best", [best, other]) is best
    assert thinnest("thinnest", [best, other]) is other
    thicker, other = model(1.0, N // 4 + 1), model(1.001, 2)
    assert thinnest("best", [thicker, other]) is other


@pytest.mark.parametrize("rule", RULES)
def test_as_many_rows_are_not_thinner(rule):
    assert allowance(rule, model(1.0, 5), model(1.001, 5)) == 0
    assert allowance(rule, model(1.0, 5), model(1.001, 6)) == 0


@pytest.mark.parametrize("rule", RULES)
def test_rank_zero_against_a_small_gain(rule):
    """2.5 standard errors of the difference, when less than 15 % are gained."""
    se = 0.01
    spread = se * np.sqrt(N - 1)
    best = model(0.98, 5)
    assert thinnest(rule, [best, null(1.0, spread)]).sizes.rank == 0  # two standard errors
    best = model(0.97, 5)
    assert thinnest(rule, [best, null(1.0, spread)]) is best  # three


def test_rank_zero_against_a_large_gain():
    """One standard error is enough where more than 15 % are gained."""
    spread = 0.15 * np.sqrt(N - 1)
    best = model(0.8, 5)  # 1.3 standard errors
    assert thinnest("best", [best, null(1.0, spread)]) is best
    spread = 0.22 * np.sqrt(N - 1)
    assert thinnest("best", [best, null(1.0, spread)]).sizes.rank == 0


def test_one_standard_error_over_the_splits():
    parts = (0.8, 0.9, 1.0, 1.1, 1.2)
    limit = 1.0 + np.std(parts, ddof=1) / np.sqrt(5)
    best = model(1.0, 8, parts=parts)
    inside, outside = model(limit - 1e-6, 3), model(limit + 1e-6, 2)
    assert thinnest("one_se", [best, inside, outside]) is inside


def test_of_as_many_rows():
    """The least score, or with one_se the fewest degrees of freedom, then the larger ridge."""
    parts = (0.8, 0.9, 1.0, 1.1, 1.2)
    best = model(1.0, 8, rank=3, parts=parts)
    three = model(1.005, 4, rank=3)
    simple = model(1.01, 4, rank=1)
    shrunk = model(1.02, 4, rank=1, ridge=0.5)
    assert thinnest("thinnest", [best, three, simple, shrunk]) is three
    assert thinnest("one_se", [best, three, simple]) is simple
    assert thinnest("one_se", [best, three, simple, shrunk]) is shrunk


# --------------------------------------------------------------------------- contenders


@pytest.mark.parametrize("rule", RULES)
def test_clear_losers_are_out_and_close_ones_are_not(rule):
    """As many rows: two standard errors of the difference, and nothing else is allowed."""
    se, spread = 0.01, 0.01 * np.sqrt(N - 1)
    best = model(1.0, 5)
    close, loser = model(1 + 1.9 * se, 5, spread=spread), model(1 + 2.1 * se, 5, spread=spread)
    assert contenders(rule, [loser, close, best]) == [close, best]
    certain = model(1 + 1e-6, 5)  # worse in every row
    assert contenders(rule, [best, certain]) == [best]


def test_what_a_rule_allows_comes_on_top():
    se, spread = 0.03, 0.03 * np.sqrt(N - 1)
    best = model(1.0, 30)
    for rule in ("best", "thinnest"):
        limit = 1 + allowance(rule, best, model(1.0, 15, spread=spread)) + 2 * se
        inside, outside = (model(limit + way, 15, spread=spread) for way in (-1e-6, 1e-6))
        assert contenders(rule, [best, inside, outside]) == [best, inside]
        assert thinnest(rule, [best, inside]) is best  # which is in doubt, but not yet another
    thicker = model(limit - 1e-6, 35, spread=spread)
    assert contenders("thinnest", [best, thicker]) == [best]


@pytest.mark.parametrize("rule", RULES)
def test_rank_zero_contends_up_to_four_and_a_half_standard_errors(rule):
    spread = 0.01 * np.sqrt(N - 1)
    zero = null(1.0, spread)
    for score, left in ((0.956, 2), (0.954, 1)):
        best = model(score, 5)
        assert contenders(rule, [zero, best]) == [zero, best][-left:]


def test_one_model_is_its_only_contender():
    alone = model(1.0, 5, spread=3.0)
    assert contenders("best", [alone]) == [alone]


def test_without_errors_of_the_rows_only_what_is_allowed_contends():
    best, other, worse = (
        replace(model(score, rows), row_errors=None)
        for score, rows in ((1.0, 30), (1.0099, 15), (1.0101, 15))
    )
    assert contenders("best", [best, other, worse]) == [best, other]


def test_rows_that_were_never_held_out_do_not_count():
    best, other = model(1.0, 5), model(1.015, 5, spread=0.01 * np.sqrt(N - 1))
    errors = np.concatenate([other.row_errors, np.full(20, np.nan)])
    wide = [
        replace(other, row_errors=errors),
        replace(best, row_errors=np.pad(best.row_errors, (0, 20))),
    ]
    assert contenders("best", wide) == wide
    assert contenders("best", [replace(wide[0], score=1.025), wide[1]]) == wide[1:]


@pytest.mark.parametrize("rule", RULES)
def test_which_models_may_be_thinner(rule):
    thick, thin = model(1.0, N // 4 + 1), model(1.0, N // 4)
    assert may_be_thinner(rule, thick)
    assert may_be_thinner(rule, thin) == (rule != "best")
    assert may_be_thinner(rule, replace(thin, row_errors=None))
    assert not may_be_thinner(rule, null(1.0))


def test_fewer_responses_may_be_worse_by_little():
    """By 1.5 standard errors, and 0.7 % at most."""
    best = model(1.0, 5, columns=11)
    assert thinnest("best", [best, model(1.0001, 5, columns=10)]) is best
    unsure, limit = 0.1, 1 + 1.5 * standard_error(0.1)
    assert limit > column_limit(best) == pytest.approx(1.007)
    for score, taken in ((1.0069, 10), (1.0071, 11)):
        other = model(score, 5, columns=10, spread=unsure)
        assert thinnest("best", [best, other]).sizes.columns == taken
    few = 0.002 / standard_error(1.0)
    for score, taken in ((1.0029, 10), (1.0031, 11)):
        other = model(score, 5, columns=10, spread=few)
        assert thinnest("best", [best, other]).sizes.columns == taken


def test_more_than_half_of_many_predictors_must_save_something():
    dense, half, fewer = model(1.0, 51), model(1.099, 50), model(1.13, 40)
    assert most_accurate([dense, half, fewer]) is dense
    assert most_accurate([dense, half, fewer], predictors=99) is dense
    assert most_accurate([dense, half, fewer], predictors=100) is half
    assert most_accurate([dense, model(1.101, 50)], predictors=100) is dense
    assert most_accurate([dense], predictors=100) is dense
    assert thinnest("best", [dense, half, fewer], predictors=100) is half
    assert contenders("best", [dense, half, fewer], predictors=100) == [dense, half]


def test_rules():
    assert [check_refit_rule(rule) for rule in RULES] == list(RULES)
    for bad in ("two_se", None, 1):
        with pytest.raises(ValueError, match='refit_rule must be one of "best", "one_se", "thi'):
            check_refit_rule(bad)


def test_thin_models_are_followed_by_the_next_ones():
    """Each is what the rule would choose if the thinner ones were not there."""
    models = [model(1.0, 30), model(1.01, 20), model(1.02, 12), model(1.03, 6), model(2.0, 3)]
    rows = [e.sizes.rows for e in choices_in_turn("thinnest", models, 50, 4)]
    assert rows == [6, 12, 20, 30]
    assert [e.sizes.rows for e in choices_in_turn("thinnest", models, 50, 1)] == [6, 12]
    (only,) = choices_in_turn("best", models, 50, 4)
    assert only == thinnest("best", models, 50)


def test_one_row_has_no_standard_error():
    """With one row that both models predict, only what is allowed contends."""
    best, worse = (
        replace(model(score, rows), row_errors=np.array([score, np.nan, np.nan]))
        for score, rows in ((1.0, 30), (1.03, 15))
    )
    assert contenders("best", [best, worse]) == [best]
    as_good = replace(worse, score=1.0)
    assert contenders("best", [best, as_good]) == [best, as_good]


def test_no_predictors_are_not_half_of_them():
    """A model without predictors competes by its own rules, not as a thinner one."""
    thick, zero = model(1.0, 150), null(1.0)
    assert most_accurate([thick, zero], 200) is thick
    half = model(1.0, 90)
    assert most_accurate([thick, zero, half], 200) is half
