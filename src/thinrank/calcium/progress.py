"""Stages of a fit, told to whoever wants to know."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

__all__ = ["Progress", "Stages", "staged"]

Progress = Callable[[float], None]
"""Called with the part of a stage that is done, from 0 to 1."""


@dataclass(frozen=True)
class Stages:
    """Gives each stage its own :data:`Progress`."""

    tell: Callable[[str, float], object] | None

    def begin(self, name: str) -> Progress:
        """What the stage ``name`` calls as it advances."""

        def progress(part: float) -> None:
            if self.tell is not None:
                self.tell(name, part)

        progress(0.0)
        return progress


@contextmanager
def staged(tell: Callable[[str, float], object] | None, verbose: int) -> Iterator[Stages]:
    """Stages that are told to a function, with a bar on standard error when ``verbose``."""
    if verbose <= 0:
        yield Stages(tell)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("opening", total=1.0)

        def both(name: str, part: float) -> None:
            bar.update(task, description=name, completed=part)
            if tell is not None:
                tell(name, part)

        yield Stages(both)
