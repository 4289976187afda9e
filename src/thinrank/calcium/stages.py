"""The stages of a fit, and how far each of them is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from thinrank.core.progress import progress_bar

StageProgress = Callable[[float], None]
"""Called with the fraction of a stage that is done, from 0 to 1."""


@dataclass(frozen=True)
class Stages:
    """Reports the stages of a fit to a function."""

    # ``report(name, fraction)``, called when a stage begins and as it advances
    report: Callable[[str, float], object] | None

    def begin(self, name: str) -> StageProgress:
        """Begin a stage."""

        def progress(fraction: float) -> None:
            if self.report is not None:
                self.report(name, fraction)

        progress(0.0)
        return progress


@contextmanager
def reported_stages(
    report: Callable[[str, float], object] | None, verbose: int
) -> Iterator[Stages]:
    """Stages that are reported to a function, with a bar on standard error if ``verbose`` > 0."""
    if verbose <= 0:
        yield Stages(report)
        return
    with progress_bar("opening", 1.0, count=False) as update:

        def both(name: str, fraction: float) -> None:
            update(fraction, description=name)
            if report is not None:
                report(name, fraction)

        yield Stages(both)
