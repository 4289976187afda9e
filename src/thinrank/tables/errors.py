"""The error of a table that cannot be used, and parts of its message."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Collection, Mapping, Sequence

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
        super().__init__(message)
        self.file, self.row, self.column = file, row, column

    def __str__(self) -> str:
        place = [] if self.file is None else [self.file]
        if self.row is not None:
            place.append(f"row {self.row}")
        if self.column is not None:
            place.append(f"column {self.column!r}")
        return f"{', '.join(place)}: {self.args[0]}" if place else str(self.args[0])


def listed(names: Collection[str] | Mapping[str, int]) -> str:
    """The first names in quotes, with counts if they have any, and how many more there are."""
    counts = names if isinstance(names, Mapping) else {}
    shown = [
        repr(str(name)) + (f" ({counts[name]})" if name in counts else "")
        for name in list(names)[:_NAMED]
    ]
    more = len(names) - _NAMED
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def counted(count: int, what: str) -> str:
    """A number with its noun, which has an s unless the number is 1."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def typed_name(name: str) -> str:
    """A name as it is typed after an option that takes names separated by commas."""
    if "," in name or '"' in name:
        name = '"' + name.replace('"', '""') + '"'
    return shlex.quote(name)


def did_you_mean(names: Sequence[str], known: Sequence[str]) -> str:
    """A question about the known names that are like unknown ones; empty if there are none."""
    folded = {name.lower(): name for name in reversed(known)}
    found: list[str] = []
    for name in map(str.lower, names[:_NAMED]):
        close = [folded[key] for key in difflib.get_close_matches(name, folded, n=3, cutoff=0.65)]
        begin = [each for key, each in folded.items() if name and key.startswith(name)]
        found += (close or begin)[:3]
    return f"; did you mean {listed(list(dict.fromkeys(found)))}?" if found else ""


def check_names(
    option: str, given: Collection[str], known: Sequence[str], where: str, what: str = "column"
) -> None:
    """Raise a ValueError about an option that has names of columns that are not there."""
    have = set(known)
    unknown = [name for name in given if name not in have]
    if unknown:
        near = did_you_mean(unknown, known) or f"; it has {listed(known)}"
        raise ValueError(f"{option}: {where} has no {what} {listed(unknown)}{near}")
