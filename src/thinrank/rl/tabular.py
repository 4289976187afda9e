"""Finite Markov decision processes with a known model: exact values, and samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thinrank.core.checks import check_finite
from thinrank.rl.tasks import Policy

# Iteration limit of undiscounted value iteration. Finite episodic processes converge geometrically;
# this many sweeps mean that they do not converge at all.
_MAX_SWEEPS = 30_000
# Tolerance for rounding errors: negative probabilities, and sums that differ from 1.
_SLACK = 1e-8


class _Table:
    """Transition probabilities P(s′ | s, a), an array of shape (n_states, n_actions, n_states)."""

    def __init__(self, probabilities: Any) -> None:
        P = np.asarray(probabilities, dtype=float)
        if P.ndim != 3 or P.shape[0] != P.shape[2] or 0 in P.shape:
            raise ValueError(f"transitions must have the shape (S, A, S), got {P.shape}")
        check_distributions("transitions", P)
        self._P, self.shape = P, P.shape[:2]
        self._steps = distribution_functions(P.reshape(-1, P.shape[2]))

    def draw(self, states: np.ndarray, action: int, rng: np.random.Generator) -> np.ndarray:
        """Draw one next state per state."""
        return draw(self._steps, states * self.shape[1] + action, self.shape[0], rng)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Expectation Σ_s′ P(s′ | s, a)·values(s′), of shape (n_states, n_actions)."""
        return self._P @ values

    def evaluate(self, actions: np.ndarray, rewards: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Solve v = rewards + P_π·(factor·v) for v of shape (n_states,), π(s) = ``actions[s]``."""
        S = self.shape[0]
        chosen = self._P[np.arange(S), actions]
        return np.linalg.solve(np.eye(S) - chosen * factor, rewards)

    def dense(self) -> np.ndarray:
        """All probabilities, of shape (n_states, n_actions, n_states)."""
        return self._P


class TabularMDP:
    """A Markov decision process with the states 0, …, S − 1 and a known model.

    Parameters
    ----------
    transitions : ndarray of shape (n_states, n_actions, n_states), or object
        P(s′ | s, a), with the next state as last axis; or an object with the attribute ``shape``
        (n_states, n_actions) and the methods ``draw``, ``mean``, ``evaluate`` and ``dense`` of
        ``mdp.kernel``, for probabilities that do not fit into memory.
    rewards : ndarray of shape (n_states, n_actions) or (n_states, n_actions, n_states)
        R(s, a), or the reward of each transition.
    terminal : boolean ndarray of shape (n_states,), default=None
        States that end an episode when they are entered. There are no rewards after that.
    episodic : bool, default=False
        Whether every reasonable policy ends the episode, so that the discount may be 1.

    Attributes
    ----------
    rewards : ndarray of shape (n_states, n_actions)
        R(s, a); zero for terminal states.
    by_transition : ndarray
        The rewards as given.
    n_states, n_actions : int
        Numbers of states and actions.

    Examples
    --------
    Two states. Action 1 changes the state, and the reward in state 1 is one.

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
        self.kernel = transitions if hasattr(transitions, "evaluate") else _Table(transitions)
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
        """Number of states."""
        return self.kernel.shape[0]

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return self.kernel.shape[1]

    def sample(
        self, states: np.ndarray, action: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take one action in each of several states.

        Parameters
        ----------
        states : ndarray of shape (n_samples,)
            Integers.
        action : int
            The action.
        rng : numpy.random.Generator
            Random numbers.

        Returns
        -------
        rewards : ndarray of shape (n_samples,)
        next_states : ndarray of shape (n_samples,)
        terminated : boolean ndarray of shape (n_samples,)
            Whether the episode is over.
        """
        after = self.kernel.draw(states, action, rng)
        whole = self.by_transition.ndim == 3
        rewards = self.by_transition[(states, action, after) if whole else (states, action)]
        over = self.terminal[states]
        return np.where(over, 0.0, rewards), after, over | self.terminal[after]

    def expect(
        self, states: np.ndarray, action: int, value: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Expected rewards, and expected values of the next states.

        Parameters
        ----------
        states : ndarray of shape (n_samples,)
            Integers.
        action : int
            The action.
        value : callable
            ``value(states)`` returns the values of states; those of terminal states count as 0.

        Returns
        -------
        rewards : ndarray of shape (n_samples,)
        values : ndarray of shape (n_samples,)
        """
        values = np.where(self.terminal, 0.0, value(np.arange(self.n_states)))
        ahead = self.kernel.mean(values)[states, action]
        return self.rewards[states, action], np.where(self.terminal[states], 0.0, ahead)

    def bellman(self, q: np.ndarray, discount: float) -> np.ndarray:
        """The Bellman update R + γ·P·max Q of Q, of shape (n_states, n_actions)."""
        values = np.where(self.terminal, 0.0, q.max(axis=1))
        return self._closed(self.rewards + discount * self.kernel.mean(values))

    def optimal_q(self, discount: float, tol: float = 1e-12) -> np.ndarray:
        """The optimal action values Q*.

        Computed by policy iteration, exact up to rounding errors of its linear systems. Without
        discount some policies have no finite value; then value iteration is used, until a sweep
        changes no value by more than ``tol`` times the largest value.

        Parameters
        ----------
        discount : float
            The discount γ in (0, 1]; 1 only for episodic processes.
        tol : float, default=1e-12
            Tolerance, relative to the largest value.

        Returns
        -------
        ndarray of shape (n_states, n_actions)
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
        """The action values Q^π of a policy, by solving a linear system.

        Parameters
        ----------
        policy : callable or ndarray of shape (n_states,)
            The policy π: a function from states to actions, or the action of each state.
        discount : float
            The discount γ in (0, 1]; 1 only for episodic processes and policies that end the
            episode from every state.

        Returns
        -------
        ndarray of shape (n_states, n_actions)
        """
        self._check(discount)
        every = np.arange(self.n_states)
        actions = np.asarray(policy(every) if callable(policy) else policy)
        if actions.dtype.kind not in "iu":
            raise ValueError(f"policy must return integers, got an array of dtype {actions.dtype}")
        if actions.shape != every.shape or not np.all(np.isin(actions, range(self.n_actions))):
            raise ValueError(
                f"policy must return one of {self.n_actions} actions for each of {self.n_states} "
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
        """Set the values of terminal states to zero."""
        return np.where(self.terminal[:, None], 0.0, q)

    def _check(self, discount: float) -> None:
        if not 0 < discount <= 1:
            raise ValueError(f"discount must be above 0 and at most 1, got {discount!r}")
        if discount == 1 and not self.episodic:
            raise ValueError("discount may be 1 only for a process that is declared episodic")

    def _check_it_ends(self, actions: np.ndarray) -> None:
        """Raise a ValueError unless a policy reaches a terminal state from every state."""
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
                f"policy never ends the episode from state {where} and has no undiscounted value"
            )

    def _value_iteration(self, tol: float) -> np.ndarray:
        q = np.zeros((self.n_states, self.n_actions))
        for _ in range(_MAX_SWEEPS):
            before, q = q, self.bellman(q, 1.0)
            if np.abs(q - before).max() <= tol * (1 + np.abs(q).max()):
                return q
        raise ValueError(
            f"values did not converge in {_MAX_SWEEPS} sweeps: without discount, rewards can "
            "accumulate without bound"
        )


def value_error(
    tasks: Sequence[TabularMDP],
    policies: Sequence[Policy],
    discount: float | Sequence[float],
    optimal: Sequence[np.ndarray] | np.ndarray | None = None,
) -> float:
    """Mean squared distance of the values of policies from the optimal ones.

    This is (1/k)·Σ_k mean (Q*_k − Q^π_k)², where the mean is over all states and actions with equal
    weights: the squared norm of the paper's theorem divided by the numbers of states and actions,
    so that it does not depend on the size of a task.

    Parameters
    ----------
    tasks : sequence of TabularMDP
        The tasks.
    policies : sequence of callable
        One policy per task.
    discount : float or sequence of float
        The discount γ, one for all tasks or one per task.
    optimal : sequence of ndarray of shape (n_states, n_actions), default=None
        Q* of each task. Computed if None.

    Returns
    -------
    float
    """
    if len(policies) != len(tasks):
        raise ValueError(f"policies must be {len(tasks)}, one per task; got {len(policies)}")
    discounts = np.broadcast_to(np.asarray(discount, dtype=float), len(tasks))
    errors = []
    for i, (task, policy, gamma) in enumerate(zip(tasks, policies, discounts, strict=True)):
        best = task.optimal_q(float(gamma)) if optimal is None else optimal[i]
        errors.append(np.mean((best - task.q_of(policy, float(gamma))) ** 2))
    return float(np.mean(errors))


def check_distributions(name: str, P: np.ndarray) -> None:
    """Raise a ValueError unless the entries are distributions along the last axis."""
    check_finite(name, P)
    if P.min() < -_SLACK:
        raise ValueError(f"{name} must be probabilities, but one is {P.min():.2g}")
    gap = float(np.abs(P.sum(axis=-1) - 1).max())
    if gap > _SLACK:
        raise ValueError(f"{name} must sum to 1 along the last axis; one is off by {gap:.2g}")


def distribution_functions(P: np.ndarray) -> np.ndarray:
    """Distribution functions of the rows, concatenated: that of row i increases from i to i + 1."""
    steps = np.cumsum(np.maximum(P, 0.0), axis=1)
    steps /= steps[:, -1:]
    return (steps + np.arange(len(P))[:, None]).ravel()


def draw(steps: np.ndarray, rows: np.ndarray, width: int, rng: np.random.Generator) -> np.ndarray:
    """Draw an index in [0, width) from the distribution of each given row."""
    found = np.searchsorted(steps, rows + rng.random(len(rows)), side="right")
    # the sum of a row number and a number just below 1 may be rounded up to the next row
    return np.minimum(found - rows * width, width - 1)
