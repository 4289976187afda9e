"""What a solver returns: the factors, how it went, and the record of every iteration."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field

from thinrank.arrays import Array
from thinrank.core.factors import Factors
from thinrank.core.records import RecordList

__all__ = ["Callback", "History", "Outcome", "Record", "Solution", "Status"]


class Outcome(enum.Enum):
    """How a run ended."""

    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration limit"
    STOPPED = "stopped by the callback"
    DIVERGED = "diverged"
    ZERO = "nothing to fit"


@dataclass(frozen=True)
class Status:
    """How a run ended, for programs (``outcome``) and for people (``message``)."""

    outcome: Outcome
    message: str

    @property
    def converged(self) -> bool:
        """Whether the answer is final: a limit point, or the zero matrix."""
        return self.outcome in (Outcome.CONVERGED, Outcome.ZERO)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Record:
    """One iteration.

    Attributes
    ----------
    iteration : int
        Counted from 1.
    objective : float
        The loss f at the new iterate (GDT's balance penalty is not in it).
    change : float
        Gradient descent: ‖ΔZ‖ / ‖Z‖ in Frobenius norm, Z = [U; V]. Pursuit: the relative
        decrease of the objective.
    row_support, column_support : arrays of int
        Sorted indices; iterations with the same support share one array.
    seconds : float
        Since the solver began, the start not included.
    factors : Factors or None
        The iterate, in the solver's units. Callbacks see it; the history does not keep it.
    """

    iteration: int
    objective: float
    change: float
    row_support: Array
    column_support: Array
    seconds: float
    factors: Factors | None = None


class History(RecordList[Record]):
    """The records of a run, in order: one :class:`Record` per iteration."""

    @property
    def objectives(self) -> list[float]:
        """The objective after every iteration."""
        return [record.objective for record in self]


Callback = Callable[[Record], object]
"""Called after every iteration; returning True stops the run."""


@dataclass(frozen=True)
class Solution:
    """Answer of :func:`thinrank.minimize`.

    Attributes
    ----------
    factors : Factors
        The estimate. Its rank may be smaller than asked for when the data carry less.
    value : float
        The loss at the estimate.
    status : Status
        How the run ended; ``str(status)`` is a sentence.
    history : History
        One record an iteration.
    """

    factors: Factors
    value: float
    status: Status
    history: History = field(default_factory=History, repr=False)

    @property
    def n_iter(self) -> int:
        """Iterations done."""
        return len(self.history)
