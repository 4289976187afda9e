"""Cards, hands and decks, for many hands at once.

A card is its value: 1 for an ace, 10 for a ten and the faces. A hand is its total and whether an
ace counts 11 in it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

__all__ = ["CHANCES", "VALUES", "Deck", "FiniteDeck", "InfiniteDeck", "with_card"]

VALUES = np.arange(1, 11)
"""The ten values of cards."""

_SUITS = np.array([4] * 9 + [16])
CHANCES = _SUITS / 52
"""How often they come."""


def with_card(
    total: np.ndarray, soft: np.ndarray, card: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Totals and softness after a card each; a total above 21 is lost."""
    high = (card == 1) & (total <= 10)
    total = total + card + 10 * high
    soft = soft | high
    over = soft & (total > 21)
    return total - 10 * over, soft & ~over


class Deck(Protocol):
    """Where cards come from."""

    def begin(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """What has been seen when a hand begins, of shape (count, 10)."""
        ...

    def draw(self, seen: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A card for each hand, and what has been seen with it."""
        ...

    def check(self, seen: np.ndarray) -> None:
        """Raise if that much cannot have been seen."""
        ...


class InfiniteDeck:
    """Every card is as likely as ever: what has been seen tells nothing, and stays at zero."""

    def begin(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Nothing."""
        return np.zeros((count, len(VALUES)), dtype=np.int16)

    def draw(self, seen: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """A card for each hand."""
        # thirteen ranks are equally likely, of which four count ten
        return np.minimum(rng.integers(1, 14, size=len(seen)), 10), np.zeros_like(seen)

    def check(self, seen: np.ndarray) -> None:
        """Anything may have been seen."""


class FiniteDeck:
    """Some decks, from which cards are dealt without putting them back.

    Parameters
    ----------
    n_decks : int
    cut : int
        When a hand begins 0 to ``cut`` cards are gone.
    """

    def __init__(self, n_decks: int, cut: int) -> None:
        self._full = (n_decks * _SUITS).astype(np.int16)
        self._cut = cut

    def begin(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Cards that are gone: a uniform number of them, any as likely as any other."""
        gone = rng.integers(self._cut + 1, size=count)
        seen = np.zeros((count, len(VALUES)), dtype=np.int16)
        # value by value: how many of the cards that are gone have it, given the values before
        for index, cards in enumerate(self._full[:-1]):
            others = self._full[index + 1 :].sum()
            seen[:, index] = rng.hypergeometric(cards, others, gone)
            gone = gone - seen[:, index]
        seen[:, -1] = gone
        return seen

    def draw(self, seen: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """One of the cards that are left, for each hand."""
        left = np.cumsum(self._full - seen, axis=1, dtype=np.int16)
        if not np.all(left[:, -1]):
            raise ValueError("states must leave cards to deal, all have been seen")
        which = rng.integers(left[:, -1]) if len(seen) else np.zeros(0, dtype=np.int64)
        index = np.sum(left <= which[:, None], axis=1)
        seen = seen.copy()
        seen[np.arange(len(seen)), index] += 1
        return VALUES[index], seen

    def check(self, seen: np.ndarray) -> None:
        """Raise if more cards of a value have been seen than there are."""
        if np.any(seen < 0) or np.any(seen > self._full):
            raise ValueError(
                "states must have seen 0 or more cards of each value, and no more than there are, "
                f"{self._full.tolist()}; the largest seen are {seen.max(axis=0).tolist()}"
            )
