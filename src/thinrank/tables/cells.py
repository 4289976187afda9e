"""Cells of files: numbers, missing cells, and texts that look like numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

_MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", ".", "?"})
DECIMALS = {".": re.compile(r"[+-]?\d*\.\d+(e[+-]?\d+)?", re.I)}
DECIMALS[","] = re.compile(DECIMALS["."].pattern.replace(r"\.", ","), re.I)
THOUSANDS = {".": re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")}
THOUSANDS[","] = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d*)?")
_WHOLE = re.compile(r"([+-]?)0*(\d+)(?:[.,]0*)?")
_LARGE = re.compile(r"[+-]?\d{16,}(\.0*)?")
EXACT = 2.0**53  # larger whole numbers, such as barcodes, are not exact as floating-point numbers
# numbers with units, dates, times, ranges, currencies and limits of detection; but not "1120_A"
_LIKE_NUMBER = re.compile(r"[<>≤≥~≈±=$€£¥+−–-]*\s*[.,]?\d")


def is_missing(cell: str, marks: Collection[str] = ()) -> bool:
    """Whether a cell is one of the usual marks of a missing value, or of those given."""
    return cell.lower() in _MISSING or cell in marks


def number_of(cell: str, decimal: str = ".", thousands: bool = False) -> float | None:
    """The number in a cell; None if it is missing, a text, or too large a whole number.

    ``thousands``: whether the other one of point and comma may separate thousands.
    """
    if thousands and THOUSANDS[decimal].fullmatch(cell):
        cell = cell.replace("," if decimal == "." else ".", "")
    if "_" in cell or (decimal == "," and "." in cell):
        return None  # Python accepts 1_000
    cell = cell.replace(decimal, ".")
    try:
        number = float(cell)
    except ValueError:
        return None
    return None if number != number or is_inexact(cell) else number


def is_inexact(cell: str) -> bool:
    """Whether a text is a whole number that floating-point numbers may not represent."""
    return _LARGE.fullmatch(cell) is not None and abs(float(cell)) >= EXACT


def looks_like_number(cell: str) -> bool:
    """Whether a text is a number with something else, a date or the like."""
    return _LIKE_NUMBER.match(cell) is not None


def canonical(cell: str) -> str:
    """A name of a row without what files write differently: case, spaces, zeros around a number."""
    text = " ".join(unicodedata.normalize("NFKC", cell).split()).casefold()
    whole = _WHOLE.fullmatch(text)
    if whole is not None:
        return ("-" if whole[1] == "-" and whole[2] != "0" else "") + whole[2]
    number = number_of(text, "," if "," in text else ".")
    return text if number is None else repr(number)
