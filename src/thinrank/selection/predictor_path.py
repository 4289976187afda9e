"""How a fit changes with the number of predictors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from thinrank import arrays
from thinrank.core.extras import import_optional
from thinrank.core.warnings import SelectionWarning

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PredictorPath", "path"]

# Number of numbers of predictors on a default path: enough for smooth lines, and few fits.
_MOST_POINTS = 16
# A default path goes to this multiple of the number of predictors of the fit, and at least to
# _LEAST_END, so that it shows what happens beyond the fit.
_BEYOND = 2
_LEAST_END = 10


@dataclass(frozen=True, eq=False)
class PredictorPath:
    """Fits with increasing numbers of predictors; the result of :func:`path`.

    Attributes
    ----------
    row_sparsities : ndarray of int, of shape (n_points,)
        The numbers of predictors, increasing.
    strengths : ndarray of shape (n_points, n_features)
        For each number and each predictor the Euclidean norm of its standardised coefficients over
        the responses; 0 where it is not selected.
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
        """A data frame with a row per number of predictors and a column per predictor in use.

        Returns
        -------
        DataFrame
            The strengths; the index is the number of predictors.
        """
        frames = import_optional("pandas")
        used = np.flatnonzero(self.strengths.any(axis=0))
        return frames.DataFrame(
            self.strengths[:, used],
            index=frames.Index(self.row_sparsities, name="row_sparsity"),
            columns=[self.names[i] for i in used],
        )


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
    >>> bool((found.scores[1:] > found.scores[:-1]).all())
    True
    """
    check_is_fitted(est, "best_params_")
    params = est.best_params_
    if params["rank"] == 0:
        raise ValueError(
            "est has rank 0, that is, no predictors; a path needs a rank: fit est with rank=1"
        )
    chosen = len(est.row_support_)
    available = est.n_features_in_ - len(est.kept_)
    if row_sparsities is None:
        counts = _default_counts(chosen, min(available, max(X.shape[0] - 1, chosen)))
    else:
        counts = _checked(row_sparsities, available)
    strengths, scores = [], []
    for count in counts:
        fitted = _with_rows(est, params, count)
        with warnings.catch_warnings():
            # remarks about the choice of sizes, which were given here
            warnings.simplefilter("ignore", SelectionWarning)
            fitted.fit(X, Y, **fit_params)
        strengths.append(_strengths(fitted))
        weight = {key: fit_params[key] for key in ("sample_weight", "offset") if key in fit_params}
        scores.append(float(fitted.score(X, Y, **weight)))
    names = getattr(est, "feature_names_in_", None)
    if names is None:
        names = [f"x{i}" for i in range(est.n_features_in_)]
    return PredictorPath(
        np.asarray(counts),
        np.stack(strengths),
        np.asarray(scores),
        [str(name) for name in names],
        chosen,
        int(params["rank"]),
    )


def _checked(row_sparsities: Sequence[int], available: int) -> list[int]:
    """The given numbers, sorted and without repetition."""
    counts = list(row_sparsities)
    for count in counts:
        whole = isinstance(count, Integral) and not isinstance(count, bool)
        if not whole or not 1 <= count <= available:
            raise ValueError(
                f"row_sparsities must contain integers from 1 to {available}, the number of "
                f"predictors to choose from, got {count!r}"
            )
    if not counts:
        raise ValueError("row_sparsities must not be empty")
    return sorted({int(count) for count in counts})


def _default_counts(chosen: int, most: int) -> list[int]:
    """Numbers from 1 on, closer together where they are small, with the chosen one."""
    end = min(max(_BEYOND * chosen, _LEAST_END), most)
    spaced = np.unique(np.round(np.geomspace(1, end, _MOST_POINTS)).astype(int))
    counts = range(1, end + 1) if end <= _MOST_POINTS else spaced
    return sorted({int(count) for count in counts} | {min(chosen, most)})


def _with_rows(est: Any, params: dict[str, Any], count: int) -> Any:
    """A clone of the estimator with given sizes."""
    rank = min(params["rank"], count)
    columns, ridge = params["column_sparsity"], params["ridge"]
    sized = clone(est)
    if "row_sparsities" in sized.get_params():  # the class that has grids
        return sized.set_params(
            ranks=[rank], row_sparsities=[count], column_sparsities=[columns], ridges=[ridge]
        )
    return sized.set_params(rank=rank, row_sparsity=count, column_sparsity=columns, ridge=ridge)


def _strengths(fitted: Any) -> np.ndarray:
    """Norms of the standardised coefficients of each predictor, without those always kept."""
    U = arrays.to_numpy(fitted.factors_.U)
    V = arrays.to_numpy(fitted.factors_.V)
    V = V / fitted.target_scale_[:, None]
    norms = np.sqrt(np.maximum(np.einsum("ir,rs,is->i", U, V.T @ V, U), 0.0))
    return np.where(norms > 0, norms * fitted.feature_scale_, 0.0)
