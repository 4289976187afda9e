"""Choice between models: the most accurate one, or a thinner one that is almost as good.

A model is thinner than another if it has fewer predictors, or as many and fewer responses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from thinrank.selection.block_errors import BlockRowErrors
from thinrank.selection.evaluation import Evaluation

__all__ = [
    "REFIT_RULES",
    "RefitRule",
    "allowance",
    "check_refit_rule",
    "choices_in_turn",
    "column_limit",
    "contenders",
    "may_be_thinner",
    "most_accurate",
    "thinnest",
]

RefitRule = Literal["best", "one_se", "thinnest"]

REFIT_RULES: tuple[RefitRule, ...] = ("best", "one_se", "thinnest")

# Allowed increase of the score for a model with almost no predictors: number of standard errors of
# the difference, and its least and largest value relative to the score of the best model. Chosen
# such that "best" loses at most a few per cent; "thinnest" allows two to three times as much.
_LIMITS = {
    "best": (1.0, 0.02, 0.04),
    "thinnest": (2.0, 0.06, 0.12),
    "one_se": (1.0, 0.02, 0.04),
}
# A model is thin if it has at most this number of predictors per sample. Rule of thumb.
_THIN = 0.25
# With at least _MANY_PREDICTORS predictors, models with more than half of them are not considered
# unless they decrease the error by more than _MIN_DECREASE. Rules of thumb.
_MANY_PREDICTORS = 100
_MIN_DECREASE = 0.1
# Allowed increase of the score for a model with fewer responses: number of standard errors of the
# difference, and its largest value relative to the score of the best model. In one of twelve
# simulations one response too many decreased the error by chance, by at most 0.7 % and 1.4 standard
# errors.
_FEWER_COLUMNS = 1.5, 0.007
# Rank 0 is chosen unless the best model is better than the means by this number of standard errors:
# a search among many models of pure noise finds one that is better by one standard error half of
# the time. If the best model decreases the error by _CLEARLY_BETTER, one standard error is enough.
_EVIDENCE = 2.5
_CLEARLY_BETTER = 0.15
# A model is no longer considered if its score exceeds the allowed one by this number of standard
# errors, the usual two-sided 5 % level.
_CLEARLY_WORSE = 2.0


def check_refit_rule(rule: object) -> RefitRule:
    """Return the rule; raise a ValueError if it is unknown."""
    for known in REFIT_RULES:
        if isinstance(rule, str) and rule == known:
            return known
    names = ", ".join(f'"{name}"' for name in REFIT_RULES)
    raise ValueError(f"refit_rule must be one of {names}, got {rule!r}")


def allowance(rule: RefitRule, best: Evaluation, other: Evaluation) -> float:
    """The allowed difference between the score of a thinner model and the best score.

    A model without a fraction of the predictors of the best model is allowed this fraction of one
    standard error of the difference. The standard error is estimated from the paired errors of the
    rows and limited to between 2 % and 4 % of the best score, so that a model with half of the
    predictors may have an error larger by 1 to 2 %. With ``"thinnest"`` it is two standard errors,
    limited to between 6 % and 12 %. ``"best"`` does not look for fewer predictors if the best
    model has at most a quarter as many predictors as samples.

    A model with fewer responses is allowed 1.5 standard errors of the difference, but at most
    0.7 % of the best score. ``"one_se"`` allows one standard error of the best score over the
    splits, as Breiman et al. (1984) do, if that is larger.

    Rank 0, which predicts the means, is allowed 2.5 standard errors of the difference, but only one
    if the error of the best model is lower than that of the means by more than 15 %.

    Parameters
    ----------
    rule : {"best", "one_se", "thinnest"}
        The rule.
    best : Evaluation
        The most accurate model.
    other : Evaluation
        The thinner model.

    Returns
    -------
    float
    """
    error = _standard_error(best, other)
    if other.sizes.rank == 0:
        return min(max(error, _CLEARLY_BETTER * other.score), _EVIDENCE * error)
    allowed = 0.0
    if other.sizes.rows < best.sizes.rows and may_be_thinner(rule, best):
        times, least, most = _LIMITS[rule]
        saved = 1.0 - other.sizes.rows / best.sizes.rows
        allowed = saved * min(max(times * error, least * best.score), most * best.score)
    if other.sizes.columns < best.sizes.columns:
        times, most = _FEWER_COLUMNS
        allowed += min(times * error, most * best.score)
    if rule == "one_se" and len(best.parts) > 1:
        allowed = max(allowed, float(np.std(best.parts, ddof=1)) / len(best.parts) ** 0.5)
    return allowed


def column_limit(best: Evaluation) -> float:
    """The largest score with which a model with fewer responses can be chosen."""
    return (1 + _FEWER_COLUMNS[1]) * best.score


def may_be_thinner(rule: RefitRule, best: Evaluation) -> bool:
    """Whether the rule may choose a model with fewer predictors and a higher score."""
    return best.sizes.rank > 0 and not (rule == "best" and _is_thin(best))


def _is_thin(evaluation: Evaluation) -> bool:
    """Whether a model has few predictors for the number of samples."""
    errors = evaluation.row_errors
    return errors is not None and evaluation.sizes.rows <= _THIN * len(errors)


def most_accurate(evaluations: Iterable[Evaluation], predictors: int = 0) -> Evaluation:
    """The model of least score, with which others are compared.

    With 100 predictors or more, models with more than half of them are not considered unless they
    decrease the error by more than 10 %, because such models hardly select predictors.
    """
    evaluations = list(evaluations)
    best = min(evaluations, key=lambda e: e.score)
    if predictors >= _MANY_PREDICTORS and 2 * best.sizes.rows > predictors:
        half = [e for e in evaluations if 0 < 2 * e.sizes.rows <= predictors]
        other = min(half, key=lambda e: e.score, default=best)
        if other.score <= (1 + _MIN_DECREASE) * best.score:
            return other
    return best


def thinnest(rule: RefitRule, evaluations: Iterable[Evaluation], predictors: int = 0) -> Evaluation:
    """The thinnest model whose score is allowed, compared with the most accurate one.

    It is the model with the fewest predictors, among these the one with the fewest responses, and
    among these the one with the least score. With ``"one_se"`` it is, among the models with the
    fewest predictors, the one with the fewest degrees of freedom.
    """
    evaluations = list(evaluations)
    best = most_accurate(evaluations, predictors)
    within = [e for e in evaluations if e.score <= best.score + allowance(rule, best, e)]
    fewest = min(e.sizes.rows for e in within)
    alike = [e for e in within if e.sizes.rows == fewest]
    if rule == "one_se":
        return min(alike, key=lambda e: (_degrees(e), e.score))
    return min(alike, key=lambda e: (e.sizes.columns, e.score))


def choices_in_turn(
    rule: RefitRule, evaluations: Sequence[Evaluation], predictors: int, most: int
) -> list[Evaluation]:
    """The model that the rule chooses, and those that it would choose in place of it.

    A thin model is often worse on further splits than on those that it was found by. Then the next
    one, with more predictors, should be evaluated on them too. With ``"best"`` there is no other,
    since the most accurate models are evaluated in any case.
    """
    choices = [thinnest(rule, evaluations, predictors)]
    limit = most_accurate(evaluations, predictors).sizes.rows
    while rule != "best" and len(choices) <= most and choices[-1].sizes.rows < limit:
        rows = choices[-1].sizes.rows
        left = [e for e in evaluations if e.sizes.rows > rows]
        choices.append(thinnest(rule, left, predictors))
    return choices


def contenders(
    rule: RefitRule, evaluations: Sequence[Evaluation], predictors: int = 0
) -> list[Evaluation]:
    """The models that the rule might choose after an evaluation on more rows.

    The scores of the others exceed the allowed score by more than two standard errors of the
    difference.
    """
    best = most_accurate(evaluations, predictors)
    return [
        e
        for e in evaluations
        if e.score
        <= best.score + allowance(rule, best, e) + _CLEARLY_WORSE * _standard_error(best, e)
    ]


def _standard_error(best: Evaluation, other: Evaluation) -> float:
    """Standard error of the mean difference between the errors of the rows."""
    if best.row_errors is None or other.row_errors is None:
        return 0.0
    if isinstance(best.row_errors, BlockRowErrors):
        return best.row_errors.standard_error(other.row_errors)
    difference = other.row_errors - best.row_errors
    difference = difference[np.isfinite(difference)]
    if len(difference) < 2:
        return 0.0
    return float(np.std(difference, ddof=1)) / len(difference) ** 0.5


def _degrees(evaluation: Evaluation) -> float:
    """Degrees of freedom (s₁ + s₂ − r)·r; with equal sizes a larger ridge has fewer."""
    sizes = evaluation.sizes
    return (sizes.rows + sizes.columns - sizes.rank) * sizes.rank - sizes.ridge / (1 + sizes.ridge)
