"""What all benchmarks share: arguments, tables, and the line about the machine."""

from __future__ import annotations

import argparse
import os
import platform
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
        How often it measures by default; ``--repetitions``, which may be called runs, too.
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
    return parser


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


def machine() -> str:
    """System, number of cores and threads, and versions."""
    threads = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or "all"
    threads = "1 thread" if threads == "1" else f"{threads} threads"
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {threads}, "
        f"Python {platform.python_version()}, NumPy {version('numpy')}, SciPy {version('scipy')}, "
        f"thinrank {version('thinrank')}"
    )


def publish(lines: Iterable[str], markdown: Path | None) -> None:
    """Print the lines, and write them to the file that ``--markdown`` names."""
    text = "\n".join(lines) + "\n"
    print(text)
    if markdown:
        markdown.write_text(text)


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
                yield from (delayed(_quiet)(work, setting, seed) for setting in settings)

    found = Parallel(options.jobs)(calls())
    return [found[place :: len(settings)] for place in range(len(settings))]


def _quiet(work: Callable[..., Any], setting: Any, seed: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work(setting, seed)
