"""Tables from NumPy's files: one matrix (NPY) or several named arrays (NPZ)."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np

from thinrank.tables.errors import TableError, listed
from thinrank.tables.header import column_names, made_up_names
from thinrank.tables.table import Table

# Names of arrays in NPZ files that have the names of columns.
_COLUMN_NAMES = {
    "x": ("X_names", "feature_names", "names", "columns"),
    "y": ("Y_names", "y_names", "target_names", "names", "columns"),
}
_ROW_NAMES = ("index", "row_names")
# Exceptions of NumPy, which parses the header as Python, and of zipfile about damaged files.
_BROKEN = (
    ValueError,
    TypeError,
    KeyError,
    EOFError,
    OverflowError,
    RuntimeError,  # includes NotImplementedError
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_npy(path: Path, prefix: str) -> Table:
    """Read a matrix; its columns have no names."""
    try:
        with path.open("rb") as stream:
            values = np.load(stream, allow_pickle=False)
    except _BROKEN as error:
        raise TableError(f"cannot be read as NPY: {error}", file=str(path)) from None
    if hasattr(values, "files"):
        raise TableError("is an archive of arrays; rename it to .npz", file=str(path))
    return _table(path, values, None, None, prefix)


def read_npz(path: Path, prefix: str) -> Table:
    """Read the array X or Y of an NPZ file, or its only one, and names if it has any."""
    file = str(path)
    try:
        # np.load does not always close a file that it opened itself, if the file is damaged
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as content:
            if not hasattr(content, "files"):
                raise ValueError("it contains a single array; rename it to .npy")
            arrays = {name: content[name] for name in content.files}
    except _BROKEN as error:
        raise TableError(f"cannot be read as NPZ: {error}", file=file) from None
    matrices = [name for name, values in arrays.items() if values.dtype.kind in "biuf"]
    wanted = [name for name in matrices if name.lower() == prefix] or matrices
    if len(wanted) != 1:
        raise TableError(
            f"must have an array {prefix.upper()!r} or a single array of numbers; it has "
            f"{listed(list(arrays)) or 'none'}",
            file=file,
        )
    names = next((arrays[name] for name in _COLUMN_NAMES[prefix] if name in arrays), None)
    index = next((arrays[name] for name in _ROW_NAMES if name in arrays), None)
    return _table(path, arrays[wanted[0]], names, index, prefix)


def _table(
    path: Path,
    values: np.ndarray,
    names: np.ndarray | None,
    index: np.ndarray | None,
    prefix: str,
) -> Table:
    file = str(path)
    if values.dtype.kind not in "biuf":
        raise TableError(f"must contain numbers, got the type {values.dtype}", file=file)
    matrix = values[:, None] if values.ndim == 1 else values
    if matrix.ndim != 2:
        raise TableError(f"must have one or two dimensions, got {values.ndim}", file=file)
    rows, columns = matrix.shape
    if rows == 0 or columns == 0:
        raise TableError(f"has no entries: its shape is {matrix.shape}", file=file)
    for what, given, count in (("columns", names, columns), ("rows", index, rows)):
        if given is not None and given.shape != (count,):
            raise TableError(f"has {given.size} names for {count} {what}", file=file)
    return Table(
        file=file,
        names=made_up_names(columns, prefix)
        if names is None
        else column_names([str(name) for name in names], columns, file, 1),
        named=names is not None,
        numbers=matrix.astype(np.float64),
        texts={},
        index=None if index is None else [str(name) for name in index],
        rows=np.arange(1, rows + 1),
    )
