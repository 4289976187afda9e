"""Responses of a table: numbers, or categories for the family "multinomial"."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thinrank.tables.cells import is_number
from thinrank.tables.errors import TableError, counted, listed, listed_counts, typed_name
from thinrank.tables.row_names import as_text
from thinrank.tables.table import Table

CATEGORIES = "multinomial"
"""The family of responses that are categories."""
_COUNTS = ("poisson", "negative_binomial")


class ResponseColumns:
    """Named columns of numbers and categories, as an estimator takes them.

    It has the part of a data frame's interface that estimators use, so that responses of several
    types need no optional library.

    Shapes: ``columns`` (n_rows,).
    """

    def __init__(self, names: Sequence[str], columns: Sequence[np.ndarray]) -> None:
        self.columns = list(names)
        self._values = dict(zip(names, columns, strict=True))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return len(next(iter(self._values.values()))), len(self.columns)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, name: str) -> np.ndarray:
        return self._values[name]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        objects = np.empty(self.shape, dtype=object)
        for j, name in enumerate(self.columns):
            objects[:, j] = self._values[name]
        return objects if dtype is None else objects.astype(dtype)


def check_responses(table: Table, families: Mapping[str, str]) -> np.ndarray | ResponseColumns:
    """The responses of a table.

    Shapes: result (n_rows, n_responses).
    """
    for j, name in enumerate(table.names):
        _check_response(table, j, families[name])
    if CATEGORIES not in families.values():
        return table.numbers
    columns = []
    for j, name in enumerate(table.names):
        column = table.column(j)
        if families[name] == CATEGORIES and j not in table.texts:
            texts = np.empty(len(column), dtype=object)
            texts[:] = [None if np.isnan(value) else as_text(value) for value in column]
            column = texts
        columns.append(column)
    return ResponseColumns(table.names, columns)


def missing_entries(table: Table) -> dict[str, int]:
    """The number of missing entries of each response that has any."""
    counts = {name: int(_missing(table.column(j)).sum()) for j, name in enumerate(table.names)}
    return {name: count for name, count in counts.items() if count}


def response_notes(table: Table, families: Mapping[str, str]) -> list[str]:
    """What a user should know about the entries of the responses, in sentences."""
    notes = []
    missing = missing_entries(table)
    if missing:
        cells = sum(missing.values())
        notes.append(
            f"{counted(cells, 'missing cell')} of responses {'is' if cells == 1 else 'are'} left "
            f"out: {listed_counts(missing)}; the other cells of these rows are used"
        )
    for family in _COUNTS:
        notes += _fraction_note(table, family, [n for n in table.names if families[n] == family])
    return notes


def _fraction_note(table: Table, family: str, names: list[str]) -> list[str]:
    """A note on responses of a family for counts that have other numbers; none if all is well."""
    found: dict[str, float] = {}
    for name in names:
        column = table.numbers[:, table.position(name)]
        fractions = column[~np.isnan(column) & (column != np.round(column))]
        if len(fractions):
            found[name] = float(fractions[0])
    if not found:
        return []
    have = "has" if len(found) == 1 else "have"
    example = next(iter(found.values()))
    return [
        f"{listed(list(found))} {have} values that are not whole numbers, such as {example:g}, "
        f"but the family {family} is for counts"
    ]


def _missing(column: np.ndarray) -> np.ndarray:
    """Where entries are missing, as a mask."""
    if column.dtype.kind == "f":
        return np.isnan(column)
    return np.array([value is None or value != value for value in column], dtype=bool)


def _check_response(table: Table, place: int, family: str) -> None:
    name = table.names[place]
    column = table.column(place)
    missing = _missing(column)
    if missing.all():
        raise table.error(
            f"has no observed entry; leave it out with --drop {typed_name(name)}", column=name
        )
    if place in table.texts and family != CATEGORIES:
        raise _text_error(table, name, column, ~missing)


def _text_error(table: Table, name: str, column: np.ndarray, observed: np.ndarray) -> TableError:
    """The error about the first text of a response in the file; rows may be in another order."""
    places = sorted(np.flatnonzero(observed).tolist(), key=lambda i: int(table.rows[i]))
    family = shlex.quote(f"{name}=multinomial")
    texts = [i for i in places if not is_number(column[i])]
    if not texts:
        return table.error(
            f"has numbers as categories, which need --family {family}; leave out "
            f"--categorical {typed_name(name)} if they are numbers",
            column=name,
        )
    few = 2 * len(texts) < len(places)
    return table.error(
        f"expected a number, got {column[texts[0]]!r}"
        + ("; correct the cell or leave it empty" if few else "")
        + f" (for categories give --family {family})",
        texts[0],
        name,
    )
