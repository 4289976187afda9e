"""Rows of two tables that belong together."""

from __future__ import annotations

from collections import Counter

from thinrank.tables.errors import TableError, listed
from thinrank.tables.table import Table


def align(X: Table, Y: Table) -> tuple[Table, Table, list[str]]:
    """Bring the rows of Y into the order of X.

    If both tables have names of the rows, these must be the same, in any order. Otherwise the
    tables must have the same number of rows, and belong together by position.
    """
    if X.index is None or Y.index is None:
        if X.shape[0] != Y.shape[0]:
            raise TableError(
                f"{X.file} has {X.shape[0]} rows and {Y.file} has {Y.shape[0]}; rows must belong "
                "together by position, or by a column that both files have (--join COLUMN)"
                + _header_question(X, Y)
            )
        if X.index is None and Y.index is None:
            return X, Y, []
        without = X.file if X.index is None else Y.file
        return X, Y, [f"{without} has no names of rows: rows belong together by position"]
    if X.index == Y.index:
        return X, Y, []
    places = _places(Y)
    _places(X)  # checks that the names are different
    alone = [name for name in X.index if name not in places]
    known = set(X.index)
    other = [name for name in Y.index if name not in known]
    if alone or other:
        only = [
            f"{len(names)} only in {file}: {listed(names)}"
            for names, file in ((alone, X.file), (other, Y.file))
            if names
        ]
        raise TableError(
            f"names of rows differ ({'; '.join(only)}); use --join COLUMN for the rows that both "
            "files have, or --no-index if the first column is not a name"
        )
    note = f"rows of {Y.file} are in another order and were matched by name"
    return X, Y.take_rows([places[name] for name in X.index]), [note]


def _header_question(X: Table, Y: Table) -> str:
    """A question if a text file has one row more because its header may have been read as data."""
    longer, rows = max(((table, table.shape[0]) for table in (X, Y)), key=lambda pair: pair[1])
    shorter = min(X.shape[0], Y.shape[0])
    if longer.named or longer.style is None or rows != shorter + 1:
        return ""
    return f"; is the first row of {longer.file} a header? Then give --header"


def join(X: Table, Y: Table, key: str) -> tuple[Table, Table, list[str]]:
    """The rows that both tables have, in the order of X.

    Parameters
    ----------
    X, Y : Table
        Tables whose names of the rows are those of the column ``key``.
    key : str
        Name of that column.

    Returns
    -------
    tuple of (Table, Table, list of str)
        The tables, and what was done, in sentences.
    """
    here, there = _places(X, key), _places(Y, key)
    both = [name for name in here if name in there]
    if not both:
        raise TableError(
            f"column {key!r} of {X.file} and of {Y.file} have no value in common: "
            f"{listed(list(here)[:2])}, and {listed(list(there)[:2])}"
        )
    notes = [f"{len(both)} rows have the same {key!r} in both files"]
    for table in (X, Y):
        lost = table.shape[0] - len(both)
        if lost:
            notes.append(f"{lost} of {table.shape[0]} rows of {table.file} were left out")
    return (
        X.take_rows([here[name] for name in both]),
        Y.take_rows([there[name] for name in both]),
        notes,
    )


def _places(table: Table, key: str | None = None) -> dict[str, int]:
    """Positions of the rows by name; an error if names are repeated or missing."""
    assert table.index is not None
    column = key or table.index_name or None
    places = {name: i for i, name in enumerate(table.index)}
    if len(places) < len(table.index):
        name, _ = Counter(table.index).most_common(1)[0]
        found = [int(table.rows[i]) for i, each in enumerate(table.index) if each == name]
        raise TableError(
            f"names of rows must be different: {name!r} is in rows "
            f"{', '.join(map(str, found[:-1][:4]))} and {found[-1]}",
            file=table.file,
            row=found[0],
            column=column,
        )
    if "" in places:
        raise table.error("the name of this row is missing", places[""], column)
    return places
