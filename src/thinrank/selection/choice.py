"""Which of several models to take: the most accurate, or a thinner one that is nearly as good."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from thinrank.selection.evaluation import Evaluation

__all__ = [
    "REFIT_RULES",
    "RefitRule",
    "allowance",
    "check_refit_rule",
    "column_limit",
    "contenders",
    "may_be_thinner",
    "most_accurate",
    "thinnest",
]

RefitRule = Literal["best", "one_se", "thinnest"]

REFIT_RULES: tuple[RefitRule, ...] = ("best", "one_se", "thinnest")

# What a model may lose that saves all predictors but a few: standard errors of the difference, and
# the least and the largest part of the error of the best model.
_PRICES = {"best": (1.0, 0.02, 0.04), "thinnest": (2.0, 0.06, 0.12), "one_se": (1.0, 0.02, 0.04)}
# A model is thin that has at most this many predictors per sample.
_THIN = 0.25
# Of so many predictors or more, models with more than half of them are left aside unless they save
# more than this part of the error.
_MANY_PREDICTORS = 100
_WORTH_HALF = 0.1
# What a model may lose that has fewer responses in use: standard errors of the difference, and the
# largest part of the error of the best model. One more response than act improves the error by
# chance in one simulation of twelve, by 0.7 % and 1.4 standard errors at most.
_FEWER_COLUMNS = 1.5, 0.007
# Rank 0 is chosen unless the best model is better than the means by this many standard errors: a
# search among many models of pure noise finds one that is better by one of them half of the time.
# Where the best model saves this part of the error of the means, one standard error is enough.
_EVIDENCE = 2.5
_CLEARLY_BETTER = 0.15
# Standard errors by which a model must be worse than what is allowed to be out of the question.
_CLEAR = 2.0


def check_refit_rule(rule: object) -> RefitRule:
    """The rule, if it is one."""
    for known in REFIT_RULES:
        if rule == known:
            return known
    names = ", ".join(f'"{name}"' for name in REFIT_RULES)
    raise ValueError(f"refit_rule must be one of {names}, got {rule!r}")


def allowance(rule: RefitRule, best: Evaluation, other: Evaluation) -> float:
    """By how much the score of a thinner model may be above the best one's.

    A model that does without a part of the predictors of the best one may be worse by the same
    part of one standard error of the difference, which is estimated from the paired errors of the
    rows and taken to be at least 2 % and at most 4 % of the best score. So half of the predictors
    are given up for 1 to 2 % of the error. With ``"thinnest"`` it is two standard errors, at
    least 6 % and at most 12 %. ``"best"`` leaves models alone that have no more predictors than a
    quarter of the samples: these are thin as they are.

    A model that uses fewer of the responses may be worse by 1.5 standard errors of the difference,
    but not by more than 0.7 % of the best score. ``"one_se"`` allows one standard error of
    the best score over the splits, as Breiman et al. (1984) do, if that is more.

    Rank 0, nothing but the means, is allowed 2.5 standard errors of the difference, but only one
    where the best model saves more than 15 % of the error of the means.
    """
    error = _standard_error(best, other)
    if other.sizes.rank == 0:
        return min(max(error, _CLEARLY_BETTER * other.score), _EVIDENCE * error)
    price = 0.0
    if other.sizes.rows < best.sizes.rows and may_be_thinner(rule, best):
        times, least, most = _PRICES[rule]
        saved = 1.0 - other.sizes.rows / best.sizes.rows
        price = saved * min(max(times * error, least * best.score), most * best.score)
    if other.sizes.columns < best.sizes.columns:
        times, most = _FEWER_COLUMNS
        price += min(times * error, most * best.score)
    if rule == "one_se" and len(best.parts) > 1:
        price = max(price, float(np.std(best.parts, ddof=1)) / len(best.parts) ** 0.5)
    return price


def column_limit(best: Evaluation) -> float:
    """The largest score with which a model of fewer responses can be taken."""
    return (1 + _FEWER_COLUMNS[1]) * best.score


def may_be_thinner(rule: RefitRule, best: Evaluation) -> bool:
    """Whether the rule takes models that are thinner than the best one, and worse."""
    return best.sizes.rank > 0 and not (rule == "best" and _is_thin(best))


def _is_thin(evaluation: Evaluation) -> bool:
    """Whether a model has few predictors for the number of samples."""
    errors = evaluation.row_errors
    return errors is not None and evaluation.sizes.rows <= _THIN * len(errors)


def most_accurate(evaluations: Iterable[Evaluation], predictors: int = 0) -> Evaluation:
    """The model with which others are compared: the one of least score.

    Of 100 predictors or more, models with more than half of them are left aside unless they save
    more than 10 % of the error: then hardly anything is selected.
    """
    evaluations = list(evaluations)
    best = min(evaluations, key=lambda e: e.score)
    if predictors >= _MANY_PREDICTORS and 2 * best.sizes.rows > predictors:
        half = [e for e in evaluations if 0 < 2 * e.sizes.rows <= predictors]
        other = min(half, key=lambda e: e.score, default=best)
        if other.score <= (1 + _WORTH_HALF) * best.score:
            return other
    return best


def thinnest(rule: RefitRule, evaluations: Iterable[Evaluation], predictors: int = 0) -> Evaluation:
    """The thinnest model whose score is allowed, compared with the most accurate one.

    Fewer predictors are thinner, and of models with as many of them fewer responses. Of those that
    have as many of both, the one of least score is taken; with ``"one_se"``, of models with as
    many predictors, the one of fewest degrees of freedom.
    """
    evaluations = list(evaluations)
    best = most_accurate(evaluations, predictors)
    within = [e for e in evaluations if e.score <= best.score + allowance(rule, best, e)]
    fewest = min(e.sizes.rows for e in within)
    alike = [e for e in within if e.sizes.rows == fewest]
    if rule == "one_se":
        return min(alike, key=lambda e: (_degrees(e), e.score))
    return min(alike, key=lambda e: (e.sizes.columns, e.score))


def contenders(
    rule: RefitRule, evaluations: Sequence[Evaluation], predictors: int = 0
) -> list[Evaluation]:
    """The models that the rule might take if they were judged on more rows.

    The others are worse than what is allowed by more than two standard errors of the difference.
    """
    best = most_accurate(evaluations, predictors)
    return [
        e
        for e in evaluations
        if e.score <= best.score + allowance(rule, best, e) + _CLEAR * _standard_error(best, e)
    ]


def _standard_error(best: Evaluation, other: Evaluation) -> float:
    """Of the mean difference of the rows' errors."""
    if best.row_errors is None or other.row_errors is None:
        return 0.0
    difference = other.row_errors - best.row_errors
    difference = difference[np.isfinite(difference)]
    if len(difference) < 2:
        return 0.0
    return float(np.std(difference, ddof=1)) / len(difference) ** 0.5


def _degrees(evaluation: Evaluation) -> float:
    """Degrees of freedom (s₁ + s₂ − r)·r; of equals the larger ridge is simpler."""
    sizes = evaluation.sizes
    return (sizes.rows + sizes.columns - sizes.rank) * sizes.rank - sizes.ridge / (1 + sizes.ridge)
