"""Values of blackjack with infinitely many decks, by dynamic programming."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank.rl.blackjack.cards import CHANCES, VALUES, with_card
from thinrank.rl.blackjack.dealer import NATURAL, score_chances
from thinrank.rl.blackjack.simulator import Blackjack, Policy

__all__ = ["all_states", "exact_house_edge", "optimal_policy", "optimal_q", "policy_q"]

# Counting aces as 1, every card adds at least 1 to at least 2, and above 21 is the end.
_SWEEPS = 20


def all_states() -> np.ndarray:
    """Every state with nothing seen: totals 4 to 21 hard and 12 to 21 soft, of shape (280, 13)."""
    hands = [(total, 0) for total in range(4, 22)] + [(total, 1) for total in range(12, 22)]
    rows = [(total, soft, shown) for total, soft in hands for shown in VALUES]
    return np.pad(np.array(rows, dtype=np.int16), ((0, 0), (0, len(VALUES))))


def optimal_q(task: Blackjack) -> np.ndarray:
    """Q* at :func:`all_states`, of shape (280, n_actions)."""
    return _swept(task, lambda q: q.max(axis=1))


def policy_q(task: Blackjack, policy: Policy) -> np.ndarray:
    """Q of a policy, which must be a function of the state, at :func:`all_states`."""
    actions = _actions(task, policy)
    return _swept(task, lambda q: q[np.arange(len(q)), actions])


def optimal_policy(task: Blackjack) -> Policy:
    """The policy of least house edge: ``policy(states) -> (n,)`` actions."""
    best = np.zeros((22, 2, 11), dtype=np.int64)
    best[_cells(all_states())] = optimal_q(task).argmax(axis=1)
    return lambda states: best[_cells(states)]


def exact_house_edge(task: Blackjack, policy: Policy | None = None) -> float:
    """What a policy loses a hand, as a part of the stake; the least possible without a policy.

    Parameters
    ----------
    task : Blackjack
        With infinitely many decks.
    policy : callable, optional
        ``policy(states) -> (n,)`` actions, a function of the state.

    Returns
    -------
    float

    Examples
    --------
    >>> import thinrank as tr
    >>> round(100 * tr.rl.blackjack.exact_house_edge(tr.rl.blackjack.Blackjack()), 3)
    2.421
    """
    if policy is None:
        values = optimal_q(task).max(axis=1)
    else:
        q = policy_q(task, policy)
        values = q[np.arange(len(q)), _actions(task, policy)]
    table = np.full((22, 2, 11), np.nan)
    table[_cells(all_states())] = values
    naturals = task.rules.natural * (1 - score_chances(task.rules)[:, NATURAL])

    first, second, shown = np.meshgrid(VALUES, VALUES, VALUES, indexing="ij")
    empty = np.zeros_like(first), np.zeros(first.shape, dtype=bool)
    total, soft = with_card(*with_card(*empty, first), second)
    worth = np.where(total == 21, naturals[shown], table[total, soft.astype(int), shown])
    return -float(np.einsum("ijk,i,j,k", worth, CHANCES, CHANCES, CHANCES))


def _swept(task: Blackjack, state_values: Any) -> np.ndarray:
    """Q after as many sweeps as a hand can have cards, where nothing changes any more."""
    states = all_states()
    table = np.zeros((22, 2, 11))
    q = np.zeros((len(states), task.n_actions))
    for _ in range(_SWEEPS):
        for action in range(task.n_actions):
            rewards, ahead = task.expect(states, action, lambda s: table[_cells(s)])
            q[:, action] = rewards + ahead
        table[_cells(states)] = state_values(q)
    return q


def _actions(task: Blackjack, policy: Policy) -> np.ndarray:
    actions = np.asarray(policy(all_states()))
    legal = actions.shape == (len(all_states()),) and actions.dtype.kind in "iu"
    if not legal or actions.min() < 0 or actions.max() >= task.n_actions:
        raise ValueError(
            f"policy must give an action from 0 to {task.n_actions - 1} for each of "
            f"{len(all_states())} states, it gave {actions!r}"
        )
    return actions


def _cells(states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Index into arrays of shape (22, 2, 11)."""
    return states[:, 0], states[:, 1], states[:, 2]
