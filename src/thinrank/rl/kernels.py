"""Transition probabilities of a finite decision process, whole or as a mixture of few measures."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from thinrank.core.checks import check_finite

__all__ = ["DenseKernel", "Kernel", "MixtureKernel", "as_kernel"]

# How far probabilities may be from adding up to one.
_SLACK = 1e-8


class Kernel(Protocol):
    """P(s′ | s, a) over S states and A actions."""

    @property
    def shape(self) -> tuple[int, int]:
        """(S, A)."""

    def draw(self, states: np.ndarray, action: int, rng: np.random.Generator) -> np.ndarray:
        """One next state for each state."""

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Σ_s′ P(s′ | s, a)·values(s′), of shape (S, A)."""

    def mean_at(self, states: np.ndarray, action: int, values: np.ndarray) -> np.ndarray:
        """The same for the given states and one action."""

    def evaluate(self, actions: np.ndarray, rewards: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Solve v = rewards + P_π·(factor·v), of shape (S,), with π(s) = ``actions[s]``."""

    def dense(self) -> np.ndarray:
        """All probabilities, of shape (S, A, S)."""


class DenseKernel:
    """Probabilities in an array.

    Parameters
    ----------
    probabilities : ndarray of shape (S, A, S)
        P(s′ | s, a), next states last.
    """

    def __init__(self, probabilities: np.ndarray) -> None:
        P = np.asarray(probabilities, dtype=float)
        if P.ndim != 3 or P.shape[0] != P.shape[2] or 0 in P.shape:
            raise ValueError(f"transitions must have the shape (S, A, S), got {P.shape}")
        _check_distributions("transitions", P)
        self._P = P
        # Row i of the table of distributions covers (i, i + 1]: one search finds all next states.
        self._steps = _stacked(P.reshape(-1, P.shape[2]))

    @property
    def shape(self) -> tuple[int, int]:
        """(S, A)."""
        return self._P.shape[0], self._P.shape[1]

    def draw(self, states: np.ndarray, action: int, rng: np.random.Generator) -> np.ndarray:
        """One next state for each state."""
        return _draw(self._steps, states * self.shape[1] + action, self.shape[0], rng)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Σ_s′ P(s′ | s, a)·values(s′), of shape (S, A)."""
        return self._P @ values

    def mean_at(self, states: np.ndarray, action: int, values: np.ndarray) -> np.ndarray:
        """The same for the given states and one action."""
        return (self._P[:, action] @ values)[states]

    def evaluate(self, actions: np.ndarray, rewards: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Solve v = rewards + P_π·(factor·v) as S equations."""
        S = self.shape[0]
        chosen = self._P[np.arange(S), actions]
        return np.linalg.solve(np.eye(S) - chosen * factor, rewards)

    def dense(self) -> np.ndarray:
        """All probabilities, of shape (S, A, S)."""
        return self._P


class MixtureKernel:
    """A state and an action choose one of r measures, the measure chooses the next state.

    P(s′ | s, a) = Σⱼ ψⱼ(s, a)·νⱼ(s′), of rank r: nothing of size S × S is stored, and the value of
    a policy takes a linear system in r unknowns.

    Parameters
    ----------
    weights : ndarray of shape (S, A, r)
        ψ: for every state and action a distribution over the measures.
    measures : ndarray of shape (r, S)
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
        """(S, A)."""
        return self._W.shape[0], self._W.shape[1]

    def draw(self, states: np.ndarray, action: int, rng: np.random.Generator) -> np.ndarray:
        """One next state for each state."""
        S, A = self.shape
        chosen = _draw(self._classes, states * A + action, self._W.shape[2], rng)
        return _draw(self._steps, chosen, S, rng)

    def mean(self, values: np.ndarray) -> np.ndarray:
        """Σ_s′ P(s′ | s, a)·values(s′), of shape (S, A)."""
        return self._W @ (self._N @ values)

    def mean_at(self, states: np.ndarray, action: int, values: np.ndarray) -> np.ndarray:
        """The same for the given states and one action."""
        return self._W[states, action] @ (self._N @ values)

    def evaluate(self, actions: np.ndarray, rewards: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Solve v = rewards + Ψ_π·u through the r unknowns u = N·(factor·v)."""
        chosen = self._W[np.arange(self.shape[0]), actions]
        N = self._N * factor
        u = np.linalg.solve(np.eye(len(N)) - N @ chosen, N @ rewards)
        return rewards + chosen @ u

    def dense(self) -> np.ndarray:
        """All probabilities, of shape (S, A, S)."""
        return self._W @ self._N


def as_kernel(transitions: Any) -> Kernel:
    """A kernel as it is, or an array of shape (S, A, S) as one."""
    if hasattr(transitions, "mean_at"):
        kernel: Kernel = transitions
        return kernel
    return DenseKernel(transitions)


def _check_distributions(name: str, P: np.ndarray) -> None:
    """Along the last axis."""
    check_finite(name, P)
    if P.min() < -_SLACK:
        raise ValueError(f"{name} must be probabilities, but one is {P.min():.2g}")
    gap = float(np.abs(P.sum(axis=-1) - 1).max())
    if gap > _SLACK:
        raise ValueError(f"{name} must add up to 1 along the last axis; one is off by {gap:.2g}")


def _stacked(P: np.ndarray) -> np.ndarray:
    """Distribution functions of the rows, one after the other: row i rises from i to i + 1."""
    steps = np.cumsum(np.maximum(P, 0.0), axis=1)
    steps /= steps[:, -1:]
    return (steps + np.arange(len(P))[:, None]).ravel()


def _draw(steps: np.ndarray, rows: np.ndarray, width: int, rng: np.random.Generator) -> np.ndarray:
    """An index in [0, width) from the distribution of each row."""
    found = np.searchsorted(steps, rows + rng.random(len(rows)), side="right")
    # rounding of a row number plus 1 − ε must not lead into the next row
    return np.minimum(found - rows * width, width - 1)
