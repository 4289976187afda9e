"""A progress bar over the iterations of fitted Q-iteration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from thinrank.rl.history import QCallback, QRecord

__all__ = ["watched"]


@contextmanager
def watched(callback: QCallback | None, total: int, verbose: int) -> Iterator[QCallback]:
    """The callback, with a bar on standard error when ``verbose``."""
    if verbose <= 0:
        yield callback if callback is not None else lambda record: None
        return
    with Progress(
        TextColumn("fitted Q-iteration"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("Bellman residual {task.fields[residual]:.3g}  rows {task.fields[rows]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as bar:
        shown = bar.add_task("fit", total=total, residual=float("nan"), rows="")

        def both(record: QRecord) -> object:
            rows = "" if record.rows is None else record.rows
            bar.update(
                shown, completed=record.iteration, residual=record.bellman_residual, rows=rows
            )
            return callback(record) if callback is not None else None

        yield both
