"""Progress bars: every bar of the package is drawn here.

The library rich draws them. It is imported when the first bar is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def progress_bar(
    description: str,
    total: float | None = None,
    *,
    show: bool = True,
    completed: float = 0,
    count: bool = True,
    time_left: bool = False,
) -> Iterator[Callable[..., None]]:
    """Show a progress bar on standard error while the ``with`` block runs.

    ``total``: None if it is not known: a spinner is shown in place of the bar. The context is a
    function ``update(completed=, advance=, description=, text=)``; what is not given stays.
    """
    if not show:
        yield lambda *args, **changes: None
        return
    from rich import progress as rich_progress
    from rich.console import Console

    columns: list[Any] = [
        rich_progress.TextColumn("{task.description}", markup=False),
        rich_progress.SpinnerColumn() if total is None else rich_progress.BarColumn(),
    ]
    if count:
        columns.append(rich_progress.MofNCompleteColumn())
    columns.append(rich_progress.TextColumn("{task.fields[text]}", markup=False))
    columns.append(rich_progress.TimeElapsedColumn())
    if time_left:
        columns += [rich_progress.TextColumn("left"), rich_progress.TimeRemainingColumn()]
    with rich_progress.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(description, total=total, completed=completed, text="")  # type: ignore[arg-type]

        def update(completed: float | None = None, **changes: Any) -> None:
            bar.update(task, completed=completed, **changes)

        yield update


@contextmanager
def with_progress_bar(
    callback: Callable[[Any], object] | None,
    text: Callable[[Any], str],
    description: str,
    total: float | None = None,
    *,
    show: bool,
    time_left: bool = False,
) -> Iterator[Callable[[Any], object] | None]:
    """Add a progress bar to a callback that is called once per iteration."""
    with progress_bar(description, total, show=show, time_left=time_left) as update:

        def both(record: Any) -> object:
            update(record.iteration, text=text(record))
            return callback(record) if callback is not None else None

        yield both if show else callback
