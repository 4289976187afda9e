"""Transition probabilities of a finite decision process, dense or as a mixture of measures."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from thinrank.core.checks import check_finite

# Tolerance for rounding errors: negative probabilities, and sums that differ from 1.
_SLACK = 1e-8


class Kernel(Protocol):
    """Transition probabilities P(s′ | s, a) over S states and A actions."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_states, n_actions)."""

    def draw(self, states: np.ndarray, action: int, rng: np.random.Generator) -> np.ndarray:
        """Draw one next state per state."""

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Expectation Σ_s′ P(s′ | s, a)·values(s′), of shape (n_states, n_actions)."""

    def mean_at(self, states: np.ndarray, action: int, values: np.ndarray) -> np.ndarray:
        """The same expectation for the given states and one action."""

    def evaluate(self, actions: np.ndarray, rewards: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Solve v = rewards + P_π·(factor·v) for v of shape (n_states,), π(s) = ``actions[s]``."""

    def dense(self) -> np.ndarray:
        """All probabilities, of shape (n_states, n_actions, n_states)."""


class DenseKernel:
    """Transition probabilities in an array.

    Parameters
    ----------
    probabilities : ndarray of shape (n_states, n_actions, n_states)
        P(s′ | s, a); the next state is the last axis.
    """

    def __init__(self, probabilities: np.ndarray) -> None:
        P = np.asarray(probabilities, dtype=float)
        if P.ndim != 3 or P.shape[0] != P.shape[2] or 0 in P.shape:
            raise ValueError(f"transitions must have the shape (S, A, S), got {P.shape}")
        _check_distributions("transitions", P)
        self._P = P
        # distribution functions stacked so that one search finds all next states, see _draw
        self._steps = _stacked(P.reshape(-1, P.shape[2]))

    @property
    def shape(self) -> tuple[int, int]:
        """(n_states, n_actions)."""
        return self._P.shape[0], self._P.shape[1]

    def draw(self, states: np.ndarray, action: int, rng: np.random.Generator) -> np.ndarray:
        """Draw one next state per state."""
        return _draw(self._steps, states * self.shape[1] + action, self.shape[0], rng)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Expectation Σ_s′ P(s′ | s, a)·values(s′), of shape (n_states, n_actions)."""
        return self._P @ values

    def mean_at(self, states: np.ndarray, action: int, values: np.ndarray) -> np.ndarray:
        """The same expectation for the given states and one action."""
        return (self._P[:, action] @ values)[states]

    def evaluate(self, actions: np.ndarray, rewards: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Solve v = rewards + P_π·(factor·v), a linear system in n_states unknowns."""
        S = self.shape[0]
        chosen = self._P[np.arange(S), actions]
        return np.linalg.solve(np.eye(S) - chosen * factor, rewards)

    def dense(self) -> np.ndarray:
        """All probabilities, of shape (n_states, n_actions, n_states)."""
        return self._P


class MixtureKernel:
    """Transition probabilities of low rank, as a mixture of few measures.

    P(s′ | s, a) = Σⱼ ψⱼ(s, a)·νⱼ(s′): state and action determine the probabilities of r measures,
    and the measure determines the next state. No array of size S × S is stored, and the values of
    a policy are the solution of a linear system in r unknowns.

    Parameters
    ----------
    weights : ndarray of shape (n_states, n_actions, n_measures)
        ψ: for every state and action, a distribution over the measures.
    measures : ndarray of shape (n_measures, n_states)
        ν: distributions over next states.
    """

    def __init__(self, weights: np.ndarray, measures: np.ndarray) -> None:
        W, N = np.asarray(weights, dtype=float), np.asarray(measures, dtype=float)
        if W.ndim != 3 or N.ndim != 2 or N.shape != (W.shape[2], W.shape[0]):
            raise ValueError(
                "weights must have the shape (S, A, r) and measures (r, S), "
                f"got {W.shape} and {N.shape}"
            )
        _check_distributions("weights", W)
        _check_distributions("measures", N)
        self._W, self._N = W, N
        self._classes = _stacked(W.reshape(-1, W.shape[2]))
        self._steps = _stacked(N)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_states, n_actions)."""
        return self._W.shape[0], self._W.shape[1]

    def draw(self, states: np.ndarray, action: int, rng: np.random.Generator) -> np.ndarray:
        """Draw one next state per state."""
        S, A = self.shape
        chosen = _draw(self._classes, states * A + action, self._W.shape[2], rng)
        return _draw(self._steps, chosen, S, rng)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Expectation Σ_s′ P(s′ | s, a)·values(s′), of shape (n_states, n_actions)."""
        return self._W @ (self._N @ values)

    def mean_at(self, states: np.ndarray, action: int, values: np.ndarray) -> np.ndarray:
        """The same expectation for the given states and one action."""
        return self._W[states, action] @ (self._N @ values)

    def evaluate(self, actions: np.ndarray, rewards: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Solve v = rewards + Ψ_π·u through the r unknowns u = N·(factor·v)."""
        chosen = self._W[np.arange(self.shape[0]), actions]
        N = self._N * factor
        u = np.linalg.solve(np.eye(len(N)) - N @ chosen, N @ rewards)
        return rewards + chosen @ u

    def dense(self) -> np.ndarray:
        """All probabilities, of shape (n_states, n_actions, n_states)."""
        return self._W @ self._N


def as_kernel(transitions: Any) -> Kernel:
    """Convert an array to a kernel; a kernel is returned unchanged.

    Shapes: ``transitions`` (n_states, n_actions, n_states).
    """
    if hasattr(transitions, "mean_at"):
        kernel: Kernel = transitions
        return kernel
    return DenseKernel(transitions)


def _check_distributions(name: str, P: np.ndarray) -> None:
    """Raise a ValueError unless the entries are distributions along the last axis."""
    check_finite(name, P)
    if P.min() < -_SLACK:
        raise ValueError(f"{name} must be probabilities, but one is {P.min():.2g}")
    gap = float(np.abs(P.sum(axis=-1) - 1).max())
    if gap > _SLACK:
        raise ValueError(f"{name} must sum to 1 along the last axis; one is off by {gap:.2g}")


def _stacked(P: np.ndarray) -> np.ndarray:
    """Distribution functions of the rows, concatenated: that of row i increases from i to i + 1."""
    steps = np.cumsum(np.maximum(P, 0.0), axis=1)
    steps /= steps[:, -1:]
    return (steps + np.arange(len(P))[:, None]).ravel()


def _draw(steps: np.ndarray, rows: np.ndarray, width: int, rng: np.random.Generator) -> np.ndarray:
    """Draw an index in [0, width) from the distribution of each given row."""
    found = np.searchsorted(steps, rows + rng.random(len(rows)), side="right")
    # the sum of a row number and a number just below 1 may be rounded up to the next row
    return np.minimum(found - rows * width, width - 1)
