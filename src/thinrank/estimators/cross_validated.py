"""Two-way sparse reduced-rank regression with sizes chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from thinrank.estimators.base import FactorRegressor
from thinrank.estimators.fit import Found, find_sizes, whole_fit
from thinrank.estimators.problem import Problem, TrainingData
from thinrank.estimators.regressor import fit_regression
from thinrank.estimators.validation import check_exchange, check_ridge
from thinrank.minimize import as_solver, as_start
from thinrank.selection.choice import check_refit_rule, deviations
from thinrank.selection.space import as_choices, check_axes


@dataclass(eq=False, repr=False)
class SparseReducedRankRegressorCV(FactorRegressor):
    """:class:`SparseReducedRankRegressor` with control over the cross-validation.

    The search is that of ``SparseReducedRankRegressor(criterion="cv")``, and with the default
    parameters so is the result. This class adds grids of values to choose from, splitters with
    groups, and ``cv_results_``.

    Parameters
    ----------
    ranks : sequence of int or None, default=None
        Ranks to choose from; None for all possible ranks. Rank 0, which predicts the means, is
        included only with None.
    row_sparsities : sequence of (int or None), or None, default=None
        Numbers of predictors to choose from; None for all possible numbers, ``[None]`` for no
        limit.
    column_sparsities : sequence of (int or None), or None, default=None
        Numbers of responses to choose from; None for all possible numbers, ``[None]`` for no
        limit. If ``ranks``, ``row_sparsities`` and ``column_sparsities`` are all given and their
        grid with the ridges has at most 100 points, all of them are tried, with exchanges of
        predictors unless ``exchange=False``.
    ridges : sequence of float or None, default=None
        Ridges to choose from; None for 0 and 22 values between 1e-5 and 100 times the
        mean curvature of the loss.
    cv : int, cross-validation splitter or iterable of (train, test), default=5
        The splits. An integer is the number of folds of a random partition, whose seed comes from
        ``random_state``; with at most 500 rows the best models are evaluated on one or two further
        partitions, too. A splitter or an iterable is used without further partitions; use
        ``PredefinedSplit`` for a validation set.
    refit_rule : {"best", "one_se", "thinnest"}, default="best"
        Which model is fitted to all rows, as in :class:`SparseReducedRankRegressor`. "one_se"
        needs at least two splits.
    loss, always_keep, impute, standardize, solver, exchange, start, fit_intercept, max_iter, tol, \
random_state, n_jobs, verbose
        As in :class:`SparseReducedRankRegressor`.
    callback : callable or None, default=None
        Called with a :class:`~thinrank.core.result.Record` after each model. If it returns True,
        or on Ctrl-C, the search ends, and the best model so far is fitted.

    Attributes
    ----------
    best_params_ : dict
        The chosen rank, row_sparsity, column_sparsity, ridge and exchange;
        ``SparseReducedRankRegressor(**best_params_)`` fits the same model. For rank 0 both
        sparsities are 0.
    best_index_ : int
        Index of the chosen model in ``cv_results_``. The choice depends on ``refit_rule`` and on
        the further partitions, so it need not be the model with the highest score.
    best_score_ : float
        ``mean_test_score`` of the chosen model.
    cv_results_ : dict of arrays
        The models of the last search, in the layout of scikit-learn's ``GridSearchCV``:
        ``params``, ``param_rank`` and so on, ``split0_test_score`` and so on,
        ``mean_test_score``, ``std_test_score``, ``rank_test_score`` and ``mean_fit_time``. Scores
        are negative mean squared errors over all responses, on the splits of ``cv`` without the
        further partitions. With ``standardize=True`` they are in units of the noise in each
        response, not of Y, and only serve to compare these models.
    search_ : list of Record
        One record per model that was tried.
    n_splits_ : int
        Number of splits in ``cv_results_``.
    factors_, coef_, intercept_, kept_, kept_coef_, rank_, row_support_, column_support_, \
factor_means_, factor_scale_, explained_variance_ratio_, r2_, held_out_r2_, n_samples_, \
feature_scale_, target_scale_, warnings_, n_passes_, n_iter_, status_, history_, imputed_means_, \
feature_categories_, n_features_in_, feature_names_in_, target_names_in_
        Attributes of the final fit; see :class:`SparseReducedRankRegressor`.

    Warns
    -----
    thinrank.core.warnings.SelectionWarning
        In the same cases as :class:`SparseReducedRankRegressor`.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(random_state=0)
    >>> est = tr.SparseReducedRankRegressorCV(cv=5).fit(X, Y)
    >>> sorted(est.best_params_)
    ['column_sparsity', 'exchange', 'rank', 'ridge', 'row_sparsity']
    >>> bool((est.row_support_ == truth.row_support).all())
    True
    """

    ranks: Sequence[int] | None = None
    row_sparsities: Sequence[int | None] | None = None
    column_sparsities: Sequence[int | None] | None = None
    ridges: Sequence[float] | None = None
    _: KW_ONLY
    cv: Any = 5
    refit_rule: str = "best"
    loss: Any = "squared"
    always_keep: Any = None
    impute: str | None = None
    standardize: bool = True
    solver: Any = "auto"
    exchange: Any = "auto"
    start: Any = "auto"
    fit_intercept: bool = True
    max_iter: int | None = None
    tol: float = 1e-7
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    callback: Callable[[Any], object] | None = None

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        entry_weight: Any = None,
    ) -> SparseReducedRankRegressorCV:
        """Choose the sizes by the error on held-out rows and fit all rows with them.

        Parameters
        ----------
        X : array, data frame, sparse matrix, operator or Design of shape (n_samples, n_features)
            Predictors. They are neither copied nor made dense.
        y : array or data frame of shape (n_samples, n_targets) or (n_samples,)
            Responses Y; NaN where an entry is missing.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows in the fits and in the errors. The scale of the weights has no
            effect. Hence integer weights are not equivalent to repeated rows: the noise levels of
            the responses, and with them the errors, depend on the number of rows.
        groups : array of shape (n_samples,), default=None
            Groups of the rows, such as the patients that samples are of: the splits by which sizes
            are chosen divide none. Used by splitters with groups; a number of folds becomes
            ``GroupKFold``.
        entry_weight : array of the shape of y, default=None
            Weights of the entries of Y, 0 for entries to leave out.

        Returns
        -------
        self : SparseReducedRankRegressorCV
            The fitted estimator.
        """
        with whole_fit(
            self, X=X, y=y, sample_weight=sample_weight, groups=groups, entry_weight=entry_weight
        ):
            weights = sample_weight, entry_weight
            fit_regression(self, X, y, *weights, groups, _check_parameters, self._search)
        return self

    def _search(self, data: TrainingData, problem: Problem, solver: Any) -> Found:
        grid = self.ranks, self.row_sparsities, self.column_sparsities, self._ridges()
        found = find_sizes(self, problem, data, solver, grid, "cv")
        self.n_splits_ = len(found.evaluations[0].parts)
        if self.refit_rule == "one_se" and self.n_splits_ < 2:
            raise ValueError(
                f'refit_rule="one_se" needs at least two splits, but cv has {self.n_splits_}'
            )
        self._keep_results(found)
        return found

    def _ridges(self) -> list[float] | None:
        if self.ridges is None:
            return None
        ridges = as_choices("ridges", self.ridges)
        for ridge in ridges:
            check_ridge("ridges", ridge, "finite non-negative numbers")
        return [float(ridge) for ridge in ridges]

    def _keep_results(self, found: Found) -> None:
        evaluations = found.evaluations
        scores = -np.asarray([e.parts for e in evaluations])  # (models, splits)
        mean, deviation = scores.mean(axis=1), deviations(scores)
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


def _check_parameters(estimator: Any, shape: tuple[int, int], samples: int) -> None:
    """Check the parameters before any computation."""
    check_refit_rule(estimator.refit_rule)
    check_exchange(estimator.exchange)
    solver = as_solver(estimator.solver, estimator.max_iter, estimator.tol)
    as_start(estimator.start, solver.exchanges_rows)
    check_axes(shape, estimator.ranks, estimator.row_sparsities, estimator.column_sparsities)
