"""The cells of files of any of the formats.

The csv module splits the records of text files: pandas fills rows that are too short without an
error, and needs five times as long for 50,000 columns.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import errno
import gzip
import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thinrank.core.imports import import_optional
from thinrank.tables.errors import TableError, counted, listed

STRING = np.dtypes.StringDType()  # a cell of up to 15 bytes takes 16, an object of Python 64
_EXPECTED = "expected CSV, TSV, Excel, Parquet, NPY or NPZ"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # byte order marks, as in "Unicode text" of spreadsheets
_SAMPLE = 20  # records that the delimiter is found from
_BLOCK = 1 << 26  # bytes of a line, and characters of a cell: a line of millions of cells
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_CORNER = re.compile(
    r"(unnamed:.*|ids?|index|idx|key|names?|row ?names?|row|samples?|subject|patient|participant)?"
    r"(?: ?(?:ids?|names?))?"
)
_MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", ".", "?"})
# numbers with a decimal mark, and those with the other mark between thousands
DECIMALS = {mark: re.compile(rf"[+-]?\d*[{mark}]\d+(e[+-]?\d+)?", re.I) for mark in ".,"}
THOUSANDS = {
    mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}([{other}]\d{{3}})+([{mark}]\d*)?")
    for mark, other in (".,", ",.")
}
_WHOLE = re.compile(r"([+-]?)0*(\d+)(?:[.,]0*)?")
_LARGE = re.compile(r"[+-]?\d{16,}(\.0*)?")
EXACT = 2.0**53  # larger whole numbers, such as barcodes, are not exact as floating-point numbers
# numbers with units, dates, times, ranges, currencies and limits of detection; but not "1120_A"
LIKE_NUMBER = re.compile(r"[<>≤≥~≈±=$€£¥+−–-]*\s*[.,]?\d")


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
class Source:
    """Where a table comes from; in the ``attrs`` of its data frame."""

    file: str  # as the user named it
    lines: np.ndarray  # rows of the file, counted from 1
    named: bool  # whether the file has the names of the columns
    notes: list[str]  # what was decided on the way
    style: dict[str, Any]  # of text files: arguments of write_table

    def error(self, message: str, row: int | None = None, column: str | None = None) -> TableError:
        """An error about this file; ``row`` is a position in the table."""
        line = None if row is None else int(self.lines[row])
        return TableError(message, file=self.file, row=line, column=column)

    def __deepcopy__(self, memo: object) -> Source:
        return self  # pandas copies attrs with every column


@dataclass(frozen=True, eq=False)
class Table:
    """The cells of a file, before it is known what its columns are."""

    source: Source
    names: list[str]  # names of the columns; made up if the file does not have them
    numbers: np.ndarray  # (n_rows, n_columns), NaN where a cell is missing or a text
    texts: dict[int, np.ndarray]  # strings of columns, empty where missing; not of binary numbers

    def text(self, j: int) -> np.ndarray:
        """The cells of a column as they are in the file."""
        if j in self.texts:
            return self.texts[j]
        return np.array([as_text(number) for number in self.numbers[:, j].tolist()], STRING)

    def is_text(self, j: int) -> np.ndarray:
        """Where the cells of a column are neither missing nor numbers."""
        if j not in self.texts:
            return np.zeros(len(self.numbers), dtype=bool)
        return np.isnan(self.numbers[:, j]) & (self.texts[j] != "")

    def position(self, name: str) -> int:
        """The position of a column; a TableError if there is no such column."""
        if name not in self.names:
            raise self.source.error(f"has no column {name!r}; it has {listed(self.names)}")
        return self.names.index(name)


def checksum(path: str | Path) -> str:
    """The SHA-256 checksum of a file, to tell later whether it has changed."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_cells(path: str | Path, options: ReadOptions, prefix: str = "x") -> Table:
    """The cells of a file; ``prefix``: of made-up names, and the array of an NPZ file."""
    path = Path(path)
    if not path.is_file():
        told = "is a folder, expected a file" if path.is_dir() else "there is no such file"
        raise FileNotFoundError(errno.ENOENT, told, str(path))
    try:
        table = _table(path, options, prefix)
    except TableError as error:
        error.file = str(path)
        raise
    for mark in options.missing:
        hit = table.numbers == number_of(mark, table.source.style.get("decimal", "."))
        table.numbers[hit] = np.nan
        for j in np.flatnonzero(hit.any(axis=0)).tolist():
            if j in table.texts:
                table.texts[j][hit[:, j]] = ""
    return table


def _table(path: Path, options: ReadOptions, prefix: str) -> Table:
    """The table in a file; an error without the name of the file if it has none."""
    name = path.name.lower().removesuffix(".gz")
    kind = next((kind for kind, (ends, *_) in _KINDS.items() if name.endswith(ends)), None)
    if kind is None or (name != path.name.lower() and kind != "text"):
        old = "; save it as .xlsx or .csv" if name.endswith((".xls", ".xlsb", ".ods")) else ""
        raise TableError(f"unknown file type {path.suffix!r}; {_EXPECTED}{old}")
    _, load, table_of = _KINDS[kind]
    try:
        content = load(path)
    except (TableError, ImportError, MemoryError):
        raise
    except Exception as error:  # libraries raise errors of any kind about damaged files
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise TableError(f"cannot be read as {kind}: {reason}") from None
    return table_of(path, content, options, prefix)


# ------------------------------------------------------------------------------------------ cells


def is_missing(cell: str, marks: Collection[str] = ()) -> bool:
    """Whether a cell is one of the usual marks of a missing value, or of those given."""
    return cell.lower() in _MISSING or cell in marks


def number_of(cell: str, decimal: str = "", thousands: bool = False) -> float | None:
    """The number in a cell; None if it is missing, a text, or too large a whole number.

    ``decimal``: a comma if there is one, unless it is given. ``thousands``: whether the other one
    of point and comma may separate thousands.
    """
    decimal = decimal or ("," if "," in cell else ".")
    if thousands and THOUSANDS[decimal].fullmatch(cell):
        cell = cell.replace("," if decimal == "." else ".", "")
    if "_" in cell or (decimal == "," and "." in cell):
        return None  # Python accepts 1_000
    cell = cell.replace(decimal, ".")
    try:
        number = float(cell)
    except ValueError:
        return None
    return None if number != number or is_inexact(cell) else number


def is_inexact(cell: str) -> bool:
    """Whether a text is a whole number that floating-point numbers may not represent."""
    return _LARGE.fullmatch(cell) is not None and abs(float(cell)) >= EXACT


def canonical(cell: str) -> str:
    """A name of a row without what files write differently: case, spaces, zeros around a number."""
    text = " ".join(unicodedata.normalize("NFKC", cell).split()).casefold()
    whole = _WHOLE.fullmatch(text)
    if whole is not None:
        return ("-" if whole[1] == "-" and whole[2] != "0" else "") + whole[2]
    number = number_of(text)
    return text if number is None else repr(number)


# ----------------------------------------------------------------------------- contents of files


def _bytes(path: Path) -> bytes:
    blocks = []
    with (gzip.open if path.suffix.lower() == ".gz" else open)(path, "rb") as stream:
        while block := stream.read(_BLOCK):
            if len(block) == _BLOCK and b"\n" not in block and b"\r" not in block:
                raise TableError(f"has a line of more than {_BLOCK:,} bytes")
            blocks.append(block)
    return b"".join(blocks)


def _sheet(path: Path) -> tuple[list[str], pd.DataFrame]:
    """The names of all sheets, and the cells of the first one."""
    import_optional("openpyxl")
    with pd.ExcelFile(path, engine="openpyxl") as book:
        cells = book.parse(0, header=None, dtype=object, na_filter=False)
        return list(map(str, book.sheet_names)), cells


def _parquet(path: Path) -> pd.DataFrame:
    """A data frame; an index that is no count of the rows becomes columns."""
    import_optional("pyarrow")
    frame = pd.read_parquet(path, engine="pyarrow")
    if frame.index.name is None and frame.index.equals(pd.RangeIndex(len(frame))):
        return frame
    return frame.reset_index(names=[name or "" for name in frame.index.names])


def _arrays(path: Path) -> dict[str, np.ndarray]:
    # np.load does not always close a file that it opened itself, if the file is damaged
    with path.open("rb") as stream:
        content = np.load(stream, allow_pickle=False)
        names = getattr(content, "files", None)
        return {"": content} if names is None else {n: np.asarray(content[n]) for n in names}


# ------------------------------------------------------------------------------------ text files


def _of_text(path: Path, raw: bytes, options: ReadOptions, prefix: str) -> Table:
    text = _decoded(raw, options.encoding)
    tabs = path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    delimiter = options.delimiter or ("\t" if tabs else _delimiter(text))
    marked = raw.startswith((codecs.BOM_UTF8, *_UTF16))
    style = {"delimiter": delimiter, "byte_order_mark": marked}
    return _of_records(path, _records(text, delimiter), style, options, prefix)


def _decoded(raw: bytes, given: str | None) -> str:
    """A text in UTF-8, UTF-16 with a byte order mark, or the encoding that was given."""
    fault = TableError(f"is not a text file; {_EXPECTED}")
    for encoding in ("utf-16" if raw.startswith(_UTF16) else "utf-8-sig", given):
        try:
            text = "\0" if encoding is None else raw.decode(encoding)
        except LookupError:
            raise TableError(f"there is no encoding {given!r}") from None
        except UnicodeError as error:
            start = getattr(error, "start", 0)
            told = (
                f"is not {given or 'UTF-8'} text (byte 0x{raw[start]:02x}); save it as UTF-8, or "
                "give its encoding, for example --encoding latin-1"
            )
            fault = TableError(told, row=raw.count(b"\n", 0, start) + 1)
        else:
            if "\0" not in text:
                return text
    raise fault


def _records(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a text, each with the row that it begins in."""
    csv.field_size_limit(_BLOCK)
    lines = (found[0] for found in _LINE.finditer(text))
    reader, end = csv.reader(lines, delimiter=delimiter, strict=True), 0
    try:
        for cells in reader:
            yield end + 1, [cell.strip() for cell in cells] or [""]
            end = reader.line_num
    except csv.Error as error:
        told = f"cannot be read: {error}; check the quotation marks"
        raise TableError(told, row=end + 1) from None


def _delimiter(text: str) -> str:
    """Of comma, semicolon, tab and pipe, the one that divides the first records equally.

    Commas are frequent in other places. Where no mark does, the most frequent one tells best what
    is wrong.
    """

    def trust(mark: str) -> tuple[bool, bool, int]:
        found = []
        try:
            for _, cells in islice(_records(text, mark), _SAMPLE):
                found += [len(cells)] * any(cells)
        except TableError:
            found.insert(0, 0)
        header, *others = found or [0]
        # a header may have no name for the names of the rows
        even = header > 1 and len(set(others)) < 2 and found[-1] - header in (0, 1)
        return even, even and mark in ";\t", max(found, default=0)

    return max(",;\t|", key=trust)


def _of_records(
    path: Path,
    records: Iterator[tuple[int, list[str]]],
    style: dict[str, Any],
    options: ReadOptions,
    prefix: str,
) -> Table:
    """The table of records of texts. Rows of empty cells between others are missing cells."""
    read: list[tuple[int, np.ndarray]] = []
    filled: list[int] = []  # positions of the records that are not blank
    width = 0
    for line, cells in records:
        some = any(cells)
        width = len(cells) if some else width
        if len(cells) == width:  # no blank lines, but a blank cell of a single column
            filled += [len(read)] * some
            read.append((line, np.array(cells, STRING)))
    if not filled:
        raise TableError("is empty")
    line, first = read[filled[0]]
    named = options.header
    if named is None:
        following = read[filled[1]][1].tolist() if filled[1:] else []
        named = _is_header(first.tolist(), following, line)
    if named and not filled[1:]:
        raise TableError("has a header and no rows")
    read = read[filled[int(named)] : filled[-1] + 1]
    width = len(read[0][1])
    names = [f"{prefix}{j}" for j in range(width)]
    if named:
        names = _column_names(first.tolist(), width, line)
    for line, row in read:
        if len(row) != width:
            raise TableError(f"has {counted(len(row), 'cell')}, expected {width}", row=line)
    lines, texts = [line for line, _ in read], np.stack([row for _, row in read])
    del read
    notes, decimal = [], options.decimal or "."
    if options.decimal is None and style.get("delimiter", ",") != ",":
        decimal = _decimal(texts, lines)
    if not named:
        notes.append(
            f"{path} has no header; its columns are numbered from 0 (give --header if the first "
            "row has the names)"
        )
    if decimal == ",":
        notes.append(f"{path} has decimal commas")
    numbers = np.full(texts.shape, np.nan)
    for j, name in enumerate(names):
        if j == 0 or options.fitted is None or options.keeps(name):
            numbers[:, j] = _numbers(texts[:, j], decimal, options)
    style = style and {**style, "decimal": decimal}
    source = Source(str(path), np.asarray(lines), named, notes, style)
    return Table(source, names, numbers, dict(enumerate(texts.T)))


def _is_header(record: list[str], following: list[str], row: int) -> bool:
    """Whether a first row has names: texts above numbers, texts only, or the numbers of columns.

    Other numbers above numbers are names if a name such as "id" is before them, or if they ascend
    or descend, as wavelengths do. Otherwise nobody would miss a row of cells with a text.
    """
    above, below = ([number_of(cell) for cell in cells] for cells in (record, following))
    texts = [
        number is None and not is_missing(cell) for number, cell in zip(above, record, strict=True)
    ]
    found = [number for number in above if number is not None]
    counts = [*range(len(found))], [*range(1, len(found) + 1)]
    if not any(texts) and (record[0] or not following or below[0] is not None):
        return len(found) > 2 and found in counts
    pairs = list(zip(texts, above, below[len(below) - len(above) :], strict=False))
    if any(text and number is not None for text, _, number in pairs):
        return True
    steps = np.sign(np.diff(found)).tolist()
    ordered = len(steps) > 3 and steps in ([1.0] * len(steps), [-1.0] * len(steps))
    if ordered or is_name_of_rows(record[0]) or all(None in pair[1:] for pair in pairs):
        return True
    raise TableError(
        "it is not clear whether this row has the names of the columns: give --header or "
        "--no-header",
        row=row,
    )


def is_name_of_rows(name: str) -> bool:
    """Whether a column has a name such as "id" or "sample", or none."""
    return _CORNER.fullmatch(re.sub("[_.-]", " ", name.lower())) is not None


def _column_names(record: list[Any], width: int, row: int) -> list[str]:
    """The names in a header, which may be one shorter than the other rows, as R writes it."""
    names = [str(cell).strip() for cell in record]
    if len(names) == width - 1:
        names.insert(0, "")
    if len(names) != width:
        raise TableError(f"has {len(names)} names, but the next row has {width} cells", row=row)
    for j in np.flatnonzero(pd.Series(names).duplicated()).tolist():
        if names[j]:
            told = f"{names[j]!r} is in columns {names.index(names[j]) + 1} and {j + 1}"
            raise TableError(f"names of columns must be different: {told}", row=row)
    return names


def _decimal(texts: np.ndarray, lines: list[int]) -> str:
    """The decimal mark: a comma if numbers such as 1,5 occur, and none such as 1.5 before them."""
    doubt: tuple[int, str] | None = None
    for line, cells in zip(lines, texts, strict=True):
        for cell in cells.tolist():
            mark = next((mark for mark in DECIMALS if DECIMALS[mark].fullmatch(cell)), None)
            if mark == "," and THOUSANDS["."].fullmatch(cell):
                doubt = doubt or (line, cell)
            elif mark is not None:
                return mark
    if doubt is None:
        return "."
    raise TableError(
        f"{doubt[1]!r} is not clear: give --decimal point if its comma separates thousands, or "
        "--decimal comma if it is a decimal comma",
        row=doubt[0],
    )


def _numbers(texts: np.ndarray, decimal: str, options: ReadOptions) -> np.ndarray:
    """The numbers of a column, NaN elsewhere; missing cells of ``texts`` become empty.

    12 % is 12 in a column of which every cell has a percent sign.
    """
    cells = texts.tolist()
    together = "".join(cells)
    if "_" not in together and (decimal == "." or "." not in together):
        with contextlib.suppress(ValueError):
            plain = cells if decimal == "." else [cell.replace(",", ".") for cell in cells]
            numbers = np.array(list(map(float, plain)))
            if (np.abs(numbers) < EXACT).all():
                return numbers
    missing = [is_missing(cell, options.missing) for cell in cells]
    texts[missing] = ""
    present = [cell for cell, gone in zip(cells, missing, strict=True) if not gone]
    if all(cell.endswith("%") for cell in present):
        present = [cell[:-1].rstrip() for cell in present]
    found = [number_of(cell, decimal, options.decimal is not None) for cell in present]
    numbers = np.full(len(cells), np.nan)
    numbers[~np.array(missing)] = np.array(found, dtype=np.float64)  # NaN for None
    return numbers


# ----------------------------------------------------------------------------------- other files


def _of_sheet(
    path: Path, content: tuple[list[str], pd.DataFrame], options: ReadOptions, prefix: str
) -> Table:
    """The table of the first sheet of an Excel file."""
    sheets, frame = content
    rows = ([as_text(cell) for cell in row] for row in frame.to_numpy().tolist())
    table = _of_records(path, enumerate(rows, start=1), {}, options, prefix)
    if sheets[1:]:
        table.source.notes.append(f"{path}: the first of {len(sheets)} sheets, {sheets[0]!r}")
    return table


def _of_arrays(
    path: Path, arrays: dict[str, np.ndarray], options: ReadOptions, prefix: str
) -> Table:
    """The table of an NPY file, or of the array X or Y of an NPZ file, or of its only matrix."""
    matrices = [name for name, values in arrays.items() if values.dtype.kind in "biuf"]
    wanted = [name for name in matrices if name.lower() == prefix] or matrices
    if len(wanted) != 1:
        raise TableError(
            f"must have an array {prefix.upper()!r} or a single array of numbers; it has "
            f"{listed(list(arrays)) or 'none'}"
        )
    values = arrays[wanted[0]]
    if values.ndim not in (1, 2):
        raise TableError(f"must have one or two dimensions, got {values.ndim}")
    frame = pd.DataFrame(values)
    titles = arrays.get("feature_names" if prefix == "x" else "target_names")
    index = arrays.get("index")
    for given, count in zip((index, titles), frame.shape, strict=True):
        if given is not None and given.shape != (count,):
            raise TableError(f"has {given.size} names for a matrix of the shape {frame.shape}")
    frame.columns = [f"{prefix}{j}" for j in frame] if titles is None else titles.astype(str)
    if index is not None:
        frame.insert(0, "", [str(cell).strip() for cell in index])
    return _of_frame(path, frame, options, named=titles is not None)


def _of_frame(
    path: Path, frame: pd.DataFrame, options: ReadOptions, prefix: str = "", *, named: bool = True
) -> Table:
    """The table of a data frame, whose columns may be of any type."""
    types = pd.api.types
    if 0 in frame.shape:
        raise TableError(f"has no entries: its shape is {frame.shape}")
    names = _column_names(list(frame.columns), frame.shape[1], 1)
    plain = np.array([types.is_numeric_dtype(kind) for kind in frame.dtypes])
    numbers, texts = np.full(frame.shape, np.nan), {}
    numbers[:, plain] = frame.loc[:, plain].to_numpy(dtype=np.float64, na_value=np.nan)
    whole = np.array([types.is_integer_dtype(kind) for kind in frame.dtypes])
    large = whole & (np.abs(numbers) >= EXACT).any(axis=0)
    for j in np.flatnonzero(~plain | large).tolist():
        cells = frame.iloc[:, j].tolist()
        for row, cell in enumerate(cells, start=1):
            if isinstance(cell, (list, dict, np.ndarray)):
                told = f"expected a number or a text, got {cell}"
                raise TableError(told, row=row, column=names[j])
        texts[j] = np.array([as_text(cell) for cell in cells], STRING)
        numbers[:, j] = _numbers(texts[j], options.decimal or ".", options)
    source = Source(str(path), np.arange(1, len(frame) + 1), named, [], {})
    return Table(source, names, numbers, texts)


def as_text(cell: object) -> str:
    """A cell as it would be in a CSV file; 2.0 is 2, since whole numbers with gaps are floats."""
    if pd.isna(cell):
        return ""
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))
    if isinstance(cell, datetime):
        return str(cell).removesuffix(" 00:00:00")
    return str(cell).strip()


# suffixes, what reads the file, and what makes a table of its content
_KINDS: dict[str, tuple[tuple[str, ...], Callable[[Path], Any], Callable[..., Table]]] = {
    "text": ((".csv", ".tsv", ".tab", ".txt", ".dat"), _bytes, _of_text),
    "Excel": ((".xlsx", ".xlsm"), _sheet, _of_sheet),
    "Parquet": ((".parquet", ".pq"), _parquet, _of_frame),
    "NumPy": ((".npy", ".npz"), _arrays, _of_arrays),
}
