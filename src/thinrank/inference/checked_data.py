"""The data of a selection: checked, centred, with columns of X of unit norm, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from thinrank import arrays
from thinrank.estimators import input_types
from thinrank.estimators.validation import check_finite_predictors

# A column whose deviations from its mean are below this fraction of its largest entry is constant:
# they are rounding errors.
_ROUNDING = 1e-12
# Fewest rows with which anything can be tested.
_LEAST_ROWS = 4


@dataclass(frozen=True, eq=False)
class Sample:
    """Predictors and responses without constant columns."""

    X: np.ndarray  # (n_samples, n_varying) predictors that vary, centred, each of norm 1
    Y: np.ndarray  # (n_samples, n_varying_targets) responses that vary, centred, each of norm √n
    varying: np.ndarray  # positions of the columns of X among all predictors
    names: np.ndarray  # (n_features,) names of all predictors


def as_sample(X: Any, Y: Any) -> Sample:
    """Check predictors and responses, and centre and scale them."""
    input_types.check_kind("X", X)
    Y = input_types.plain_responses(Y)
    input_types.check_columns("X", X)
    input_types.check_columns("Y", Y)
    input_types.check_row_names(X, Y)
    found = input_types.column_names(X)
    predictors = _as_numbers("X", X.toarray() if issparse(X) else X)
    check_finite_predictors(predictors, found)
    responses = _responses(Y)
    n, p = predictors.shape
    if len(responses) != n:
        raise ValueError(
            f"X and Y must have the same number of rows: X has {n}, Y has {len(responses)}"
        )
    if n < _LEAST_ROWS:
        raise ValueError(f"X must have at least {_LEAST_ROWS} rows, got {n}")
    names = np.asarray([f"x{j}" for j in range(p)], dtype=object) if found is None else found
    scaled, varying = _unit_columns(predictors)
    return Sample(scaled, _unit_columns(responses)[0] * np.sqrt(n), varying, names)


def _as_numbers(name: str, data: Any) -> np.ndarray:
    if arrays.is_array(data):
        data = arrays.to_numpy(data)
    return check_array(data, dtype=np.float64, ensure_all_finite=False, input_name=name)


def _responses(Y: Any) -> np.ndarray:
    if arrays.is_array(Y):
        Y = arrays.to_numpy(Y)
    vector = np.ndim(Y) == 1
    Y = _as_numbers("Y", np.asarray(Y)[:, None] if vector else Y)
    missing = int(np.count_nonzero(np.isnan(Y)))
    if missing:
        raise ValueError(
            f"Y must have no missing entries, got {missing}; leave out rows with missing entries, "
            "or fill them in. The noise of entries that are filled in is too small, so that false "
            "discoveries are more frequent if there are many"
        )
    if not np.isfinite(Y).all():
        raise ValueError("Y must be finite, but infinity was found")
    return Y


def _unit_columns(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centred columns of norm 1 without those that are constant, and positions of the rest."""
    largest = np.abs(A).max(axis=0, initial=0.0)
    A = A / np.where(largest > 0, largest, 1.0)  # squares neither overflow nor underflow
    A -= A.mean(axis=0)
    norms = np.linalg.norm(A, axis=0)
    kept = np.flatnonzero(norms > _ROUNDING * np.sqrt(len(A)))
    return A[:, kept] / norms[kept], kept
