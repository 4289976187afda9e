"""Values of blackjack with infinitely many decks, by dynamic programming."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.blackjack.cards import CHANCES, VALUES, with_card
from paper.blackjack.dealer import NATURAL, score_chances
from paper.blackjack.simulator import Blackjack, Policy
from paper.blackjack.states import HANDS, all_states, hand_of

# A hand starts with at least 2 (an ace counted as 1), each card adds at least 1, and above 21 the
# hand is over.
_SWEEPS = 20


def optimal_q(task: Blackjack) -> np.ndarray:
    """Return Q* at ``all_states()``, of shape (280, n_actions)."""
    return _swept(task, lambda q: q.max(axis=1))


def policy_q(task: Blackjack, policy: Policy) -> np.ndarray:
    """Return Q of a deterministic policy at ``all_states()``, of shape (280, n_actions)."""
    actions = _actions(task, policy)
    return _swept(task, lambda q: q[np.arange(len(q)), actions])


def optimal_policy(task: Blackjack) -> Policy:
    """Return the policy with the smallest house edge: ``policy(states) -> (n,)`` actions."""
    best = np.zeros(HANDS, dtype=np.int64)
    best[hand_of(all_states())] = optimal_q(task).argmax(axis=1)
    return lambda states: best[hand_of(states)]


def exact_house_edge(task: Blackjack, policy: Policy | None = None) -> float:
    """Return the expected loss per hand as a fraction of the stake.

    Parameters
    ----------
    task : Blackjack
        A game with infinitely many decks.
    policy : callable, default=None
        ``policy(states) -> (n,)`` actions, a function of the state; None for the best policy.

    Returns
    -------
    edge : float
        The house edge.

    Examples
    --------
    >>> from paper import blackjack
    >>> round(100 * blackjack.exact_house_edge(blackjack.Blackjack()), 3)
    2.421
    """
    if policy is None:
        values = optimal_q(task).max(axis=1)
    else:
        q = policy_q(task, policy)
        values = q[np.arange(len(q)), _actions(task, policy)]
    table = np.full(HANDS, np.nan)
    table[hand_of(all_states())] = values
    naturals = task.rules.natural * (1 - score_chances(task.rules)[:, NATURAL])

    first, second, shown = np.meshgrid(VALUES, VALUES, VALUES, indexing="ij")
    empty = np.zeros_like(first), np.zeros(first.shape, dtype=bool)
    total, soft = with_card(*with_card(*empty, first), second)
    worth = np.where(total == 21, naturals[shown], table[total, soft.astype(int), shown])
    return -float(np.einsum("ijk,i,j,k", worth, CHANCES, CHANCES, CHANCES))


def _swept(task: Blackjack, state_values: Any) -> np.ndarray:
    """Return Q after as many sweeps as a hand can have cards, when it has converged."""
    states = all_states()
    table = np.zeros(HANDS)
    q = np.zeros((len(states), task.n_actions))
    for _ in range(_SWEEPS):
        for action in range(task.n_actions):
            rewards, ahead = task.expect(states, action, lambda s: table[hand_of(s)])
            q[:, action] = rewards + ahead
        table[hand_of(states)] = state_values(q)
    return q


def _actions(task: Blackjack, policy: Policy) -> np.ndarray:
    actions = np.asarray(policy(all_states()))
    legal = actions.shape == (len(all_states()),) and actions.dtype.kind in "iu"
    if not legal or actions.min() < 0 or actions.max() >= task.n_actions:
        raise ValueError(
            f"policy must return an action from 0 to {task.n_actions - 1} for each of "
            f"{len(all_states())} states, got {actions!r}"
        )
    return actions
