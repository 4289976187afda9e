"""The numbers that the paper prints."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

BASELINES = ("DPP", "TSVD", "EEA", "RCGL", "JRRS", "MTL")
"""The six methods that the paper compares GDT with."""


@cache
def printed() -> dict[str, Any]:
    """Return ``printed.json``: tables 1 to 4, running times and the Norwegian paper data."""
    text = files("paper").joinpath("printed.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def table_names() -> tuple[str, ...]:
    """Return the names of the studies that are tables of errors, in the order of the paper."""
    return tuple(printed()["tables"])


def setting_title(setting: str) -> str:
    """Return the paper's description of a simulated setting; other names are returned as is."""
    for table in printed()["tables"].values():
        if table["setting"] == setting:
            return str(table["title"])
    return setting.replace("_", " ")


def printed_seconds(method: str, zeta: float) -> float | None:
    """Return the printed running time of a method.

    ``seconds``: None where it prints nothing.
    """
    table = printed()["seconds"]
    if method not in table["methods"] or zeta not in table["zeta"]:
        return None
    seconds = table["methods"][method][table["zeta"].index(zeta)]
    return float("inf") if seconds is None else float(seconds)
