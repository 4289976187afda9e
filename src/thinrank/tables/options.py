"""How a file is to be read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReadOptions:
    """What the user says about a file; None leaves the decision to the reader.

    Parameters
    ----------
    header : bool or None, default=None
        Whether the first row has the names of the columns.
    index : str, False or None, default=None
        Name of the column with the names of the rows; False if there is none.
    index_required : bool, default=True
        Whether a file without the column ``index`` is an error.
    categorical : frozenset of str, default=frozenset()
        Columns that are read as texts even if they contain numbers. Names that the file does not
        have are ignored.
    delimiter : str or None, default=None
        The character between cells.
    decimal : {".", ","} or None, default=None
        The decimal separator.
    encoding : str or None, default=None
        The encoding of a text file.
    wanted : frozenset of str or None, default=None
        Columns to keep; None for all. The cells of others are not checked.
    dropped : frozenset of str, default=frozenset()
        Columns to leave out. Their cells are not checked.
    responses : frozenset of str, default=frozenset()
        Columns that are responses, for the remedies that errors name.
    fitted : bool, default=False
        Whether the table is for a model that was fitted, so that errors do not name options that
        only a fit has.
    """

    header: bool | None = None
    index: str | bool | None = None
    index_required: bool = True
    categorical: frozenset[str] = frozenset()
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    wanted: frozenset[str] | None = None
    dropped: frozenset[str] = frozenset()
    responses: frozenset[str] = frozenset()
    fitted: bool = False

    def keeps(self, name: str) -> bool:
        """Whether a column is kept."""
        return name not in self.dropped and (self.wanted is None or name in self.wanted)

    def is_data(self, name: str) -> bool:
        """Whether a column is known to have data, so that it has no names of the rows."""
        return name in self.categorical or (self.wanted is not None and name in self.wanted)
