"""``thinrank rl``: learn decision processes jointly and separately, and compare the policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from thinrank.core.imports import how_to_install, is_installed
from thinrank.core.progress import progress_bar
from thinrank.rl.comparison import Comparison

FIGURES = (".png", ".svg", ".pdf")
"""Suffixes of the files that the figure can be written to."""


def run_rl(console: Console, comparison: Comparison, out: Path) -> int:
    """Run the comparison, print a table, draw the figure and return the exit code."""
    drawn = is_installed("matplotlib")
    if not drawn:
        console.print(
            f"No figure will be drawn: for one {how_to_install('report')}", soft_wrap=True
        )
    pairs = comparison.features * comparison.actions
    console.print(
        f"{comparison.tasks} tasks, {comparison.features} features × {comparison.actions} actions, "
        f"{comparison.rows} of the {pairs} rows of Θ* non-zero, rank {comparison.rank}."
    )
    with _bar(console, comparison.fits) as advance:
        records = comparison.run(advance)
    console.print(_table(records, comparison.states))
    console.print(
        "Mean squared difference between the values of the learned policies and the optimal ones. "
        "GDT and pursuit choose sizes and ridge by a criterion, the others a penalty by "
        "cross-validation."
    )
    if drawn:
        from thinrank.report.value_errors import draw_value_errors  # matplotlib is optional

        draw_value_errors(records, out)
        console.print(f"The figure is in {out}", soft_wrap=True)
    return 0


def _table(records: list[dict[str, Any]], states: Sequence[int]) -> Table:
    table = Table(title="Value error by number of design states")
    table.add_column("method")
    for count in states:
        table.add_column(str(count), justify="right")
    table.add_column("seconds per fit", justify="right")
    for name in dict.fromkeys(record["method"] for record in records):
        own = [record for record in records if record["method"] == name]
        means = [
            np.mean([record["value_error"] for record in own if record["states"] == count])
            for count in states
        ]
        seconds = np.mean([record["seconds"] for record in own])
        table.add_row(name, *(f"{mean:.2g}" for mean in means), f"{seconds:.2f}")
    return table


@contextmanager
def _bar(console: Console, total: int) -> Iterator[Any]:
    """Yield a function that advances the bar and shows what is fitted next."""
    with progress_bar("", total, console=console, transient=True) as update:
        done = -1

        def advance(next_one: str) -> None:
            nonlocal done
            done += 1
            update(done, text=next_one)

        yield advance
