"""All hands of blackjack that are not bust, numbered, and what another card makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

__all__ = ["ACE", "BUST", "RANKS", "TEN", "Hands", "all_hands", "all_states", "find_hand"]

RANKS = 10
"""Ranks of cards: 0 is the ace, 1 to 8 are two to nine, 9 is everything that counts ten."""

ACE, TEN = 0, 9
BUST = -1
"""Number of every hand above 21: it points behind the others."""

_LIMIT = 21
_SOFT = 10  # what an ace counts more where it can


@dataclass(frozen=True)
class Hands:
    """The hands, sorted by the sum of their cards with every ace as one; hand 0 is empty.

    Attributes
    ----------
    counts : ndarray of shape (H, 10)
        Cards of each rank.
    after : ndarray of shape (H, 10)
        The hand after one more card of each rank, or ``BUST``.
    sums : ndarray of shape (H,)
        With every ace as one.
    totals : ndarray of shape (H,)
        What the hand is worth.
    soft : ndarray of shape (H,), bool
        Whether an ace counts eleven.
    cards : ndarray of shape (H,)
        How many cards.
    natural : int
        The hand of an ace and a ten.
    """

    counts: np.ndarray
    after: np.ndarray
    sums: np.ndarray
    totals: np.ndarray
    soft: np.ndarray
    cards: np.ndarray
    natural: int

    def __len__(self) -> int:
        return len(self.counts)


@cache
def all_hands() -> Hands:
    """Every hand of at most 21, 3083 with the empty one and those of one card."""
    listed: list[tuple[int, ...]] = []

    def extend(hand: tuple[int, ...], room: int) -> None:
        """Append every choice of the ranks that are left, the highest first."""
        value = RANKS - len(hand)
        if value == 0:
            listed.append(hand[::-1])
            return
        for count in range(room // value + 1):
            extend((*hand, count), room - count * value)

    extend((), _LIMIT)
    counts = np.array(listed)
    sums = counts @ np.arange(1, RANKS + 1)
    order = np.argsort(sums, kind="stable")
    counts, sums = counts[order], sums[order]
    number = {tuple(hand): i for i, hand in enumerate(counts.tolist())}
    after = np.full((len(counts), RANKS), BUST)
    for i, hand in enumerate(counts.tolist()):
        for rank in range(RANKS):
            hand[rank] += 1
            after[i, rank] = number.get(tuple(hand), BUST)
            hand[rank] -= 1
    soft = (counts[:, ACE] > 0) & (sums + _SOFT <= _LIMIT)
    return Hands(
        counts=counts,
        after=after,
        sums=sums,
        totals=sums + _SOFT * soft,
        soft=soft,
        cards=counts.sum(axis=1),
        natural=int(after[after[0, ACE], TEN]),
    )


def find_hand(*ranks: int) -> int:
    """The number of a hand, by the ranks of its cards."""
    hand = 0
    for rank in ranks:
        hand = int(all_hands().after[hand, rank])
        if hand == BUST:
            raise ValueError(f"ranks {ranks} must make at most {_LIMIT}")
    return hand


def all_states() -> np.ndarray:
    """Every state (hand, dealer's card) with a hand of two cards or more, of shape (n, 2)."""
    dealt = np.flatnonzero(all_hands().cards >= 2)
    hand, card = np.meshgrid(dealt, np.arange(RANKS), indexing="ij")
    return np.stack([hand.ravel(), card.ravel()], axis=1)
