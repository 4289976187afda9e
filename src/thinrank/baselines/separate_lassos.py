"""One lasso per response: sparse entries, nothing shared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from thinrank.arrays import Array
from thinrank.baselines.base import Baseline, check_count, check_number
from thinrank.baselines.sample import Prepared
from thinrank.baselines.separate_columns import factors_of_columns
from thinrank.baselines.tuning import Setting, penalty_grid
from thinrank.baselines.weighted_lasso import weighted_lasso
from thinrank.core.checks import is_auto
from thinrank.core.factors import Factors

# Tolerance while the penalties of a path are compared; the final fit uses the user's ``tol``.
_PATH_TOL = 1e-4


class SeparateLassos(Baseline):
    """One lasso per response, with the same penalty for all.

    Minimises ``1/(2n)·‖Y − XΘ‖² + penalty·Σ|Θ_ij|`` by scikit-learn's coordinate descent on
    working sets, one response after another. The paper starts gradient descent from this.

    Parameters
    ----------
    penalty : float or "auto", default="auto"
        Weight of the absolute entries, in the units of Y. "auto" chooses by ``cv`` from a
        warm-started path.
    n_penalties : int, default=30
        Number of penalties on the path.
    cv : int, splitter or iterable, default=5
        Splits into training and held-out rows, as in scikit-learn. Use PredefinedSplit for a
        single validation set.
    fit_intercept : bool, default=True
        Whether to centre X and Y.
    standardize : bool, default=True
        Whether to scale the columns of X to unit root mean square; the penalty then acts on the
        scaled coefficients.
    tol : float, default=1e-6
        Tolerance for the duality gaps of the final fit, relative to the squared norm of each
        response.

    Attributes
    ----------
    factors_, coef_, intercept_, rank_, row_support_, column_support_
        As for :class:`thinrank.SparseReducedRankRegressor`; zero entries of
        ``coef_`` are exactly zero.
    best_params_ : dict
        The penalty that was used; ``SeparateLassos(**best_params_)`` fits the same model to
        other rows.
    cv_results_ : dict
        Held-out scores of all candidates, as in scikit-learn's GridSearchCV. Only if the penalty
        was chosen by ``cv``.

    References
    ----------
    R. Tibshirani, Regression shrinkage and selection via the lasso, Journal of the Royal
    Statistical Society B 58 (1996).

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(200, 50, 40, rank=3, random_state=0)
    >>> est = tr.baselines.SeparateLassos(penalty=0.2).fit(X, Y)
    >>> set(truth.column_support) <= set(est.column_support_)
    True
    """

    def __init__(
        self,
        penalty: float | str = "auto",
        *,
        n_penalties: int = 30,
        cv: Any = 5,
        fit_intercept: bool = True,
        standardize: bool = True,
        tol: float = 1e-6,
    ) -> None:
        self.penalty = penalty
        self.n_penalties = n_penalties
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol

    def _check_parameters(self) -> None:
        check_number("penalty", self.penalty)
        check_number("tol", self.tol, automatic=False)
        check_count("n_penalties", self.n_penalties)

    def _settings(self, data: Prepared) -> list[Setting]:
        if not is_auto(self.penalty):
            return [{"penalty": float(self.penalty)}]
        largest = float(np.max(np.abs(data.cross), initial=0.0)) / data.shape[0]
        return [{"penalty": penalty} for penalty in penalty_grid(largest, self.n_penalties)]

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        _, p, k = data.shape
        theta, ones = np.zeros((p, k)), np.ones(p)
        tol = self.tol if final else max(self.tol, _PATH_TOL)
        for setting in settings:
            for j in range(k):
                theta[:, j] = weighted_lasso(
                    data.X, data.Y[:, j], setting["penalty"], ones, theta[:, j], tol
                )
            yield factors_of_columns(theta)
        if final:
            self._zeros = theta == 0

    @property
    def coef_(self) -> Array:
        """Coefficients of shape (n_targets, n_features), or (n_features,) if Y is a vector."""
        theta = super().coef_
        # the product of the factors has rounding errors where the lasso has zeros
        return np.where(self._zeros[:, 0] if theta.ndim == 1 else self._zeros.T, 0.0, theta)
