"""What a player may look at: the hand, the dealer's card, and the cards that are gone."""

from __future__ import annotations

import numpy as np

from thinrank.rl.blackjack.hands import ACE, RANKS, TEN, all_hands

__all__ = ["HandFeatures", "TableFeatures"]

_HARD = range(4, 22)
_SOFT = range(12, 22)
# Cards of one rank in a hand, beyond which counts are not told apart.
_MOST_ALIKE = 3


class TableFeatures:
    """An indicator of each total, hard or soft, with each card of the dealer: 280 features."""

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """Features of shape (n, 280)."""
        hand, shown = np.asarray(states).T
        return _products(_totals()[hand], np.eye(RANKS)[shown])


class HandFeatures:
    """The structure of a hand, and the cards in it.

    Products of what the hand is worth with what the dealer shows:

    - the hand: a constant, hard and soft separately how near it is to 21, indicators of at most
      11, of 12 to 16 and of each total from 17 to 21, of a soft hand, and of soft 17 or less;
    - the dealer: a constant, the value of the card, and indicators of two to six, ace and ten.

    Beside them the history: indicators of one, two, and three or more cards of each rank, and the
    number of cards. With few decks they tell what is left in the shoe; with many they are
    noise, and so a test of selection.
    """

    def __call__(self, states: np.ndarray) -> np.ndarray:
        """Features of shape (n, 116)."""
        hand, shown = np.asarray(states).T
        structure = _products(_worth()[hand], _dealer()[shown])
        return np.concatenate([structure, _history()[hand]], axis=1)


def _products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)


def _totals() -> np.ndarray:
    """Indicators of each hard and each soft total, of shape (H, 28)."""
    hands = all_hands()
    hard = [(hands.totals == total) & ~hands.soft for total in _HARD]
    soft = [(hands.totals == total) & hands.soft for total in _SOFT]
    return np.stack([*hard, *soft], axis=1).astype(float)


def _worth() -> np.ndarray:
    hands = all_hands()
    totals, soft = hands.totals, hands.soft
    near = totals / 21
    return np.stack(
        [
            np.ones(len(hands)),
            np.where(soft, 0.0, near),
            np.where(soft, near, 0.0),
            np.where(soft, 0.0, np.maximum(totals - 11, 0) / 10),
            totals <= 11,
            (totals >= 12) & (totals <= 16) & ~soft,
            *((totals == total) & ~soft for total in range(17, 22)),
            soft,
            soft & (totals <= 17),
            *((totals == total) & soft for total in range(18, 22)),
        ],
        axis=1,
    ).astype(float)


def _dealer() -> np.ndarray:
    shown = np.arange(RANKS)
    return np.stack(
        [
            np.ones(RANKS),
            (shown + 1) / 10,
            (shown >= 1) & (shown <= 5),
            shown == ACE,
            shown == TEN,
        ],
        axis=1,
    ).astype(float)


def _history() -> np.ndarray:
    hands = all_hands()
    seen = [hands.counts == count for count in range(1, _MOST_ALIKE)]
    seen.append(hands.counts >= _MOST_ALIKE)
    return np.concatenate([*seen, hands.cards[:, None] / 5], axis=1).astype(float)
