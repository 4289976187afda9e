"""A number together with how it was obtained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["exact", "bound", "estimate"]


@dataclass(frozen=True)
class Quantity:
    """A number that says whether it is exact, a bound or an estimate.

    ``float(quantity)`` is the number, ``str(quantity)`` adds how it was obtained.

    Attributes
    ----------
    value : float
        The number.
    kind : {"exact", "bound", "estimate"}
        "exact" up to rounding; "bound" is on the safe side for the statement that it is used in;
        "estimate" comes from a search that may have missed the extreme, and is on the other side.
    how : str
        How it was obtained.
    """

    value: float
    kind: Kind
    how: str

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.kind}: {self.how})"
