"""Records from the table that is kept when the cached ones are not."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from thinrank.report.statistics import Record

__all__ = ["read_csv"]

_WORDS = {"True": True, "False": False}


def read_csv(path: Path) -> list[Record]:
    """Return the records in a ``records.csv``; empty if there is no such file.

    Numbers, lists and truth values get their types back; fields without a value are left out.
    """
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [{name: _value(text) for name, text in row.items() if text} for row in rows]


def _value(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "-[0123456789":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
