"""A table with named columns, and what the user says about its file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from thinrank.tables.errors import TableError, listed


@dataclass(frozen=True)
class TextStyle:
    """How a text file is written, so that others can be written in the same way."""

    delimiter: str = ","
    decimal: str = "."
    marked: bool = False  # whether it begins with the mark of UTF-8 that spreadsheets write


@dataclass(frozen=True)
class ReadOptions:
    """What the user says about a file; None leaves the decision to the reader.

    Parameters
    ----------
    header : bool or None, default=None
        Whether the first row has the names of the columns.
    index : str, False or None, default=None
        Name of the column with the names of the rows; False if there is none.
    categorical : frozenset of str, default=frozenset()
        Columns that are read as texts even if they contain numbers.
    delimiter : str or None, default=None
        The character between cells.
    decimal : {".", ","} or None, default=None
        The decimal mark. If it is given, the other mark may separate thousands.
    encoding : str or None, default=None
        The encoding of a text file.
    missing : frozenset of str, default=frozenset()
        More marks of missing cells.
    wanted : frozenset of str or None, default=None
        Columns to keep; None for all. The cells of others are not checked.
    dropped : frozenset of str, default=frozenset()
        Columns to leave out. Their cells are not checked.
    fitted : bool, default=False
        Whether the table is for a fitted model, so that errors do not name options of a fit.
    """

    header: bool | None = None
    index: str | bool | None = None
    categorical: frozenset[str] = frozenset()
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: frozenset[str] = frozenset()
    wanted: frozenset[str] | None = None
    dropped: frozenset[str] = frozenset()
    fitted: bool = False

    def keeps(self, name: str) -> bool:
        """Whether a column is kept."""
        return name not in self.dropped and (self.wanted is None or name in self.wanted)


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
        The numbers; NaN where a cell is missing or a text.
    texts : dict of int to ndarray of object
        The columns of texts, by position; None where missing. In a table that was just read
        (``cells`` is not None), the texts of every column that has any, None elsewhere.
    rows : ndarray of int
        Rows of the file, counted from 1.
    index : list of str or None
        Names of the rows, if the file has any.
    index_name : str
        Name of the column that they come from.
    cells : callable or None
        The cells of a column as they are in the file, by position.
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
    rows: np.ndarray
    index: list[str] | None = None
    index_name: str = ""
    cells: Callable[[int], list[str]] | None = None
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

    @property
    def missing(self) -> np.ndarray:
        """Where cells are missing, as a mask."""
        holes = np.isnan(self.numbers)
        for j, column in self.texts.items():
            holes[:, j] = [text is None for text in column]
        return holes

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
