"""How a delimited text file is written: its delimiter, decimal separator and first bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TextStyle:
    r"""The style of a text file, which other files can be written in.

    Examples
    --------
    >>> from thinrank.tables.text_style import TextStyle
    >>> TextStyle("\t", ",").for_suffix(".csv").delimiter
    ';'
    """

    delimiter: str = ","  # the character between cells
    decimal: str = "."  # the decimal separator
    # whether the file begins with the mark of UTF-8 that spreadsheets write, and without which some
    # of them show other letters than those of the file
    marked: bool = False

    def for_suffix(self, suffix: str) -> TextStyle:
        """The style of a file with a suffix: tabs for ``.tsv``, and none of them for ``.csv``."""
        delimiter = self.delimiter
        if suffix == ".tsv":
            delimiter = "\t"
        elif delimiter == "\t" or delimiter == self.decimal:
            delimiter = ";" if self.decimal == "," else ","
        return TextStyle(delimiter, self.decimal, self.marked)
