"""Tables from files of any of the formats."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from thinrank.tables.array_files import read_npy, read_npz
from thinrank.tables.csv_files import read_text_table
from thinrank.tables.errors import TableError
from thinrank.tables.options import ReadOptions
from thinrank.tables.parquet_files import read_parquet
from thinrank.tables.row_names import with_row_names
from thinrank.tables.table import Table

TEXT_SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".dat", ".csv.gz", ".tsv.gz", ".txt.gz")
"""Suffixes of delimited text files."""
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers")


def read_table(path: str | Path, options: ReadOptions | None = None, *, prefix: str = "x") -> Table:
    r"""Read a table from a CSV, TSV, Parquet, NPY or NPZ file.

    Parameters
    ----------
    path : path
        The file. The suffix tells the format; text files may be compressed (``.csv.gz``).
    options : ReadOptions, default=None
        What is known about the file; the rest is detected.
    prefix : {"x", "y"}, default="x"
        Whether the file has predictors or responses: first letter of the names of columns that
        have none, and name of the array in an NPZ file.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        If the file cannot be used. The message names the file, the row and the column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from thinrank.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "X.csv")
    ...     _ = path.write_text("id;age;sex\na;61,5;f\nb;NA;m\nc;47;f\n")
    ...     table = read_table(path)
    >>> table.names, table.index, table.numbers[:, 0]
    (['age', 'sex'], ['a', 'b', 'c'], array([61.5,  nan, 47. ]))
    >>> table.texts
    {1: array(['f', 'm', 'f'], dtype=object)}
    """
    path, options = Path(path), options or ReadOptions()
    if path.is_dir():
        raise TableError("is a folder, expected a file", file=str(path))
    if not path.exists():
        raise TableError("there is no such file", file=str(path))
    name = path.name.lower()
    try:
        if name.endswith(TEXT_SUFFIXES):
            table = read_text_table(path, options, prefix)
        elif name.endswith(".npy"):
            table = _typed(read_npy(path, prefix), options)
        elif name.endswith(".npz"):
            table = _typed(read_npz(path, prefix), options)
        elif name.endswith((".parquet", ".pq")):
            table = _typed(read_parquet(path, options), options)
        else:
            remedy = "; save it as CSV" if name.endswith(_SPREADSHEETS) else ""
            raise TableError(
                f"unknown file type {path.suffix!r}; expected CSV, TSV, Parquet, NPY or NPZ"
                + remedy,
                file=str(path),
            )
    except (PermissionError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TableError(f"cannot be read: {reason}", file=str(path)) from None
    if not table.names and options.wanted is None:
        raise TableError("has no columns to use", file=str(path))
    _check_finite(table)
    return table


def _typed(table: Table, options: ReadOptions) -> Table:
    """The table of a format with types: names of the rows, and the columns that are wanted."""
    table = with_row_names(table, options)
    kept = [j for j, name in enumerate(table.names) if options.keeps(name)]
    ignored = [name for name in table.names if not options.keeps(name)]
    return replace(table.take_columns(kept), ignored=ignored)


def checksum(path: str | Path) -> str:
    """The SHA-256 checksum of a file, to tell later whether it has changed.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    str
    """
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_finite(table: Table) -> None:
    places = np.argwhere(np.isinf(table.numbers))
    if len(places):
        row, column = places[0]
        number = table.numbers[row, column]
        raise table.error(f"expected a finite number, got {number}", row, table.names[column])
