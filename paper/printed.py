"""The numbers that the paper prints."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def printed() -> dict[str, Any]:
    """Return ``printed.json``: tables 1 to 4, running times and the Norwegian paper data."""
    return dict(json.loads(Path(__file__).with_name("printed.json").read_text(encoding="utf-8")))


def setting_title(setting: str) -> str:
    """Return the paper's description of a simulated setting."""
    return next(t["title"] for t in printed()["tables"].values() if t["setting"] == setting)


def printed_seconds(method: str, zeta: float) -> float | None:
    """Return the printed running time of a method; None where the paper prints nothing."""
    table = printed()["seconds"]
    if method not in table["methods"] or zeta not in table["zeta"]:
        return None
    seconds = table["methods"][method][table["zeta"].index(zeta)]
    return float("inf") if seconds is None else float(seconds)
