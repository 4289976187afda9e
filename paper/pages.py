"""Write the page and the figures of a study from its records."""

from __future__ import annotations

from pathlib import Path

from paper.claims import FAILS, HOLDS
from paper.commands import own_command
from paper.markdown import write_page
from paper.provenance import QUICK, is_quick, provenance, read_summary
from paper.registry import claims, find_page
from paper.studies import StudyRecord
from thinrank.report.document import (
    Block,
    Link,
    Page,
    Section,
    Table,
    Text,
    Verdict,
    check_libraries,
    drawing,
)


def write_study(name: str, records: list[StudyRecord], folder: Path | str) -> None:
    """Write the page and the figures of a study."""
    make_page = find_page(name)
    check_libraries()
    place = Path(folder) / name
    place.mkdir(parents=True, exist_ok=True)
    summary = read_summary(place)
    summary["command"] = own_command(name, summary.get("command") or "")
    with drawing():
        if records:
            page: Page = make_page(name, records)
            if is_quick(summary):
                page.blocks.insert(1, Text(QUICK))
            sections = [i for i, b in enumerate(page.blocks) if isinstance(b, Section)]
            first = sections[0] if sections else len(page.blocks)
            page.blocks[first:first] = _claims(name, records)
        else:
            page = Page(name, [Text("No replication of this study is finished.", stress=True)])
        page.add(*provenance(records, summary))
        page.up = Link("All results", "../index")
        write_page(page, place, "page")


def _claims(name: str, records: list[StudyRecord]) -> list[Block]:
    """Return the claims about this study, each with a mark and the numbers that decide it."""
    found = [(c.text, c.check(name, records)) for c in claims() if name in c.studies]
    rows = [
        (text, Verdict(HOLDS if finding[0] else FAILS, finding[0]), finding[1])
        for text, finding in found
        if finding is not None
    ]
    if not rows:
        return []
    table = Table(("claim", "result", "numbers"), list(rows), left=3)
    return [Section("Claims that this study checks"), table]
