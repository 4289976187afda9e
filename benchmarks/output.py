"""How all benchmarks write their results: one writer of tables, one description of the machine."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # for the paper's experiments, not installed


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
