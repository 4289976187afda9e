"""Two-way sparse reduced-rank regression."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thinrank import arrays
from thinrank.core.contracts import Design
from thinrank.core.result import Callback, History, Outcome, Status
from thinrank.estimators.base import FactorRegressor
from thinrank.estimators.problem import Problem
from thinrank.estimators.progress import shown
from thinrank.estimators.validation import check_training_data, check_weights
from thinrank.minimize import check_size, check_sizes, iteration_limit, minimize

__all__ = ["SparseReducedRankRegressor"]


class SparseReducedRankRegressor(FactorRegressor):
    """Multi-response regression with a low-rank, row-sparse and column-sparse coefficient matrix.

    Minimises 1/(2n)·‖Y − XΘ‖² + ridge/2·‖Θ‖² over Θ of rank at most ``rank`` with at most
    ``row_sparsity`` non-zero rows (predictors in use) and ``column_sparsity`` non-zero columns
    (responses they predict), by pursuit (exact fits and exchanges of predictors) or by gradient
    descent with hard thresholding (Yu, Gupta & Kolar).

    Parameters
    ----------
    rank : int
        Largest rank of Θ.
    row_sparsity, column_sparsity : int or None
        How many predictors and responses may enter; None for no limit.
    ridge : float, default 0
        Weight of ½‖Θ‖², on the scaled coefficients.
    standardize : bool, default True
        Whether the columns of X enter with unit root mean square about their mean (about zero
        without intercept). Done implicitly: X is not copied and a sparse X stays sparse. Hard
        thresholding depends on units, so leave this on unless the columns of X are alike.
        Together with step="auto" or "backtracking" the scale of Y is taken out too, so that the
        answer does not depend on the units of X or Y.
    solver : {"pursuit", "gdt"}
        "pursuit" fits exactly on the rows it has and exchanges rows while that is worth it; fast.
        "gdt" is gradient descent with hard thresholding, the algorithm of the paper.
    start : str, array of shape (p, k), Factors or a start of :mod:`thinrank.starts`
        Where to begin: "auto" (what suits the solver and the predictors, see
        :class:`thinrank.starts.Auto`), "lasso", "group_lasso", "proximal", "screening",
        "spectral", or coefficients in the units of X and Y.
    step : {"auto", "theory", "backtracking"} or float
        Step size of gradient descent; see :func:`thinrank.minimize`. Pursuit has none.
    update : {"simultaneous", "sequential"}
        Gradient descent only: whether both factors move from the same iterate.
    fit_intercept : bool, default True
        Whether to centre X and Y.
    max_iter : int, optional
        Iteration limit; None is 100 for pursuit and 10,000 for gradient descent. Reaching it
        raises a ConvergenceWarning.
    tol : float, default 1e-7
        Pursuit: the part of the objective that an exchange must save at least. Gradient descent:
        stop when the relative change of the factors is below.
    random_state : int, RandomState, Generator or None
        For randomised decompositions in the starts; None gives the same answer every time.
    verbose : int, default 0
        Whether to show a progress bar on standard error.
    callback : callable, optional
        Called with the :class:`~thinrank.core.result.Record` of each iteration; returning True
        stops the fit, and ``status_`` says so. Its factors are those of the standardised problem.

    Attributes
    ----------
    factors_ : Factors
        U of shape (p, r) and V of shape (k, r), balanced, in the units of X and Y.
    coef_ : array of shape (k, p), or (p,) for a one-dimensional Y
        Computed from ``factors_`` on demand.
    intercept_ : array of shape (k,), or float
    rank_ : int
        Rank found; smaller than ``rank`` when the data carry less, 0 when Y is constant.
    row_support_, column_support_ : ndarray of int
        Sorted indices of the predictors in use and of the responses they predict.
    n_iter_ : int
    status_ : Status
        How the fit ended; ``str(status_)`` is a sentence.
    history_ : History
        One record an iteration: objective, change, supports, seconds.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, when X is a data frame
    target_names_in_ : ndarray of str, when Y is a data frame

    References
    ----------
    M. Yu, V. Gupta and M. Kolar, Recovery of simultaneous low rank and two-way sparse coefficient
    matrices, a nonconvex approach, Electronic Journal of Statistics 14 (2020).

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(random_state=0)
    >>> est = tr.SparseReducedRankRegressor(rank=8, row_sparsity=10, column_sparsity=10).fit(X, Y)
    >>> bool((est.row_support_ == truth.row_support).all())
    True
    >>> est.coef_.shape
    (50, 100)
    """

    def __init__(
        self,
        rank: int | str = "auto",
        row_sparsity: int | str | None = "auto",
        column_sparsity: int | str | None = "auto",
        *,
        ridge: float = 0.0,
        standardize: bool = True,
        solver: str = "pursuit",
        start: Any = "auto",
        step: Any = "auto",
        update: str = "simultaneous",
        fit_intercept: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-7,
        random_state: Any = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.rank = rank
        self.row_sparsity = row_sparsity
        self.column_sparsity = column_sparsity
        self.ridge = ridge
        self.standardize = standardize
        self.solver = solver
        self.start = start
        self.step = step
        self.update = update
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    n_iter_: int
    status_: Status
    history_: History

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SparseReducedRankRegressor:
        """Fit the coefficients.

        Parameters
        ----------
        X : array, data frame, scipy sparse matrix, LinearOperator or Design, of shape (n, p)
            float32 stays float32. Neither copied nor made dense.
        y : array or data frame of shape (n, k) or (n,)
            Responses Y.
        sample_weight : array of shape (n,), optional
            Weights of the rows; integer weights equal repeated rows.

        Returns
        -------
        self
        """
        names = _column_names(y)
        design, target = check_training_data(self, X, y)
        weight = check_weights(sample_weight, design)
        single = target.ndim == 1
        if single:
            target = target[:, None]
        self._check_sizes(design, target.shape[1], weight)
        adaptive = isinstance(self.step, str) and self.step in ("auto", "backtracking")
        problem = Problem.prepare(
            design,
            target,
            weight,
            fit_intercept=self.fit_intercept,
            standardize_columns=self.standardize,
            scale_targets=self.standardize and (adaptive or self.solver == "pursuit"),
            ridge=self.ridge,
        )
        limit = iteration_limit(self.solver, self.max_iter)
        with shown(self.callback, limit, self.verbose, problem.to_user_record) as callback:
            solution = minimize(
                problem.loss,
                rank=self.rank,
                row_sparsity=self.row_sparsity,
                column_sparsity=self.column_sparsity,
                start=problem.start(self.start),
                solver=self.solver,
                step=self.step,
                update=self.update,
                max_iter=limit,
                tol=self.tol,
                random_state=self.random_state,
                callback=callback,
            )
        if solution.status.outcome in (Outcome.ITERATION_LIMIT, Outcome.DIVERGED):
            warnings.warn(solution.status.message, ConvergenceWarning, stacklevel=2)
        self._keep(*problem.to_user(solution.factors), single)
        self.n_iter_ = solution.n_iter
        self.status_ = solution.status
        self.history_ = History(map(problem.to_user_record, solution.history))
        if names is not None:
            self.target_names_in_ = names
        elif hasattr(self, "target_names_in_"):
            del self.target_names_in_  # of an earlier fit
        return self

    def _check_sizes(self, design: Design, k: int, weight: Any) -> None:
        """Sizes against the data, before anything is computed."""
        allowed_now = {
            "rank": "an integer",
            "row_sparsity": "an integer, or None for no limit",
            "column_sparsity": "an integer, or None for no limit",
            "ridge": "a number",
        }
        for name, allowed in allowed_now.items():
            if isinstance(getattr(self, name), str) and getattr(self, name) == "auto":
                raise ValueError(
                    f'{name}="auto" is not available in this version of thinrank: pass {allowed}'
                )
        n, p = design.shape
        rows, columns = check_sizes((p, k), self.rank, self.row_sparsity, self.column_sparsity)
        if weight is not None:
            xp = arrays.namespace(weight)
            n = int(xp.count_nonzero(weight))
        limit = min(rows, columns, n)
        check_size("rank", self.rank, limit, "row_sparsity, column_sparsity and rows of X")


def _column_names(Y: Any) -> np.ndarray | None:
    """Names of a data frame's columns, if they are all strings."""
    columns = getattr(Y, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(columns, dtype=object)
