"""Rows of two tables that belong together: which columns have the names of the rows, and how."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from thinrank.tables.cells import canonical, is_missing
from thinrank.tables.errors import TableError, listed
from thinrank.tables.table import ReadOptions, Table
from thinrank.tables.types import key_of, typed

_UNIQUE = 0.8  # smallest share of different cells in a column that can be a key
_SHARED = 0.5  # smallest share of them that the other file has
_ROW_NUMBERS = 3


class _Key(NamedTuple):
    """A column of each table that have the same cells."""

    level: int  # texts, equal names, others, row numbers: earlier ones are trusted more
    x: int
    y: int


def pair(
    X: Table,
    Y: Table,
    options: ReadOptions,
    y_options: ReadOptions,
    *,
    join: str | None = None,
    by_position: bool = False,
) -> tuple[Table, Table, str, list[str]]:
    """Types of the columns of two tables, and the rows of Y in the order of X.

    The key is a column whose cells are (nearly) all different and that both tables have, whatever
    its name and type.

    Parameters
    ----------
    X, Y : Table
        Tables that were just read.
    options, y_options : ReadOptions
        How they are read. ``options.index`` is the name of the key in one of them or both.
    join : str, default=None
        Name of the key in both tables, of which rows that only one has are left out.
    by_position : bool, default=False
        Whether rows may belong together by position, if no column can be the key.

    Returns
    -------
    tuple of (Table, Table, str, list of str)
        The tables, how the rows were paired, and notes.
    """
    if join is not None:
        keys = [_Key(0, X.position(join), Y.position(join))]
    else:
        keys = [key for key in _keys(X, Y) if _agrees(key, X, Y, options.index)]
    keys = [key for key in keys if key.level == keys[0].level]
    plain = X.style is None and Y.style is None and not X.texts and not Y.texts
    if by_position or (not keys and plain):  # matrices have no names
        return _by_position(X, Y, options, y_options, keys)
    if not keys:
        _check_length(X, Y)
        raise TableError(
            f"no column has the same values in {X.file} and in {Y.file}, so it is not known which "
            "rows belong together: put names of the rows into both files, or give --no-index if "
            "the rows of both are in the same order"
        )
    key, (x_rows, y_rows), notes = _best(X, Y, keys, inner=join is not None)
    left, right = X.names[key.x] or "1", Y.names[key.y] or "1"
    x = typed(X, options, key.x).take_rows(x_rows)
    y = typed(Y, y_options, key.y, Y.names).take_rows(y_rows)
    where = f"column {left!r}" if left == right else f"columns {left!r} and {right!r}"
    order = "" if np.array_equal(x.rows, y.rows) else f"; {Y.file} is in another order"
    for table, count in ((X, X.shape[0]), (Y, Y.shape[0])):
        if count > len(x_rows):
            notes.append(f"{count - len(x_rows)} of {count} rows of {table.file} were left out")
    return x, replace(y, index=x.index), f"Rows are paired by {where}{order}", notes


def _by_position(
    X: Table, Y: Table, options: ReadOptions, y_options: ReadOptions, keys: list[_Key]
) -> tuple[Table, Table, str, list[str]]:
    """Rows by their positions; an error if a key tells that they are in another order."""
    _check_length(X, Y)
    for key in keys:
        if key.level < _ROW_NUMBERS and _names(X, key.x) != _names(Y, key.y):
            raise TableError(
                f"rows are not in the same order: {X.names[key.x]!r} of {X.file} and "
                f"{Y.names[key.y]!r} of {Y.file} have the same values in different rows; leave out "
                "--no-index to pair the rows by them, or leave the columns out with --drop"
            )
    x = typed(X, options, key_of(X, replace(options, index=False)))
    y = typed(Y, y_options, key_of(Y, replace(y_options, index=False)), Y.names)
    return x, replace(y, index=x.index), "Rows are paired by position", []


def _check_length(X: Table, Y: Table) -> None:
    if X.shape[0] == Y.shape[0]:
        return
    longer = max(X, Y, key=lambda table: table.shape[0])
    near = abs(X.shape[0] - Y.shape[0]) == 1 and longer.style is not None and not longer.named
    question = f"; is the first row of {longer.file} a header? Then give --header" if near else ""
    raise TableError(
        f"{X.file} has {X.shape[0]} rows and {Y.file} has {Y.shape[0]}; rows must belong "
        f"together by a column that both files have (--join COLUMN), or by position{question}"
    )


def _agrees(key: _Key, X: Table, Y: Table, index: str | bool | None) -> bool:
    """Whether a key is the column that was given, in every table that has it."""
    if not isinstance(index, str):
        return True
    given = [name == index for name in (X.names[key.x], Y.names[key.y])]
    return any(given) and given == [index in X.names, index in Y.names]


_Places = tuple[list[int], list[int]]


def _best(X: Table, Y: Table, keys: list[_Key], inner: bool) -> tuple[_Key, _Places, list[str]]:
    """The first key that pairs all rows; an error if none does, or another in a different way."""
    found: list[tuple[_Key, _Places, list[str]]] = []
    errors = []
    for key in keys:
        try:
            found.append((key, *_places(X, Y, key, inner)))
        except TableError as error:
            errors.append(error)
    if not found:
        raise errors[0]
    for key, places, _ in found:
        if places != found[0][1]:
            names = [X.names[each.x] or "1" for each in (found[0][0], key)]
            raise TableError(
                f"columns {names[0]!r} and {names[1]!r} of {X.file} would pair its rows with "
                f"different rows of {Y.file}; give the one that has the names of the rows: "
                "--index COLUMN"
            )
    return found[0]


def _places(X: Table, Y: Table, key: _Key, inner: bool) -> tuple[_Places, list[str]]:
    """Rows of X and of Y that have the same names, and a note if they are written differently."""
    raw_x, raw_y = _cells(X, key.x), _cells(Y, key.y)
    x, y = _names(X, key.x), _names(Y, key.y)
    if len(set(x)) < len(set(raw_x)) or len(set(y)) < len(set(raw_y)):
        x, y = raw_x, raw_y  # 1 and 01 are different names
    here, there = _positions(X, key.x, x), _positions(Y, key.y, y)
    both = [name for name in x if name in there]
    if not both:
        raise TableError(
            f"columns {X.names[key.x]!r} of {X.file} and of {Y.file} have no value in common: "
            f"{listed(raw_x[:2])}, and {listed(raw_y[:2])}"
        )
    if len(both) < max(len(x), len(y)) and not inner:
        only = [
            f"{len(lost)} only in {table.file}: {listed(lost)}"
            for table, raw, own, others in ((X, raw_x, x, there), (Y, raw_y, y, here))
            if (lost := [cell for cell, name in zip(raw, own, strict=True) if name not in others])
        ]
        raise TableError(
            f"names of rows differ ({'; '.join(only)}); use --join COLUMN for the rows that both "
            "files have"
        )
    places = [here[name] for name in both], [there[name] for name in both]
    notes = [
        f"names of rows are written differently in the files, such as {raw_x[i]!r} and {raw_y[j]!r}"
        for i, j in zip(*places, strict=True)
        if raw_x[i] != raw_y[j]
    ]
    return places, notes[:1]


def _cells(table: Table, place: int) -> list[str]:
    assert table.cells is not None
    return table.cells(place)


def _names(table: Table, place: int) -> list[str]:
    return [canonical(cell) for cell in _cells(table, place)]


def _positions(table: Table, place: int, cells: list[str]) -> dict[str, int]:
    """Positions of the rows by name; an error if names are repeated or missing."""
    rows = defaultdict(list)
    for i, cell in enumerate(cells):
        rows[cell].append(i)
        if is_missing(cell):
            raise table.error("the name of this row is missing", i, table.names[place])
    for name, found in rows.items():
        if len(found) > 1:
            lines = [str(table.rows[i]) for i in found]
            raise table.error(
                f"names of rows must be different: {name!r} is in rows "
                f"{', '.join(lines[:-1][:4])} and {lines[-1]}",
                found[0],
                table.names[place],
            )
    return {name: found[0] for name, found in rows.items()}


def _keys(X: Table, Y: Table) -> list[_Key]:
    """Columns that can be the key, those that are trusted most first."""
    a, b = _codes(X), _codes(Y)
    a_count, b_count = _count_different(a), _count_different(b)
    # a column of X is looked at if a column of Y has its values in a quarter of sixteen rows
    probes = a[np.unique(np.linspace(0, len(a) - 1, 16).astype(int))]
    order = np.argsort(probes, axis=None)
    ordered, owners = probes.ravel()[order], order % a.shape[1]
    keys = []
    for k in np.flatnonzero(b_count > 1).tolist():
        values = np.unique(b[~np.isnan(b[:, k]), k])
        ends = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
        met = [owners[low:high] for low, high in zip(*ends, strict=True) if low < high]
        hits = np.bincount(np.concatenate([owners[:0], *met]), minlength=a.shape[1])
        unique = (a_count >= _UNIQUE * len(a)) | (b_count[k] >= _UNIQUE * len(b))
        enough = _SHARED * np.maximum(a_count, b_count[k])
        near = unique & (4 * hits >= len(probes)) & (np.minimum(a_count, b_count[k]) >= enough)
        for j in np.flatnonzero(near).tolist():
            if np.isin(np.unique(a[:, j]), values).sum() >= enough[j]:
                keys.append(_Key(_level(X, Y, a[:, j], b[:, k], j, k), j, k))
    return sorted(keys)


def _level(X: Table, Y: Table, a: np.ndarray, b: np.ndarray, j: int, k: int) -> int:
    if (np.diff(a) == 1).all() and (np.diff(b) == 1).all():
        return _ROW_NUMBERS
    if j in X.texts or k in Y.texts:
        return 0
    return 1 if X.named and Y.named and canonical(X.names[j]) == canonical(Y.names[k]) else 2


def _codes(table: Table) -> np.ndarray:
    """A number for each cell: its own, or one that stands for its text; NaN where it is missing."""
    codes = table.numbers.copy()
    for j, texts in table.texts.items():
        for i in np.flatnonzero(texts != None).tolist():  # noqa: E711 (elementwise)
            codes[i, j] = hash(canonical(texts[i])) * 1e200
    return codes


def _count_different(codes: np.ndarray) -> np.ndarray:
    """The number of different cells of each column."""
    ordered = np.sort(codes, axis=0)
    there = ~np.isnan(ordered)
    return there[0] + ((ordered[1:] != ordered[:-1]) & there[1:]).sum(axis=0)
