"""Cards, hands and decks, for many hands at once.

A card is its value: 1 for an ace, 10 for a ten and the faces. A hand is its total and whether an
ace counts 11 in it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

VALUES = np.arange(1, 11)
"""The ten values that a card can have."""

_SUITS = np.array([4] * 9 + [16])
CHANCES = _SUITS / 52
"""Probability of each value."""


def with_card(
    total: np.ndarray, soft: np.ndarray, card: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return totals and softness after one more card per hand; a total above 21 is lost."""
    high = (card == 1) & (total <= 10)
    total = total + card + 10 * high
    soft = soft | high
    over = soft & (total > 21)
    return total - 10 * over, soft & ~over


class Deck(Protocol):
    """A source of cards, for many hands at once."""

    def begin(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Return the cards seen when a hand begins, of shape (count, 10)."""
        ...

    def draw(self, seen: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw a card for each hand; return the cards and the updated counts of seen cards."""
        ...

    def check(self, seen: np.ndarray) -> None:
        """Raise a ValueError if these cards cannot have been seen."""
        ...


class InfiniteDeck:
    """Infinitely many decks: the cards seen do not matter, and their counts stay at zero."""

    def begin(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Return counts of zero."""
        return np.zeros((count, len(VALUES)), dtype=np.int16)

    def draw(self, seen: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw a card for each hand."""
        # thirteen ranks are equally likely, of which four count ten
        return np.minimum(rng.integers(1, 14, size=len(seen)), 10), np.zeros_like(seen)

    def check(self, seen: np.ndarray) -> None:
        """Accept all counts."""


class FiniteDeck:
    """A finite number of decks, from which cards are dealt without replacement."""

    def __init__(self, n_decks: int, cut: int) -> None:
        self._full = (n_decks * _SUITS).astype(np.int16)
        self._cut = cut

    def begin(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the cards that are gone: a uniform number of cards, all equally likely."""
        gone = rng.integers(self._cut + 1, size=count)
        seen = np.zeros((count, len(VALUES)), dtype=np.int16)
        # the count of each value given the counts of the values before it is hypergeometric
        for index, cards in enumerate(self._full[:-1]):
            others = self._full[index + 1 :].sum()
            seen[:, index] = rng.hypergeometric(cards, others, gone)
            gone = gone - seen[:, index]
        seen[:, -1] = gone
        return seen

    def draw(self, seen: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw one of the remaining cards for each hand."""
        left = np.cumsum(self._full - seen, axis=1, dtype=np.int16)
        if not np.all(left[:, -1]):
            raise ValueError(
                "all cards have been seen in some of the states, so that none is left to deal"
            )
        which = rng.integers(left[:, -1]) if len(seen) else np.zeros(0, dtype=np.int64)
        index = np.sum(left <= which[:, None], axis=1)
        seen = seen.copy()
        seen[np.arange(len(seen)), index] += 1
        return VALUES[index], seen

    def check(self, seen: np.ndarray) -> None:
        """Raise a ValueError if more cards of a value have been seen than there are."""
        if np.any(seen < 0) or np.any(seen > self._full):
            raise ValueError(
                "the number of cards seen of each value must be between 0 and "
                f"{self._full.tolist()}; the largest in the states are {seen.max(axis=0).tolist()}"
            )
