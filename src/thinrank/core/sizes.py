"""The sizes of a model."""

from __future__ import annotations

from typing import NamedTuple

from thinrank.core.stored_values import storable


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
