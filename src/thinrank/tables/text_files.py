"""Text files as records of cells: encoding, delimiter, quotes and line ends."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from thinrank.tables.errors import TableError

_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # byte order marks, as in "Unicode text" of spreadsheets
_MARKS = (*_UTF16, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_SAMPLE = 20, 20_000  # records, and cells in all, that the delimiter is found from
_CELL_LIMIT = 1 << 24  # characters of one cell; the csv module's own limit is 131,072


@dataclass(frozen=True)
class TextSource:
    """The bytes of a text file, which are decoded line by line to save memory."""

    file: str  # the file, for messages
    raw: bytes  # its bytes
    encoding: str  # its encoding
    suffix: str  # its suffix in lower case, without ``.gz``

    @property
    def marked(self) -> bool:
        """Whether the file begins with a mark of its encoding, as spreadsheets write it."""
        return self.raw.startswith((codecs.BOM_UTF8, *_UTF16))

    def lines(self) -> IO[str]:
        """A new stream of the text with its line ends."""
        return io.TextIOWrapper(io.BytesIO(self.raw), encoding=self.encoding, newline="")


def open_text(path: Path, encoding: str | None) -> TextSource:
    """Read a text file and check that it can be decoded.

    ``encoding``: None for UTF-8, or UTF-16 with a byte order mark.
    """
    raw = path.read_bytes()
    suffix = path.suffix.lower()
    if suffix == ".gz":
        raw, suffix = gzip.decompress(raw), Path(path.stem).suffix.lower()
    if encoding is None:
        encoding = "utf-16" if raw.startswith(_UTF16) else "utf-8-sig"
    try:
        if codecs.lookup(encoding).name in ("utf-16", "utf-32") and not raw.startswith(_MARKS):
            encoding += "-le"  # streams need a byte order mark where the order is not in the name
        binary = "\0" in raw.decode(encoding)
    except LookupError:
        raise TableError(f"there is no encoding {encoding!r}", file=str(path)) from None
    except UnicodeDecodeError as error:
        raise TableError(
            f"is not {'UTF-8' if encoding == 'utf-8-sig' else encoding} text (byte "
            f"0x{raw[error.start]:02x}); save it as UTF-8, or give its encoding, for example "
            "--encoding latin-1",
            file=str(path),
            row=raw.count(b"\n", 0, error.start) + 1,
        ) from None
    except UnicodeError as error:  # codecs with errors of their own, such as idna
        raise TableError(f"is not {encoding} text ({error})", file=str(path)) from None
    if binary:
        raise TableError(
            "is not a text file; tables must be CSV, TSV, Parquet, NPY or NPZ", file=str(path)
        )
    return TextSource(str(path), raw, encoding, suffix)


def find_delimiter(source: TextSource) -> str:
    """The delimiter: of comma, semicolon, tab and pipe, one that divides all records equally.

    Tab and semicolon come first, since commas are frequent in other places (decimal commas).
    """
    if source.suffix in (".tsv", ".tab"):
        return "\t"
    counts = {delimiter: _cells(source, delimiter) for delimiter in ("\t", ";", ",", "|")}
    even = {
        delimiter: found[0]
        for delimiter, found in counts.items()
        if found and found[0] > 1 and len(set(found[1:])) <= 1 and found[-1] - found[0] in (0, 1)
    }
    for delimiter in ("\t", ";"):
        if delimiter in even:
            return delimiter
    if even:
        return max(even, key=lambda delimiter: even[delimiter])
    # records of different lengths: the error about them needs the most likely delimiter
    return max((",", ";", "\t", "|"), key=lambda each: max(counts[each], default=0))


def _cells(source: TextSource, delimiter: str) -> list[int]:
    """Numbers of cells of the first records."""
    found: list[int] = []
    try:
        for _, record in _parsed(source.lines(), delimiter):
            if record and any(cell.strip() for cell in record):
                found.append(len(record))
            if len(found) == _SAMPLE[0] or (len(found) > 1 and sum(found) > _SAMPLE[1]):
                break
    except csv.Error:
        return found or [1]
    return found


def records_of(source: TextSource, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a file with the rows they begin in, counted from 1."""
    row = 1
    try:
        for end, record in _parsed(source.lines(), delimiter):
            yield row, record
            row = end + 1
    except csv.Error as error:
        raise TableError(
            f"cannot be read: {error}; check the quotation marks", file=source.file, row=row
        ) from None


def _parsed(lines: IO[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(_CELL_LIMIT)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    for record in reader:
        yield reader.line_num, record
