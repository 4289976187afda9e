"""``thinrank reproduce``: run studies, then write their pages."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from thinrank.core.imports import is_installed
from thinrank.paper import find_study, study_names, write_index, write_study
from thinrank.paper.commands import own_command
from thinrank.studies import StudyError, load_records, run_study

# The libraries that pages and plots need.
_LIBRARIES = ("matplotlib", "jinja2")


def chosen_studies(names: Sequence[str]) -> list[str]:
    """Return the given names without repetitions; no name and "all" select all studies."""
    if not names or "all" in names:
        return list(study_names())
    for name in names:
        if name not in study_names():
            raise ValueError(f"there is no study {name!r}; choose from {', '.join(study_names())}")
    return list(dict.fromkeys(names))


def run_reproduce(
    console: Console,
    names: Sequence[str],
    out: Path,
    *,
    quick: bool,
    jobs: int,
    executor: str,
    limit: float | None,
    address: str | None,
    command: str,
) -> int:
    """Run studies and write their pages.

    If a study fails, the others run nevertheless. If matplotlib or Jinja2 is missing, only records
    are written, and a later run makes the pages from them.
    """
    pages = all(is_installed(library) for library in _LIBRARIES)
    if not pages:
        console.print(
            "Only records will be written: pages and plots need "
            'pip install "thinrank[report]". The same command then makes them from the records.',
            soft_wrap=True,
        )
    failed = False
    for name in names:
        began = time.perf_counter()
        try:
            records = run_study(
                find_study(name),
                out,
                jobs,
                quick,
                executor,
                limit=limit,
                address=address,
                command=own_command(name, command),
                progress=True,
            )
        except StudyError as error:
            console.print(f"{name}: {error}", soft_wrap=True)
            failed = True
            records = load_records(out, name)
        seconds = time.perf_counter() - began
        if records and pages:
            write_study(name, records, out)
        console.print(f"{name}: {len(records)} records, {seconds:.1f} s")
    if pages:
        write_index(out)
    console.print(f"Results are in {out}", soft_wrap=True)
    return 1 if failed else 0
