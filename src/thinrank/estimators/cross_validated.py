"""Two-way sparse reduced-rank regression with sizes chosen by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy.stats import rankdata

from thinrank.core.result import History, Status
from thinrank.core.warnings import SelectionWarning
from thinrank.estimators.base import FactorRegressor
from thinrank.estimators.problem import Problem
from thinrank.estimators.progress import searching
from thinrank.estimators.regressor import SparseReducedRankRegressor
from thinrank.estimators.sizes import Found, find_sizes
from thinrank.estimators.validation import (
    check_training_data,
    check_weights,
    column_names,
    keep_target_names,
)
from thinrank.minimize import check_options, seed_from
from thinrank.selection.choice import check_refit_rule
from thinrank.selection.space import as_choices

__all__ = ["SparseReducedRankRegressorCV"]


class SparseReducedRankRegressorCV(FactorRegressor):
    """:class:`SparseReducedRankRegressor` with rank, sparsities and ridge by cross-validation.

    The held-out squared error is searched, not tabulated: the predictive information criterion
    on all the data says where to begin, and from there elimination of rows forecasts how many are
    best, while ranks, numbers of columns and ridges come from tables; fits confirm both. XᵀY and
    the Gram matrix are computed once for all splits; each training part is centred and scaled
    by itself, and every fit starts from its own part of the data.

    Parameters
    ----------
    ranks, row_sparsities, column_sparsities : sequence of int, or None
        Values to choose from; None for all that make sense (rank 0 among them), and [None] for
        no limit. When all three are given and their product with ``ridges`` has at most 100
        points, all of them are tried.
    ridges : sequence of float, or None
        Ridges to choose from; None for 0 and eleven from a thousandth to three times the mean
        curvature of the loss.
    cv : int, scikit-learn splitter or iterable of (train, test)
        As in scikit-learn; ``PredefinedSplit`` for a validation set.
    refit_rule : {"best", "one_se"}
        Which model is refitted to all the data: the one of least error, or the simplest (fewest
        degrees of freedom) of those tried whose error is within one standard error of it.
    standardize, solver, start, step, update, fit_intercept, max_iter, tol, random_state
        As in :class:`SparseReducedRankRegressor`, for the final fit; the search is by pursuit.
    n_jobs : int, optional
        Threads over splits and models.
    verbose : int, default 0
        Whether to show progress on standard error.
    callback : callable, optional
        Called with a :class:`~thinrank.selection.SearchRecord` after each model; returning True
        ends the search, as Ctrl-C does, and the best model so far is refitted.

    Attributes
    ----------
    best_params_ : dict
        Exactly rank, row_sparsity, column_sparsity and ridge, with which
        ``SparseReducedRankRegressor(**best_params_)`` fits the same model. Rank 0 comes with
        sparsities of 0.
    best_index_ : int
        Its place in ``cv_results_``.
    best_score_ : float
        Minus its mean squared error on held-out rows.
    cv_results_ : dict of arrays
        In the layout of scikit-learn's GridSearchCV: ``params``, ``param_rank`` and so on,
        ``split0_test_score`` and so on, ``mean_test_score``, ``std_test_score``,
        ``rank_test_score`` and ``mean_fit_time``; scores are negative mean squared errors.
    n_splits_ : int
    factors_, coef_, intercept_, rank_, row_support_, column_support_
        Of the final fit; see :class:`SparseReducedRankRegressor`.
    n_iter_, status_, history_
        Of the final fit.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(random_state=0)
    >>> est = tr.SparseReducedRankRegressorCV(cv=5).fit(X, Y)
    >>> sorted(est.best_params_)
    ['column_sparsity', 'rank', 'ridge', 'row_sparsity']
    >>> bool((est.row_support_ == truth.row_support).all())
    True
    """

    def __init__(
        self,
        ranks: Sequence[int] | None = None,
        row_sparsities: Sequence[int | None] | None = None,
        column_sparsities: Sequence[int | None] | None = None,
        ridges: Sequence[float] | None = None,
        *,
        cv: Any = 5,
        refit_rule: str = "best",
        standardize: bool = True,
        solver: str = "pursuit",
        start: Any = "auto",
        step: Any = "auto",
        update: str = "simultaneous",
        fit_intercept: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-7,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[Any], object] | None = None,
    ) -> None:
        self.ranks = ranks
        self.row_sparsities = row_sparsities
        self.column_sparsities = column_sparsities
        self.ridges = ridges
        self.cv = cv
        self.refit_rule = refit_rule
        self.standardize = standardize
        self.solver = solver
        self.start = start
        self.step = step
        self.update = update
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    best_params_: dict[str, Any]
    best_index_: int
    best_score_: float
    cv_results_: dict[str, Any]
    n_splits_: int
    n_iter_: int
    status_: Status
    history_: History

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> SparseReducedRankRegressorCV:
        """Choose the sizes on held-out rows, and fit all the data with them.

        Parameters
        ----------
        X : array, data frame, scipy sparse matrix, LinearOperator or Design, of shape (n, p)
        y : array or data frame of shape (n, k) or (n,)
            Responses Y.
        sample_weight : array of shape (n,), optional
            Weights of the rows, in the fits and in the errors.
        groups : array of shape (n,), optional
            For splitters that keep groups together.

        Returns
        -------
        self
        """
        rule = check_refit_rule(self.refit_rule)
        check_options(self.solver, self.start, self.step, self.update, self.max_iter, self.tol)
        names = column_names(y)
        design, target = check_training_data(self, X, y)
        weight = check_weights(sample_weight, design)
        matrix = target[:, None] if target.ndim == 1 else target
        problem = Problem.prepare(
            design,
            matrix,
            weight,
            fit_intercept=self.fit_intercept,
            standardize_columns=self.standardize,
            scale_targets=self.standardize,
            ridge=0.0,
        )
        with searching(self.callback, self.verbose) as callback:
            found = find_sizes(
                problem,
                weight,
                self.ranks,
                self.row_sparsities,
                self.column_sparsities,
                self._ridges(),
                criterion="cv",
                cv=self.cv,
                rule=rule,
                center=self.fit_intercept,
                scale=self.standardize,
                seed=seed_from(self.random_state),
                tol=self.tol,
                n_jobs=self.n_jobs,
                callback=callback,
                groups=groups,
            )
        self.n_splits_ = len(found.search.evaluations[0].parts)
        if rule == "one_se" and self.n_splits_ < 2:
            raise ValueError(
                'refit_rule="one_se" needs the standard error over at least two splits; cv has '
                f"{self.n_splits_}"
            )
        for message in found.warnings:
            warnings.warn(message, SelectionWarning, stacklevel=2)
        self._keep_results(found)
        self._refit(X, y, sample_weight)
        keep_target_names(self, names)
        return self

    def _ridges(self) -> list[float] | None:
        if self.ridges is None:
            return None
        ridges = as_choices("ridges", self.ridges)
        for ridge in ridges:
            if not isinstance(ridge, Real) or not 0 <= float(ridge) < float("inf"):
                raise ValueError(f"ridges must be numbers at least 0 and finite, got {ridge!r}")
        return [float(ridge) for ridge in ridges]

    def _keep_results(self, found: Found) -> None:
        evaluations = found.search.evaluations
        scores = -np.asarray([e.parts for e in evaluations])  # (models, splits)
        mean, deviation = scores.mean(axis=1), scores.std(axis=1)
        params = [found.space.params(e.sizes) for e in evaluations]
        self.cv_results_ = {
            "mean_fit_time": np.asarray([e.seconds / scores.shape[1] for e in evaluations]),
            **{
                f"param_{key}": np.ma.MaskedArray([p[key] for p in params], dtype=object)
                for key in params[0]
            },
            "params": params,
            **{f"split{i}_test_score": scores[:, i] for i in range(scores.shape[1])},
            "mean_test_score": mean,
            "std_test_score": deviation,
            "rank_test_score": rankdata(-mean, method="min").astype(np.int32),
        }
        chosen = found.chosen.sizes
        self.best_index_ = next(i for i, e in enumerate(evaluations) if e.sizes == chosen)
        self.best_params_ = params[self.best_index_]
        self.best_score_ = float(mean[self.best_index_])

    def _refit(self, X: Any, y: Any, sample_weight: Any) -> None:
        final = SparseReducedRankRegressor(
            **self.best_params_,
            standardize=self.standardize,
            solver=self.solver,
            start=self.start,
            step=self.step,
            update=self.update,
            fit_intercept=self.fit_intercept,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
        ).fit(X, y, sample_weight)
        self._keep_as(final)
        self.n_iter_, self.status_, self.history_ = final.n_iter_, final.status_, final.history_
