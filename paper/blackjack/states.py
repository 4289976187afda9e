"""States of blackjack: rows of 13 integers.

The player's total; 1 if an ace counts 11 in it, else 0; the dealer's card, 1 for an ace; and the
numbers of cards of the values 1 to 10 that have been seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.blackjack.cards import VALUES

_COLUMNS = 3 + len(VALUES)

HANDS = (22, 2, 11)
"""Shape of a table with one entry per hand: by total, softness and dealer's card."""


def make_states(
    total: np.ndarray, soft: np.ndarray, shown: np.ndarray, seen: np.ndarray | int = 0
) -> np.ndarray:
    """Return states made from their parts."""
    states = np.empty((len(total), _COLUMNS), dtype=np.int16)
    states[:, 0], states[:, 1], states[:, 2], states[:, 3:] = total, soft, shown, seen
    return states


def all_states() -> np.ndarray:
    """Return all hands with no card seen, of shape (280, 13): hard 4 to 21, then soft 12 to 21."""
    hands = [(total, 0) for total in range(4, 22)] + [(total, 1) for total in range(12, 22)]
    rows = [(total, soft, shown) for total, soft in hands for shown in VALUES]
    return make_states(*np.array(rows).T)


def hand_of(states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return total, softness and dealer's card: indices into tables of shape :data:`HANDS`."""
    return states[:, 0], states[:, 1], states[:, 2]


def check_states(states: Any) -> np.ndarray:
    """Return the states as an array; raise a ValueError if they are not valid."""
    states = np.asarray(states)
    if states.ndim != 2 or states.shape[1] != _COLUMNS or states.dtype.kind not in "iu":
        raise ValueError(
            f"states must be rows of {_COLUMNS} integers, got dtype {states.dtype}, shape "
            f"{states.shape}"
        )
    total, soft, shown = hand_of(states)
    if np.any((total < 2) | (total > 21)):
        raise ValueError("states must have totals from 2 to 21")
    if np.any((soft < 0) | (soft > 1)):
        raise ValueError("states must have 0 or 1 for hard and soft")
    if np.any((shown < 1) | (shown > 10)):
        raise ValueError("states must have dealer's cards from 1 to 10")
    return states
