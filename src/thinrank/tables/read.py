"""Tables from files of any of the formats."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import tokenize
import zipfile
import zlib
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from thinrank.core.imports import import_optional
from thinrank.tables.cells import NAN, is_missing, number_of
from thinrank.tables.errors import TableError, listed
from thinrank.tables.table import ReadOptions, Table, TextStyle
from thinrank.tables.text_files import Record, TextFile
from thinrank.tables.types import key_of, typed

_TEXT = tuple(f".{kind}{gz}" for kind in ("csv", "tsv", "tab", "txt", "dat") for gz in ("", ".gz"))
_EXACT = 2.0**53  # larger whole numbers, such as barcodes, are not exact as floating-point numbers
# Names of arrays in NPZ files that have the names of columns.
_COLUMN_NAMES = {
    "x": ("X_names", "feature_names", "names", "columns"),
    "y": ("Y_names", "y_names", "target_names", "names", "columns"),
}
# What NumPy, which parses the header as Python, and libraries raise about damaged files.
_BROKEN = (
    *(ValueError, TypeError, LookupError, EOFError, ArithmeticError, RuntimeError, SyntaxError),
    *(OSError, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)


def read_table(path: str | Path, options: ReadOptions | None = None, *, prefix: str = "x") -> Table:
    r"""Read a table from a CSV, TSV, Excel, Parquet, NPY or NPZ file.

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
    options = options or ReadOptions()
    table = read_cells(path, options, prefix)
    return typed(table, options, key_of(table, options))


def read_cells(path: str | Path, options: ReadOptions, prefix: str = "x") -> Table:
    """Read a file; which column has the names of the rows, and types of columns, are open."""
    table = _read(Path(path), options, prefix)
    for mark in options.missing:
        number = number_of(mark, "." if table.style is None else table.style.decimal)
        if number is not None:
            table.numbers[table.numbers == number] = np.nan
    return table


def _read(path: Path, options: ReadOptions, prefix: str) -> Table:
    file, name = str(path), path.name.lower()
    if path.is_dir():
        raise TableError("is a folder, expected a file", file=file)
    if not path.exists():
        raise TableError("there is no such file", file=file)
    try:
        if name.endswith(_TEXT):
            source = TextFile(path, options.encoding, options.delimiter)
            decimal = options.decimal or source.decimal()
            style = TextStyle(source.delimiter, decimal, source.marked)
            return _from_records(file, source.records, style, options, prefix, source.notes)
        if name.endswith((".xlsx", ".xlsm")):
            return _read_excel(path, options, prefix)
        if name.endswith((".parquet", ".pq")):
            return _read_parquet(path, options)
        if name.endswith((".npy", ".npz")):
            return _read_arrays(path, options, prefix)
    except (PermissionError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TableError(f"cannot be read: {reason}", file=file) from None
    remedy = "; save it as .xlsx or .csv" if name.endswith((".xls", ".xlsb", ".ods")) else ""
    raise TableError(
        f"unknown file type {path.suffix!r}; expected CSV, TSV, Excel, Parquet, NPY or NPZ{remedy}",
        file=file,
    )


def checksum(path: str | Path) -> str:
    """The SHA-256 checksum of a file, to tell later whether it has changed."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _from_records(
    file: str,
    records: Callable[[], Iterator[Record]],
    style: TextStyle | None,
    options: ReadOptions,
    prefix: str,
    notes: list[str],
) -> Table:
    """The table of records of texts: numbers at once, and texts aside, to save memory."""
    decimal = "." if style is None else style.decimal
    filled = ((row, cells) for row, cells in records() if not _is_blank(cells))
    first = next(filled, None)
    if first is None:
        raise TableError("is empty", file=file)
    named = _is_header(first[1], decimal) if options.header is None else options.header
    begin = next(filled, None) if named else first
    if begin is None:
        raise TableError("has a header and no rows", file=file)
    width = len(begin[1])
    names = _column_names(first[1], width, file, first[0]) if named else _made_up(width, prefix)

    def body() -> Iterator[Record]:
        return _rows(records(), width, begin[0], file)

    def cells_of(place: int) -> list[str]:
        return [cells[place].strip() for _, cells in body()]

    rows: list[int] = []
    numbers = array("d")
    strays: dict[int, dict[int, str]] = defaultdict(dict)
    for row, cells in body():
        numbers.fromlist(_numbers(cells, len(rows), strays, options, decimal))
        rows.append(row)
    matrix = np.frombuffer(numbers, dtype=np.float64).reshape(len(rows), width)
    for j in np.flatnonzero((np.abs(matrix) >= _EXACT).any(axis=0)).tolist():
        for i, cell in enumerate(cells_of(j)):
            if abs(matrix[i, j]) >= _EXACT and cell.lstrip("+-").isdigit():
                strays[j][i], matrix[i, j] = cell, np.nan
    texts = {j: np.full(len(rows), None, dtype=object) for j in sorted(strays)}
    for j, found in strays.items():
        texts[j][list(found)] = list(found.values())
    if not named:
        notes.append(
            f"{file} has no header; its columns are numbered from 0 (give --header if the first "
            "row has the names)"
        )
    if decimal == ",":
        notes.append(f"{file} has decimal commas")
    lines = np.asarray(rows)
    return Table(file, names, named, matrix, texts, lines, cells=cells_of, notes=notes, style=style)


def _rows(records: Iterator[Record], width: int, begin: int, file: str) -> Iterator[Record]:
    """The rows below the header.

    Blank lines are skipped; rows of empty cells between others are missing cells.
    """
    pending: list[Record] = []
    for row, cells in records:
        if row < begin:
            continue
        if _is_blank(cells):
            if len(cells or [""]) == width:
                pending.append((row, cells or [""]))
            continue
        if len(cells) != width:
            cell = "cell" if len(cells) == 1 else "cells"
            raise TableError(f"has {len(cells)} {cell}, expected {width}", file=file, row=row)
        yield from pending
        pending.clear()
        yield row, cells


def _numbers(
    cells: list[str],
    row: int,
    strays: dict[int, dict[int, str]],
    options: ReadOptions,
    decimal: str,
) -> list[float]:
    """The numbers of a row; NaN in place of texts, which are put among the strays.

    All cells are converted at once, except those of columns in which there was a text.
    """
    found, single = [NAN] * len(cells), list(range(len(cells)))
    together = "".join(cells)
    if "_" not in together and not (decimal == "," and "." in together):  # 1_000 in Python
        plain = [cell.replace(",", ".") for cell in cells] if decimal == "," else list(cells)
        for j in strays:
            plain[j] = "nan"
        with contextlib.suppress(ValueError):
            found, single = list(map(float, plain)), list(strays)
    for j in single:
        number = number_of(cells[j], decimal, thousands=options.decimal is not None)
        if number is not None:
            found[j] = number
        elif not is_missing(cells[j], options.missing):
            strays[j][row] = cells[j].strip()
    return found


def _is_blank(cells: list[str]) -> bool:
    return not any(cell.strip() for cell in cells)


def _is_header(record: list[str], decimal: str) -> bool:
    """Whether a first row has names: a text in it, or the numbers 0, 1, 2, … that pandas writes."""
    numbers = [number_of(cell, decimal) for cell in (record if record[0].strip() else record[1:])]
    if any(number is None for number in numbers):
        return True
    count = len(numbers)
    return count > 2 and numbers in ([*range(count)], [*range(1, count + 1)])


def _column_names(record: list[Any], width: int, file: str, row: int) -> list[str]:
    """The names in a header, which may be one shorter than the other rows, as R writes it."""
    names = [str(cell).strip() for cell in record]
    if len(names) == width - 1:
        names.insert(0, "")
    if len(names) != width:
        raise TableError(
            f"has {len(names)} names, but the next row has {width} cells", file=file, row=row
        )
    places: dict[str, list[str]] = defaultdict(list)
    for place, name in enumerate(names, start=1):
        places[name].append(str(place))
    repeated = [name for name, found in places.items() if name and len(found) > 1]
    if repeated:
        name = repeated[0]
        more = f", and {len(repeated) - 1} more are repeated" if len(repeated) > 1 else ""
        raise TableError(
            f"names of columns must be different: {name!r} is in columns "
            f"{', '.join(places[name][:-1])} and {places[name][-1]}{more}",
            file=file,
            row=row,
        )
    return names


def _made_up(count: int, prefix: str) -> list[str]:
    return [f"{prefix}{j}" for j in range(count)]


def _read_excel(path: Path, options: ReadOptions, prefix: str) -> Table:
    """The first sheet of a workbook, as texts of its cells."""
    import_optional("openpyxl")
    try:
        with import_optional("pandas").ExcelFile(path, engine="openpyxl") as book:
            sheets = [str(name) for name in book.sheet_names]
            frame = book.parse(0, header=None, dtype=object, na_filter=False)
    except _BROKEN as error:
        raise _broken(path, "Excel", error) from None
    rows = [[_as_text(cell) for cell in row] for row in frame.to_numpy().tolist()]
    notes = [f"{path}: the first of {len(sheets)} sheets, {sheets[0]!r}"] if sheets[1:] else []
    return _from_records(
        str(path), lambda: iter(enumerate(rows, start=1)), None, options, prefix, notes
    )


def _read_parquet(path: Path, options: ReadOptions) -> Table:
    import_optional("pyarrow")
    pandas = import_optional("pandas")
    try:
        frame = pandas.read_parquet(path, engine="pyarrow")
    except _BROKEN as error:
        raise _broken(path, "Parquet", error) from None
    if frame.index.name is not None or not frame.index.equals(pandas.RangeIndex(len(frame))):
        frame = frame.reset_index(names=frame.index.name or "")
    return _from_frame(path, frame, options)


def _read_arrays(path: Path, options: ReadOptions, prefix: str) -> Table:
    """The matrix of an NPY file, or the array X or Y of an NPZ file, or its only one."""
    file = str(path)
    try:
        # np.load does not always close a file that it opened itself, if the file is damaged
        with path.open("rb") as stream:
            content = np.load(stream, allow_pickle=False)
            names = getattr(content, "files", None)
            arrays = (
                {n: np.asarray(content[n]) for n in names} if names else {"": np.asarray(content)}
            )
    except _BROKEN as error:
        raise _broken(path, path.suffix[1:].upper(), error) from None
    matrices = [name for name, values in arrays.items() if values.dtype.kind in "biuf"]
    wanted = [name for name in matrices if name.lower() == prefix] or matrices
    if len(wanted) != 1:
        raise TableError(
            f"must have an array {prefix.upper()!r} or a single array of numbers; it has "
            f"{listed(list(arrays)) or 'none'}",
            file=file,
        )
    values = arrays[wanted[0]]
    if values.ndim not in (1, 2):
        raise TableError(f"must have one or two dimensions, got {values.ndim}", file=file)
    frame = import_optional("pandas").DataFrame(values)
    titles = next((arrays[name] for name in _COLUMN_NAMES[prefix] if name in arrays), None)
    index = next((arrays[name] for name in ("index", "row_names") if name in arrays), None)
    for what, given, count in zip(("rows", "columns"), (index, titles), frame.shape, strict=True):
        if given is not None and given.shape != (count,):
            raise TableError(f"has {given.size} names for {count} {what}", file=file)
    frame.columns = _made_up(frame.shape[1], prefix) if titles is None else titles.astype(str)
    if index is not None:
        frame.insert(0, "", [str(cell).strip() for cell in index])
    return _from_frame(path, frame, options, named=titles is not None)


def _broken(path: Path, kind: str, error: BaseException) -> TableError:
    reason = str(error).partition("\n")[0]
    return TableError(f"cannot be read as {kind}: {reason}", file=str(path))


def _from_frame(path: Path, frame: Any, options: ReadOptions, named: bool = True) -> Table:
    """The table of a data frame, whose columns may be of any type."""
    types = import_optional("pandas").api.types
    file = str(path)
    if 0 in frame.shape:
        raise TableError(f"has no entries: its shape is {frame.shape}", file=file)
    names = _column_names(list(frame.columns), frame.shape[1], file, 1)

    def cells_of(place: int) -> list[str]:
        column = frame.iloc[:, place].tolist()
        for row, cell in enumerate(column, start=1):
            if isinstance(cell, (list, dict, np.ndarray)):
                told = f"expected a number or a text, got {cell}"
                raise TableError(told, file=file, row=row, column=names[place])
        return [_as_text(cell) for cell in column]

    plain = np.array([types.is_numeric_dtype(each) for each in frame.dtypes])
    numbers = np.full(frame.shape, np.nan)
    numbers[:, plain] = frame.loc[:, plain].to_numpy(dtype=np.float64, na_value=np.nan)
    for j in np.flatnonzero((np.abs(numbers) >= _EXACT).any(axis=0)).tolist():
        if types.is_integer_dtype(frame.dtypes.iloc[j]):
            plain[j], numbers[:, j] = False, np.nan
    texts = {
        j: np.array([None if is_missing(c, options.missing) else c for c in cells_of(j)], object)
        for j in np.flatnonzero(~plain).tolist()
    }
    rows = np.arange(1, len(frame) + 1)
    return Table(file, names, named, numbers, texts, rows, cells=cells_of)


def _as_text(cell: object) -> str:
    """A cell as it would be in a CSV file; 2.0 is 2, since whole numbers with gaps are floats."""
    if import_optional("pandas").isna(cell):
        return ""
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))
    if isinstance(cell, datetime):
        return str(cell).removesuffix(" 00:00:00")
    return str(cell).strip()
