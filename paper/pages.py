"""The page of a study as Markdown with SVG figures, and the index of all claims."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from paper.study import Record, Study, load_records, read_summary
from thinrank.core.files import write_text
from thinrank.report.document import Block, Picture, Section, Table, Text, as_svg, drawing

HOLDS, FAILS, NOT_RUN = "✓ holds", "✗ does not hold", "– not run"

_QUICK = Text(
    "This is the small version (`QUICK=1`), which shows that everything runs; it has too few "
    "replications to draw conclusions."
)


def write_study(study: Study, out: Path | str) -> None:
    """Write page and figures of a study from the records in the folder of all results."""
    folder = Path(out) / study.name
    records, summary = load_records(out, study.name), read_summary(folder)
    with drawing():
        blocks = [*_study_blocks(study, records, summary), *_provenance(records, summary)]
        for block in blocks:
            if isinstance(block, Picture):
                write_text(folder / f"{block.name}.svg", as_svg(block.figure))
    write_text(folder / "page.md", markdown(study.title, blocks, up="[← All results](../index.md)"))


def write_index(studies: dict[str, Study], out: Path | str) -> None:
    """Write ``index.md`` from the records of all studies in a folder."""
    out = Path(out)
    records = {name: load_records(out, name) for name in studies}
    summaries = {name: read_summary(out / name) for name in studies}
    checked = check_claims(studies, records)
    tally = [[verdict for _, verdict, _ in checked].count(word) for word in (HOLDS, FAILS, NOT_RUN)]
    missing = f"; {tally[2]} were not run" if tally[2] else ""
    blocks: list[Block] = [
        Text(f"Of {len(checked)} claims, {tally[0]} hold and {tally[1]} do not{missing}.", True),
        *([_QUICK] if any(summary.get("quick") for summary in summaries.values()) else []),
        Text(
            "Every claim about the experiments in Yu, Gupta and Kolar (2020) that numbers can "
            "decide. Where the paper gives no criterion, the claim states the one used here."
        ),
        Section("Claims"),
        _claim_table(checked),
        Text("sd: printed standard deviations, negative if the error is lower here."),
        Section("Studies"),
        Table(
            ("study", "command", "replications", "records"),
            [_study_row(name, records[name], summaries[name]) for name in studies],
            left=2,
        ),
    ]
    machines = dict.fromkeys(summary["machine"] for summary in summaries.values() if summary)
    versions = dict.fromkeys(record["versions"] for rows in records.values() for record in rows)
    if versions:
        blocks.append(Text(f"Machine: {'; '.join(machines)}. Versions: {'; '.join(versions)}."))
    write_text(out / "index.md", markdown("The claims of the paper, checked", blocks))


def check_claims(
    studies: dict[str, Study], records: dict[str, list[Record]]
) -> list[tuple[str, str, str]]:
    """Each claim with its verdict and the numbers; one about several studies needs all of them."""
    checked = []
    for claim in dict.fromkeys(claim for study in studies.values() for claim in study.claims):
        names = [name for name, study in studies.items() if claim in study.claims]
        found = {
            name: claim(pd.DataFrame(records[name])) if records.get(name) else None
            for name in names
        }
        decided = [finding[0] for finding in found.values() if finding]
        told = "; ".join(
            f"{name}: " * (len(names) > 1) + (finding[1] if finding else "not run")
            for name, finding in found.items()
        )
        verdict = FAILS if not all(decided) else HOLDS if len(decided) == len(names) else NOT_RUN
        text = " ".join((claim.__doc__ or "").split()).removesuffix(".")
        checked.append((text, verdict, told if decided else ""))
    return checked


def _study_row(name: str, records: list[Record], summary: dict[str, Any]) -> tuple[str, ...]:
    if not records:
        return name, NOT_RUN, "", ""
    counts = str(_replications(records)), str(len(records))
    return f"[{name}]({name}/page.md)", f"`{summary['command']}`", *counts


def _study_blocks(study: Study, records: list[Record], summary: dict[str, Any]) -> list[Block]:
    """The claims that the study decides, then its own blocks."""
    checked = check_claims({study.name: study}, {study.name: records})
    decided = [claim for claim in checked if claim[1] != NOT_RUN]
    blocks: list[Block] = [_QUICK] if summary["quick"] else []
    if decided:
        blocks += [Section("Claims that this study checks"), _claim_table(decided)]
    return [*blocks, Section("The study"), *study.page(pd.DataFrame(records))]


def _claim_table(checked: list[tuple[str, str, str]]) -> Table:
    return Table(("claim", "result", "numbers"), list(checked), left=3)


def _provenance(records: list[Record], summary: dict[str, Any]) -> list[Block]:
    """The last section of a page: command, replications, machine and versions."""
    days = sorted(record["day"] for record in records)
    rows = [
        ("command", f"`{summary['command']}`"),
        ("replications", str(_replications(records))),
        ("records", str(len(records))),
        ("machine", summary["machine"]),
        ("versions", "; ".join(dict.fromkeys(record["versions"] for record in records))),
        ("run", " to ".join(dict.fromkeys([days[0], days[-1]]))),
    ]
    return [Section("How this was made"), Table(("item", "value"), list(rows), left=2)]


def _replications(records: list[Record]) -> int:
    """The number of seeds; a selection on the full data does not count."""
    return len({record["seed"] for record in records if record.get("kind") != "selection"})


def markdown(title: str, blocks: Sequence[Block], up: str = "") -> str:
    """Render a page as Markdown for GitHub and MyST; pictures are links to SVG files.

    The front matter marks the page as an orphan for Sphinx, so that the documentation builds
    without warnings whether or not a table of contents lists the page.
    """
    parts = ["---\norphan: true\n---", f"# {_escape(title)}", *([up] if up else [])]
    return "\n\n".join([*parts, *map(_block, blocks)]) + "\n"


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
            cells = [[_escape(str(cell)) for cell in row] for row in (block.header, *block.rows)]
            head, *body = (f"| {' | '.join(row)} |" for row in cells)
            return "\n".join([head, f"| {' | '.join(rules)} |", *body])
    raise TypeError(f"pages of studies have no block {type(block).__name__}")


def _escape(text: str) -> str:
    """Escape Markdown markup outside of code and links."""
    pieces = re.split(r"(`[^`]*`|\[[^]]*\]\([^)]*\))", text)
    pieces[::2] = [re.sub(r"([\\*_\[\]<~|])", r"\\\1", piece) for piece in pieces[::2]]
    return "".join(pieces)
