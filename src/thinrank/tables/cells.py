"""Cells of text files as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

NAN = float("nan")

_MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", ".", "?"})
_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


def is_missing(cell: str) -> bool:
    """Whether a cell is one of the usual marks of a missing value."""
    return cell.strip().lower() in _MISSING


def is_number(cell: object) -> bool:
    """Whether a cell is a number, or a text of one with a decimal point or comma."""
    text = str(cell)
    return number_of(text, ".") is not None or number_of(text, ",") is not None


def number_of(cell: str, decimal: str) -> float | None:
    """The number in a cell, NaN if it is missing, None if it is text.

    With a decimal comma, a cell with a point is text: the point may separate thousands.
    """
    try:
        if decimal == "," and "." in cell:
            raise ValueError
        if "_" in cell:  # Python accepts 1_000
            raise ValueError
        return float(cell.replace(",", ".") if decimal == "," else cell)
    except ValueError:
        return NAN if is_missing(cell) else None


def uses_decimal_comma(cells: Iterable[str]) -> bool:
    """Whether numbers such as 1,5 occur, and none such as 1.5."""
    comma = False
    for cell in cells:
        text = cell.strip()
        if _POINT.fullmatch(text):
            return False
        comma = comma or _COMMA.fullmatch(text) is not None
    return comma
