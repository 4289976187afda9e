"""Progress of a long fit as lines of text, where no bar can be drawn."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from thinrank.tables.errors import counted


class ProgressLines:
    """A callback of an estimator that writes a line now and then.

    The first line comes after ``first`` seconds, and each pause is as long as all that went
    before, so that a fit of an hour writes ten lines.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        first: float = 5.0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._write, self._next, self._clock = write, first, clock
        self._began = clock()
        self._models = 0

    def __call__(self, record: Any) -> None:
        """Count a model, and write a line if it is time."""
        searching = record.stage == "search"
        self._models += searching
        seconds = self._clock() - self._began
        if seconds < self._next:
            return
        self._next = 2 * seconds
        what = "searching for the sizes" if searching else "fitting the chosen sizes"
        tried = counted(self._models, "model")
        self._write(f"{what}: {tried} tried in {seconds:.0f} s")
