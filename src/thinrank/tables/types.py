"""What the columns of a table are: names of the rows, numbers or categories."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from thinrank.tables.cells import is_missing, looks_like_number, number_of, percent_of
from thinrank.tables.errors import TableError, listed, typed_name
from thinrank.tables.table import ReadOptions, Table

_ROW_NAMES = re.compile(
    r"(unnamed:.*|ids?|index|idx|key|names?|row ?names?|row|samples?|subject|patient|participant)?"
    r"(?: ?(?:ids?|names?))?"
)
_SENTINELS = [sign * (10.0**digits - 1) for digits in (2, 3, 4, 5) for sign in (-1, 1)]


def key_of(table: Table, options: ReadOptions) -> int | None:
    """The column with the names of the rows of a table that is alone.

    It is the one that was given, or the first one if its cells are complete and all different,
    and it has no name, a name such as "id" or "sample", or consists of texts.
    """
    if isinstance(options.index, str):
        return table.position(options.index)
    name = table.names[0]
    known = name in options.categorical or (options.wanted is not None and name in options.wanted)
    if known or len(table.names) == 1:
        return None
    assert table.cells is not None
    cells = table.cells(0)
    if len(set(cells)) < len(cells) or any(is_missing(cell) for cell in cells):
        return None
    if table.named and _ROW_NAMES.fullmatch(re.sub("[_.-]", " ", name.lower())):
        whole = 0 not in table.texts and bool((table.numbers[:, 0] % 1 == 0).all())
        if (whole and options.index is None) or not name:
            return 0
    texts = 0 in table.texts and all(text is not None for text in table.texts[0])
    return 0 if texts and len(cells) > 1 else None  # a single text may be a category


def typed(
    table: Table,
    options: ReadOptions,
    key: int | None = None,
    responses: Collection[str] = (),
) -> Table:
    """A table that was read with columns of numbers and of texts; an error for what is neither.

    ``key``: the column with the names of the rows. ``responses``: for the remedies of errors.
    """
    assert table.cells is not None
    notes = list(table.notes)
    numbers, texts, own = table.numbers, {}, []
    for j, name in enumerate(table.names):
        if j == key or not (options.keeps(name) if name else _is_data(table, j, notes)):
            continue
        own.append(j)
        if name in options.categorical:
            cells = table.cells(j)
            texts[j] = np.array(
                [None if is_missing(cell, options.missing) else cell for cell in cells],
                dtype=object,
            )
        elif j in table.texts:
            found = _percentages(table, j)
            if found is None:
                _check_texts(table, j, options, name in responses)
                texts[j] = table.texts[j]
            else:
                numbers[:, j] = found
                notes.append(f"{table.file}: {name!r} has percent signs: 12 % is read as 12")
    if not own and options.wanted is None:
        raise TableError("has no columns to use", file=table.file)
    ignored = [n for j, n in enumerate(table.names) if n and j != key and not options.keeps(n)]
    index = None if key is None else table.cells(key)
    index_name = "" if key is None or not table.named else table.names[key]
    done = replace(
        table, texts=texts, index=index, index_name=index_name, ignored=ignored, cells=None
    ).take_columns(own)
    _check_finite(done)
    return replace(done, notes=notes + _sentinel_notes(done))


def _is_data(table: Table, j: int, notes: list[str]) -> bool:
    """Whether a column without name is data, which is an error; empty ones and row numbers not."""
    numbers = table.numbers[:, j]
    if j not in table.texts and np.isnan(numbers).all():
        return False
    if j not in table.texts and (np.diff(numbers) == 1).all():
        notes.append(f"{table.file}: column {j + 1} has row numbers and no name, and was left out")
        return False
    raise TableError(f"column {j + 1} has no name in the header", file=table.file)


def _percentages(table: Table, j: int) -> np.ndarray | None:
    """The numbers of a column of which every cell has a percent sign; None for other columns."""
    decimal = table.style.decimal if table.style is not None else "."
    if not np.isnan(table.numbers[:, j]).all():
        return None
    found = [np.nan if text is None else percent_of(text, decimal) for text in table.texts[j]]
    return None if None in found else np.array(found, dtype=np.float64)


def _check_texts(table: Table, j: int, options: ReadOptions, is_response: bool) -> None:
    """Raise an error if a column has numbers and texts, or texts that look like numbers."""
    texts = [text for text in table.texts[j] if text is not None]
    mixed = not np.isnan(table.numbers[:, j]).all()
    like = [text for text in set(texts) if looks_like_number(text)]
    if not mixed and 2 * len(like) < len(set(texts)):
        return
    wrong = next(text for text in texts if mixed or text in like)
    row = list(table.texts[j]).index(wrong)
    option = typed_name(table.names[j])
    if options.fitted:
        remedy = "correct the cell"
    else:
        family = shlex.quote(f"{table.names[j]}=multinomial")
        remedy = (
            f"correct the cell or leave it empty{_remedy(wrong)} (--drop {option} leaves the "
            f"column out; for categories give --categories {option}"
            + (f" --family {family})" if is_response else ")")
        )
    raise table.error(f"expected a number, got {wrong!r}; {remedy}", row, table.names[j])


def _remedy(cell: str) -> str:
    """The option that may make a number of a text."""
    if cell.strip().endswith("%"):
        return ", with percent signs in all cells of the column or in none"
    points = cell.replace(",", ".")
    if "," in cell and number_of(points.replace(".", ""), ".") is not None:
        return (
            "; give --decimal point if its comma separates thousands, --decimal comma if it is a "
            "decimal comma"
        )
    if cell.count(".") and number_of(cell.replace(".", ""), ".") is not None:
        return "; give --decimal comma if its points separate thousands"
    return f"; if it marks missing cells, give --missing {typed_name(cell)}"


def _check_finite(table: Table) -> None:
    places = np.argwhere(np.isinf(table.numbers))
    if len(places):
        row, column = places[0]
        number = table.numbers[row, column]
        raise table.error(f"expected a finite number, got {number}", row, table.names[column])


def _sentinel_notes(table: Table) -> list[str]:
    """A note on numbers such as -999 that are far from all others of their column."""
    with np.errstate(all="ignore"):
        low, high = np.fmin.reduce(table.numbers), np.fmax.reduce(table.numbers)
    found: dict[str, float] = {}
    for j in np.flatnonzero(np.isin(low, _SENTINELS) | np.isin(high, _SENTINELS)).tolist():
        column = table.numbers[:, j]
        for mark in (low[j], high[j]):
            rest = column[(column != mark) & ~np.isnan(column)]
            far = len(rest) and np.abs(rest - mark).min() > 2 * np.ptp(rest) + abs(mark) / 2
            if far and mark in _SENTINELS:
                found[table.names[j]] = mark
    if not found:
        return []
    mark = next(iter(found.values()))
    return [
        f"{table.file}: {mark:g} in {listed(list(found))} is far from the other numbers; if it "
        f"marks missing cells, give --missing={mark:g}"
    ]
