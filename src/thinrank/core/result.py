"""Results of fits: the factors, the sizes, how the run ended, and one record per iteration."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

from thinrank.arrays import Array
from thinrank.core.factors import Factors
from thinrank.core.journal import storable

RecordT = TypeVar("RecordT", bound=Any)  # has iteration, change and seconds


@storable
class Outcome(enum.Enum):
    """How a run ended."""

    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration limit"
    STOPPED = "stopped by the callback"
    DIVERGED = "diverged"
    ZERO = "nothing to fit"


@storable
@dataclass(frozen=True)
class Status:
    """How a run ended, for programs (``outcome``) and for people (``message``)."""

    outcome: Outcome
    message: str

    @property
    def converged(self) -> bool:
        """Whether the estimate is final: the run converged, or there was nothing to fit."""
        return self.outcome in (Outcome.CONVERGED, Outcome.ZERO)

    def __str__(self) -> str:
        return self.message


@storable
class Sizes(NamedTuple):
    """Rank, number of rows, number of columns and ridge of a model, and whether rows are exchanged.

    Without exchanges the rows are those that backward elimination leaves of the ridge fit.
    """

    rank: int
    rows: int
    columns: int
    ridge: float
    exchange: bool = True


@storable
@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One iteration of a fit, or one model of a search for sizes: what a callback is called with.

    Attributes
    ----------
    stage : {"search", "fit"}
        Whether it is a model of a search or an iteration of a solver.
    iteration : int
        Number of the iteration or model, counted from 1.
    objective : float
        Fit: the loss f at the new iterate (GDT's balance penalty is not in it). Search: the score
        of the model; less is better.
    seconds : float
        Time since the stage began; the start of a solver is not included.
    change : float
        Fit: relative change in the iteration; see the solver. Search: nan.
    row_support, column_support : arrays of int, or None
        Fit: sorted indices; iterations with the same support share one array. Search: None.
    factors : Factors or None
        Fit: the iterate, in the solver's units. It is passed to callbacks, not kept in the history.
    sizes : Sizes or None
        Search: rank, numbers of rows and columns, and ridge of the model.
    best : float
        Search: the lowest score so far. Fit: nan.
    split_scores : tuple of float
        Search: the scores of the splits, of which ``objective`` is the mean; a single one for a
        criterion. Fit: empty.
    rank_scores : tuple of (int, float)
        Search: ranks, and the least score of each over the numbers of columns, on the rows that
        this model selected; empty where a fit does not give them. Fit: empty.
    search_round : int
        Search: number of the search, counted from 1. The noise in the responses is estimated again
        before each search, so scores of different searches cannot be compared; the model is chosen
        from the last one. Fit: 1.
    """

    stage: Literal["search", "fit"]
    iteration: int
    objective: float
    seconds: float
    change: float = math.nan
    row_support: Array | None = None
    column_support: Array | None = None
    factors: Factors | None = None
    sizes: Sizes | None = None
    best: float = math.nan
    split_scores: tuple[float, ...] = field(default=(), repr=False)
    rank_scores: tuple[tuple[int, float], ...] = field(default=(), repr=False)
    search_round: int = 1


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


@storable
class History(RecordList[Record]):
    """The records of a run, in order: one :class:`~thinrank.core.result.Record` per iteration."""

    @property
    def objectives(self) -> list[float]:
        """The objective after every iteration."""
        return [record.objective for record in self]


Callback = Callable[[Record], object]
"""A function called with a record after every iteration or model; the run stops if it returns
True."""


@dataclass(frozen=True)
class Solution:
    """Result of :func:`thinrank.minimize`.

    Attributes
    ----------
    factors : Factors
        The estimate. Its rank may be lower than requested, if the best fit has a lower rank.
    value : float
        The loss at the estimate.
    status : Status
        How the run ended; ``str(status)`` is a sentence.
    history : History
        One record per iteration.
    """

    factors: Factors
    value: float
    status: Status
    history: History = field(default_factory=History, repr=False)

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.history)
