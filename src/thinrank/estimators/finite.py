"""Missing and infinite predictors: an error that names the columns and the remedies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config

from thinrank import arrays

# Columns that the message names.
_MOST_NAMED = 5
_REMEDIES = (
    "Fill them in, for example with make_pipeline(SimpleImputer(), estimator) of scikit-learn, or "
    "drop these columns or rows. (Missing entries are allowed in Y, not in X.)"
)


def check_finite_predictors(X: Any, names: Any = None) -> None:
    """Raise a ValueError that names the columns of X with NaN or infinite cells.

    ``names``: None for indices.
    """
    if get_config()["assume_finite"] or _all_finite(X):
        return
    missing, infinite = _bad_cells(X)
    bad = missing + infinite
    columns = np.flatnonzero(bad)
    named = [
        f"{j if names is None else repr(str(names[j]))} ({bad[j]})" for j in columns[:_MOST_NAMED]
    ]
    more = f" and {len(columns) - _MOST_NAMED} more columns" if len(columns) > _MOST_NAMED else ""
    counts = (("NaN", int(missing.sum())), ("infinity", int(infinite.sum())))
    what = [f"{kind} in {n} cell{'s' * (n > 1)}" for kind, n in counts if n]
    where = "column" if len(columns) == 1 else "columns"
    raise ValueError(
        f"Input X contains {' and '.join(what)}, in {where} {', '.join(named)}{more} "
        f"(with the number of such cells in each). {_REMEDIES}"
    )


def _all_finite(X: Any) -> bool:
    values = X.data if issparse(X) else X
    xp = arrays.namespace(values)
    if xp.isdtype(values.dtype, ("bool", "integral")):
        return True
    with arrays.without_overflow_warnings():
        total = xp.sum(values)  # without a copy; it is finite in nearly all cases
    return math.isfinite(total) or bool(xp.all(xp.isfinite(values)))


def _bad_cells(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of NaN and of infinite cells in each column."""
    if issparse(X):
        entries = X.tocoo()
        values, columns, count = entries.data, entries.col, X.shape[1]
        return (
            np.bincount(columns[np.isnan(values)], minlength=count),
            np.bincount(columns[np.isinf(values)], minlength=count),
        )
    numbers = arrays.to_numpy(X)
    return np.isnan(numbers).sum(axis=0), np.isinf(numbers).sum(axis=0)
