"""Cells of files: numbers, missing cells, and texts that look like numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

NAN = float("nan")
_MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", ".", "?"})
_DECIMAL = {mark: re.compile(rf"[+-]?\d*{re.escape(mark)}\d+([eE][+-]?\d+)?") for mark in ".,"}
_GROUPS = {mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+") for mark in ".,"}
_WHOLE = re.compile(r"([+-]?)0*(\d+)(?:[.,]0*)?")
_PERCENT = re.compile(r"(.*\S)\s*%")
# numbers with units, dates, times, ranges, currencies and limits of detection; but not "1120_A"
_LIKE_NUMBER = re.compile(r"[<>≤≥~≈±=$€£¥+−–-]*\s*[.,]?\d")


def is_missing(cell: str, marks: Collection[str] = ()) -> bool:
    """Whether a cell is one of the usual marks of a missing value, or of those given."""
    text = cell.strip()
    return text.lower() in _MISSING or text in marks


def number_of(cell: str, decimal: str, thousands: bool = False) -> float | None:
    """The number in a cell, NaN if it is missing, None if it is text.

    ``thousands``: whether the other one of point and comma may separate thousands.
    """
    text, other = cell.strip(), "," if decimal == "." else "."
    if thousands and other in text:
        whole, _, fraction = text.partition(decimal)
        if not _GROUPS[other].fullmatch(whole) or other in fraction:
            return None
        text = text.replace(other, "")
    try:
        if "_" in text or (decimal == "," and "." in text):
            raise ValueError  # Python accepts 1_000
        return float(text.replace(",", ".") if decimal == "," else text)
    except ValueError:
        return NAN if is_missing(text) else None


def percent_of(cell: str, decimal: str) -> float | None:
    """The number before a percent sign."""
    found = _PERCENT.fullmatch(cell.strip())
    return None if found is None else number_of(found[1], decimal)


def looks_like_number(cell: str) -> bool:
    """Whether a text is a number with something else, a date or the like."""
    return _LIKE_NUMBER.match(cell) is not None


def decimal_evidence(cell: str) -> str:
    """The decimal mark that a cell has; "?" if its comma may separate thousands, or empty."""
    text = cell.strip()
    if _DECIMAL["."].fullmatch(text):
        return "."
    if "," not in text:
        return ""
    if _GROUPS[","].fullmatch(text):
        return "?"
    return "," if _DECIMAL[","].fullmatch(text) else ""


def canonical(cell: str) -> str:
    """A name of a row without what files write differently: case, spaces, zeros around a number."""
    text = " ".join(unicodedata.normalize("NFKC", cell).split()).casefold()
    whole = _WHOLE.fullmatch(text)
    if whole is not None:
        return ("-" if whole[1] == "-" and whole[2] != "0" else "") + whole[2]
    number = number_of(text, "," if "," in text else ".")
    return text if number is None or number != number else repr(number)
