"""Where the numbers of a page come from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from thinrank.report.page import Block, Section, Table, Text
from thinrank.report.statistics import Record

__all__ = ["QUICK", "is_quick", "origin", "provenance", "read_summary", "replications"]


QUICK = "This is the small version (`--quick`): it shows that everything runs, and decides nothing."


def provenance(name: str, records: list[Record], summary: dict[str, Any]) -> list[Block]:
    """Return the end of a page: command, versions, machine, number of replications."""
    rows = [
        ("command", f"`{summary.get('command') or f'thinrank reproduce {name}'}`"),
        ("replications", str(replications(records))),
        ("records", str(len(records))),
        ("machine", _machine(records, summary)),
        ("versions", "; ".join(_distinct(records, "versions")) or "unknown"),
        ("run", _dates(records)),
    ]
    blocks: list[Block] = [Section("How this was made"), Table(("", ""), list(rows), left=2)]
    jobs, finished = summary.get("jobs"), summary.get("jobs_finished")
    if jobs is not None and finished is not None and finished < jobs:
        blocks.append(Text(f"Unfinished: {finished} of {jobs} jobs of this study are done."))
    return blocks


def is_quick(summary: dict[str, Any]) -> bool:
    """Whether the records are those of the small version of a study."""
    return "--quick" in str(summary.get("command", ""))


def _machine(records: list[Record], summary: dict[str, Any]) -> str:
    """Describe the machine by its kind; by its name only if nothing else is known."""
    hosts = _distinct(records, "host")
    machine = summary.get("machine")
    if not machine:
        return "; ".join(hosts) or "unknown"
    return _machine_words(machine) + (f"; {len(hosts)} hosts" if len(hosts) > 1 else "")


def origin(studies: dict[str, tuple[list[Record], dict[str, Any]]]) -> str:
    """Return machines and versions of several studies in a sentence; nothing without records."""
    ran = [pair for pair in studies.values() if pair[0]]
    if not ran:
        return ""
    machines = dict.fromkeys(_machine(records, summary) for records, summary in ran)
    versions = dict.fromkeys(text for records, _ in ran for text in _distinct(records, "versions"))
    return f"Machine: {'; '.join(machines)}. Versions: {'; '.join(versions) or 'unknown'}."


def read_summary(folder: Path) -> dict[str, Any]:
    """Return what the runner wrote into ``summary.json``, or nothing."""
    path = folder / "summary.json"
    if not path.is_file():
        return {}
    content = json.loads(path.read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}


def replications(records: Iterable[Record]) -> int:
    """Return the number of distinct seeds; without seeds, one if there is a record.

    A selection on the full data is no replication.
    """
    rows = list(records)
    drawn = [record for record in rows if record.get("kind") != "selection"]
    seeds = {str(record["seed"]) for record in drawn if record.get("seed") is not None}
    return len(seeds) or min(len(rows), 1)


def _distinct(records: Iterable[Record], field: str) -> list[str]:
    return list(dict.fromkeys(_words(r[field]) for r in records if r.get(field)))


def _words(value: Any) -> str:
    """Write a string or a mapping, which may have come through CSV as JSON."""
    if isinstance(value, str) and value.startswith("{"):
        value = json.loads(value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    return str(value)


def _machine_words(machine: Any) -> str:
    """Write system, processor and number of cores, then whatever else is known."""
    if not isinstance(machine, dict) or "cores" not in machine:
        return _words(machine)
    rest = {**machine}
    kind = [str(rest.pop(name)) for name in ("system", "processor") if rest.get(name)]
    kind.append(f"{rest.pop('cores')} cores")
    return "; ".join([", ".join(kind), *(_words(value) for value in rest.values() if value)])


def _dates(records: Iterable[Record]) -> str:
    days = sorted({str(r["started"])[:10] for r in records if r.get("started")})
    if not days:
        return "unknown"
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
