"""The index: which claims of the paper hold here."""

from __future__ import annotations

from pathlib import Path

from thinrank.report.claims import FAILS, HOLDS, NOT_RUN, Claim, judge
from thinrank.report.csv_records import read_csv
from thinrank.report.page import Link, Page, Section, Table, Text
from thinrank.report.provenance import QUICK, is_quick, origin, read_summary, replications
from thinrank.report.statistics import Record
from thinrank.report.study import STUDIES, write_page
from thinrank.studies import load_records

__all__ = ["write_index"]


def write_index(folder: Path) -> None:
    """Write ``index.md`` and ``index.html`` from the records that lie in a folder.

    Parameters
    ----------
    folder : Path
        Folder of all results, with one folder a study: its cached records, or ``records.csv`` where
        those were not kept, and ``summary.json``. Studies that are not there count as not run.

    Raises
    ------
    ImportError
        Without Jinja2.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    there = [name for name in STUDIES if (folder / name).is_dir()]
    results = {
        name: load_records(folder, name) or read_csv(folder / name / "records.csv")
        for name in there
    }
    write_page(_index_page(results, folder), folder, "index")


def _index_page(results: dict[str, list[Record]], folder: Path) -> Page:
    claims = judge(results)
    page = Page("The claims of the paper, tried here")
    page.add(Text(_count(claims), stress=True))
    if any(is_quick(read_summary(folder / name)) for name, records in results.items() if records):
        page.add(Text(QUICK))
    page.add(
        Text(
            "Every claim of the experiments in Yu, Gupta and Kolar (2020) that a number can "
            "decide. Where the paper gives no yardstick, the claim names the one used."
        ),
        Section("Claims"),
        Table(
            ("claim", "here", "numbers"),
            [(claim.text, claim.verdict, claim.evidence) for claim in claims],
            left=3,
        ),
        Text("sd: printed standard deviations, negative where the error is lower here."),
        Section("Studies"),
        Table(
            ("study", "command", "replications", "records"),
            [_study_row(name, results.get(name, []), folder) for name in STUDIES],
            left=2,
        ),
    )
    where = origin({name: (rows, read_summary(folder / name)) for name, rows in results.items()})
    if where:
        page.add(Text(where))
    return page


def _count(claims: list[Claim]) -> str:
    tally = {
        word: sum(claim.verdict == word for claim in claims) for word in (HOLDS, FAILS, NOT_RUN)
    }
    text = f"Of {len(claims)} claims {tally[HOLDS]} hold here and {tally[FAILS]} do not"
    return text + (f"; {tally[NOT_RUN]} were not run." if tally[NOT_RUN] else ".")


def _study_row(name: str, records: list[Record], folder: Path) -> tuple[str | Link, ...]:
    page = folder / name / "page.md"
    label: str | Link = Link(name, f"{name}/page") if page.is_file() else name
    if not records:
        return label, NOT_RUN, "", ""
    command = read_summary(folder / name).get("command") or f"thinrank reproduce {name}"
    return label, f"`{command}`", str(replications(records)), str(len(records))
