"""Joint rank and row selection: the group lasso chooses rows, reduced-rank regression fits them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from thinrank.baselines.base import Baseline, check_count, check_number
from thinrank.baselines.sample import Prepared
from thinrank.baselines.tuning import Setting, penalty_grid
from thinrank.core.checks import is_auto
from thinrank.core.factors import Factors
from thinrank.solvers.group_lasso import group_lasso, largest_penalty, nonzero_rows
from thinrank.solvers.reduced_rank import reduced_rank_regression

__all__ = ["JointRankRowSelection"]


class JointRankRowSelection(Baseline):
    """Joint rank and row selection in two steps (JRRS).

    First the group lasso, min 1/(2n)·‖Y − XB‖² + penalty·Σⱼ‖Bⱼ‖, names the predictors; then
    reduced-rank regression of rank at most ``rank`` fits them without penalty: the two-step
    method of Bunea, She & Wegkamp, group lasso and then rank selection.

    Parameters
    ----------
    rank : int or "auto"
        Largest rank of Θ. "auto" is the rank selection criterion, on all predictors.
    penalty : float or "auto"
        Of the first step, in the units of Y. "auto" chooses by ``cv``, on the held-out error of
        the second step.
    n_penalties : int
        Length of the path of "auto".
    cv : int, splitter or iterable
        How to hold out rows, as in scikit-learn; PredefinedSplit for a validation set.
    fit_intercept : bool
        Whether to centre X and Y.
    standardize : bool
        Whether the columns of X enter with unit root mean square.
    tol : float
        Of the duality gap of the first step, in parts of ‖Y‖².

    Attributes
    ----------
    factors_, coef_, intercept_, rank_, row_support_, column_support_
        As for :class:`thinrank.SparseReducedRankRegressor`; all columns are in the support.
    best_params_ : dict
        The values of rank and penalty that were used; ``JointRankRowSelection(**best_params_)``
        fits them to other rows.
    cv_results_ : dict, when the penalty was chosen by ``cv``

    References
    ----------
    F. Bunea, Y. She and M. Wegkamp, Joint variable and rank selection for parsimonious estimation
    of high-dimensional matrices, Annals of Statistics 40 (2012).

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(200, 50, 40, rank=3, random_state=0)
    >>> est = tr.baselines.JointRankRowSelection().fit(X, Y)
    >>> est.rank_, bool((est.row_support_ == truth.row_support).all())
    (3, True)
    """

    def __init__(
        self,
        rank: int | str = "auto",
        penalty: float | str = "auto",
        *,
        n_penalties: int = 30,
        cv: Any = 5,
        fit_intercept: bool = True,
        standardize: bool = True,
        tol: float = 1e-6,
    ) -> None:
        self.rank = rank
        self.penalty = penalty
        self.n_penalties = n_penalties
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol

    def _check_parameters(self) -> None:
        check_number("penalty", self.penalty)
        check_number("tol", self.tol)
        check_count("n_penalties", self.n_penalties)

    def _settings(self, data: Prepared) -> list[Setting]:
        rank = self._rank_of(data)
        if not is_auto(self.penalty):
            return [{"rank": rank, "penalty": float(self.penalty)}]
        largest = largest_penalty(data.cross, data.shape[0])
        grid = penalty_grid(largest, self.n_penalties)
        return [{"rank": rank, "penalty": penalty} for penalty in grid]

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        theta = None
        tol = self.tol if final else max(self.tol, 1e-4)
        for setting in settings:
            theta = group_lasso(data.X, data.Y, setting["penalty"], start=theta, tol=tol)
            yield _on_rows(data, nonzero_rows(theta), setting["rank"])


def _on_rows(data: Prepared, rows: np.ndarray, rank: int) -> Factors:
    """Reduced-rank regression on some of the predictors; the others get zero coefficients."""
    _, p, k = data.shape
    if rows.size == 0:
        return Factors.zero((p, k), like=data.X)
    few = reduced_rank_regression(data.X[:, rows], data.Y, rank)
    U = np.zeros((p, few.rank))
    U[rows] = few.U
    return Factors(U, few.V)
