"""Where the numbers of a page come from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from thinrank.report.page import Block, Section, Table, Text
from thinrank.report.statistics import Record

__all__ = ["provenance", "read_summary", "replications"]


def provenance(name: str, records: list[Record], summary: dict[str, Any]) -> list[Block]:
    """Return the end of a page: command, versions, machine, number of replications."""
    rows = [
        ("command", f"`{summary.get('command') or f'thinrank reproduce {name}'}`"),
        ("replications", str(replications(records))),
        ("records", str(len(records))),
        ("machine", "; ".join(_distinct(records, "host")) or "unknown"),
        ("versions", "; ".join(_distinct(records, "versions")) or "unknown"),
        ("run", _dates(records)),
    ]
    blocks: list[Block] = [Section("How this was made"), Table(("", ""), list(rows), left=2)]
    if any(record.get("status") == "failed" for record in records):
        failed = sum(record.get("status") == "failed" for record in records)
        blocks.append(Text(f"{failed} runs failed and are not in the numbers above."))
    return blocks


def read_summary(folder: Path) -> dict[str, Any]:
    """Return what the runner wrote into ``summary.json``, or nothing."""
    path = folder / "summary.json"
    if not path.is_file():
        return {}
    content = json.loads(path.read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}


def replications(records: Iterable[Record]) -> int:
    """Return the number of distinct seeds; without seeds, one if there is a record."""
    rows = list(records)
    seeds = {str(record["seed"]) for record in rows if record.get("seed") is not None}
    return len(seeds) or min(len(rows), 1)


def _distinct(records: Iterable[Record], field: str) -> list[str]:
    return list(dict.fromkeys(_words(r[field]) for r in records if r.get(field)))


def _words(value: Any) -> str:
    """Write a string or a mapping, which may have come through CSV as JSON."""
    if isinstance(value, str) and value.startswith("{"):
        value = json.loads(value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return str(value)


def _dates(records: Iterable[Record]) -> str:
    days = sorted({str(r["started"])[:10] for r in records if r.get("started")})
    if not days:
        return "unknown"
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
