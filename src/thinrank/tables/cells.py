"""Cells of files: numbers, missing cells, and texts that look like numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

_MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", ".", "?"})
_DECIMAL = {mark: re.compile(rf"[+-]?\d*{re.escape(mark)}\d+([eE][+-]?\d+)?") for mark in ".,"}
_GROUPS = {mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+") for mark in ".,"}
_WHOLE = re.compile(r"([+-]?)0*(\d+)(?:[.,]0*)?")
# numbers with units, dates, times, ranges, currencies and limits of detection; but not "1120_A"
_LIKE_NUMBER = re.compile(r"[<>≤≥~≈±=$€£¥+−–-]*\s*[.,]?\d")


def is_missing(cell: str, marks: Collection[str] = ()) -> bool:
    """Whether a cell is one of the usual marks of a missing value, or of those given."""
    return cell.lower() in _MISSING or cell in marks


def number_of(cell: str, decimal: str = ".", thousands: bool = False) -> float | None:
    """The number in a cell; None if it is missing or a text.

    ``thousands``: whether the other one of point and comma may separate thousands.
    """
    other = "," if decimal == "." else "."
    if thousands and other in cell:
        whole, _, fraction = cell.partition(decimal)
        if not _GROUPS[other].fullmatch(whole) or other in fraction:
            return None
        cell = cell.replace(other, "")
    if "_" in cell or (decimal == "," and "." in cell):
        return None  # Python accepts 1_000
    try:
        number = float(cell.replace(decimal, "."))
    except ValueError:
        return None
    return number if number == number else None


def looks_like_number(cell: str) -> bool:
    """Whether a text is a number with something else, a date or the like."""
    return _LIKE_NUMBER.match(cell) is not None


def decimal_evidence(cell: str) -> str:
    """The decimal mark that a cell has; "?" if its comma may separate thousands, or empty."""
    if _DECIMAL["."].fullmatch(cell):
        return "."
    if "," not in cell:
        return ""
    if _GROUPS[","].fullmatch(cell):
        return "?"
    return "," if _DECIMAL[","].fullmatch(cell) else ""


def canonical(cell: str) -> str:
    """A name of a row without what files write differently: case, spaces, zeros around a number."""
    text = " ".join(unicodedata.normalize("NFKC", cell).split()).casefold()
    whole = _WHOLE.fullmatch(text)
    if whole is not None:
        return ("-" if whole[1] == "-" and whole[2] != "0" else "") + whole[2]
    number = number_of(text, "," if "," in text else ".")
    return text if number is None else repr(number)
