"""A family of blackjack games that differ in their rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from paper.blackjack.features import HandFeatures
from paper.blackjack.rules import HIT, STAY, Rules
from paper.blackjack.simulator import Blackjack, play


@dataclass(frozen=True)
class BlackjackFamily:
    """Games with the same actions and features; episodes end, so the discount is 1."""

    tasks: tuple[Blackjack, ...]  # the games
    features: HandFeatures  # features of a state
    n_actions: int  # number of actions

    discount = 1.0

    def design(self, n_states: int, random_state: Any = 0) -> np.ndarray:
        """Return states that a player visits who hits or stays with equal probability.

        Shapes: ``states`` (n_states, 13).
        """
        if n_states < 1:
            raise ValueError(f"n_states must be at least 1, got {n_states!r}")
        rng = np.random.default_rng(random_state)
        fewest = min(self.tasks, key=lambda task: task.rules.n_decks or np.inf)
        # about 19 of 20 hands need a decision; the others are naturals
        dealt = fewest.deal(2 * n_states + 20, rng)
        _, visited = play(fewest, lambda s: rng.choice([HIT, STAY], len(s)), dealt, rng)
        return rng.permutation(visited)[:n_states]


def make_blackjack_family(
    decks: Sequence[int | None] = (2, 8, None),
    dealer_stays: Sequence[int] = (15, 16, 17, 18),
    dealer_hits_soft: Sequence[bool] = (False, True),
    *,
    actions: str = "hit/stay",
    history: bool = True,
) -> BlackjackFamily:
    """Return a family with one game for every combination of rules.

    Parameters
    ----------
    decks : sequence of int or None, default=(2, 8, None)
        Numbers of decks; None for infinitely many.
    dealer_stays : sequence of int, default=(15, 16, 17, 18)
        Totals at which the dealer stops.
    dealer_hits_soft : sequence of bool, default=(False, True)
        Whether the dealer takes another card if that total is soft.
    actions : {"hit/stay", "hit/stay/double"}, default="hit/stay"
        Actions of the player.
    history : bool, default=True
        Whether the features include the cards seen.

    Returns
    -------
    family : BlackjackFamily
        The games are in the order of the arguments, the last one varying fastest.

    References
    ----------
    D. Calandriello, A. Lazaric and M. Restelli, Sparse multi-task reinforcement learning, NIPS
    2014, whose family varies the same three rules.

    Examples
    --------
    >>> from paper import blackjack
    >>> family = blackjack.make_blackjack_family(decks=(None,))
    >>> len(family.tasks), family.tasks[-1].rules.label
    (8, 'infinite decks, dealer stays at 18, hits soft 18')
    """
    combinations = list(product(decks, dealer_stays, dealer_hits_soft))
    if not combinations:
        raise ValueError(
            "decks, dealer_stays and dealer_hits_soft must each have at least one value"
        )
    tasks = tuple(Blackjack(Rules(*rules, actions=actions)) for rules in combinations)
    return BlackjackFamily(tasks, HandFeatures(history), tasks[0].n_actions)
