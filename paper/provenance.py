"""Command, versions and machine that produced the numbers of a page."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from paper.studies import StudyRecord
from thinrank.report.document import Block, Section, Table, Text

QUICK = (
    "This is the small version (`--quick`), which shows that everything runs; it has too few "
    "replications to draw conclusions."
)


def provenance(records: list[StudyRecord], summary: dict[str, Any]) -> list[Block]:
    """Return the last section of a page: command, replications, machine and versions."""
    rows = [
        ("command", f"`{summary.get('command') or 'unknown'}`"),
        ("replications", str(replications(records))),
        ("records", str(len(records))),
        ("machine", _machine(records, summary)),
        ("versions", "; ".join(_distinct(records, "versions")) or "unknown"),
        ("run", _dates(records)),
    ]
    blocks: list[Block] = [
        Section("How this was made"),
        Table(("item", "value"), list(rows), left=2),
    ]
    jobs, finished = summary.get("jobs"), summary.get("jobs_finished")
    if jobs is not None and finished is not None and finished < jobs:
        blocks.append(Text(f"Unfinished: {finished} of {jobs} jobs of this study are finished."))
    return blocks


def is_quick(summary: dict[str, Any]) -> bool:
    """Return whether the records are those of the small version of a study."""
    return "--quick" in str(summary.get("command", ""))


def _machine(records: list[StudyRecord], summary: dict[str, Any]) -> str:
    """Describe the machine; its host name is used only if nothing else is known."""
    hosts = _distinct(records, "host")
    machine = summary.get("machine")
    if not machine:
        return "; ".join(hosts) or "unknown"
    return _machine_words(machine) + (f"; {len(hosts)} hosts" if len(hosts) > 1 else "")


def origin(studies: dict[str, tuple[list[StudyRecord], dict[str, Any]]]) -> str:
    """Describe the machines and versions of several studies; empty if there are no records."""
    ran = [pair for pair in studies.values() if pair[0]]
    if not ran:
        return ""
    machines = dict.fromkeys(_machine(records, summary) for records, summary in ran)
    versions = dict.fromkeys(text for records, _ in ran for text in _distinct(records, "versions"))
    return f"Machine: {'; '.join(machines)}. Versions: {'; '.join(versions) or 'unknown'}."


def read_summary(folder: Path) -> dict[str, Any]:
    """Return the contents of ``summary.json``; empty if there is no such file."""
    path = folder / "summary.json"
    if not path.is_file():
        return {}
    content = json.loads(path.read_text(encoding="utf-8"))
    return content if isinstance(content, dict) else {}


def replications(records: Iterable[StudyRecord]) -> int:
    """Return the number of distinct seeds; if there are none, 1 if there is a record.

    A selection on the full data does not count as a replication.
    """
    rows = list(records)
    drawn = [record for record in rows if record.get("kind") != "selection"]
    seeds = {str(record["seed"]) for record in drawn if record.get("seed") is not None}
    return len(seeds) or min(len(rows), 1)


def _distinct(records: Iterable[StudyRecord], field: str) -> list[str]:
    return list(dict.fromkeys(_words(r[field]) for r in records if r.get(field)))


def _words(value: Any) -> str:
    """Format a string or a mapping, which may be JSON text if it was read from CSV."""
    if isinstance(value, str) and value.startswith("{"):
        value = json.loads(value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    return str(value)


def _machine_words(machine: Any) -> str:
    """Format system, processor and number of cores, then the other fields."""
    if not isinstance(machine, dict) or "cores" not in machine:
        return _words(machine)
    rest = {**machine}
    kind = [str(rest.pop(name)) for name in ("system", "processor") if rest.get(name)]
    kind.append(f"{rest.pop('cores')} cores")
    return "; ".join([", ".join(kind), *(_words(value) for value in rest.values() if value)])


def _dates(records: Iterable[StudyRecord]) -> str:
    days = sorted({str(r["started"])[:10] for r in records if r.get("started")})
    if not days:
        return "unknown"
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
