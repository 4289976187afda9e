"""The action values Q(s, a) of every task, as a fitted regression gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from thinrank.core.factors import Factors
from thinrank.rl.features import Features, feature_matrix, feature_product
from thinrank.rl.rows import Rows


class ActionValues(Protocol):
    """Action values Q of several tasks."""

    def values(self, task: int, states: Any) -> np.ndarray:
        """Q(s, ·) of a task, of shape (n_states, n_actions)."""
        ...

    def at(self, rows: Rows) -> np.ndarray:
        """Q at the design pairs, in the same shape as the targets."""
        ...

    def repeated(self, count: int) -> ActionValues:
        """The values of a single task, repeated for ``count`` tasks."""
        ...


class LinearValues:
    """Linear action values, Q(s, a) = ⟨φ(s), θ_a⟩ + b_a for every task."""

    def __init__(self, features: Features, factors: Factors, intercept: np.ndarray) -> None:
        self.features = features
        self.factors = factors
        self.intercept = intercept

    @classmethod
    def zero(cls, features: Features, rows: Rows) -> LinearValues:
        """Q = 0."""
        actions = len(rows.blocks)
        shape = (actions * rows.n_features, rows.n_tasks)
        return cls(features, Factors.zero(shape, np.zeros(0)), np.zeros((actions, rows.n_tasks)))

    def weights(self, task: int) -> np.ndarray:
        """The coefficients θ_a of a task, as the columns of a (n_features, n_actions) array."""
        column = self.factors.U @ self.factors.V[task]
        return column.reshape(len(self.intercept), -1).T

    def values(self, task: int, states: Any) -> np.ndarray:
        """Q(s, ·) of shape (n_states, n_actions), from the active features."""
        linear = feature_product(self.features, states, self.weights(task), f"task {task}")
        return linear + self.intercept[:, task]

    def at(self, rows: Rows) -> np.ndarray:
        """Q at the design pairs, in the same shape as the targets."""
        scores = rows.design @ self.factors.U
        lengths = [block.shape[0] for block in rows.blocks]
        intercept = np.repeat(self.intercept, lengths, axis=0)
        if rows.owner is None:
            return scores @ self.factors.V.T + intercept
        own = intercept[np.arange(len(rows.owner)), rows.owner]
        return np.einsum("ij,ij->i", scores, self.factors.V[rows.owner]) + own

    def repeated(self, count: int) -> LinearValues:
        """The values of a single task, repeated for ``count`` tasks."""
        V, b = self.factors.V, self.intercept
        factors = Factors(self.factors.U, np.repeat(V, count, axis=0))
        return LinearValues(self.features, factors, np.repeat(b, count, axis=1))


class PredictedValues:
    """Action values predicted from φ(s) by fitted regressors, one per task and action."""

    def __init__(self, features: Features, regressors: Sequence[Sequence[Any]]) -> None:
        self.features = features
        self.regressors = regressors

    def values(self, task: int, states: Any) -> np.ndarray:
        """Q(s, ·) of shape (n_states, n_actions)."""
        matrix = feature_matrix(self.features, states, f"task {task}")
        columns = [regressor.predict(matrix).reshape(-1) for regressor in self.regressors[task]]
        return np.stack(columns, axis=1)

    def at(self, rows: Rows) -> np.ndarray:
        """Q at the design pairs, in the same shape as the targets."""
        parts = []
        for action, block in enumerate(rows.blocks):
            predicted = np.zeros((block.shape[0], rows.n_tasks))
            for task, regressors in enumerate(self.regressors):
                predicted[:, task] = regressors[action].predict(block).reshape(-1)
            parts.append(predicted)
        everything = np.concatenate(parts)
        if rows.owner is None:
            return everything
        return everything[np.arange(len(rows.owner)), rows.owner]

    def repeated(self, count: int) -> PredictedValues:
        """The values of a single task, repeated for ``count`` tasks."""
        return PredictedValues(self.features, list(self.regressors) * count)
