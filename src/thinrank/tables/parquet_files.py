"""Tables from Parquet files; pandas and pyarrow are optional."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from thinrank.core.imports import import_optional
from thinrank.tables.errors import TableError
from thinrank.tables.header import column_names
from thinrank.tables.options import ReadOptions
from thinrank.tables.row_names import as_text
from thinrank.tables.table import Table


def read_parquet(path: Path, options: ReadOptions) -> Table:
    """Read a Parquet file."""
    import_optional("pyarrow")
    pandas = import_optional("pandas")
    file = str(path)
    try:
        frame = pandas.read_parquet(path, engine="pyarrow")
    except (ValueError, OSError) as error:
        first = str(error).partition("\n")[0]
        raise TableError(f"cannot be read as Parquet: {first}", file=file) from None
    if 0 in frame.shape:
        raise TableError(f"has no entries: its shape is {frame.shape}", file=file)
    names = column_names([str(name) for name in frame.columns], frame.shape[1], file, 1)
    rows = np.arange(1, len(frame) + 1)
    index = _stored_index(frame, pandas)
    texts: dict[int, np.ndarray] = {}
    numbers = np.full(frame.shape, np.nan)
    for j, name in enumerate(names):
        column = frame.iloc[:, j]
        if pandas.api.types.is_numeric_dtype(column) and name not in options.categorical:
            numbers[:, j] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            texts[j] = _texts(column)
    index_name = "" if index is None else str(frame.index.name or "")
    return Table(file, names, True, numbers, texts, index, rows, index_name)


def _stored_index(frame: Any, pandas: Any) -> list[str] | None:
    if isinstance(frame.index, pandas.RangeIndex):
        return None
    return [str(name) for name in frame.index]


def _texts(column: Any) -> np.ndarray:
    values = np.empty(len(column), dtype=object)
    missing = column.isna().to_numpy()
    values[:] = [
        None if gone else as_text(cell) for cell, gone in zip(column, missing, strict=True)
    ]
    return values
