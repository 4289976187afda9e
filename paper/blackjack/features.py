"""Features of hands and of the cards seen before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from paper.blackjack.cards import CHANCES, VALUES
from paper.blackjack.states import HANDS, check_states, hand_of

_TOTALS = range(5, 22)  # thresholds of the player's total, which is at least 4
_SOFT_TOTALS = range(13, 22)
_SHOWN = range(3, 12)  # thresholds of the dealer's card, which is at least 2; an ace is 11
_ACE_HIGH = 11
_DECK = 52
# The usual card count: +1 for a low card that is gone, −1 for a ten or an ace that is gone.
_COUNT = np.array([-1, 1, 1, 1, 1, 1, 0, 0, 0, -1])


@dataclass(frozen=True)
class HandFeatures:
    """Steps in the player's total and in the dealer's card, their products, and a card count.

    The features of the player's hand are a constant, whether it is soft, the steps 1{total ≥ t} for
    t = 5 to 21, and the same for soft hands, t = 13 to 21. Each is multiplied by a constant and by
    the steps 1{dealer's card ≥ d} for d = 3 to 10 and the ace, which comes last. These 28 × 10
    products span all functions of the hand, so that Q* has no model error. The values jump at few
    totals and change little in between, so that few steps are needed; with indicators of single
    totals, all of them would be needed.

    The features of the cards seen are the excess of each value over its expectation, the balance of
    low and high cards, and the number of cards. They matter little with two decks, less with more,
    and not at all with infinitely many. All are zero if no card has been seen.

    Parameters
    ----------
    history : bool, default=True
        Whether the 12 features of the cards seen follow the 280 features of the hand.

    Examples
    --------
    >>> from paper import blackjack
    >>> features = blackjack.HandFeatures()
    >>> len(features.names), features.names[31], features.names[-1]
    (292, 'total >= 6 and dealer >= 3', 'cards seen')
    """

    history: bool = True

    def __call__(self, states: Any) -> np.ndarray:
        """Return the features of the states, of shape (n, 292), or (n, 280) without history."""
        states = check_states(states)
        hand = self._table[hand_of(states)]
        return np.hstack([hand, _history(states)]) if self.history else hand

    def product(self, states: Any, weights: np.ndarray) -> np.ndarray:
        """Return φ(states) @ weights, computed with a table of all hands."""
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
        """Names of the features."""
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
    """Return the features of the cards seen, scaled to about 1 after one deck."""
    seen = states[:, 3:].astype(np.float64)
    cards = seen.sum(axis=1, keepdims=True)
    excess = (seen - cards * CHANCES) / np.sqrt(_DECK * CHANCES * (1 - CHANCES))
    balance = seen @ _COUNT / np.sqrt(_DECK * CHANCES @ np.square(_COUNT))
    return np.hstack([excess, balance[:, None], cards / _DECK])
