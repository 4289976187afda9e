"""The page of a study, as Markdown and as HTML, and the index of all claims."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd

from paper.figures import store
from paper.study import Claim, Finding, Record, Study, command_of, load_records, read_summary
from thinrank.core.files import write_text
from thinrank.report.document import (
    Block,
    Cell,
    Link,
    Page,
    Picture,
    Section,
    Table,
    Text,
    Verdict,
    check_libraries,
    drawing,
    render_html,
)

HOLDS, FAILS, NOT_RUN = "holds", "does not hold", "not run"

_QUICK = (
    "This is the small version (`--quick`), which shows that everything runs; it has too few "
    "replications to draw conclusions."
)
_HEADER = ("claim", "result", "numbers")


def write_study(study: Study, out: Path | str) -> None:
    """Write page and figures of a study from the records in the folder of all results."""
    check_libraries()
    records, summary = load_records(out, study.name), read_summary(Path(out) / study.name)
    page = Page(study.title, up=Link("All results", "../index"))
    with drawing():
        if records:
            page.add(*_study_blocks(study, pd.DataFrame(records), summary))
        else:
            page.add(Text("No replication of this study is finished.", stress=True))
        page.add(*_provenance(study, records, summary))
        _write(page, Path(out) / study.name, "page")


def write_index(studies: dict[str, Study], out: Path | str) -> None:
    """Write ``index.md`` and ``index.html`` from the records of all studies in a folder."""
    out = Path(out)
    records = {name: load_records(out, name) for name in studies}
    summaries = {name: read_summary(out / name) for name in studies}
    checked = check_claims(studies, records)
    tally = [[verdict for _, verdict, _ in checked].count(word) for word in (HOLDS, FAILS, NOT_RUN)]
    missing = f"; {tally[2]} were not run" if tally[2] else ""
    page = Page("The claims of the paper, checked")
    page.add(
        Text(f"Of {len(checked)} claims, {tally[0]} hold and {tally[1]} do not{missing}.", True)
    )
    if any(summary.get("quick") for summary in summaries.values()):
        page.add(Text(_QUICK))
    page.add(
        Text(
            "Every claim about the experiments in Yu, Gupta and Kolar (2020) that numbers can "
            "decide. Where the paper gives no criterion, the claim states the one used here."
        ),
        Section("Claims"),
        Table(_HEADER, [(claim.text, _mark(word), told) for claim, word, told in checked], left=3),
        Text("sd: printed standard deviations, negative if the error is lower here."),
        Section("Studies"),
        Table(
            ("study", "command", "replications", "records"),
            [_study_row(name, records[name], summaries[name], out) for name in studies],
            left=2,
        ),
    )
    machines = dict.fromkeys(summary["machine"] for summary in summaries.values() if summary)
    versions = dict.fromkeys(record["versions"] for rows in records.values() for record in rows)
    if versions:
        page.add(Text(f"Machine: {'; '.join(machines)}. Versions: {'; '.join(versions)}."))
    _write(page, out, "index")


def check_claims(
    studies: dict[str, Study], records: dict[str, list[Record]]
) -> list[tuple[Claim, str, str]]:
    """Each claim with its verdict and the numbers; one about several studies needs all of them."""
    checked = []
    for claim in dict.fromkeys(claim for study in studies.values() for claim in study.claims):
        names = [name for name, study in studies.items() if claim in study.claims]
        found = {name: _finding(claim, records.get(name, [])) for name in names}
        decided = [finding[0] for finding in found.values() if finding]
        told = "; ".join(
            f"{name}: " * (len(names) > 1) + (finding[1] if finding else NOT_RUN)
            for name, finding in found.items()
        )
        verdict = FAILS if not all(decided) else HOLDS if len(decided) == len(names) else NOT_RUN
        checked.append((claim, verdict, told if decided else ""))
    return checked


def _finding(claim: Claim, records: list[Record]) -> Finding | None:
    return claim.check(pd.DataFrame(records)) if records else None


def _mark(verdict: str) -> Verdict:
    return Verdict(verdict, {HOLDS: True, FAILS: False}.get(verdict))


def _study_row(
    name: str, records: list[Record], summary: dict[str, Any], out: Path
) -> tuple[Cell, ...]:
    label: Cell = Link(name, f"{name}/page") if (out / name / "page.md").is_file() else name
    if not records:
        return label, _mark(NOT_RUN), "", ""
    return label, f"`{summary['command']}`", str(_replications(records)), str(len(records))


def _study_blocks(study: Study, records: pd.DataFrame, summary: dict[str, Any]) -> list[Block]:
    """The claims that the study decides, then its own blocks."""
    found = [(claim.text, claim.check(records)) for claim in study.claims]
    rows: list[tuple[Cell, ...]] = [
        (text, _mark(HOLDS if finding[0] else FAILS), finding[1])
        for text, finding in found
        if finding
    ]
    blocks: list[Block] = [Text(_QUICK)] if summary.get("quick") else []
    if rows:
        blocks += [Section("Claims that this study checks"), Table(_HEADER, rows, left=3)]
    return [*blocks, Section("The study"), *study.page(records)]


def _provenance(study: Study, records: list[Record], summary: dict[str, Any]) -> list[Block]:
    """The last section of a page: command, replications, machine and versions."""
    days = sorted({record["started"][:10] for record in records})
    rows = [
        ("command", f"`{summary.get('command') or command_of(study.name)}`"),
        ("replications", str(_replications(records))),
        ("records", str(len(records))),
        ("machine", summary.get("machine", "unknown")),
        ("versions", "; ".join(dict.fromkeys(record["versions"] for record in records))),
        ("run", " to ".join(dict.fromkeys([*days[:1], *days[-1:]]))),
    ]
    blocks: list[Block] = [
        Section("How this was made"),
        Table(("item", "value"), list(rows), left=2),
    ]
    jobs, finished = summary.get("jobs", 0), summary.get("jobs_finished", 0)
    if finished < jobs:
        blocks.append(Text(f"Unfinished: {finished} of {jobs} jobs of this study are finished."))
    return blocks


def _replications(records: list[Record]) -> int:
    """The number of seeds; a selection on the full data does not count."""
    return len({record["seed"] for record in records if record.get("kind") != "selection"})


def _write(page: Page, folder: Path, stem: str) -> None:
    """Write a page as Markdown and as HTML, and its figures to the same folder."""
    folder.mkdir(parents=True, exist_ok=True)
    drawings = {
        picture.name: store(picture.figure, folder, picture.name) for picture in page.pictures
    }
    write_text(folder / f"{stem}.md", markdown(page))
    write_text(folder / f"{stem}.html", render_html(page, drawings))


def markdown(page: Page) -> str:
    """Render a page as Markdown for GitHub and MyST; pictures are links to SVG files.

    The front matter marks the page as an orphan for Sphinx, so that the documentation builds
    without warnings whether or not a table of contents lists the page.
    """
    up = [f"[← {_escape(page.up.text)}]({page.up.target}.md)"] if page.up else []
    front = "---\norphan: true\n---"
    return "\n\n".join([front, f"# {_escape(page.title)}", *up, *map(_block, page.blocks)]) + "\n"


def _block(block: Block) -> str:
    match block:
        case Section(title):
            return f"## {_escape(title)}"
        case Text(text, stress):
            return f"**{_escape(text)}**" if stress else _escape(text)
        case Picture(name, _, description):
            caption = _escape(description)
            return f"![{caption}]({name}.svg)\n\n*{caption}*"
        case Table():
            rules = ["---" if i < block.left else "---:" for i in range(len(block.header))]
            rows = [map(_cell, row) for row in [block.header, *block.rows]]
            head, *body = (f"| {' | '.join(row)} |" for row in rows)
            return "\n".join([head, f"| {' | '.join(rules)} |", *body])
    raise TypeError(f"pages of studies have no block {type(block).__name__}")


def _cell(cell: Cell) -> str:
    match cell:
        case Link(text, target):
            return f"[{_escape(text)}]({target}.md)"
        case Verdict(text):
            return f"{cell.mark} {_escape(text)}"
        case str():
            return _escape(cell).replace("|", "\\|")
    raise TypeError(f"tables of studies have no cell {type(cell).__name__}")


def _escape(text: str) -> str:
    """Escape Markdown markup outside of backticks."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(
        piece if piece.startswith("`") else re.sub(r"([\\*_\[\]<~])", r"\\\1", piece)
        for piece in pieces
    )
