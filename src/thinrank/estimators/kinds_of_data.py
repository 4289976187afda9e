"""Kinds of data that look like arrays but are not: masked, sparse, complex and lazy."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np
from scipy.sparse import issparse

from thinrank import arrays
from thinrank.core import memory
from thinrank.core.checks import check_range
from thinrank.designs.blocks import RowBlocks
from thinrank.starts.elimination import MOST_ROWS

# Data in blocks are read into memory, once, if they fit this number of times into the memory
# budget.
_PART_OF_BUDGET = 64
# Classes of lazy data by the package that they are from, and what makes data of them.
_LAZY = {
    "polars": (("LazyFrame",), "collect()"),
    "dask": (("DataFrame", "Series", "Array"), "compute()"),
    "dask_expr": (("DataFrame", "Series"), "compute()"),
}


def check_kind(name: str, data: Any) -> None:
    """Raise an error if data are lazy, masked in some entries, or too large for floats."""
    package = type(data).__module__.partition(".")[0]
    kinds, method = _LAZY.get(package, ((), ""))
    kind = type(data).__name__
    if kind in kinds:
        article = "an" if kind[0] == "A" else "a"
        raise TypeError(
            f"{name} is {article} {kind} of {package}, which does not hold its data; pass "
            f"{name}.{method}"
        )
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        count = int(np.count_nonzero(np.ma.getmaskarray(data)))
        raise ValueError(
            f"{name} is a masked array with {count} masked cell{'s' * (count > 1)}. Fill them in, "
            "for example with SimpleImputer of scikit-learn, or drop these columns or rows. "
            "(Masked cells are allowed in Y, where they count as missing, not in X.)"
        )
    check_range(name, data)


def without_mask(data: Any) -> Any:
    """A masked array as an array with NaN for masked cells; anything else as it is."""
    if not isinstance(data, np.ma.MaskedArray):
        return data
    if not np.ma.is_masked(data):
        return data.data
    texts = data.dtype.kind in "OSU"
    numbers = data.data.astype(object) if texts else data.data
    return np.where(np.ma.getmaskarray(data), np.nan, numbers)


def plain_responses(Y: Any, *, in_blocks: bool = False) -> Any:
    """Responses with NaN for masked cells; an error if they are sparse, complex or lazy."""
    if issparse(Y):
        raise TypeError(
            "Sparse data was passed for Y, but dense data is required, because zeros in Y are "
            "values like others; pass Y.toarray()"
        )
    Y = lazy_rows("Y", Y)
    if isinstance(Y, RowBlocks):
        return Y if in_blocks else Y.everything()
    if type(Y).__module__.partition(".")[0] == "dask" and type(Y).__name__ == "Array":
        return np.asarray(Y)
    if isinstance(Y, np.ma.MaskedArray):
        return without_mask(Y)
    check_kind("Y", Y)
    if arrays.is_array(Y) and not isinstance(Y, np.ndarray):
        xp = arrays.namespace(Y)
        if xp.isdtype(Y.dtype, "complex floating"):
            raise ValueError(f"Complex data not supported: Y has dtype {Y.dtype}")
    elif getattr(getattr(Y, "dtype", None), "kind", "") == "c":
        raise ValueError(f"Complex data not supported: Y has dtype {Y.dtype}")
    return Y


def lazy_rows(name: str, data: Any) -> Any:
    """Arrays and data frames of Dask as row blocks; anything else as it is."""
    if type(data).__module__.partition(".")[0] not in ("dask", "dask_expr"):
        return data
    if getattr(data, "ndim", 0) != 2:
        return data
    from thinrank.designs.dask_blocks import DaskBlocks  # imports Dask

    return DaskBlocks(data, name=name)


def in_memory(Y: Any) -> Any:
    """Responses in row blocks as one array; anything else as it is."""
    return Y.everything() if isinstance(Y, RowBlocks) else Y


def by_moments(X: Any, Y: Any) -> TypeGuard[RowBlocks]:
    """Whether a least squares fit can be made from moments of row blocks.

    Missing entries of Y are known if it is an array; row blocks of Y must be complete.
    """
    if not isinstance(X, RowBlocks):
        return False
    return isinstance(Y, RowBlocks) or not bool(np.isnan(Y).any())


def reads_in_blocks(X: RowBlocks) -> bool:
    """Whether X stays in blocks; small data, and data with few rows, are read into memory.

    With at most 2000 rows models with more predictors than rows are compared, which need inner
    products of rows.
    """
    (n, p), size = X.shape, X.prototype.itemsize
    small = X.is_local and memory.fits(_PART_OF_BUDGET * n * p, size)
    return n > MOST_ROWS and not small
