"""The dealer, who follows a fixed rule: simulated, and exact for infinitely many decks.

The outcome of the dealer's hand is a score that is compared with the total of a player who stays:
0 for a hand above 21, 22 for a natural, and the total otherwise.
"""

from __future__ import annotations

import numpy as np

from paper.blackjack.cards import CHANCES, VALUES, Deck, with_card
from paper.blackjack.rules import Rules

LOST, NATURAL = 0, 22
"""Scores of a hand above 21 and of a natural."""


def play_dealer(
    rules: Rules, deck: Deck, shown: np.ndarray, seen: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Play the dealer's hands to the end from the cards shown, and return their scores."""
    total, soft = with_card(np.zeros_like(shown), np.zeros(len(shown), dtype=bool), shown)
    card, seen = deck.draw(seen, rng)
    total, soft = with_card(total, soft, card)
    natural = total == 21
    live = np.flatnonzero(_goes_on(rules, total, soft))
    while len(live):
        card, seen[live] = deck.draw(seen[live], rng)
        total[live], soft[live] = with_card(total[live], soft[live], card)
        live = live[_goes_on(rules, total[live], soft[live])]
    return np.where(natural, NATURAL, np.where(total > 21, LOST, total))


def score_chances(rules: Rules) -> np.ndarray:
    """Return the probabilities of scores, of shape (11, 23): by card shown, then by score."""
    chances = np.zeros((11, NATURAL + 1))
    for shown in VALUES:
        first = with_card(np.array([0]), np.array([False]), np.array([shown]))
        hands = {(int(first[0][0]), bool(first[1][0])): 1.0}
        cards = 1
        while hands:
            following: dict[tuple[int, bool], float] = {}
            for (total, soft), chance in hands.items():
                totals, softs = with_card(np.full(10, total), np.full(10, soft), VALUES)
                on = _goes_on(rules, totals, softs)
                for t, s, goes_on, part in zip(totals, softs, on, chance * CHANCES, strict=True):
                    if cards == 1 and t == 21:
                        chances[shown, NATURAL] += part
                    elif goes_on:
                        following[int(t), bool(s)] = following.get((int(t), bool(s)), 0.0) + part
                    else:
                        chances[shown, t if t <= 21 else LOST] += part
            hands, cards = following, cards + 1
    return chances


def stay_values(rules: Rules) -> np.ndarray:
    """Return the expected rewards of staying, of shape (22, 11): by total, then by card shown."""
    totals, scores = np.arange(22), np.arange(NATURAL + 1)
    return np.sign(totals[:, None] - scores) @ score_chances(rules).T


def _goes_on(rules: Rules, total: np.ndarray, soft: np.ndarray) -> np.ndarray:
    return (total < rules.dealer_stays) | (
        (total == rules.dealer_stays) & soft & rules.dealer_hits_soft
    )
