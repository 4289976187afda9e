"""Text files as records of cells: encoding, delimiter, quotes and line ends.

The csv module splits the records. pandas fills rows that are too short without an error, and
needs five times as long for 50,000 columns.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from thinrank.tables.cells import decimal_evidence
from thinrank.tables.errors import TableError

Record = tuple[int, list[str]]  # the row of the file that it begins in, and its cells

_UTF16 = (b"\xff\xfe", b"\xfe\xff")  # byte order marks, as in "Unicode text" of spreadsheets
_MARKS = {"utf-16": _UTF16, "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)}
_SAMPLE = 20, 20_000  # records, and cells in all, that the delimiter is found from
_BLOCK = 1 << 26  # bytes of a line, and characters of a cell: a line of millions of cells


class TextFile:
    """The bytes of a text file, which are decoded line by line to save memory.

    Without an encoding it is UTF-8, or UTF-16 with a byte order mark; without a delimiter, the
    character between cells is found.
    """

    def __init__(self, path: Path, encoding: str | None, delimiter: str | None) -> None:
        self.file = str(path)
        compressed = path.suffix.lower() == ".gz"
        self._raw = _read_bytes(path, gzip.open if compressed else open)
        self.notes: list[str] = []
        self._encoding = self._check_encoding(encoding)
        self.marked = self._raw.startswith((codecs.BOM_UTF8, *_UTF16))
        tabs = Path(path.stem if compressed else path).suffix.lower() in (".tsv", ".tab")
        self.delimiter = delimiter or ("\t" if tabs else self._find_delimiter())

    def records(self) -> Iterator[Record]:
        """The records of the file."""
        row = 1
        try:
            for end, record in self._parsed(self.delimiter):
                yield row, record
                row = end + 1
        except csv.Error as error:
            raise TableError(
                f"cannot be read: {error}; check the quotation marks", file=self.file, row=row
            ) from None

    def decimal(self) -> str:
        """The decimal mark: a comma if numbers such as 1,5 occur, and none such as 1.5."""
        if self.delimiter == ",":
            return "."
        doubt: tuple[int, str] | None = None
        for row, record in self.records():
            found = {decimal_evidence(cell): cell for cell in reversed(record)}
            if "." in found or "," in found:
                return "." if "." in found else ","
            if doubt is None and "?" in found:
                doubt = row, found["?"]
        if doubt is None:
            return "."
        raise TableError(
            f"{doubt[1]!r} is not clear: give --decimal point if its comma separates thousands, or "
            "--decimal comma if it is a decimal comma",
            file=self.file,
            row=doubt[0],
        )

    def _check_encoding(self, encoding: str | None) -> str:
        raw = self._raw
        if encoding is None:
            encoding = "utf-16" if raw.startswith(_UTF16) else "utf-8-sig"
        try:
            name = codecs.lookup(encoding).name
            if name in _MARKS and not raw.startswith(_MARKS[name]):
                encoding += "-le"  # streams need a mark where the order is not in the name
            if name.startswith(("iso8859", "cp125", "mac")) and not raw.isascii():
                with contextlib.suppress(UnicodeDecodeError):
                    raw.decode("utf-8")
                    self.notes.append(f"{self.file} is UTF-8 text, not {encoding}, and was read so")
                    encoding = "utf-8-sig"
            binary = "\0" in raw.decode(encoding)
        except LookupError:
            raise TableError(f"there is no encoding {encoding!r}", file=self.file) from None
        except UnicodeDecodeError as error:
            raise TableError(
                f"is not {'UTF-8' if encoding == 'utf-8-sig' else encoding} text (byte "
                f"0x{raw[error.start]:02x}); save it as UTF-8, or give its encoding, for example "
                "--encoding latin-1",
                file=self.file,
                row=raw.count(b"\n", 0, error.start) + 1,
            ) from None
        except UnicodeError as error:  # codecs with errors of their own, such as idna
            raise TableError(f"is not {encoding} text ({error})", file=self.file) from None
        if binary:
            raise TableError(
                "is not a text file; tables must be CSV, TSV, Excel, Parquet, NPY or NPZ",
                file=self.file,
            )
        return encoding

    def _parsed(self, delimiter: str) -> Iterator[Record]:
        csv.field_size_limit(_BLOCK)
        lines = io.TextIOWrapper(io.BytesIO(self._raw), encoding=self._encoding, newline="")
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        for record in reader:
            yield reader.line_num, record

    def _find_delimiter(self) -> str:
        """Of comma, semicolon, tab and pipe, one that divides all records equally.

        Tab and semicolon come first, since commas are frequent in other places.
        """
        counts = {delimiter: self._widths(delimiter) for delimiter in ("\t", ";", ",", "|")}
        even = {
            delimiter: found[0]
            for delimiter, found in counts.items()
            if found
            and found[0] > 1
            and len(set(found[1:])) <= 1
            and found[-1] - found[0] in (0, 1)
        }
        for delimiter in ("\t", ";"):
            if delimiter in even:
                return delimiter
        if even:
            return max(even, key=lambda delimiter: even[delimiter])
        # records of different lengths: the error about them needs the most likely delimiter
        return max((",", ";", "\t", "|"), key=lambda each: max(counts[each], default=0))

    def _widths(self, delimiter: str) -> list[int]:
        """Numbers of cells of the first records; 0 for one that cannot be read."""
        found: list[int] = []
        try:
            for _, record in self._parsed(delimiter):
                if any(cell.strip() for cell in record):
                    found.append(len(record))
                if len(found) == _SAMPLE[0] or (len(found) > 1 and sum(found) > _SAMPLE[1]):
                    break
        except csv.Error:
            found.append(0)
        return found


def _read_bytes(path: Path, open_file: Callable[..., Any]) -> bytes:
    """The bytes of a file; an error as soon as a line has no end, as in files of other kinds."""
    blocks = []
    with open_file(path, "rb") as stream:
        while block := stream.read(_BLOCK):
            if len(block) == _BLOCK and b"\n" not in block and b"\r" not in block:
                raise TableError(f"has a line of more than {_BLOCK:,} bytes", file=str(path))
            blocks.append(block)
    return b"".join(blocks)
