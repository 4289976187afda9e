"""Data frames of pandas and polars, in and out: names, columns that are no numbers, predictions."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np

from thinrank.core.extras import import_optional
from thinrank.designs.blocks import RowBlocks

# Names that a message lists.
_MOST_NAMED = 5


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
    _check_distinct(argument, names)
    bad = [
        (name, dtype)
        for j, (name, dtype) in enumerate(zip(names, dtypes, strict=True))
        if not _is_numeric(X, j, dtype)
    ]
    if not (bad and numeric):
        return
    shown = ", ".join(f"{name!r} ({_kind(dtype)})" for name, dtype in bad[:_MOST_NAMED])
    more = f" and {len(bad) - _MOST_NAMED} more" if len(bad) > _MOST_NAMED else ""
    remedy = (
        "Encode categories as columns of zeros and ones, with pandas.get_dummies(X) or, in a "
        "pipeline, with OneHotEncoder in a ColumnTransformer; drop columns that are identifiers."
    )
    if argument == "Y":
        remedy = (
            "Drop these columns; for categories use SparseReducedRankClassifier or "
            'SparseReducedRankGLM(family="multinomial").'
        )
    raise ValueError(
        f"{argument} must contain numbers, but could not convert {len(bad)} of its {len(names)} "
        f"columns: {shown}{more}. {remedy}"
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


def _check_distinct(argument: str, names: list[Any]) -> None:
    counts = Counter(names)
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        shown = ", ".join(f"{name!r} ({counts[name]} times)" for name in repeated[:_MOST_NAMED])
        more = f" and {len(repeated) - _MOST_NAMED} more" if len(repeated) > _MOST_NAMED else ""
        raise ValueError(
            f"{argument} must have columns with different names, got {shown}{more}; rename the "
            f"columns, or pass {argument}.to_numpy(), which has no names"
        )


def _is_numeric(X: Any, j: int, dtype: Any) -> bool:
    kind = getattr(dtype, "kind", None)
    if kind is None:  # polars
        numeric = getattr(dtype, "is_numeric", None)
        return numeric is None or bool(numeric()) or str(dtype) in ("Boolean", "Null")
    if str(dtype) == "category":
        return False
    if kind in "biufc":
        return True
    if kind != "O" or not hasattr(X, "iloc"):
        return kind not in "OMmSU"
    try:  # numbers may be held as objects
        np.asarray(X.iloc[:, j].array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        column = X.iloc[:, j]
        return _is_missing_or_number(column)
    return True


def _is_missing_or_number(column: Any) -> bool:
    """Whether every entry of a column of objects is a number or missing."""
    try:
        np.asarray(column.dropna(), dtype=np.float64)
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
