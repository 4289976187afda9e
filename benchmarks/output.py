"""What all benchmarks share: arguments, runs, records, memory, tables and pages."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

sys.path.append(str(Path(__file__).parents[1]))  # for the paper's experiments, not installed


def arguments_of(
    doc: str | None, *, repetitions: int | None = None, json: bool = False
) -> argparse.ArgumentParser:
    """The arguments of a benchmark: ``--markdown`` for its table, and others if it has them.

    Parameters
    ----------
    doc : str
        The docstring of the benchmark, for ``--help``.
    repetitions : int, default=None
        How often it measures by default; ``--repetitions``, which may be called runs, too, and
        with it ``--jobs`` and ``--seconds`` of :func:`runs_of_all`.
    json : bool, default=False
        Whether it can write its records to a file, ``--json``.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--markdown", type=Path, help="file for the table")
    if json:
        parser.add_argument("--json", type=Path, help="file for the records")
    if repetitions is not None:
        names = ("--repetitions", "--replications", "--runs")
        parser.add_argument(*names, type=int, default=repetitions)
        parser.add_argument("--jobs", type=int, default=1, help="processes")
        parser.add_argument("--seconds", type=float, help="begin no further seed after these")
    return parser


# ---------------------------------------------------------------- runs


def runs_of_all(
    work: Callable[..., Any], settings: Iterable[Any], seeds: Iterable[int], options: Any
) -> list[list[Any]]:
    """The results of ``work(setting, seed)``: for each setting, those of all seeds.

    After ``--seconds`` no further seed begins, so that there may be fewer results than seeds.
    """
    settings, end = list(settings), time.monotonic() + (options.seconds or float("inf"))

    def calls() -> Iterator[Any]:
        for seed in seeds:
            if time.monotonic() < end:
                yield from (delayed(quiet)(work, setting, seed) for setting in settings)

    found = Parallel(options.jobs)(calls())
    return [found[place :: len(settings)] for place in range(len(settings))]


def quiet(work: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work(*arguments)


class StoredRecords:
    """Records by the name of the run; those that are in the file are not computed again."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._known: dict[str, dict[str, Any]] = {}
        if file is not None and file.is_file():
            self._known = json.loads(file.read_text())

    def run(
        self,
        name: str,
        work: Callable[[Any], dict[str, Any]],
        numbers: Iterable[Any],
        jobs: int = 1,
    ) -> list[dict[str, Any]]:
        """The records of ``work(number)`` for all numbers: seeds or folds."""
        numbers = list(numbers)
        left = [number for number in numbers if f"{name} {number}" not in self._known]
        calls = (delayed(_timed)(work, number) for number in left)
        for number, record, seconds in Parallel(jobs, return_as="generator_unordered")(calls):
            self._known[f"{name} {number}"] = record
            print(f"{name} {number}: {seconds:.1f} s", flush=True)
            self._write()
        return [self._known[f"{name} {number}"] for number in numbers]

    def _write(self) -> None:
        if self._file is not None:
            part = self._file.with_name(self._file.name + ".part")
            part.write_text(json.dumps(self._known, indent=0))
            part.replace(self._file)


def _timed(work: Callable[[Any], Any], number: Any) -> tuple[Any, Any, float]:
    began = time.perf_counter()
    return number, work(number), time.perf_counter() - began


def in_own_process(work: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call in a new process, whose peak of memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def resident(field: str) -> float:
    """Resident memory in bytes: now, ``"VmRSS"``, or at its peak, ``"VmHWM"``."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if field in x)
    return float(line.split()[1]) * 1024


def peak_beyond(work: Callable[[], object]) -> float:
    """Peak of the resident memory during a call, beyond what was resident before, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = resident("VmRSS")
    work()
    return resident("VmHWM") - before


# ---------------------------------------------------------------- pages


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], text: int = 1) -> list[str]:
    """The lines of a Markdown table.

    Parameters
    ----------
    headings : sequence of str
    rows : iterable of sequences
        The cells, as many as there are headings.
    text : int, default=1
        Number of leading columns that hold text, which are aligned to the left. The others hold
        numbers, which are aligned to the right.
    """
    rule = ["---"] * text + ["---:"] * (len(headings) - text)
    return [_line(headings), _line(rule), *map(_line, rows)]


def _line(cells: Sequence[object]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def judged(
    *cells: object, limit: float, value: float | None = None, least: bool = False, form: str = ".3f"
) -> list[object]:
    """A row of a table: its first cells, a value, its limit, and whether it holds."""
    bound = f"{'≥' if least else '≤'} {limit:g}"
    if value is None:
        return [*cells, "", bound, "not run"]
    holds = value >= limit if least else value <= limit
    return [*cells, f"{value:{form}}", bound, "yes" if holds else "**no**"]


JUDGED = ("value", "limit", "holds")
"""The headings of these cells."""


def machine() -> str:
    """System, number of cores and threads, and versions."""
    threads = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or "all"
    threads = "1 thread" if threads == "1" else f"{threads} threads"
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {threads}, "
        f"Python {platform.python_version()}, NumPy {version('numpy')}, SciPy {version('scipy')}, "
        f"thinrank {version('thinrank')}"
    )


def how() -> list[str]:
    """A line about the machine and the command, for the end of a page."""
    file, *arguments = sys.argv
    for option in ("--markdown", "--json"):  # what the page is called says nothing
        if option in arguments:
            place = arguments.index(option)
            del arguments[place : place + 2]
    command = shlex.join(["python", f"benchmarks/{Path(file).name}", *arguments])
    return ["", f"Machine: {machine()}. Command: `{command}`."]


def publish(lines: Iterable[str], markdown: Path | None) -> None:
    """Print the lines, and write them to the file that ``--markdown`` names."""
    text = "\n".join(lines) + "\n"
    print(text)
    if markdown:
        markdown.write_text(text)
