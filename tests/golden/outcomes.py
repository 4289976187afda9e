"""The stored outcomes, and what may differ from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parent / "outcomes.json"
DIGITS = 8
# Numbers of clear outcomes; rounding errors of other processors are far below.
CLOSE = 1e-5
# How much worse an unclear outcome may become.
WORSE = 0.01


def read() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))


def write(outcomes: dict[str, Any]) -> None:
    lines = [
        f"{json.dumps(name)}: {json.dumps(rounded(found), separators=(',', ':'))}"
        for name, found in outcomes.items()
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def rounded(value: Any) -> Any:
    """Numbers with the digits that are compared, so that the file stays small."""
    match value:
        case dict():
            return {key: rounded(each) for key, each in value.items()}
        case list():
            return [rounded(each) for each in value]
        case bool() | int():
            return value
    return float(f"{value:.{DIGITS}g}")


def changes(found: dict[str, Any], stored: dict[str, Any]) -> list[str]:
    """What differs, in words; nothing if the outcome is as good as the stored one.

    A clear outcome has the same sizes and supports and the same numbers. Another one has a value,
    of which less is better, that is at most 1 % larger.
    """
    if not stored["clear"]:
        limit = stored["value"] + WORSE * abs(stored["value"]) + 1e-12
        return [] if found["value"] <= limit else [difference("value", found, stored)]
    different = [
        difference(key, found, stored)
        for key in ("rank", "rows", "columns")
        if found.get(key) != stored.get(key)
    ]
    for key in ("value", "norm", "predictions"):
        one, other = (np.atleast_1d(each.get(key, 0.0)) for each in (found, stored))
        size = np.abs(other).max(initial=0.0)
        if one.shape != other.shape or np.abs(one - other).max(initial=0.0) > CLOSE * size + 1e-12:
            different.append(difference(key, found, stored))
    return different


def difference(key: str, found: dict[str, Any], stored: dict[str, Any]) -> str:
    return f"{key}: {short(rounded(found.get(key)))}, stored {short(stored.get(key))}"


def short(value: Any) -> str:
    text = str(value)
    return text if len(text) < 120 else text[:117] + "..."
