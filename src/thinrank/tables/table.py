"""A table with named columns of numbers or texts, and possibly names of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from thinrank.tables.errors import TableError, listed
from thinrank.tables.text_style import TextStyle


@dataclass(frozen=True, eq=False)
class Table:
    """The content of a file.

    Attributes
    ----------
    file : str
        The file as the user named it, for messages.
    names : list of str
        Names of the columns.
    named : bool
        Whether the file has the names; if not, they are made up from positions.
    numbers : ndarray of shape (n_rows, n_columns)
        Values of the columns of numbers; NaN where a cell is missing, and in columns of texts.
    texts : dict of int to ndarray of object
        Values of the columns of texts, by the position of the column; None where missing.
    index : list of str or None
        Names of the rows, if the file has any.
    rows : ndarray of int
        Rows of the file, counted from 1.
    index_name : str
        Name of the column that they come from.
    ignored : list of str
        Columns of the file that were not wanted.
    notes : list of str
        What the reader decided, in sentences.
    style : TextStyle or None
        How the file is written; None if it is not a text file.
    """

    file: str
    names: list[str]
    named: bool
    numbers: np.ndarray
    texts: dict[int, np.ndarray]
    index: list[str] | None
    rows: np.ndarray
    index_name: str = ""
    ignored: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    style: TextStyle | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.numbers.shape[0], self.numbers.shape[1]

    def column(self, position: int) -> np.ndarray:
        """The values of a column."""
        return self.texts[position] if position in self.texts else self.numbers[:, position]

    def position(self, name: str) -> int:
        """The position of a column; a TableError if there is no such column."""
        try:
            return self.names.index(name)
        except ValueError:
            raise TableError(
                f"has no column {name!r}; it has {listed(self.names)}", file=self.file
            ) from None

    def error(self, message: str, row: int | None = None, column: str | None = None) -> TableError:
        """An error about this table; ``row`` is a position in it."""
        line = None if row is None else int(self.rows[row])
        return TableError(message, file=self.file, row=line, column=column)

    def take_rows(self, order: Sequence[int] | np.ndarray) -> Table:
        """The table with some of the rows, in the given order."""
        places = np.asarray(order, dtype=np.int64)
        return replace(
            self,
            numbers=self.numbers[places],
            texts={j: values[places] for j, values in self.texts.items()},
            index=None if self.index is None else [self.index[i] for i in places],
            rows=self.rows[places],
        )

    def take_columns(self, positions: Iterable[int]) -> Table:
        """The table with some of the columns, in the given order."""
        places = list(positions)
        if places == list(range(len(self.names))):
            return self
        return replace(
            self,
            names=[self.names[j] for j in places],
            numbers=self.numbers[:, places],
            texts={new: self.texts[j] for new, j in enumerate(places) if j in self.texts},
        )

    def without(self, name: str) -> Table:
        """The table without a column."""
        gone = self.position(name)
        return self.take_columns(j for j in range(len(self.names)) if j != gone)
