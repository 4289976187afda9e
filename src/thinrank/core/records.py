"""Lists of records, one per iteration: the part that all iterative methods share."""

from __future__ import annotations

from typing import Protocol, TypeVar


class IterationRecord(Protocol):
    """What the records of all iterative methods have in common."""

    @property
    def iteration(self) -> int:
        """Number of the iteration, counted from 1."""
        ...

    @property
    def change(self) -> float:
        """How much the iterate changed."""
        ...

    @property
    def seconds(self) -> float:
        """Time since the run began."""
        ...


RecordT = TypeVar("RecordT", bound=IterationRecord)


class RecordList(list[RecordT]):
    """The records of a run, in order: one record per iteration."""

    @property
    def changes(self) -> list[float]:
        """The change of the iterate in every iteration."""
        return [record.change for record in self]

    @property
    def seconds(self) -> float:
        """Duration of the whole run."""
        return self[-1].seconds if self else 0.0
