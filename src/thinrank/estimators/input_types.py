"""Data that are no plain arrays: frames, masked, sparse and lazy data, designs with names."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from thinrank import arrays
from thinrank.core.checks import check_range
from thinrank.core.imports import import_optional
from thinrank.designs.blocks import RowBlocks
from thinrank.designs.genotypes import first_names
from thinrank.selection.splits import is_small
from thinrank.starts.elimination import MOST_ROWS

# Classes of lazy data by the package that they are from, and what makes data of them.
_LAZY = {
    "polars": (("LazyFrame",), "collect()"),
    "dask": (("DataFrame", "Series", "Array"), "compute()"),
    "dask_expr": (("DataFrame", "Series"), "compute()"),
}


def first_few(texts: Iterable[str], most: int = 5) -> str:
    """The first of some texts, and how many more there are, for a message."""
    every = list(texts)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


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
    if arrays.is_array(Y) and arrays.namespace(Y).isdtype(Y.dtype, "complex floating"):
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


def reads_in_blocks(X: RowBlocks) -> bool:
    """Whether X stays in blocks; small data, and data with few rows, are read into memory.

    With at most 2000 rows models with more predictors than rows are compared, which need inner
    products of rows.
    """
    small = X.is_local and is_small(*X.shape, X.prototype.itemsize)
    return X.shape[0] > MOST_ROWS and not small


def column_names(Y: Any) -> np.ndarray | None:
    """Names of the columns of a data frame, or of a series, if they are all strings."""
    if isinstance(Y, RowBlocks):
        return Y.names
    columns = getattr(Y, "columns", None)
    if columns is None and len(getattr(Y, "shape", ())) == 1:
        name = getattr(Y, "name", None)  # of a series; polars has "" for none
        columns = [name] if name else None
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(list(columns), dtype=object)


def check_columns(argument: str, X: Any, *, numeric: bool = True) -> None:
    """Raise a ValueError about columns of a data frame with one name, or that are no numbers."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    names, dtypes = list(X.columns), list(X.dtypes)
    repeated = [f"{name!r} ({count} times)" for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"{argument} must have columns with different names, got {first_few(repeated)}; rename "
            f"the columns, or pass {argument}.to_numpy(), which has no names"
        )
    bad = [
        (name, dtype)
        for j, (name, dtype) in enumerate(zip(names, dtypes, strict=True))
        if not _is_numeric(X, j, dtype)
    ]
    if not (bad and numeric):
        return
    shown = first_few(f"{name!r} ({_kind(dtype)})" for name, dtype in bad)
    remedy = (
        "Columns of categories of pandas need the dtype category: "
        f"X.astype({{{bad[0][0]!r}: 'category'}}); drop columns that are identifiers."
    )
    if argument == "Y":
        remedy = (
            "Drop these columns; for categories use SparseReducedRankClassifier or "
            'SparseReducedRankGLM(family="multinomial").'
        )
    raise ValueError(
        f"{argument} must contain numbers, but could not convert {len(bad)} of its {len(names)} "
        f"columns: {shown}. {remedy}"
    )


def check_row_names(X: Any, Y: Any) -> None:
    """Raise a ValueError if X and Y have the same row names in another order.

    Rows are matched by position, as in scikit-learn, so that the responses would be those of other
    samples. If the names are different texts, a warning is issued.
    """
    if not (hasattr(X, "iloc") and hasattr(Y, "iloc")):  # polars has no row names
        return
    names_x, names_y = X.index, Y.index
    if len(names_x) != len(names_y) or names_x.equals(names_y):
        return
    if names_x.is_unique and names_y.is_unique and names_x.isin(names_y).all():
        raise ValueError(
            "the rows of X and Y have the same names in another order, and are matched by "
            "position; pass Y.loc[X.index], or, if the order is right, Y.set_axis(X.index)"
        )
    if all(isinstance(names[0], str) for names in (names_x, names_y)):
        place = next(i for i, (a, b) in enumerate(zip(names_x, names_y, strict=True)) if a != b)
        warnings.warn(
            f"the rows of X and Y have different names, such as {names_x[place]!r} and "
            f"{names_y[place]!r} in row {place}; they are matched by position",
            UserWarning,
            stacklevel=5,
        )


def _is_numeric(X: Any, j: int, dtype: Any) -> bool:
    kind = getattr(dtype, "kind", None)
    if kind is None:  # polars
        numeric = getattr(dtype, "is_numeric", None)
        return numeric is None or bool(numeric()) or str(dtype) in ("Boolean", "Null")
    if kind in "biufc":
        return True
    if str(dtype) == "category":
        return False
    if kind != "O" or not hasattr(X, "iloc"):
        return kind not in "OMmSU"
    try:  # numbers may be held as objects
        np.asarray(X.iloc[:, j].dropna(), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _kind(dtype: Any) -> str:
    """What a column contains, in words."""
    text = str(dtype).lower()
    if text.startswith(("cat", "enum")):
        return "categories"
    if text.startswith(("date", "time", "duration")):
        return "dates or times"
    return "text" if text in ("object", "str", "string", "utf8") else text


def as_frame(values: np.ndarray, names: list[str], like: Any) -> Any:
    """Predictions as a data frame of the library of ``like``, with its index."""
    if values.ndim == 1:
        values = values[:, None]
    if type(like).__module__.partition(".")[0] == "polars":
        polars = import_optional("polars")
        return polars.DataFrame({name: values[:, j] for j, name in enumerate(names)})
    return import_optional("pandas").DataFrame(
        values, columns=names, index=getattr(like, "index", None)
    )


def check_sample_ids(X: Any, Y: Any) -> None:
    """Raise a ValueError if the row names of Y are not the samples of X, in the same order."""
    ids = getattr(X, "sample_ids", None)
    if ids is None or not hasattr(Y, "iloc"):
        return
    names = list(Y.index)
    if not names or not all(isinstance(name, str) for name in names) or names == list(ids):
        return
    known = set(ids)
    unknown = [name for name in names if name not in known]
    if not unknown:
        raise ValueError(
            f"the {len(names)} rows of Y are not the {len(ids)} samples of X in the same order; "
            "pass X.for_samples(Y.index)"
        )
    raise ValueError(
        f"{len(unknown)} of the {len(names)} rows of Y are not samples of X, such as "
        f"{first_names(unknown)}; the samples of X are named like {first_names(ids)}. Pass "
        "X.for_samples(names) and Y.loc[names] with the names that both have, or, if the rows are "
        "in the same order, Y.to_numpy()"
    )


def check_feature_names(names: Iterable[str], expected: Iterable[str], estimator: str) -> None:
    """Raise a ValueError if a design names other predictors than those of the fit."""
    for place, (name, wanted) in enumerate(zip(names, expected, strict=True)):
        if name != wanted:
            raise ValueError(
                f"X must have the predictors that {estimator} was fitted to, in the same order; "
                f"predictor {place} is {name!r} instead of {wanted!r}"
            )
