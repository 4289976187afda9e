"""Features of hands and of the cards seen before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thinrank.rl.blackjack.cards import CHANCES, VALUES
from thinrank.rl.blackjack.states import HANDS, check_states, hand_of

__all__ = ["HandFeatures"]

_TOTALS = range(5, 22)  # of the player; 4 is the lowest
_SOFT_TOTALS = range(13, 22)
_SHOWN = range(3, 12)  # the dealer's card, an ace as 11; 2 is the lowest
_ACE_HIGH = 11
_DECK = 52
# What players count: low cards that are gone are good, tens and aces that are gone are bad.
_COUNT = np.array([-1, 1, 1, 1, 1, 1, 0, 0, 0, -1])


@dataclass(frozen=True)
class HandFeatures:
    """Steps in the player's total and in the dealer's card, their products, and a card count.

    Of the player's hand: a constant, whether it is soft, the steps 1{total ≥ t} for t = 5 to 21
    and the same for soft hands, t = 13 to 21. Each is multiplied by a constant and by the steps
    1{dealer's card ≥ d}, d = 3 to 10 and the ace, which comes last. These 28 × 10 products span
    all functions of the hand, so that Q* has no model error; but the values jump at few totals
    (a dealer's at 17, say) and change little in between, so that far fewer steps are enough.
    Indicators of single totals would need all of them.

    Of the cards seen: for each value how many more than expected, the balance of low and
    high cards, and how many there were. They matter little with two decks, less with more, and
    not at all with infinitely many. All are zero when nothing has been seen.

    Parameters
    ----------
    history : bool
        Whether the 12 features of the cards seen come after the 280 of the hand.

    Examples
    --------
    >>> import thinrank as tr
    >>> features = tr.rl.blackjack.HandFeatures()
    >>> len(features.names), features.names[31], features.names[-1]
    (292, 'total >= 6 and dealer >= 3', 'cards seen')
    """

    history: bool = True

    def __call__(self, states: Any) -> np.ndarray:
        """All features, of shape (n, 292) or (n, 280)."""
        states = check_states(states)
        hand = self._table[hand_of(states)]
        return np.hstack([hand, _history(states)]) if self.history else hand

    def product(self, states: Any, weights: np.ndarray) -> np.ndarray:
        """φ(states) @ weights, by a table of all hands."""
        states = check_states(states)
        count = self._table.shape[-1]
        if len(weights) != len(self.names):
            raise ValueError(f"there are {len(self.names)} features, got {len(weights)} weights")
        values = (self._table @ weights[:count])[hand_of(states)]
        if weights[count:].any():
            values += _history(states) @ weights[count:]
        return values

    @cached_property
    def names(self) -> list[str]:
        """What each feature says."""
        player = ["", "soft", *(f"total >= {t}" for t in _TOTALS)]
        player += [f"soft total >= {t}" for t in _SOFT_TOTALS]
        dealer = ["", *(f"dealer >= {'ace' if d == _ACE_HIGH else d}" for d in _SHOWN)]
        names = [" and ".join(filter(None, (p, d))) or "constant" for p in player for d in dealer]
        if self.history:
            names += [f"excess of {'aces' if v == 1 else f'{v}s'} seen" for v in VALUES]
            names += ["balance of low and high cards seen", "cards seen"]
        return names

    @cached_property
    def _table(self) -> np.ndarray:
        """Features of the hand, of shape (22, 2, 11, 280): by total, softness and dealer's card."""
        total, soft, shown = np.indices(HANDS)
        high = np.where(shown == 1, _ACE_HIGH, shown)
        player = [np.ones_like(total), soft, *(total >= t for t in _TOTALS)]
        player += [soft * (total >= t) for t in _SOFT_TOTALS]
        dealer = [np.ones_like(total), *(high >= d for d in _SHOWN)]
        return np.stack([p * d for p in player for d in dealer], axis=-1).astype(np.float64)


def _history(states: np.ndarray) -> np.ndarray:
    """Of the order of 1 when a deck has been seen."""
    seen = states[:, 3:].astype(np.float64)
    cards = seen.sum(axis=1, keepdims=True)
    excess = (seen - cards * CHANCES) / np.sqrt(_DECK * CHANCES * (1 - CHANCES))
    balance = seen @ _COUNT / np.sqrt(_DECK * CHANCES @ np.square(_COUNT))
    return np.hstack([excess, balance[:, None], cards / _DECK])
