"""The index of all results: which claims of the paper hold."""

from __future__ import annotations

from pathlib import Path

from paper.claims import FAILS, HOLDS, NOT_RUN, CheckedClaim, check_claims
from paper.commands import own_command
from paper.csv_records import read_csv
from paper.markdown import write_page
from paper.provenance import QUICK, is_quick, origin, read_summary, replications
from paper.registry import claims, study_names
from paper.studies import StudyRecord, load_records
from thinrank.report.document import Cell, Link, Page, Section, Table, Text, Verdict


def write_index(folder: Path | str) -> None:
    """Write ``index.md`` and ``index.html`` from the records in a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    results = {
        name: load_records(folder, name) or read_csv(folder / name / "records.csv")
        for name in study_names()
        if (folder / name).is_dir()
    }
    write_page(_index_page(results, folder), folder, "index")


def _index_page(results: dict[str, list[StudyRecord]], folder: Path) -> Page:
    checked = check_claims(claims(), results)
    page = Page("The claims of the paper, checked")
    page.add(Text(_count(checked), stress=True))
    if any(is_quick(read_summary(folder / name)) for name, records in results.items() if records):
        page.add(Text(QUICK))
    page.add(
        Text(
            "Every claim about the experiments in Yu, Gupta and Kolar (2020) that numbers can "
            "decide. Where the paper gives no criterion, the claim states the one used here."
        ),
        Section("Claims"),
        Table(
            ("claim", "result", "numbers"),
            [(claim.text, _marked(claim.verdict), claim.evidence) for claim in checked],
            left=3,
        ),
        Text("sd: printed standard deviations, negative if the error is lower here."),
        Section("Studies"),
        Table(
            ("study", "command", "replications", "records"),
            [_study_row(name, results.get(name, []), folder) for name in study_names()],
            left=2,
        ),
    )
    where = origin({name: (rows, read_summary(folder / name)) for name, rows in results.items()})
    if where:
        page.add(Text(where))
    return page


def _count(checked: list[CheckedClaim]) -> str:
    tally = {
        word: sum(claim.verdict == word for claim in checked) for word in (HOLDS, FAILS, NOT_RUN)
    }
    text = f"Of {len(checked)} claims, {tally[HOLDS]} hold and {tally[FAILS]} do not"
    return text + (f"; {tally[NOT_RUN]} were not run." if tally[NOT_RUN] else ".")


def _marked(verdict: str) -> Verdict:
    return Verdict(verdict, {HOLDS: True, FAILS: False}.get(verdict))


def _study_row(name: str, records: list[StudyRecord], folder: Path) -> tuple[Cell, ...]:
    page = folder / name / "page.md"
    label: Cell = Link(name, f"{name}/page") if page.is_file() else name
    if not records:
        return label, _marked(NOT_RUN), "", ""
    command = own_command(name, read_summary(folder / name).get("command") or "")
    return label, f"`{command}`", str(replications(records)), str(len(records))
