"""Two-way sparse reduced-rank regression."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, cast

from sklearn.exceptions import ConvergenceWarning

from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.core.result import History, Outcome, Solution, Status
from thinrank.estimators.base import FactorRegressor
from thinrank.estimators.problem import Problem
from thinrank.estimators.progress import searching, shown
from thinrank.estimators.validation import (
    as_numbers,
    check_automatic_sizes,
    check_training_data,
    check_weights,
    column_names,
    effective_rows,
    is_automatic,
    keep_target_names,
    rows_of_data,
)
from thinrank.minimize import iteration_limit, minimize
from thinrank.selection.automatic import automatic_ridges, by_criterion
from thinrank.selection.criteria import as_criterion
from thinrank.selection.evaluation import SearchRecord
from thinrank.selection.space import make_space

__all__ = ["SparseReducedRankRegressor"]


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
        ridge: float | str = 0.0,
        standardize: bool = True,
        solver: str = "pursuit",
        start: Any = "auto",
        step: Any = "auto",
        update: str = "simultaneous",
        fit_intercept: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-7,
        criterion: Any = "pic",
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
            Weights of the rows; integer weights equal repeated rows.

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
            ridge=0.0 if is_automatic(self.ridge) else cast(float, self.ridge),
        )
        chosen = self._choose(problem, weight)
        solution = self._solve(problem.with_ridge(chosen.ridge), chosen)
        if solution.status.outcome in (Outcome.ITERATION_LIMIT, Outcome.DIVERGED):
            warnings.warn(solution.status.message, ConvergenceWarning, stacklevel=2)
        self._keep(*problem.to_user(solution.factors), single)
        self.n_iter_ = solution.n_iter
        self.status_ = solution.status
        self.history_ = History(map(problem.to_user_record, solution.history))
        keep_target_names(self, names)
        return self

    def _choose(self, problem: Problem, weight: Any) -> _Chosen:
        """The sizes: as given, or by the criterion where they are "auto"."""
        for name in ("best_params_", "search_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        given: tuple[Any, Any, Any, Any] = (
            self.rank,
            self.row_sparsity,
            self.column_sparsity,
            self.ridge,
        )
        if not any(is_automatic(value) for value in given):
            return _Chosen(*given, self.start)
        problem.loss.hold_gram()
        ranks, rows, columns, ridges = (None if is_automatic(value) else [value] for value in given)
        space = make_space(
            problem.loss.shape,
            effective_rows(as_numbers(weight, problem.loss.X)),
            ranks=ranks,
            rows=rows,
            columns=columns,
            ridges=automatic_ridges(problem.loss) if ridges is None else ridges,
        )
        with searching(self.callback, self.verbose) as callback:
            search = by_criterion(
                problem.loss.with_ridge(0.0),
                space,
                as_criterion(self.criterion),
                max_iter=iteration_limit("pursuit", None),
                tol=self.tol,
                n_jobs=self.n_jobs,
                callback=callback,
            )
        if search.stopped:
            warnings.warn(search.message, UserWarning, stacklevel=3)
        best = search.best
        self.search_ = search.records
        self.best_params_ = space.params(best.sizes)
        start = self.start
        if isinstance(start, str) and start == "auto" and self.solver == "pursuit" and best.fits:
            start = best.fits[0].factors if best.fits[0] is not None else start
        return _Chosen(**self.best_params_, start=start)

    def _solve(self, problem: Problem, chosen: _Chosen) -> Solution:
        if chosen.rank == 0:
            nothing = Factors.zero(problem.loss.shape, like=problem.loss.prototype)
            status = Status(Outcome.ZERO, "No model is worth its complexity: the rank is 0.")
            return Solution(nothing, 0.5 * problem.loss.constant, status)
        limit = iteration_limit(self.solver, self.max_iter)
        with shown(self.callback, limit, self.verbose, problem.to_user_record) as callback:
            return minimize(
                problem.loss,
                rank=chosen.rank,
                row_sparsity=chosen.row_sparsity,
                column_sparsity=chosen.column_sparsity,
                start=chosen.start if chosen.start is not self.start else problem.start(self.start),
                solver=self.solver,
                step=self.step,
                update=self.update,
                max_iter=limit,
                tol=self.tol,
                random_state=self.random_state,
                callback=callback,
            )

    def _check_sizes(self, design: Design, k: int, weight: Any) -> None:
        """Sizes against the data, before anything is computed."""
        as_criterion(self.criterion)
        iteration_limit(self.solver, self.max_iter)
        if _is_nothing(self.rank, self.row_sparsity, self.column_sparsity):
            return
        sizes = self.rank, self.row_sparsity, self.column_sparsity
        check_automatic_sizes((design.shape[1], k), rows_of_data(design, weight), *sizes)
        if isinstance(self.ridge, str) and not is_automatic(self.ridge):
            raise ValueError(f'ridge must be a number at least 0 or "auto", got {self.ridge!r}')


@dataclass(frozen=True)
class _Chosen:
    """Sizes to fit, and where to begin."""

    rank: Any
    row_sparsity: Any
    column_sparsity: Any
    ridge: Any
    start: Any


def _is_nothing(rank: Any, rows: Any, columns: Any) -> bool:
    """Whether the sizes are those of the zero matrix, as a search returns them.

    Rank 0 by itself is no request that makes sense; with no rows and no columns it is one.
    """
    sizes = (rank, rows, 0 if columns is None else columns)
    return all(isinstance(size, Integral) and size == 0 for size in sizes)
