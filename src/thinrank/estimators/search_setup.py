"""What every search for sizes needs, and its result: sizes to choose from, splits, warnings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank import arrays
from thinrank.core.result import Record
from thinrank.core.sizes import Sizes
from thinrank.estimators.explained import held_out_r2
from thinrank.estimators.kept import KeptPredictors
from thinrank.selection.criteria import Criterion, as_criterion
from thinrank.selection.cv_splits import Splits, make_splits
from thinrank.selection.evaluation import Evaluation
from thinrank.selection.held_out_search import HeldOutSearch
from thinrank.selection.search import Search
from thinrank.selection.space import Space, make_space
from thinrank.solvers.pursuit import Pursuit
from thinrank.starts import Auto, Given
from thinrank.starts.backward import MOST_ROWS

if TYPE_CHECKING:
    from thinrank.losses.families import Family

__all__ = ["Found", "Setup", "check_criterion", "prepared", "score_name", "search_options"]

_NOTHING = "The predictors or the responses are constant: all coefficients are zero."
_KEPT = "the predictors that are always kept"
_NOTHING_LEFT = (
    "The predictors that are always kept explain all others, or the responses: all other "
    "coefficients are zero."
)
# Criteria that mean the error on held-out rows.
_HELD_OUT = ("auto", "cv")


@dataclass(frozen=True)
class Found:
    """The result of a search for sizes.

    Attributes
    ----------
    search : Search or None
        The search; None if all responses or all predictors are constant.
    space : Space
        The values that could be chosen.
    chosen : Evaluation
        The chosen model.
    params : dict
        Its sizes, as parameters of the regressor.
    warnings : list of str
        Messages for the user.
    loss : Loss or None
        The loss with the noise levels or dispersions of the last search, if they are kept.
    """

    search: Search | None
    space: Space
    chosen: Evaluation
    params: dict[str, Any]
    warnings: list[str]
    loss: Any = None

    @property
    def evaluations(self) -> list[Evaluation]:
        """All models that were tried in the last search."""
        return [self.chosen] if self.search is None else self.search.evaluations

    def held_out_r2(self, problem: Any, family: Family | None = None) -> np.ndarray | None:
        """Share of each response that the chosen model explains in held-out rows.

        Parameters
        ----------
        problem : Problem or FamilyProblem
            The problem, which knows the responses that are not constant.
        family : Family, default=None
            The family of all responses; None for least squares.

        Returns
        -------
        ndarray of shape (n_targets,) or None
            None if there were no held-out rows.
        """
        known = self.chosen.responses
        if known is None:
            return None
        live, count = problem.live_columns, problem.shape[1]
        places = np.arange(count) if live is None else arrays.to_numpy(live)
        return held_out_r2(known.errors, known.totals, family, places, count)

    @property
    def records(self) -> list[Record]:
        """One record per model that was tried."""
        return [] if self.search is None else self.search.records


@dataclass(frozen=True)
class Setup:
    """The sizes to choose from, and the splits.

    Attributes
    ----------
    space : Space
        The sizes.
    splits : list of (ndarray, ndarray)
        Training and held-out rows; empty for a criterion.
    further : list of splits
        Further partitions of the rows.
    positive : int
        Number of rows of positive weight in the smallest training part.
    kept : bool
        Whether there are predictors that are always kept.
    """

    space: Space
    splits: Splits
    further: list[Splits]
    positive: int
    kept: bool

    def nothing(self) -> Found:
        """The result if all responses or all predictors are constant."""
        null = Evaluation(Sizes(0, 0, 0, 0.0), 0.0, (0.0,), (), np.empty((0, 0)), 0.0)
        message = _NOTHING_LEFT if self.kept else _NOTHING
        return Found(None, self.space, null, self.space.params(null.sizes), [message])

    def found(self, search: Search, chosen: Evaluation) -> Found:
        """The result of a search."""
        null = _KEPT if self.kept else "the means of the responses"
        messages = _warnings(search, self.space, chosen, self.positive, null)
        return Found(search, self.space, chosen, self.space.params(chosen.sizes), messages)


def check_criterion(criterion: Any) -> Criterion | None:
    """The criterion; None for the error on held-out rows."""
    if isinstance(criterion, str) and criterion in _HELD_OUT:
        return None
    return as_criterion(criterion)


def score_name(estimator: Any) -> str:
    """What the sizes of an estimator were chosen by, for figures and pages."""
    known = check_criterion(getattr(estimator, "criterion", "cv"))
    if known is not None:
        return known.name.upper()
    return "held-out deviance" if hasattr(estimator, "family_") else "held-out error"


def prepared(
    loss: Any,
    kept: KeptPredictors | None,
    weight: Any,
    axes: tuple[Any, Any, Any, Sequence[float]],
    *,
    known: Criterion | None,
    cv: Any,
    seed: int,
    groups: Any,
    most_rows: Callable[[], int],
) -> Setup:
    """The sizes to choose from, and the splits.

    Parameters
    ----------
    loss : Loss
        The loss of all rows.
    kept : KeptPredictors or None
        The predictors that are always kept.
    weight : array of shape (n_samples,), or None
        Weights of the rows.
    axes : (ranks, rows, columns, ridges)
        Values to choose from; None for all that make sense.
    known : Criterion or None
        The criterion; None for held-out error.
    cv, seed, groups
        How the rows are split.
    most_rows : callable
        The largest number of predictors if there are many samples and many predictors.

    Returns
    -------
    Setup
    """
    ranks, rows, columns, ridges = axes
    samples = loss.X.shape[0]
    numbers = None if weight is None else arrays.to_numpy(weight)
    positive = samples if numbers is None else int(np.count_nonzero(numbers))
    splits: Splits = []
    further: list[Splits] = []
    if known is None:
        splits, further = make_splits(cv, numbers, samples, seed, groups)
    if splits:
        positive = min(_count(train, numbers) for train, _ in splits)
    p, k = loss.shape
    small = min(samples, p) <= MOST_ROWS
    space = make_space(
        loss.shape,
        positive if kept is None else max(positive - kept.rank, 1),
        ranks=None if ranks is None else _at_most(ranks, min(p, k)),
        rows=None if rows is None else _at_most(rows, p),
        columns=None if columns is None else _at_most(columns, k),
        ridges=ridges,
        thick=known is None and small,
        most_rows=None if small else most_rows(),
    )
    return Setup(space, splits, further, positive, kept is not None)


def search_options(
    solver: Any, start: Any, seed: int, n_jobs: int | None, callback: Any
) -> dict[str, Any]:
    """Options of a search, from those of the final fit.

    The search is by pursuit in any case. A start that is a matrix is not used, since it may hold
    information about rows that are held out.
    """
    return {
        "solver": solver if isinstance(solver, Pursuit) else Pursuit(),
        "start": Auto(exchanges_rows=True) if isinstance(start, (Auto, Given)) else start,
        "seed": seed,
        "n_jobs": n_jobs,
        "callback": callback,
    }


def _count(rows: np.ndarray, weight: np.ndarray | None) -> int:
    """Number of rows of positive weight among some."""
    rows = np.asarray(rows)
    if weight is None:
        return int(np.count_nonzero(rows)) if rows.dtype == bool else len(rows)
    return int(np.count_nonzero(weight[rows]))


def _at_most(values: Sequence[Any], limit: int) -> list[Any]:
    """Sizes of no more rows or columns than are not constant; what is no size passes."""
    return [
        min(value, limit) if isinstance(value, (int, np.integer)) and value > 0 else value
        for value in values
    ]


def _warnings(
    search: Search, space: Space, chosen: Evaluation, samples: int, null: str
) -> list[str]:
    """What is known for free and makes the answer doubtful; ``null`` is the model of rank 0."""
    messages = [search.message] if search.stopped else []
    sizes = chosen.sizes
    if sizes.rank == 0:
        messages.append(
            f"No model predicts better than {null}, by the estimate that chooses the sizes: all "
            f"{'other ' * (null == _KEPT)}coefficients are zero."
        )
        return messages
    if isinstance(search, HeldOutSearch) and not chosen.score < search.null_score:
        messages.append(f"The chosen model predicts held-out rows no better than {null}.")
    if 2 * sizes.rows > samples:
        part = " of a training part" if isinstance(search, HeldOutSearch) else ""
        messages.append(
            f"The chosen model keeps {sizes.rows} predictors, more than half of the {samples} "
            f"samples{part}: do not read it as a selection of predictors. With "
            'refit_rule="thinnest", or a limit such as row_sparsity=10, it keeps fewer.'
        )
    if len(space.ridges) > 1 and sizes.ridge == space.ridges[-1]:
        messages.append(
            f"The chosen ridge, {sizes.ridge:.3g}, is the largest that was allowed: hardly "
            "anything can be predicted."
        )
    if len(space.rows) > 1 and sizes.rows == space.rows[-1] < search.shape[0]:
        messages.append(
            f"The chosen number of predictors, {sizes.rows}, is the largest that was allowed."
        )
    return messages
