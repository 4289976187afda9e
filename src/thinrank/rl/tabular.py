"""Finite decision processes that are known: exact values, and samples of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thinrank.core.checks import check_finite
from thinrank.rl.kernels import as_kernel

__all__ = ["Policy", "TabularMDP", "value_error"]

Policy = Callable[[np.ndarray], np.ndarray]
"""States in, actions out."""

_MAX_SWEEPS = 30_000


class TabularMDP:
    """A Markov decision process over the states 0, …, S − 1 whose model is known.

    Parameters
    ----------
    transitions : ndarray of shape (S, A, S), or a kernel
        P(s′ | s, a), next states last; or what :mod:`thinrank.rl.kernels` offers.
    rewards : ndarray of shape (S, A) or (S, A, S)
        R(s, a), or the reward of each transition.
    terminal : ndarray of shape (S,), bool, optional
        States that end an episode when they are entered. Nothing is earned from them on.
    episodic : bool
        Whether every sensible policy comes to an end, so that nothing need be discounted.

    Attributes
    ----------
    rewards : ndarray of shape (S, A)
        R(s, a), zero for terminal states.
    by_transition : ndarray
        The rewards as given.
    n_states, n_actions : int
        S and A.

    Examples
    --------
    Two states; action 1 changes the state, and being in state 1 pays one.

    >>> import numpy as np
    >>> stay, go = np.eye(2), np.eye(2)[::-1]
    >>> mdp = TabularMDP(np.stack([stay, go], axis=1), [[0, 0], [1, 1]])
    >>> mdp.optimal_q(discount=0.5)
    array([[0.5, 1. ],
           [2. , 1.5]])
    """

    def __init__(
        self,
        transitions: Any,
        rewards: Any,
        terminal: Any = None,
        *,
        episodic: bool = False,
    ) -> None:
        self.kernel = as_kernel(transitions)
        S, A = self.kernel.shape
        self.by_transition = np.asarray(rewards, dtype=float)
        if self.by_transition.shape not in ((S, A), (S, A, S)):
            raise ValueError(
                f"rewards must have the shape {(S, A)} or {(S, A, S)}, "
                f"got {self.by_transition.shape}"
            )
        check_finite("rewards", self.by_transition)
        self.terminal = np.zeros(S, bool) if terminal is None else np.asarray(terminal, dtype=bool)
        if self.terminal.shape != (S,):
            raise ValueError(f"terminal must have the shape {(S,)}, got {self.terminal.shape}")
        self.episodic = bool(episodic)
        self.rewards = self._mean_rewards()

    @property
    def n_states(self) -> int:
        """S."""
        return self.kernel.shape[0]

    @property
    def n_actions(self) -> int:
        """A."""
        return self.kernel.shape[1]

    def sample(
        self, states: np.ndarray, action: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take an action once in each state.

        Returns
        -------
        rewards : ndarray of shape (n,)
        next_states : ndarray of shape (n,)
        terminated : ndarray of shape (n,), bool
        """
        after = self.kernel.draw(states, action, rng)
        whole = self.by_transition.ndim == 3
        rewards = self.by_transition[(states, action, after) if whole else (states, action)]
        over = self.terminal[states]
        return np.where(over, 0.0, rewards), after, over | self.terminal[after]

    def expect(
        self, states: np.ndarray, action: int, value: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """R(s, a) and the mean of ``value`` over next states, where the end is worth nothing."""
        worth = np.where(self.terminal, 0.0, value(np.arange(self.n_states)))
        ahead = self.kernel.mean_at(states, action, worth)
        return self.rewards[states, action], np.where(self.terminal[states], 0.0, ahead)

    def bellman(self, q: np.ndarray, discount: float) -> np.ndarray:
        """R + γ·P·max Q: one step of value iteration on Q of shape (S, A)."""
        worth = np.where(self.terminal, 0.0, q.max(axis=1))
        return self._closed(self.rewards + discount * self.kernel.mean(worth))

    def optimal_q(self, discount: float, tol: float = 1e-12) -> np.ndarray:
        """Q* of shape (S, A).

        By policy iteration, exact up to the rounding of its linear systems. Without discount some
        policies have no value; then by value iteration, until a sweep changes nothing by more
        than ``tol`` times the largest value.
        """
        self._check(discount)
        if discount == 1:
            return self._value_iteration(tol)
        actions = self.rewards.argmax(axis=1)
        while True:
            q = self.q_of(actions, discount)
            every = np.arange(self.n_states)
            best = q.argmax(axis=1)
            gain = q[every, best] - q[every, actions]
            better = gain > tol * (1 + np.abs(q).max())
            if not better.any():
                return q
            actions = np.where(better, best, actions)

    def q_of(self, policy: Policy | np.ndarray, discount: float) -> np.ndarray:
        """Q^π of shape (S, A), by a linear system.

        Parameters
        ----------
        policy : callable or ndarray of shape (S,)
            π: states to actions, or the action of each state.
        discount : float
            γ in (0, 1]; 1 for episodic processes, where the policy must come to an end.
        """
        self._check(discount)
        every = np.arange(self.n_states)
        actions = np.asarray(policy(every) if callable(policy) else policy)
        if actions.dtype.kind not in "iu":
            raise ValueError(f"policy must give integers, got an array of dtype {actions.dtype}")
        if actions.shape != every.shape or not np.all(np.isin(actions, range(self.n_actions))):
            raise ValueError(
                f"policy must give one of {self.n_actions} actions for each of {self.n_states} "
                f"states, got an array of shape {actions.shape}"
            )
        if discount == 1:
            self._check_it_ends(actions)
        factor = np.where(self.terminal, 0.0, discount)
        values = self.kernel.evaluate(actions, self.rewards[every, actions], factor)
        return self._closed(self.rewards + self.kernel.mean(factor * values))

    def _mean_rewards(self) -> np.ndarray:
        if self.by_transition.ndim == 2:
            return self._closed(self.by_transition)
        return self._closed(np.sum(self.kernel.dense() * self.by_transition, axis=2))

    def _closed(self, q: np.ndarray) -> np.ndarray:
        """Nothing is earned after the end."""
        return np.where(self.terminal[:, None], 0.0, q)

    def _check(self, discount: float) -> None:
        if not 0 < discount <= 1:
            raise ValueError(f"discount must be above 0 and at most 1, got {discount!r}")
        if discount == 1 and not self.episodic:
            raise ValueError("discount may be 1 only for a process that is declared episodic")

    def _check_it_ends(self, actions: np.ndarray) -> None:
        """Whether a policy reaches the end from everywhere."""
        chosen = self.kernel.dense()[np.arange(self.n_states), actions] > 0
        ends = self.terminal
        while True:
            further = ends | (chosen @ ends)
            if np.array_equal(further, ends):
                break
            ends = further
        if not ends.all():
            where = int(np.flatnonzero(~ends)[0])
            raise ValueError(
                f"policy never comes to an end from state {where}: without discount it has no value"
            )

    def _value_iteration(self, tol: float) -> np.ndarray:
        q = np.zeros((self.n_states, self.n_actions))
        for _ in range(_MAX_SWEEPS):
            before, q = q, self.bellman(q, 1.0)
            if np.abs(q - before).max() <= tol * (1 + np.abs(q).max()):
                return q
        raise ValueError(
            f"values did not settle in {_MAX_SWEEPS} sweeps: some policy earns without end, or "
            "must pay without end"
        )


def value_error(
    tasks: Sequence[TabularMDP],
    policies: Sequence[Policy],
    discount: float | Sequence[float],
    optimal: Sequence[np.ndarray] | np.ndarray | None = None,
) -> float:
    """How much worse policies are than the best ones: (1/k)·Σ_k mean (Q*_k − Q^π_k)².

    The mean runs over all states and actions alike. It is the squared norm of the paper's theorem
    divided by the number of states and actions, which makes it independent of the size of a task.

    Parameters
    ----------
    tasks : sequence of TabularMDP
    policies : sequence of callable
        One a task.
    discount : float or sequence of float
        γ, one for all tasks or one each.
    optimal : array or sequence of k arrays of shape (S, A), optional
        Q* of each task, where it is known.

    Returns
    -------
    float
    """
    if len(policies) != len(tasks):
        raise ValueError(f"policies must be {len(tasks)}, one a task; got {len(policies)}")
    discounts = np.broadcast_to(np.asarray(discount, dtype=float), len(tasks))
    errors = []
    for i, (task, policy, gamma) in enumerate(zip(tasks, policies, discounts, strict=True)):
        best = task.optimal_q(float(gamma)) if optimal is None else optimal[i]
        errors.append(np.mean((best - task.q_of(policy, float(gamma))) ** 2))
    return float(np.mean(errors))
