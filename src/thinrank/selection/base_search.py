"""What all searches share: the points that were fitted, their records, and how a search ends."""

from __future__ import annotations

import abc
import time
from collections.abc import Callable

from thinrank.core.journal import stop_recording
from thinrank.core.result import Callback, Record
from thinrank.core.sizes import Sizes
from thinrank.selection.evaluation import Evaluation

__all__ = ["BaseSearch"]


class _StopSearch(Exception):  # noqa: N818 (not an error)
    """Raised when the callback ends the search."""


class BaseSearch(abc.ABC):
    """A search that keeps every point it fits, with one record each.

    Parameters
    ----------
    records : list of Record, default=None
        Records of an earlier search that this one continues; new ones are appended.
    callback : callable, default=None
        Called with a Record after each point; if it returns True, the search ends.
    """

    def __init__(
        self, *, records: list[Record] | None = None, callback: Callback | None = None
    ) -> None:
        self._callback = callback
        self._known: dict[Sizes, Evaluation] = {}
        self.records: list[Record] = [] if records is None else records
        self._began = time.perf_counter() - (self.records[-1].seconds if self.records else 0.0)
        self._round = self.records[-1].search_round + 1 if self.records else 1
        self.stopped = False

    @property
    def evaluations(self) -> list[Evaluation]:
        """All points, in the order of their evaluation."""
        return list(self._known.values())

    @property
    def best(self) -> Evaluation:
        """The point with the least score, the first of several."""
        return min(self._known.values(), key=lambda e: e.score)

    @property
    def message(self) -> str:
        """How the search ended, as a sentence."""
        how = "was stopped" if self.stopped else "is complete"
        return f"The search {how} after {len(self.records)} models; the best of them is kept."

    def run(self) -> Evaluation:
        """Search and return the best point found, also after an interruption."""
        self._until_stopped(self._search)
        return self.best

    @abc.abstractmethod
    def _search(self) -> None:
        """Evaluate points until no better one is found."""

    def _until_stopped(self, work: Callable[[], None]) -> None:
        """Call ``work``, which a callback or Ctrl-C may end if there is a point to return."""
        try:
            work()
        except (_StopSearch, KeyboardInterrupt):
            if not self._known:
                raise
            self.stopped = True
            stop_recording()

    def _rank_scores(self, evaluation: Evaluation) -> tuple[tuple[int, float], ...]:
        """Least scores of other ranks on the rows of a point; empty if they are not known."""
        return ()

    def _keep(self, evaluation: Evaluation) -> None:
        """Keep a point, and tell the callback, which may end the search."""
        self._known[evaluation.sizes] = evaluation
        record = Record(
            stage="search",
            iteration=len(self.records) + 1,
            objective=evaluation.score,
            seconds=time.perf_counter() - self._began,
            sizes=evaluation.sizes,
            best=self.best.score,
            split_scores=tuple(float(part) for part in evaluation.parts),
            rank_scores=self._rank_scores(evaluation),
            search_round=self._round,
        )
        self.records.append(record)
        if self._callback is not None and self._callback(record):
            raise _StopSearch
