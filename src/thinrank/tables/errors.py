"""The error of a table that cannot be used."""

from __future__ import annotations

__all__ = ["TableError", "listed"]

_NAMED = 5  # at most this many names in a message, to keep it on one line


class TableError(ValueError):
    """A file or table that cannot be used, with the place of the fault.

    Parameters
    ----------
    message : str
        What is wrong, and what was expected.
    file : str, default=None
        The file.
    row : int, default=None
        Row of the file, counted from 1, as a spreadsheet or an editor shows it.
    column : str, default=None
        Name of the column.

    Examples
    --------
    >>> from thinrank.tables import TableError
    >>> print(TableError("expected a number, got 'abc'", file="X.csv", row=17, column="age"))
    X.csv, row 17, column 'age': expected a number, got 'abc'
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        row: int | None = None,
        column: str | None = None,
    ) -> None:
        self.file, self.row, self.column = file, row, column
        place = [] if file is None else [file]
        if row is not None:
            place.append(f"row {row}")
        if column is not None:
            place.append(f"column {column!r}")
        super().__init__(f"{', '.join(place)}: {message}" if place else message)


def listed(names: list[str]) -> str:
    """The first names in quotes, and the number of the others."""
    text = ", ".join(repr(str(name)) for name in names[:_NAMED])
    more = len(names) - _NAMED
    return text + (f" and {more} more" if more > 0 else "")
