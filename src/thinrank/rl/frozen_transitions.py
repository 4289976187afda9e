"""One sample of transitions that stays the same, to compare regressions by trial iterations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from thinrank.rl.features import Features, feature_matrix
from thinrank.rl.rows import Rows


class FrozenTransitions:
    """Rewards and next states at the design pairs, with the features of the next states.

    Shapes: ``rewards`` (n_rows,), ``discounts`` (n_tasks,).
    """

    def __init__(
        self,
        rows: Rows,
        rewards: np.ndarray,
        following: Sequence[Any],
        live: Sequence[np.ndarray],
        discounts: np.ndarray,
        features: Features,
    ) -> None:
        self.rows, self._rewards, self._live, self._discounts = rows, rewards, live, discounts
        self._following = [
            _dense(feature_matrix(features, states, f"task {task}"))
            if len(states)
            else np.zeros((0, rows.n_features))
            for task, states in enumerate(following)
        ]
        self._used: np.ndarray | None = None
        self._parts: list[np.ndarray] = []

    def targets(self, coefficients: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
        """Targets r + γ·max Q(s′, ·) for linear action values.

        Shapes: ``coefficients`` (n_actions * n_features, n_tasks), ``intercepts``
        (n_actions, n_tasks).
        """
        actions = len(intercepts)
        weights = coefficients.reshape(actions, -1, coefficients.shape[1])
        used = np.flatnonzero(weights.any(axis=(0, 2)))
        if self._used is None or not np.array_equal(used, self._used):
            self._used = used
            self._parts = [matrix[:, used] for matrix in self._following]
        y = self._rewards.copy()
        for task, (part, live) in enumerate(zip(self._parts, self._live, strict=True)):
            q = part @ weights[:, used, task].T + intercepts[:, task]
            ahead = self._discounts[task] * q.max(axis=1)
            if y.ndim == 1:
                y[live] += ahead
            else:
                y[live, task] += ahead
        return y


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else matrix
