"""Blackjack as a task: take one action in many hands at once, or play hands to the end."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from paper.blackjack.cards import CHANCES, VALUES, Deck, FiniteDeck, InfiniteDeck, with_card
from paper.blackjack.dealer import play_dealer, stay_values
from paper.blackjack.rules import DOUBLE, HIT, STAY, Rules
from paper.blackjack.states import check_states, hand_of, make_states
from thinrank.rl.tasks import Value

Hands = tuple[np.ndarray, np.ndarray, np.ndarray]
"""States, rewards so far, and whether each hand is over."""

Policy = Callable[[np.ndarray], np.ndarray]
"""``policy(states) -> (n,)`` actions."""


class Blackjack:
    """A task whose episodes are hands of blackjack, with a stake of 1.

    A state is a row of 13 integers: the player's total; 1 if an ace counts 11 in it, else 0; the
    dealer's card, 1 for an ace; and the numbers of cards of the values 1 to 10 that have been seen
    since the decks were shuffled, including those on the table. With infinitely many decks the last
    ten are zero in returned states and ignored in given ones. Naturals are settled when cards are
    dealt, so a state with total 21 is never a natural.

    Parameters
    ----------
    rules : Rules, default=None
        Rules of the game; None for ``Rules()``: infinitely many decks, a dealer who stays at every
        17, and the actions hit and stay.

    Examples
    --------
    >>> import numpy as np
    >>> from paper import blackjack
    >>> task = blackjack.Blackjack()
    >>> sixteen_against_ten = np.array([[16, 0, 10] + [0] * 10])
    >>> for action in (blackjack.HIT, blackjack.STAY):
    ...     reward, ahead = task.expect(sixteen_against_ten, action, lambda s: np.zeros(len(s)))
    ...     print(reward.round(3))
    [-0.615]
    [-0.576]
    """

    episodic = True

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = Rules() if rules is None else rules
        decks, cut = self.rules.n_decks, self.rules.cut
        self._deck: Deck = InfiniteDeck() if decks is None else FiniteDeck(decks, cut)

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return self.rules.n_actions

    def deal(self, count: int, rng: np.random.Generator) -> Hands:
        """Deal hands; return states, rewards, and whether a natural of the player ended them."""
        seen = self._deck.begin(count, rng)
        first, seen = self._deck.draw(seen, rng)
        second, seen = self._deck.draw(seen, rng)
        shown, seen = self._deck.draw(seen, rng)
        nothing = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool)
        total, soft = with_card(*with_card(*nothing, first), second)
        natural = total == 21
        rewards = np.zeros(count)
        scores = play_dealer(self.rules, self._deck, shown[natural], seen[natural], rng)
        rewards[natural] = np.where(scores > 21, 0.0, self.rules.natural)
        return make_states(total, soft, shown, seen), rewards, natural

    def sample(
        self, states: np.ndarray, action: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take one action in each hand; return rewards, next states, and which hands are over."""
        total, soft, shown, seen = self._parts(states, action)
        self._deck.check(seen)
        if action != STAY:
            card, seen = self._deck.draw(seen, rng)
            total, soft = with_card(total, soft, card)
        lost = total > 21
        over = lost if action == HIT else np.ones(len(total), dtype=bool)
        rewards = np.where(lost, -1.0, 0.0)
        shows = np.flatnonzero(over & ~lost)
        scores = play_dealer(self.rules, self._deck, shown[shows], seen[shows], rng)
        rewards[shows] = np.sign(total[shows] - scores)
        return rewards * _stake(action), make_states(total, soft, shown, seen), over

    def expect(
        self, states: np.ndarray, action: int, value: Value
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return expected rewards and expected values of the next states, for infinite decks."""
        if self.rules.n_decks is not None:
            raise ValueError(
                f"expectations need infinitely many decks; the task has {self.rules.label}"
            )
        total, soft, shown, _ = self._parts(states, action)
        nothing = np.zeros(len(total))
        if action == STAY:
            return self._stay[total, shown], nothing
        wide = (len(total), len(VALUES))
        totals, softs = with_card(
            np.broadcast_to(total[:, None], wide), np.broadcast_to(soft[:, None], wide), VALUES
        )
        lost = totals > 21
        if action == DOUBLE:
            ends = np.where(lost, -1.0, self._stay[np.where(lost, 0, totals), shown[:, None]])
            return _stake(action) * ends @ CHANCES, nothing
        live = ~lost
        against = np.broadcast_to(shown[:, None], wide)[live]
        ahead = np.zeros(wide)
        ahead[live] = value(make_states(totals[live], softs[live], against))
        return -(lost @ CHANCES), ahead @ CHANCES

    def __repr__(self) -> str:
        return f"Blackjack({self.rules!r})"

    @cached_property
    def _stay(self) -> np.ndarray:
        return stay_values(self.rules)

    def _parts(
        self, states: Any, action: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Check states and action; return totals, softness, cards shown and cards seen."""
        states = check_states(states)
        if action not in range(self.n_actions):
            raise ValueError(f"action must be from 0 to {self.n_actions - 1}, got {action!r}")
        total, soft, shown = hand_of(states)
        return total.astype(np.int64), soft > 0, shown.astype(np.int64), states[:, 3:]


def play(
    task: Blackjack, policy: Policy, dealt: Hands, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Play hands to the end.

    Shapes: ``rewards`` (n_hands,), ``visited`` (n_visited, 13).
    """
    states, rewards, over = (array.copy() for array in dealt)
    live = np.flatnonzero(~over)
    visited = [states[live]]
    while len(live):
        actions = np.asarray(policy(states[live]))
        if not np.all(np.isin(actions, range(task.n_actions))):
            raise ValueError(
                f"policy must return actions from 0 to {task.n_actions - 1}, got "
                f"{np.unique(actions).tolist()}"
            )
        for action in range(task.n_actions):
            hands = live[actions == action]
            rewards[hands], states[hands], over[hands] = task.sample(states[hands], action, rng)
        live = live[~over[live]]
        visited.append(states[live])
    return rewards, np.concatenate(visited)


def house_edge(
    task: Blackjack, policy: Policy, n_hands: int = 200_000, rng: Any = None
) -> tuple[float, float]:
    """Estimate the loss per hand as a fraction of the stake, by playing.

    Parameters
    ----------
    task : Blackjack
        The game.
    policy : callable
        ``policy(states) -> (n,)`` actions.
    n_hands : int, default=200_000
        Number of hands, at least 2.
    rng : Generator, int or None, default=None
        Source of random numbers.

    Returns
    -------
    edge : float
        The house edge.
    standard_error : float
        Its standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from paper import blackjack
    >>> task = blackjack.Blackjack(blackjack.Rules(n_decks=6))
    >>> edge, error = blackjack.house_edge(task, lambda s: (s[:, 0] >= 17) * 1, 1000, 0)
    >>> 0 < error < 0.04
    True
    """
    if n_hands < 2:
        raise ValueError(f"n_hands must be at least 2, got {n_hands!r}")
    rng = np.random.default_rng(rng)
    rewards, _ = play(task, policy, task.deal(n_hands, rng), rng)
    return edge_of(rewards)


def edge_of(rewards: np.ndarray) -> tuple[float, float]:
    """Return the house edge and its standard error from the rewards of independent hands."""
    return -float(rewards.mean()), float(rewards.std(ddof=1) / np.sqrt(len(rewards)))


def _stake(action: int) -> float:
    return 2.0 if action == DOUBLE else 1.0
