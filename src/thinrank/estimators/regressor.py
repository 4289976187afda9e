"""Two-way sparse reduced-rank regression."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from thinrank import arrays
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.core.result import History, Outcome, Status
from thinrank.core.warnings import SelectionWarning
from thinrank.estimators.base import FactorRegressor
from thinrank.estimators.problem import Problem
from thinrank.estimators.progress import searching, shown
from thinrank.estimators.sizes import check_criterion, find_sizes
from thinrank.estimators.validation import (
    check_automatic_sizes,
    check_training_data,
    check_weights,
    column_names,
    is_automatic,
    keep_target_names,
    rows_of_data,
)
from thinrank.minimize import iteration_limit, minimize, seed_from
from thinrank.selection.choice import check_refit_rule
from thinrank.selection.evaluation import SearchRecord

__all__ = ["SparseReducedRankRegressor"]

# Fits with the responses counted by the noise that the fit before left in them. The first counts
# all alike; two more seldom change the supports.
_MOST_ROUNDS = 3


class SparseReducedRankRegressor(FactorRegressor):
    """Multi-response regression with a low-rank, row-sparse and column-sparse coefficient matrix.

    Minimises 1/(2n)·‖Y − XΘ‖² + ridge/2·‖Θ‖² over Θ of rank at most ``rank`` with at most
    ``row_sparsity`` non-zero rows (predictors in use) and ``column_sparsity`` non-zero columns
    (responses they predict), by pursuit (exact fits and exchanges of predictors) or by gradient
    descent with hard thresholding (Yu, Gupta & Kolar).

    Parameters
    ----------
    rank : int or "auto"
        Largest rank of Θ; "auto", the default, leaves the choice to ``criterion``.
    row_sparsity, column_sparsity : int, None or "auto"
        How many predictors and responses may enter; None for no limit. Again "auto", the default,
        leaves it to ``criterion``: the sizes are searched for on the training data alone, every
        fit from the one before, and rank 0 (nothing but the means) competes.
    ridge : float or "auto", default 0
        Weight of ½‖Θ‖², on the scaled coefficients. Shrinkage helps when the signal is weak.
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
    criterion : {"pic", "aic", "bic", "gic", "ebic", "gcv"} or Criterion
        What chooses the sizes that are "auto"; see :class:`thinrank.selection.Criterion`.
    random_state : int, RandomState, Generator or None
        For randomised decompositions in the starts; None gives the same answer every time.
    n_jobs : int, optional
        Threads of the search for sizes, which has up to two models to fit at a time.
    verbose : int, default 0
        Whether to show progress on standard error.
    callback : callable, optional
        Called with the :class:`~thinrank.core.result.Record` of each iteration; returning True
        stops the fit, and ``status_`` says so. Its factors are those of the standardised problem.
        While sizes are searched for it is called with a
        :class:`~thinrank.selection.SearchRecord` for each model; returning True ends the search,
        and the best model so far is fitted. So does Ctrl-C.

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
    best_params_ : dict
        Rank, row_sparsity, column_sparsity and ridge in use, when one of them was "auto".
    search_ : list of SearchRecord
        The models that were tried, likewise.
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
    >>> est = tr.SparseReducedRankRegressor().fit(X, Y)  # or rank=8, row_sparsity=10, ...
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
        ridge: float | str = "auto",
        standardize: bool = True,
        solver: str = "pursuit",
        start: Any = "auto",
        step: Any = "auto",
        update: str = "simultaneous",
        fit_intercept: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-7,
        criterion: Any = "auto",
        cv: Any = 5,
        refit_rule: str = "best",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Any], object] | None = None,
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
        self.criterion = criterion
        self.cv = cv
        self.refit_rule = refit_rule
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    n_iter_: int
    status_: Status
    history_: History
    best_params_: dict[str, Any]
    search_: list[SearchRecord]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SparseReducedRankRegressor:
        """Fit the coefficients.

        Parameters
        ----------
        X : array, data frame, scipy sparse matrix, LinearOperator or Design, of shape (n, p)
            float32 stays float32. Neither copied nor made dense.
        y : array or data frame of shape (n, k) or (n,)
            Responses Y.
        sample_weight : array of shape (n,), optional
            How much the rows count relative to one another; the scale of the weights has no
            effect.

        Returns
        -------
        self
        """
        names = column_names(y)
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
            ridge=0.0,
        )
        params = self._choose(problem, weight)
        factors = self._solve(problem, **params)
        self._keep(*problem.to_user(factors), single)
        self.best_params_ = params
        keep_target_names(self, names)
        return self

    def _choose(self, problem: Problem, weight: Any) -> dict[str, Any]:
        """The sizes: as given, or chosen where they are "auto"."""
        given = {
            "rank": self.rank,
            "row_sparsity": self.row_sparsity,
            "column_sparsity": self.column_sparsity,
            "ridge": self.ridge,
        }
        self.search_ = []
        sizes = self.rank, self.row_sparsity, self.column_sparsity
        if not any(is_automatic(value) for value in sizes):
            if is_automatic(self.ridge):
                given["ridge"] = 0.0
            return given
        with searching(self.callback, self.verbose) as callback:
            found = find_sizes(
                problem,
                weight,
                *(None if is_automatic(value) else [value] for value in given.values()),
                criterion=self.criterion,
                cv=self.cv,
                rule=check_refit_rule(self.refit_rule),
                center=self.fit_intercept,
                scale=self.standardize,
                seed=seed_from(self.random_state),
                tol=self.tol,
                n_jobs=self.n_jobs,
                callback=callback,
            )
        for message in found.warnings:
            warnings.warn(message, SelectionWarning, stacklevel=3)
        self.search_ = found.search.records
        return found.params

    def _solve(
        self, problem: Problem, rank: Any, row_sparsity: Any, column_sparsity: Any, ridge: Any
    ) -> Factors:
        """Fit with given sizes, counting every response by the noise that the fit leaves in it."""
        if rank == 0:
            status = Status(Outcome.ZERO, "No model is better than the means: the rank is 0.")
            self.n_iter_, self.status_, self.history_ = 0, status, History()
            return Factors.zero(problem.loss.shape, like=problem.loss.prototype)
        rank, rows, columns = problem.limited(rank, row_sparsity, column_sparsity)
        limit = iteration_limit(self.solver, self.max_iter)
        scaled, supports = problem, None
        for _ in range(_MOST_ROUNDS):
            with shown(self.callback, limit, self.verbose) as callback:
                solution = minimize(
                    scaled.loss.with_ridge(ridge),
                    rank=rank,
                    row_sparsity=rows,
                    column_sparsity=columns,
                    start=scaled.start(self.start),
                    solver=self.solver,
                    step=self.step,
                    update=self.update,
                    max_iter=limit,
                    tol=self.tol,
                    random_state=self.random_state,
                    callback=callback,
                )
            factors = scaled.in_units_of(problem, solution.factors)
            last, supports = supports, _supports(factors)
            stopped = solution.status.outcome is Outcome.STOPPED
            if stopped or supports == last or not problem.noise_matters(rows):
                break
            scaled = problem.with_noise(problem.noise(factors))
        if solution.status.outcome in (Outcome.ITERATION_LIMIT, Outcome.DIVERGED):
            warnings.warn(solution.status.message, ConvergenceWarning, stacklevel=3)
        self.n_iter_, self.status_ = solution.n_iter, solution.status
        self.history_ = solution.history
        return factors

    def _check_sizes(self, design: Design, k: int, weight: Any) -> None:
        """Sizes against the data, before anything is computed."""
        check_criterion(self.criterion)
        check_refit_rule(self.refit_rule)
        iteration_limit(self.solver, self.max_iter)
        if _is_nothing(self.rank, self.row_sparsity, self.column_sparsity):
            return
        sizes = self.rank, self.row_sparsity, self.column_sparsity
        check_automatic_sizes((design.shape[1], k), rows_of_data(design, weight), *sizes)
        if isinstance(self.ridge, str) and not is_automatic(self.ridge):
            raise ValueError(f'ridge must be a number at least 0 or "auto", got {self.ridge!r}')


def _supports(factors: Factors) -> tuple[list[int], list[int]]:
    rows, columns = factors.row_support, factors.column_support
    return arrays.to_numpy(rows).tolist(), arrays.to_numpy(columns).tolist()


def _is_nothing(rank: Any, rows: Any, columns: Any) -> bool:
    """Whether the sizes are those of the zero matrix, as a search returns them.

    Rank 0 by itself is no request that makes sense; with no rows and no columns it is one.
    """
    sizes = (rank, rows, 0 if columns is None else columns)
    return all(isinstance(size, Integral) and size == 0 for size in sizes)
