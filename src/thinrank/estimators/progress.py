"""A progress bar for long fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from thinrank.core.result import Callback, Record

__all__ = ["shown"]


@contextmanager
def shown(
    callback: Callback | None, limit: int, verbose: int, convert: Callable[[Record], Record]
) -> Iterator[Callback | None]:
    """The callback on converted records, with a bar on standard error when ``verbose``."""
    if verbose <= 0:
        yield None if callback is None else lambda record: callback(convert(record))
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
            record = convert(record)
            bar.update(
                task,
                completed=record.iteration,
                objective=record.objective,
                change=record.change,
            )
            return callback(record) if callback is not None else None

        yield both
