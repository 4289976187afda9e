"""Progress bars for long fits and searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from thinrank.core.result import Callback, Record

__all__ = ["searching", "shown"]


@contextmanager
def shown(callback: Callback | None, limit: int, verbose: int) -> Iterator[Callback | None]:
    """The callback, with a bar on standard error when ``verbose``."""
    if verbose <= 0:
        yield callback
        return
    with Progress(
        TextColumn("fitting"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("objective {task.fields[objective]:.6g}  change {task.fields[change]:.1e}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    ) as bar:
        task = bar.add_task("fit", total=limit, objective=float("nan"), change=float("nan"))

        def both(record: Record) -> object:
            bar.update(
                task,
                completed=record.iteration,
                objective=record.objective,
                change=record.change,
            )
            return callback(record) if callback is not None else None

        yield both


@contextmanager
def searching(callback: Callable[[Any], object] | None, verbose: int) -> Iterator[Callback | None]:
    """The callback, with a line on standard error when ``verbose``; how long is not known."""
    if verbose <= 0:
        yield callback
        return
    with Progress(
        SpinnerColumn(),
        TextColumn("searching  {task.completed} models, now {task.fields[now]}"),
        TextColumn("best score {task.fields[best]:.6g}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    ) as bar:
        task = bar.add_task("search", total=None, now="", best=float("nan"))

        def both(record: Record) -> object:
            sizes = record.sizes
            now = f"rank {sizes.rank}, {sizes.rows} × {sizes.columns}, ridge {sizes.ridge:.2g}"
            bar.update(task, completed=record.iteration, now=now, best=record.best)
            return callback(record) if callback is not None else None

        yield both
