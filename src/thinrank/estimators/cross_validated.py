"""Two-way sparse reduced-rank regression with sizes chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from thinrank.core.checks import check_number
from thinrank.estimators.fit import Found
from thinrank.estimators.regressor import SelectedRegressor
from thinrank.selection.choice import deviations
from thinrank.selection.space import as_choices, check_axes


@dataclass(eq=False, repr=False)
class SparseReducedRankRegressorCV(SelectedRegressor):
    """:class:`SparseReducedRankRegressor` with control over the cross-validation.

    The search is that of ``SparseReducedRankRegressor(criterion="cv")``, and with the default
    parameters so is the result. This class adds grids of values to choose from, splitters with
    groups, and ``cv_results_``.

    Parameters
    ----------
    ranks : sequence of int or None, default=None
        Ranks to choose from; None for all possible ranks. Rank 0, which predicts the means, is
        included only with None.
    row_sparsities, column_sparsities : sequence of (int or None), or None, default=None
        Numbers of predictors and of responses to choose from; None for all possible numbers,
        ``[None]`` for no limit. If these and ``ranks`` are given and their grid with the ridges has
        at most 100 points, all of them are tried, with exchanges of predictors unless
        ``exchange=False``.
    ridges : sequence of float or None, default=None
        Ridges to choose from; None for 0 and 22 values between 1e-5 and 100 times the
        mean curvature of the loss.
    cv : int, cross-validation splitter or iterable of (train, test), default=5
        The splits, as in :class:`SparseReducedRankRegressor`; with further partitions of an
        integer only the best models are evaluated. Use ``PredefinedSplit`` for a validation set.
    refit_rule : {"best", "one_se", "thinnest"}, default="best"
        As in :class:`SparseReducedRankRegressor`; "one_se" needs at least two splits.
    loss, always_keep, impute, standardize, solver, exchange, start, fit_intercept, max_iter, tol, \
random_state, n_jobs, verbose, callback
        As in :class:`SparseReducedRankRegressor`.

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
    n_splits_ : int
        Number of splits in ``cv_results_``.
    factors_, coef_, intercept_, kept_, kept_coef_, rank_, row_support_, column_support_, \
factor_means_, factor_scale_, explained_variance_ratio_, r2_, held_out_r2_, n_samples_, \
feature_scale_, target_scale_, warnings_, search_, n_passes_, n_iter_, status_, history_, \
imputed_means_, feature_categories_, n_features_in_, feature_names_in_, target_names_in_
        Attributes of the final fit; see :class:`SparseReducedRankRegressor`.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(random_state=0)
    >>> est = tr.SparseReducedRankRegressorCV(cv=5).fit(X, Y)
    >>> sorted(est.best_params_)
    ['column_sparsity', 'exchange', 'rank', 'ridge', 'row_sparsity']
    """

    ranks: Sequence[int] | None = None
    row_sparsities: Sequence[int | None] | None = None
    column_sparsities: Sequence[int | None] | None = None
    ridges: Sequence[float] | None = None

    def _check_sizes(self, shape: tuple[int, int], samples: int) -> None:
        check_axes(shape, self.ranks, self.row_sparsities, self.column_sparsities)

    def _grid(self) -> Sequence[Sequence[Any] | None]:
        ridges = self.ridges
        if ridges is not None:
            ridges = as_choices("ridges", ridges)
            for ridge in ridges:
                check_number("ridges", ridge, "finite non-negative numbers")
            ridges = [float(ridge) for ridge in ridges]
        return self.ranks, self.row_sparsities, self.column_sparsities, ridges

    def _keep_search(self, found: Found) -> None:
        evaluations = found.evaluations
        self.n_splits_ = len(evaluations[0].parts)
        if self.refit_rule == "one_se" and self.n_splits_ < 2:
            raise ValueError(
                f'refit_rule="one_se" needs at least two splits, but cv has {self.n_splits_}'
            )
        scores = -np.asarray([e.parts for e in evaluations])  # (models, splits)
        mean, deviation = scores.mean(axis=1), deviations(scores)
        params = found.tried
        self.cv_results_ = {
            "mean_fit_time": np.asarray([e.seconds / scores.shape[1] for e in evaluations]),
            **{
                f"param_{key}": np.ma.MaskedArray([p[key] for p in params], dtype=object)
                for key in params[0]
            },
            "params": list(params),
            **{f"split{i}_test_score": scores[:, i] for i in range(scores.shape[1])},
            "mean_test_score": mean,
            "std_test_score": deviation,
            "rank_test_score": rankdata(-mean, method="min").astype(np.int32),
        }
        self.best_index_ = params.index(found.params)
        self.best_score_ = float(mean[self.best_index_])
