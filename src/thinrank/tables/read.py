"""The cells of files of any of the formats.

The csv module splits the records of text files: pandas fills rows that are too short without an
error, and needs five times as long for 50,000 columns.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import hashlib
import io
import re
import tokenize
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from thinrank.core.imports import import_optional
from thinrank.tables.cells import decimal_evidence, is_missing, number_of
from thinrank.tables.errors import TableError, listed

STRING = np.dtypes.StringDType()  # a cell of up to 15 bytes takes 16, an object of Python 64
_TEXT = tuple(f".{kind}{gz}" for kind in ("csv", "tsv", "tab", "txt", "dat") for gz in ("", ".gz"))
_EXCEL, _PARQUET, _NUMPY = (".xlsx", ".xlsm"), (".parquet", ".pq"), (".npy", ".npz")
_EXACT = 2.0**53  # larger whole numbers, such as barcodes, are not exact as floating-point numbers
_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # byte order marks, as in "Unicode text" of spreadsheets
_FORMATS = "CSV, TSV, Excel, Parquet, NPY or NPZ"
_SAMPLE = 20, 20_000  # records, and cells in all, that the delimiter is found from
_BLOCK = 1 << 26  # bytes of a line, and characters of a cell: a line of millions of cells
# What NumPy, which parses the header as Python, and libraries raise about damaged files.
_BROKEN = (
    *(ValueError, TypeError, LookupError, EOFError, ArithmeticError, RuntimeError, SyntaxError),
    *(OSError, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)


@dataclass(frozen=True)
class ReadOptions:
    """What the user says about a file; None leaves the decision to the reader.

    Parameters
    ----------
    header : bool or None, default=None
        Whether the first row has the names of the columns.
    index : str, False or None, default=None
        Name of the column with the names of the rows; False if there is none.
    categories : collection of str, default=()
        Columns of categories, even if they contain numbers or many texts.
    drop : collection of str, default=()
        Columns to leave out. Their cells are not checked.
    missing : collection of str, default=()
        More marks of missing cells.
    impute : bool, default=False
        Whether cells of predictors may be missing.
    delimiter : str or None, default=None
        The character between cells.
    decimal : {".", ","} or None, default=None
        The decimal mark. If it is given, the other mark may separate thousands.
    encoding : str or None, default=None
        The encoding of a text file; of two files, separated by a comma.
    only : collection of str or None, default=None
        Columns to keep; None for all. The cells of others are not checked.
    fitted : dict of str to list of str or None, default=None
        The categories of a fitted model, whose predictors the columns are.
    """

    header: bool | None = None
    index: str | bool | None = None
    categories: Collection[str] = ()
    drop: Collection[str] = ()
    missing: Collection[str] = ()
    impute: bool = False
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    only: Collection[str] | None = None
    fitted: Mapping[str, list[str]] | None = None

    def keeps(self, name: str) -> bool:
        """Whether a column is kept."""
        return name not in self.drop and (self.only is None or name in self.only)


@dataclass(frozen=True, eq=False)
class Table:
    """The cells of a file, before it is known what its columns are."""

    file: str  # as the user named it
    names: list[str]  # names of the columns; made up if the file does not have them
    named: bool  # whether it has them
    numbers: np.ndarray  # (n_rows, n_columns), NaN where a cell is missing or a text
    texts: dict[int, np.ndarray]  # strings of columns, empty where missing; not of binary numbers
    lines: np.ndarray  # rows of the file, counted from 1
    notes: list[str] = field(default_factory=list)  # what the reader decided
    style: dict[str, Any] = field(default_factory=dict)  # of text files: arguments of write_table

    def text(self, j: int) -> np.ndarray:
        """The cells of a column as they are in the file."""
        if j in self.texts:
            return self.texts[j]
        return np.array([_as_text(number) for number in self.numbers[:, j].tolist()], STRING)

    def is_text(self, j: int) -> np.ndarray:
        """Where the cells of a column are neither missing nor numbers."""
        if j not in self.texts:
            return np.zeros(len(self.lines), dtype=bool)
        return np.isnan(self.numbers[:, j]) & (self.texts[j] != "")

    def position(self, name: str) -> int:
        """The position of a column; a TableError if there is no such column."""
        if name not in self.names:
            raise self.error(f"has no column {name!r}; it has {listed(self.names)}")
        return self.names.index(name)

    def error(self, message: str, row: int | None = None, column: str | None = None) -> TableError:
        """An error about this file; ``row`` is a position."""
        line = None if row is None else int(self.lines[row])
        return TableError(message, file=self.file, row=line, column=column)


def checksum(path: str | Path) -> str:
    """The SHA-256 checksum of a file, to tell later whether it has changed."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_cells(path: str | Path, options: ReadOptions, prefix: str = "x") -> Table:
    """The cells of a file; ``prefix``: of made-up names, and the array of an NPZ file."""
    path = Path(path)
    file, name = str(path), path.name.lower()
    if path.is_dir():
        raise TableError("is a folder, expected a file", file=file)
    if not path.exists():
        raise TableError("there is no such file", file=file)
    readers = {
        _TEXT: _read_text,
        _EXCEL: _read_excel,
        _PARQUET: _read_parquet,
        _NUMPY: _read_arrays,
    }
    read = next((each for ends, each in readers.items() if name.endswith(ends)), None)
    if read is None:
        old = "; save it as .xlsx or .csv" if name.endswith((".xls", ".xlsb", ".ods")) else ""
        told = f"unknown file type {path.suffix!r}; expected {_FORMATS}{old}"
        raise TableError(told, file=file)
    try:
        table = read(path, options, prefix)
    except (PermissionError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TableError(f"cannot be read: {reason}", file=file) from None
    for mark in options.missing:
        hit = table.numbers == number_of(mark, table.style.get("decimal", "."))
        table.numbers[hit] = np.nan
        for j in np.flatnonzero(hit.any(axis=0)).tolist():
            if j in table.texts:
                table.texts[j][hit[:, j]] = ""
    return table


# ------------------------------------------------------------------------------------ text files


def _read_text(path: Path, options: ReadOptions, prefix: str) -> Table:
    file, packed, blocks = str(path), path.suffix.lower() == ".gz", []
    with (gzip.open if packed else open)(path, "rb") as stream:
        while block := stream.read(_BLOCK):
            if len(block) == _BLOCK and b"\n" not in block and b"\r" not in block:
                raise TableError(f"has a line of more than {_BLOCK:,} bytes", file=file)
            blocks.append(block)
    raw = b"".join(blocks)
    del blocks
    encoding = _encoding(raw, options.encoding, file)
    tabs = Path(path.stem if packed else path).suffix.lower() in (".tsv", ".tab")
    delimiter = options.delimiter or ("\t" if tabs else _delimiter(raw, encoding, file))
    marked = raw.startswith((codecs.BOM_UTF8, *_UTF16))
    records = _records(raw, encoding, delimiter, file)
    style = {"delimiter": delimiter, "decimal": options.decimal, "byte_order_mark": marked}
    return _from_records(file, records, style, options, prefix)


def _encoding(raw: bytes, given: str | None, file: str) -> str:
    """The encoding of a text: UTF-8, UTF-16 with a byte order mark, or the one that was given."""
    fault = TableError(f"is not a text file; expected {_FORMATS}", file=file)
    known = "utf-16" if raw.startswith(_UTF16) else "utf-8-sig"
    # streams need a mark where the order of bytes is not in the name
    named = given and re.sub(r"(?i)^utf[-_]?(16|32)$", r"utf-\1-le", given)
    for encoding in (known, named):
        try:
            if encoding is not None and "\0" not in raw.decode(encoding):
                return encoding
        except LookupError:
            raise TableError(f"there is no encoding {given!r}", file=file) from None
        except UnicodeDecodeError as error:
            told = (
                f"is not {given or 'UTF-8'} text (byte 0x{raw[error.start]:02x}); save it as "
                "UTF-8, or give its encoding, for example --encoding latin-1"
            )
            fault = TableError(told, file=file, row=raw.count(b"\n", 0, error.start) + 1)
        except UnicodeError as error:  # codecs with errors of their own, such as idna
            fault = TableError(f"is not {given} text ({error})", file=file)
    raise fault


def _records(
    raw: bytes, encoding: str, delimiter: str, file: str
) -> Iterator[tuple[int, list[str]]]:
    """The records of a text, each with the row that it begins in."""
    csv.field_size_limit(_BLOCK)
    lines = io.TextIOWrapper(io.BytesIO(raw), encoding=encoding, newline="")
    reader, end = csv.reader(lines, delimiter=delimiter, strict=True), 0
    try:
        for cells in reader:
            yield end + 1, [cell.strip() for cell in cells] or [""]
            end = reader.line_num
    except csv.Error as error:
        told = f"cannot be read: {error}; check the quotation marks"
        raise TableError(told, file=file, row=end + 1) from None


def _delimiter(raw: bytes, encoding: str, file: str) -> str:
    """Of comma, semicolon, tab and pipe, one that divides the first records equally.

    Tab and semicolon come first, since commas are frequent in other places.
    """
    widths: dict[str, list[int]] = {}
    for mark in "\t;,|":
        found = widths[mark] = [0]
        with contextlib.suppress(TableError):
            for _, cells in _records(raw, encoding, mark, file):
                if any(cells):
                    found.append(len(cells))
                if len(found) > _SAMPLE[0] or (len(found) > 2 and sum(found) > _SAMPLE[1]):
                    break
            found.pop(0)
    even = {
        mark: found[0]
        for mark, found in widths.items()
        if found and found[0] > 1 and len(set(found[1:])) < 2 and found[-1] - found[0] in (0, 1)
    }
    first = next((mark for mark in "\t;" if mark in even), None)
    # records of different lengths: the error about them needs the most likely delimiter
    likely = max(",;\t|", key=lambda mark: max(widths[mark], default=0))
    return first or max(even, key=even.__getitem__, default=likely)


def _from_records(
    file: str,
    records: Iterator[tuple[int, list[str]]],
    style: dict[str, Any],
    options: ReadOptions,
    prefix: str,
) -> Table:
    """The table of records of texts. Rows of empty cells between others are missing cells."""
    filled = ((line, cells) for line, cells in records if any(cells))
    first = next(filled, None)
    if first is None:
        raise TableError("is empty", file=file)
    named = _is_header(first[1]) if options.header is None else options.header
    begin = next(filled, None) if named else first
    if begin is None:
        raise TableError("has a header and no rows", file=file)
    width = len(begin[1])
    names = _column_names(first[1], width, file, first[0]) if named else _made_up(width, prefix)
    lines, rows, blank = [begin[0]], [np.array(begin[1], STRING)], []
    for line, cells in records:
        if len(cells) != width and any(cells):
            told = f"has {len(cells)} {'cell' if len(cells) == 1 else 'cells'}, expected {width}"
            raise TableError(told, file=file, row=line)
        if len(cells) == width:
            blank.append((line, np.array(cells, STRING)))
        if any(cells):
            lines += [line for line, _ in blank]
            rows += [row for _, row in blank]
            blank.clear()
    texts = np.stack(rows)
    del rows
    notes, decimal = [], options.decimal or "."
    if options.decimal is None and style.get("delimiter", ",") != ",":
        decimal = _decimal(zip(lines, texts, strict=True), file)
    if not named:
        notes.append(
            f"{file} has no header; its columns are numbered from 0 (give --header if the first "
            "row has the names)"
        )
    if decimal == ",":
        notes.append(f"{file} has decimal commas")
    numbers = np.full(texts.shape, np.nan)
    for j, name in enumerate(names):
        if j == 0 or options.fitted is None or options.keeps(name):
            numbers[:, j] = _numbers(texts[:, j], decimal, options)
    style = style and {**style, "decimal": decimal}
    columns = dict(enumerate(texts.T))
    return Table(file, names, named, numbers, columns, np.asarray(lines), notes, style)


def _decimal(rows: Iterable[tuple[int, np.ndarray]], file: str) -> str:
    """The decimal mark: a comma if numbers such as 1,5 occur, and none such as 1.5."""
    doubt: tuple[int, str] | None = None
    for line, cells in rows:
        found = {decimal_evidence(cell): cell for cell in reversed(cells.tolist())}
        if "." in found or "," in found:
            return "." if "." in found else ","
        if doubt is None and "?" in found:
            doubt = line, found["?"]
    if doubt is None:
        return "."
    raise TableError(
        f"{doubt[1]!r} is not clear: give --decimal point if its comma separates thousands, or "
        "--decimal comma if it is a decimal comma",
        file=file,
        row=doubt[0],
    )


def _numbers(texts: np.ndarray, decimal: str, options: ReadOptions) -> np.ndarray:
    """The numbers of a column, NaN elsewhere; missing cells of ``texts`` become empty."""
    cells = texts.tolist()
    together = "".join(cells)
    if "_" not in together and (decimal == "." or "." not in together):
        with contextlib.suppress(ValueError):
            plain = cells if decimal == "." else [cell.replace(",", ".") for cell in cells]
            numbers = np.array(list(map(float, plain)))
            if (np.abs(numbers) < _EXACT).all():
                return numbers
    numbers, thousands = np.full(len(cells), np.nan), options.decimal is not None
    for i, cell in enumerate(cells):
        number = number_of(cell, decimal, thousands)
        if is_missing(cell, options.missing):
            texts[i] = ""
        elif number is not None and (abs(number) < _EXACT or not cell.lstrip("+-").isdigit()):
            numbers[i] = number
    return numbers


def _is_header(record: list[str]) -> bool:
    """Whether a first row has names: a text in it, or the numbers 0, 1, 2, … that pandas writes."""
    cells = record if record[0] else record[1:]
    numbers = [number_of(cell, "," if "," in cell else ".") for cell in cells]
    if any(n is None and not is_missing(c) for n, c in zip(numbers, cells, strict=True)):
        return True
    count = len(numbers)
    return count > 2 and numbers in ([*range(count)], [*range(1, count + 1)])


def _column_names(record: list[Any], width: int, file: str, row: int) -> list[str]:
    """The names in a header, which may be one shorter than the other rows, as R writes it."""
    names = [str(cell).strip() for cell in record]
    if len(names) == width - 1:
        names.insert(0, "")
    if len(names) != width:
        told = f"has {len(names)} names, but the next row has {width} cells"
        raise TableError(told, file=file, row=row)
    repeated = [name for name, count in Counter(names).items() if name and count > 1]
    if repeated:
        places = [str(j) for j, name in enumerate(names, start=1) if name == repeated[0]]
        more = f", and {len(repeated) - 1} more are repeated" if len(repeated) > 1 else ""
        raise TableError(
            f"names of columns must be different: {repeated[0]!r} is in columns "
            f"{', '.join(places[:-1])} and {places[-1]}{more}",
            file=file,
            row=row,
        )
    return names


def _made_up(count: int, prefix: str) -> list[str]:
    return [f"{prefix}{j}" for j in range(count)]


# ----------------------------------------------------------------------------------- other files


def _read_excel(path: Path, options: ReadOptions, prefix: str) -> Table:
    """The first sheet of a workbook."""
    import_optional("openpyxl")
    try:
        with import_optional("pandas").ExcelFile(path, engine="openpyxl") as book:
            sheets = [str(name) for name in book.sheet_names]
            frame = book.parse(0, header=None, dtype=object, na_filter=False)
    except _BROKEN as error:
        raise _broken(path, "Excel", error) from None
    rows = ([_as_text(cell) for cell in row] for row in frame.to_numpy().tolist())
    table = _from_records(str(path), enumerate(rows, start=1), {}, options, prefix)
    if sheets[1:]:
        table.notes.append(f"{path}: the first of {len(sheets)} sheets, {sheets[0]!r}")
    return table


def _read_parquet(path: Path, options: ReadOptions, prefix: str) -> Table:
    import_optional("pyarrow")
    pandas = import_optional("pandas")
    try:
        frame = pandas.read_parquet(path, engine="pyarrow")
        if frame.index.name is not None or not frame.index.equals(pandas.RangeIndex(len(frame))):
            frame = frame.reset_index(names=[name or "" for name in frame.index.names])
    except _BROKEN as error:
        raise _broken(path, "Parquet", error) from None
    return _from_frame(path, frame, options)


def _read_arrays(path: Path, options: ReadOptions, prefix: str) -> Table:
    """The matrix of an NPY file, or the array X or Y of an NPZ file, or its only one."""
    file = str(path)
    try:
        # np.load does not always close a file that it opened itself, if the file is damaged
        with path.open("rb") as stream:
            content = np.load(stream, allow_pickle=False)
            names = getattr(content, "files", None)
            found = {"": content} if names is None else {n: np.asarray(content[n]) for n in names}
    except _BROKEN as error:
        raise _broken(path, path.suffix[1:].upper(), error) from None
    matrices = [name for name, values in found.items() if values.dtype.kind in "biuf"]
    wanted = [name for name in matrices if name.lower() == prefix] or matrices
    if len(wanted) != 1:
        raise TableError(
            f"must have an array {prefix.upper()!r} or a single array of numbers; it has "
            f"{listed(list(found)) or 'none'}",
            file=file,
        )
    values = found[wanted[0]]
    if values.ndim not in (1, 2):
        raise TableError(f"must have one or two dimensions, got {values.ndim}", file=file)
    frame = import_optional("pandas").DataFrame(values)
    own = ("X_names", "feature_names") if prefix == "x" else ("Y_names", "y_names", "target_names")
    titles = next((found[name] for name in (*own, "names", "columns") if name in found), None)
    index = next((found[name] for name in ("index", "row_names") if name in found), None)
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
    types, file = import_optional("pandas").api.types, str(path)
    if 0 in frame.shape:
        raise TableError(f"has no entries: its shape is {frame.shape}", file=file)
    names = _column_names(list(frame.columns), frame.shape[1], file, 1)
    dtypes = list(frame.dtypes)
    plain = np.array([types.is_numeric_dtype(each) for each in dtypes])
    numbers, texts = np.full(frame.shape, np.nan), {}
    numbers[:, plain] = frame.loc[:, plain].to_numpy(dtype=np.float64, na_value=np.nan)
    large = (np.abs(numbers) >= _EXACT).any(axis=0)
    for j in np.flatnonzero(~plain | large).tolist():
        if plain[j] and not types.is_integer_dtype(dtypes[j]):
            continue
        cells = frame.iloc[:, j].tolist()
        for row, cell in enumerate(cells, start=1):
            if isinstance(cell, (list, dict, np.ndarray)):
                told = f"expected a number or a text, got {cell}"
                raise TableError(told, file=file, row=row, column=names[j])
        texts[j] = np.array([_as_text(cell) for cell in cells], STRING)
        numbers[:, j] = _numbers(texts[j], options.decimal or ".", options)
    return Table(file, names, named, numbers, texts, np.arange(1, len(frame) + 1))


def _as_text(cell: object) -> str:
    """A cell as it would be in a CSV file; 2.0 is 2, since whole numbers with gaps are floats."""
    if import_optional("pandas").isna(cell):
        return ""
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))
    if isinstance(cell, datetime):
        return str(cell).removesuffix(" 00:00:00")
    return str(cell).strip()
