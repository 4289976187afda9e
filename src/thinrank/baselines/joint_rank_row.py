"""Joint rank and row selection: the group lasso selects rows, reduced-rank regression fits them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from thinrank.baselines.base import PenalizedBaseline
from thinrank.baselines.sample import NEARLY_DEPENDENT, Prepared
from thinrank.baselines.tuning import Setting
from thinrank.core.factors import Factors
from thinrank.solvers.group_lasso import group_lasso_path, nonzero_rows
from thinrank.solvers.reduced_rank import reduced_rank_from_svd, thin_svd


@dataclass(eq=False, repr=False)
class JointRankRowSelection(PenalizedBaseline):
    """Joint rank and row selection in two steps (JRRS).

    First the group lasso, min 1/(2n)·‖Y − XB‖² + penalty·Σⱼ‖Bⱼ‖, selects the predictors. Then
    reduced-rank regression of rank at most ``rank`` fits their coefficients without penalty. This
    is the two-step method of Bunea, She & Wegkamp: group lasso, then rank selection.

    Parameters
    ----------
    rank : int or "auto", default="auto"
        Largest rank of Θ. "auto" uses the rank selection criterion on all predictors.
    penalty : float or "auto", default="auto"
        Penalty of the first step, in the units of Y. "auto" chooses by ``cv``, from the held-out
        error of the second step.
    n_penalties : int, default=30
        Number of penalties on the path of ``penalty="auto"``.
    {splits}
    tol : float, default=1e-6
        Tolerance for the duality gap of the first step, relative to ‖Y‖².

    Attributes
    ----------
    factors_, coef_, intercept_, rank_, row_support_, column_support_
        As for :class:`thinrank.SparseReducedRankRegressor`; all columns are in the support.
    {chosen}

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

    rank: int | str = "auto"
    penalty: float | str = "auto"
    _: KW_ONLY
    tol: float = 1e-6

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        tol = self._tol(final)
        penalties = (setting["penalty"] for setting in settings)
        path = group_lasso_path(data.X, data.Y, penalties, tol=tol)
        for setting, theta in zip(settings, path, strict=True):
            yield _on_rows(data, nonzero_rows(theta), setting["rank"])


def _on_rows(data: Prepared, rows: np.ndarray, rank: int) -> Factors:
    """Reduced-rank regression on some of the predictors; the others get zero coefficients."""
    _, p, k = data.shape
    if rows.size == 0:
        return Factors.zero((p, k), like=data.X)
    few = reduced_rank_from_svd(thin_svd(data.X[:, rows], NEARLY_DEPENDENT), data.Y, rank)
    U = np.zeros((p, few.rank))
    U[rows] = few.U
    return Factors(U, few.V)
