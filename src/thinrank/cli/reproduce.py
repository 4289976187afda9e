"""Rebuild tables and figures of the paper: run the studies, then write their pages."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from thinrank.core.extras import is_installed
from thinrank.studies import (
    STUDIES,
    StudyError,
    find_study,
    load_records,
    run_study,
)

__all__ = ["chosen_studies", "run_reproduce"]

_INTERRUPTED = 130
# what pages and plots are made with
_LIBRARIES = ("matplotlib", "jinja2")


def chosen_studies(names: Sequence[str]) -> list[str]:
    """Studies by name, without repetition; "all" and nothing mean all of them."""
    if not names or "all" in names:
        return list(STUDIES)
    return [find_study(name).name for name in dict.fromkeys(names)]


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
    """Run studies and write pages; the exit code.

    A study with failures makes the code 1; the others run all the same.
    Without what pages are made with the records are written: a later run makes pages of them.
    """
    pages = all(is_installed(library) for library in _LIBRARIES)
    if not pages:
        console.print(
            "Only records will be written: pages and plots need "
            'pip install "thinrank[report]". The same command makes them from the records then.',
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    failed = False
    for name in names:
        began = time.perf_counter()
        try:
            records = run_study(
                name,
                out,
                jobs,
                quick,
                executor,
                limit=limit,
                address=address,
                command=command,
                progress=True,
            )
        except ImportError as error:  # of Dask
            console.print(str(error), highlight=False, markup=False, soft_wrap=True)
            return 1
        except StudyError as error:
            console.print(f"{name}: {error}", highlight=False, soft_wrap=True)
            failed = True
            records = load_records(out, name)
        except KeyboardInterrupt:
            console.print(
                f"{name}: interrupted. What is finished is kept in {out}; "
                "the same command goes on from there.",
                highlight=False,
                soft_wrap=True,
            )
            return _INTERRUPTED
        seconds = time.perf_counter() - began
        if records and pages:
            _write_page(name, records, out)
        console.print(f"{name}: {len(records)} records, {seconds:.1f} s", highlight=False)
    if pages:
        _write_index(out)
    console.print(f"Results are in {out}", highlight=False, soft_wrap=True)
    return 1 if failed else 0


def _write_page(name: str, records: list[dict], out: Path) -> None:
    from thinrank.report import write_study  # matplotlib and Jinja2 are optional

    write_study(name, records, out)


def _write_index(out: Path) -> None:
    from thinrank.report import write_index

    write_index(out)
