"""Read records from ``records.csv``, for results whose cache was not kept."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from paper.studies import StudyRecord

_WORDS = {"True": True, "False": False}


def read_csv(path: Path) -> list[StudyRecord]:
    """Read the records of a ``records.csv``."""
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
