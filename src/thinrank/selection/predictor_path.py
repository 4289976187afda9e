"""How a fit changes with the number of predictors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from thinrank import arrays
from thinrank.core.imports import import_optional
from thinrank.core.warnings import SelectionWarning
from thinrank.minimize import check_size

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class PredictorPath:
    """Fits with increasing numbers of predictors; the result of :func:`path`.

    Attributes
    ----------
    row_sparsities : ndarray of int, of shape (n_points,)
        The numbers of predictors, increasing.
    strengths : ndarray of shape (n_points, n_features)
        Norms of the standardized coefficients of each predictor; 0 where it is not selected.
    scores : ndarray of shape (n_points,)
        ``score`` of the fits on the data they were fitted to.
    names : list of str
        Names of the predictors.
    chosen : int
        Number of predictors of the estimator that the path belongs to.
    rank : int
        Rank of the fits, where the number of predictors allows it.
    """

    row_sparsities: np.ndarray
    strengths: np.ndarray = field(repr=False)
    scores: np.ndarray = field(repr=False)
    names: list[str] = field(repr=False)
    chosen: int
    rank: int

    def to_frame(self) -> pd.DataFrame:
        """The strengths, with a row per number of predictors and a column per predictor in use."""
        used, pandas = self.strengths.any(axis=0), import_optional("pandas")
        frame = pandas.DataFrame(self.strengths, self.row_sparsities, self.names)
        return frame.loc[:, used].rename_axis("row_sparsity")


def path(
    est: Any, X: Any, Y: Any, row_sparsities: Sequence[int] | None = None, **fit_params: Any
) -> PredictorPath:
    """Fit models with increasing numbers of predictors, at the rank and ridge of a fit.

    Parameters
    ----------
    est : estimator
        A fitted estimator. It is not changed: clones of it are fitted with the rank, number of
        responses and ridge of ``est.best_params_``.
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        Predictors.
    Y : array or data frame of shape (n_samples, n_targets) or (n_samples,)
        Responses.
    row_sparsities : sequence of int or None, default=None
        Numbers of predictors; None for at most 16 of them, up to twice that of ``est``.
    **fit_params
        Further arguments of ``est.fit``, such as ``sample_weight``.

    Returns
    -------
    PredictorPath
        Strengths of the predictors and scores; :func:`thinrank.plot.path` draws them.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    >>> est = tr.SparseReducedRankRegressor(2, 5, None).fit(X, Y)
    >>> found = tr.selection.path(est, X, Y, row_sparsities=[2, 4, 6])
    >>> found.row_sparsities, found.chosen
    (array([2, 4, 6]), 5)
    """
    check_is_fitted(est, "best_params_")
    params, chosen = est.best_params_, len(est.row_support_)
    if params["rank"] == 0:
        raise ValueError("est has rank 0, that is, no predictors; for a path, fit it with rank=1")
    available = est.n_features_in_ - len(est.kept_)
    if row_sparsities is None:
        end = min(max(2 * chosen, 10), available, max(X.shape[0] - 1, chosen))
        spaced = np.geomspace(1, end, 16).round().astype(int)  # closer where they are small
        row_sparsities = [min(chosen, end), *(range(1, end + 1) if end <= 16 else spaced)]
    for count in row_sparsities:
        check_size("each of row_sparsities", count, available, "the predictors to choose from")
    if not len(row_sparsities):
        raise ValueError("row_sparsities must not be empty")
    counts = sorted({int(count) for count in row_sparsities})
    weights = {key: fit_params[key] for key in ("sample_weight", "offset") if key in fit_params}
    strengths, scores = [], []
    for count in counts:
        sizes = {"rank": min(params["rank"], count), "row_sparsity": count}
        sizes |= {name: params[name] for name in ("column_sparsity", "ridge")}
        if "row_sparsities" in est.get_params():  # the class that has grids
            grids = ("ranks", "row_sparsities", "column_sparsities", "ridges")
            sizes = {grid: [size] for grid, size in zip(grids, sizes.values(), strict=True)}
        with warnings.catch_warnings(action="ignore", category=SelectionWarning):  # on the sizes
            fitted = clone(est).set_params(**sizes).fit(X, Y, **fit_params)
        scores.append(float(fitted.score(X, Y, **weights)))
        V = arrays.to_numpy(fitted.factors_.V) / fitted.target_scale_[:, None]  # QR: |UVᵀ| = |URᵀ|
        norms = np.linalg.norm(arrays.to_numpy(fitted.factors_.U) @ np.linalg.qr(V)[1].T, axis=1)
        strengths.append(np.where(norms > 0, norms * fitted.feature_scale_, 0.0))
    names = getattr(est, "feature_names_in_", [f"x{i}" for i in range(est.n_features_in_)])
    lines = np.asarray(counts), np.stack(strengths), np.asarray(scores)
    return PredictorPath(*lines, [str(name) for name in names], chosen, int(params["rank"]))
