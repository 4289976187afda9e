"""Ridge regressions for fitted Q-iteration from logs, for each task or for all tasks as one.

They are written here, without the package, to be fast: the eigenvectors of the features are
computed once, and every iteration chooses its penalty anew by generalized cross-validation, for
each action and task (scikit-learn's RidgeCV does the same at every call).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rl_families_tasks import TASKS, Family

# Penalties to choose from, in units of the number of rows.
_PENALTIES = np.logspace(-4, 2, 13)


@dataclass(frozen=True)
class _Part:
    """The rows of one action, of one task or of all of them."""

    action: int
    columns: slice
    rows: np.ndarray
    X: np.ndarray
    mean: np.ndarray
    eigenvalues: np.ndarray
    vectors: np.ndarray

    def fit(self, targets: np.ndarray) -> tuple[np.ndarray, float]:
        """Coefficients and intercept, with the best penalty."""
        y = targets[self.rows]
        level, n = y.mean(), len(y)
        moments = self.vectors.T @ (self.X.T @ (y - level))
        shrunk = self.eigenvalues + n * _PENALTIES[:, None]
        error = np.sum((y - level) ** 2) - 2 * np.sum(moments**2 / shrunk, axis=1)
        error += np.sum(moments**2 * self.eigenvalues / shrunk**2, axis=1)
        freedom = 1 + np.sum(self.eigenvalues / shrunk, axis=1)
        best = int(np.argmin(error / np.maximum(n - freedom, 1e-9) ** 2))
        slopes = self.vectors @ (moments / shrunk[best])
        return slopes, level - self.mean @ slopes


class RidgeIteration:
    """Fitted Q-iteration by ridge regressions; ``pooled`` treats all tasks as one."""

    def __init__(
        self,
        family: Family,
        log: dict[str, np.ndarray],
        pooled: bool,
        discount: float,
        n_iterations: int,
    ) -> None:
        self.features = family.features
        present = family.features(log["states"])
        following = family.features(log["next_states"])
        parts = list(_parts(present, log, pooled, family.n_actions))
        width = present.shape[1]
        self.theta = np.zeros((TASKS, width, family.n_actions))
        self.level = np.zeros((TASKS, family.n_actions))
        own = [np.flatnonzero(log["tasks"] == task) for task in range(TASKS)]
        for _ in range(n_iterations):
            ahead = np.empty(len(following))
            for task, rows in enumerate(own):
                ahead[rows] = self._values(task, following[rows]).max(axis=1)
            y = log["rewards"] + discount * np.where(log["terminated"], 0.0, ahead)
            for part in parts:
                slopes, level = part.fit(y)
                self.theta[part.columns, :, part.action] = slopes
                self.level[part.columns, part.action] = level

    def _values(self, task: int, features: np.ndarray) -> np.ndarray:
        return features @ self.theta[task] + self.level[task]

    def act(self, task: int, states: np.ndarray) -> np.ndarray:
        """Greedy actions."""
        return np.argmax(self._values(task, self.features(states)), axis=1)


def _parts(
    features: np.ndarray, log: dict[str, np.ndarray], pooled: bool, n_actions: int
) -> list[_Part]:
    found = []
    for action in range(n_actions):
        for task in [None] if pooled else range(TASKS):
            chosen = log["actions"] == action
            if task is not None:
                chosen = chosen & (log["tasks"] == task)
            rows = np.flatnonzero(chosen)
            mean = features[rows].mean(axis=0)
            X = features[rows] - mean
            eigenvalues, vectors = np.linalg.eigh(X.T @ X)
            columns = slice(None) if task is None else slice(task, task + 1)
            found.append(_Part(action, columns, rows, X, mean, np.maximum(eigenvalues, 0), vectors))
    return found
