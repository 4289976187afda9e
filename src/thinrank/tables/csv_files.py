"""Tables from CSV, TSV and other delimited text files.

The cells of a row become numbers at once, so that a file with 50,000 columns needs little more
memory than its numbers. Cells that are not numbers are kept aside and judged when all rows are
known: a column of texts is categorical, a few texts in a column of numbers are an error.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path

import numpy as np

from thinrank.tables.cells import NAN, is_missing, number_of, uses_decimal_comma
from thinrank.tables.errors import TableError, categories_remedy, listed
from thinrank.tables.header import column_names, is_header, made_up_names
from thinrank.tables.options import ReadOptions
from thinrank.tables.row_names import are_row_names
from thinrank.tables.table import Table
from thinrank.tables.text_files import find_delimiter, open_text, records_of
from thinrank.tables.text_style import TextStyle

# A column with at least this share of texts among its cells is categorical. Below it, the texts
# are more likely errors in a column of numbers, which must not be turned into categories silently.
_TEXT_SHARE = 0.9
_SAMPLE = 20, 1000  # rows, and cells of each, that the decimal separator is found from

Record = tuple[int, list[str]]


@dataclass
class _Body:
    """The cells below the header."""

    width: int
    decimal: str
    numbers: array = field(default_factory=lambda: array("d"))
    rows: list[int] = field(default_factory=list)
    strays: dict[int, dict[int, str]] = field(default_factory=dict)  # column, row, text
    kept: dict[int, list[str]] = field(default_factory=dict)  # columns as they are in the file

    def add(self, row: int, cells: list[str]) -> None:
        """Add a row of ``width`` cells."""
        for j, column in self.kept.items():
            column.append(cells[j].strip())
        together = "".join(cells)
        try:
            if "_" in together or (self.decimal == "," and "." in together):
                raise ValueError  # Python accepts 1_000; points may separate thousands
            if self.decimal == ",":
                self.numbers.fromlist([float(cell.replace(",", ".")) for cell in cells])
            else:
                self.numbers.fromlist([*map(float, cells)])
        except ValueError:
            self.numbers.fromlist([self._number(j, cell) for j, cell in enumerate(cells)])
        self.rows.append(row)

    def _number(self, column: int, cell: str) -> float:
        number = number_of(cell, self.decimal)
        if number is not None:
            return number
        self.strays.setdefault(column, {})[len(self.rows)] = cell.strip()
        return NAN

    def matrix(self) -> np.ndarray:
        return np.frombuffer(self.numbers, dtype=np.float64).reshape(len(self.rows), self.width)


def read_text_table(path: Path, options: ReadOptions, prefix: str) -> Table:
    """Read a delimited text file."""
    file = str(path)
    source = open_text(path, options.encoding)
    delimiter = options.delimiter or find_delimiter(source)
    records = records_of(source, delimiter)
    first = next((each for each in records if not _is_blank(each[1])), None)
    if first is None:
        raise TableError("is empty", file=file)
    named = is_header(first[1], delimiter) if options.header is None else options.header
    lines = records if named else chain([first], records)
    sample = list(islice(lines, _SAMPLE[0]))
    second = next((cells for _, cells in sample if not _is_blank(cells)), None)
    if second is None:
        raise TableError("has a header and no rows", file=file)
    if named:
        names = column_names(first[1], len(second), file, first[0])
    else:
        names = made_up_names(len(second), prefix)
    index = _index_position(names, options, file)
    texts = {j for j, name in enumerate(names) if name in options.categorical}
    body = _Body(len(names), options.decimal or _decimal(sample, delimiter))
    body.kept = {j: [] for j in {*texts, *([] if index is None else [index])}}
    _fill(body, chain(sample, lines), names, file)

    rows = None if index is None else body.kept[index]
    if index is not None and names[index] != options.index:
        given = names[index] if named else None
        if not are_row_names(given, body.kept[index]):
            index, rows = None, None
    skipped = {j for j, name in enumerate(names) if name and not options.keeps(name)}
    responses = set(names) if prefix == "y" else options.responses
    mixed = _text_columns(body, names, {*texts, *skipped, index}, file, responses, options)
    if mixed:  # their cells are wanted as they are in the file
        more = options.categorical | {names[j] for j in mixed}
        return read_text_table(path, replace(options, categorical=more), prefix)
    table = Table(
        file=file,
        names=names,
        named=named,
        numbers=body.matrix(),
        texts={j: _texts(body.kept[j]) for j in sorted(texts - {index})},
        index=rows,
        rows=np.asarray(body.rows),
        index_name="" if index is None or not named else names[index],
        ignored=[names[j] for j in sorted(skipped - {index})],
        notes=_notes(file, named, body.decimal, None if index is None else names[index]),
        style=TextStyle(delimiter, body.decimal, source.marked),
    )
    return table.take_columns(_own_columns(table, {*skipped, index}))


def _index_position(names: list[str], options: ReadOptions, file: str) -> int | None:
    """The column that has, or may have, the names of the rows."""
    if options.index is False:
        return None
    optional = not isinstance(options.index, str) or not options.index_required
    if optional and options.index not in names:
        return 0 if len(names) > 1 and not options.is_data(names[0]) else None
    if options.index not in names:
        raise TableError(
            f"has no column {options.index!r} for the names of the rows; it has {listed(names)}",
            file=file,
        )
    return names.index(str(options.index))


def _fill(body: _Body, records: Iterable[Record], names: list[str], file: str) -> None:
    """Add all rows. Blank lines are skipped, but an empty cell of a single column is missing."""
    pending: list[Record] = []  # rows of empty cells, which are left out at the end of the file
    for row, cells in records:
        if _is_blank(cells):
            if len(cells or [""]) == len(names):
                pending.append((row, cells or [""]))
            continue
        if len(cells) != len(names):
            raise TableError(
                f"has {len(cells)} cell{'' if len(cells) == 1 else 's'}, expected {len(names)}",
                file=file,
                row=row,
            )
        for each in pending:
            body.add(*each)
        pending.clear()
        body.add(row, cells)


def _decimal(sample: list[Record], delimiter: str) -> str:
    if delimiter == ",":
        return "."
    cells = (cell for _, record in sample for cell in record[: _SAMPLE[1]])
    return "," if uses_decimal_comma(cells) else "."


def _text_columns(
    body: _Body,
    names: list[str],
    known: set[int | None],
    file: str,
    responses: Collection[str],
    options: ReadOptions,
) -> list[int]:
    """Columns of texts that are not known yet; an error for a few texts among numbers."""
    found = []
    matrix = body.matrix()
    for j, texts in sorted(body.strays.items()):
        if j in known:
            continue
        numbers = int(np.count_nonzero(~np.isnan(matrix[:, j])))
        if len(texts) < _TEXT_SHARE * (len(texts) + numbers):
            place = min(texts)
            raise TableError(
                f"expected a number, got {texts[place]!r}; correct the cell"
                + (
                    ""
                    if options.fitted
                    else " or leave it empty" + categories_remedy(names[j], names[j] in responses)
                ),
                file=file,
                row=body.rows[place],
                column=names[j],
            )
        found.append(j)
    return found


def _own_columns(table: Table, others: set[int | None]) -> list[int]:
    """The columns that are kept; unnamed ones are left out if they are empty."""
    own = []
    for j, name in enumerate(table.names):
        if j in others:
            continue
        if name:
            own.append(j)
        elif j in table.texts or not np.all(np.isnan(table.numbers[:, j])):
            raise TableError(f"column {j + 1} has no name in the header", file=table.file)
    return own


def _texts(cells: list[str]) -> np.ndarray:
    values = np.empty(len(cells), dtype=object)
    values[:] = [None if is_missing(cell) else cell for cell in cells]
    return values


def _notes(file: str, named: bool, decimal: str, index: str | None) -> list[str]:
    notes = []
    if not named:
        notes.append(
            f"{file} has no header; its columns are numbered from 0 (give --header if the first "
            "row has the names)"
        )
    if index is not None:
        which = f"column {index!r}" if index and named else "the first column"
        notes.append(f"{file}: {which} has the names of the rows")
    if decimal == ",":
        notes.append(f"{file} has decimal commas")
    return notes


def _is_blank(cells: list[str]) -> bool:
    return not any(cell.strip() for cell in cells)
