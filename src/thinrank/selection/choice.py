"""Choice between models: the most accurate one, or a thinner one that is almost as good.

A model is thinner than another if it has fewer predictors, or as many and fewer responses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

import numpy as np
from scipy.special import ndtr, stdtrit

from thinrank.core.checks import check_choice
from thinrank.core.result import Record, Sizes
from thinrank.selection.scores import Errors
from thinrank.solvers.row_fit import Fit

RefitRule = Literal["best", "one_se", "thinnest"]

REFIT_RULES: tuple[RefitRule, ...] = get_args(RefitRule)

# Allowed increase of the score, relative to that of the best model, for a model with almost no
# predictors. On the development sets 2 % in place of 1 % cost 1 % of the error on new rows.
_LIMITS = {"best": 0.01, "thinnest": 0.1, "one_se": 0.01}
# A model is thin if it has at most this number of predictors per sample. Rule of thumb.
THIN = 0.25
# Allowed increase of the score for a model with fewer responses: number of standard errors of the
# difference, and its largest value relative to the score of the best model. In one of twelve
# simulations one response too many decreased the error by chance, by at most 0.7 % and 1.4 standard
# errors.
_FEWER_COLUMNS = 1.5, 0.007
# Leaving out responses is shown not to hurt if the score plus a standard error exceeds that with
# all responses by at most this fraction. With 60 samples and three responses, one of them noise,
# the standard error is 1.5 %; with 12 samples it is far larger.
_SHOWN = 0.02
# Rank 0 is chosen unless the best model is better than the means by this number of standard errors:
# a search among many models of pure noise finds one that is better by one standard error half of
# the time. If they come from few splits, as for data in blocks, it is the quantile of Student's
# distribution with the same level. If the best model decreases the error by _CLEARLY_BETTER, one
# standard error is enough.
_EVIDENCE = 3.0
_CLEARLY_BETTER = 0.15
# A model is no longer considered if its score exceeds the allowed one by this number of standard
# errors, the usual two-sided 5 % level.
_CLEARLY_WORSE = 2.0


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A model that was fitted in every split."""

    sizes: Sizes
    score: float  # mean of those of the splits; lower is better
    parts: tuple[float, ...]  # the scores of the splits
    # None for rank 0, or if there is nothing to fit
    fits: tuple[Fit | None, ...] = field(repr=False)
    # scores of other ranks and numbers of columns on the rows of the fits, of shape (q, n_targets)
    table: np.ndarray = field(repr=False)
    seconds: float
    # errors of the splits, None without held-out rows
    errors: tuple[Errors | None, ...] = field(default=(), repr=False)
    # mean error of every row when it was held out, nan for rows that never were; None if the rows
    # are not in memory, or not held out
    row_errors: np.ndarray | None = field(default=None, repr=False)
    # errors of the responses, and those without any predictor, summed over all held-out rows; of
    # shape (2, n_targets)
    responses: np.ndarray | None = field(default=None, repr=False)


def check_refit_rule(rule: Any) -> RefitRule:
    """Return the rule; raise a ValueError if it is unknown."""
    check_choice("refit_rule", rule, REFIT_RULES)
    return cast("RefitRule", rule)


def allowance(rule: RefitRule, best: Evaluation, other: Evaluation, samples: int) -> float:
    """The allowed difference between the score of a thinner model and the best score.

    What is allowed for fewer predictors is in proportion to the fraction that is left out, and
    nothing for ``"best"`` if the best model is thin. Fewer responses are allowed more. ``"one_se"``
    allows one standard error of the best score, as Breiman et al. (1984) do, if that is larger.
    """
    error = _standard_error(best, other)
    if other.sizes.rank == 0:
        freedom = max(len(_differences(best, other)) - 1, 1)
        times = float(stdtrit(freedom, ndtr(_EVIDENCE)))
        return min(max(error, _CLEARLY_BETTER * other.score), times * error)
    allowed = 0.0
    thin = rule == "best" and best.sizes.rows <= THIN * samples
    if other.sizes.rows < best.sizes.rows and not thin:
        allowed = (1.0 - other.sizes.rows / best.sizes.rows) * _LIMITS[rule] * best.score
    if other.sizes.columns < best.sizes.columns:
        times, most = _FEWER_COLUMNS
        allowed += min(times * error, most * best.score)
    if rule == "one_se" and len(best.parts) > 1:
        allowed = max(allowed, _of_mean(best.parts))
    return allowed


def largest_allowance(rule: RefitRule, rows: int, fewer: int) -> float:
    """The largest allowed relative increase of the score for a model with fewer rows or columns."""
    # a standard error over splits is rarely more than that
    limit = _LIMITS["thinnest" if rule == "one_se" else rule]
    return limit * max(1.0 - fewer / rows, 0.0) + _FEWER_COLUMNS[1]


def chosen_model(rule: RefitRule, evaluations: Iterable[Evaluation], samples: int) -> Evaluation:
    """The thinnest model whose score is allowed, compared with the most accurate one.

    ``"one_se"`` compares degrees of freedom in place of responses. Every model must allow rank 0,
    also a dense ridge model, whose errors vary less.
    """
    evaluations = list(evaluations)
    best = _most_accurate(evaluations)
    if best.responses is None and len(best.parts) == 1:  # a criterion
        return best
    if rule != "one_se":
        evaluations = _admissible(evaluations)
        best = _most_accurate(evaluations)
    within = [e for e in evaluations if e.score <= best.score + allowance(rule, best, e, samples)]
    within = [e for e in within if e.sizes.rank or not _is_beaten(e, evaluations, rule)]
    fewest = min(e.sizes.rows for e in within)
    alike = [e for e in within if e.sizes.rows == fewest]
    second = _degrees if rule == "one_se" else lambda e: e.sizes.columns
    return min(alike, key=lambda e: (second(e), e.score))


def _is_beaten(null: Evaluation, evaluations: Sequence[Evaluation], rule: RefitRule) -> bool:
    """Whether any model is clearly better than the means."""
    return any(e.score + allowance(rule, e, null, 0) < null.score for e in evaluations)


def _most_accurate(evaluations: Iterable[Evaluation]) -> Evaluation:
    return min(evaluations, key=lambda e: e.score)


def _admissible(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """The models that leave no response out, and those that show that this does not hurt."""
    every = max(e.sizes.columns for e in evaluations)
    best = _most_accurate(e for e in evaluations if e.sizes.columns == every)
    limit = (1 + _SHOWN) * best.score
    return [
        e
        for e in evaluations
        if e.sizes.columns in (0, every) or e.score + _standard_error(best, e) <= limit
    ]


def contenders(
    rule: RefitRule, evaluations: Sequence[Evaluation], samples: int
) -> list[Evaluation]:
    """The models that the rule might choose after an evaluation on more rows."""
    best = _most_accurate(evaluations)

    def limit(e: Evaluation) -> float:
        allowed = best.score + allowance(rule, best, e, samples)
        return allowed + _CLEARLY_WORSE * _standard_error(best, e)

    return [e for e in evaluations if e.score <= limit(e)]


def _standard_error(best: Evaluation, other: Evaluation) -> float:
    """Standard error of the mean difference between the errors of the rows, or of the splits."""
    difference = _differences(best, other)
    return _of_mean(difference) if len(difference) > 1 else 0.0


def _differences(best: Evaluation, other: Evaluation) -> np.ndarray:
    if best.row_errors is None or other.row_errors is None:
        return np.subtract(other.parts, best.parts)
    difference = other.row_errors - best.row_errors
    return difference[np.isfinite(difference)]


def _of_mean(values: Any) -> float:
    """Standard error of the mean of at least two values."""
    return float(deviations(np.asarray(values), ddof=1)) / len(values) ** 0.5


def deviations(scores: np.ndarray, ddof: int = 0) -> Any:
    """Standard deviations along the last axis, without overflow of the squares of huge scores."""
    size = np.max(np.abs(scores), where=np.isfinite(scores), initial=1e-300)
    return size * np.std(scores / size, axis=-1, ddof=ddof)


def _degrees(evaluation: Evaluation) -> float:
    """Degrees of freedom (s₁ + s₂ − r)·r; with equal sizes a larger ridge has fewer."""
    sizes = evaluation.sizes
    return (sizes.rows + sizes.columns - sizes.rank) * sizes.rank - sizes.ridge / (1 + sizes.ridge)


# ---------------------------------------------------------------------- records of a search


def last_search(records: Sequence[Record]) -> list[Record]:
    """The models that the sizes were chosen from: those of the last search with finite scores."""
    last = records[-1].search_round if records else 0
    return [r for r in records if r.search_round == last and math.isfinite(r.objective)]


def standard_error(record: Record) -> float:
    """Standard error of the score over the splits; nan with fewer than two splits."""
    return _of_mean(record.split_scores) if len(record.split_scores) > 1 else math.nan


def one_standard_error(records: Sequence[Record]) -> Record | None:
    """The model with the fewest predictors within one standard error of the least score.

    None if there is no standard error, as for criteria.
    """
    best = min(records, key=lambda r: r.objective, default=None)
    if best is None or math.isnan(standard_error(best)):
        return None
    limit = best.objective + standard_error(best)
    # the best models have scores on further partitions, which those of others would not stand
    alike = [r for r in records if len(r.split_scores) >= len(best.split_scores)]
    within = [r for r in alike if r.objective <= limit and r.sizes is not None]
    return min(within, key=lambda r: (r.sizes.rows, r.sizes.rank, r.objective))  # type: ignore[union-attr]
