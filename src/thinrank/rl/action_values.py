"""The action values Q(s, a) of every task, and their greedy policies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.core.factors import Factors
from thinrank.rl.features import Features, feature_matrix


class ActionValues:
    """Action values Q of several tasks."""

    features: Features

    def values(self, task: int, states: Any) -> np.ndarray:
        """Q(s, ·) of a task, of shape (n_states, n_actions)."""
        return self.of_features(task, feature_matrix(self.features, states, f"task {task}"))

    def of_features(self, task: int, matrix: Any) -> np.ndarray:
        """The same for given features of the states."""
        raise NotImplementedError

    def repeated(self, count: int) -> ActionValues:
        """The values of a single task, repeated for ``count`` tasks."""
        raise NotImplementedError


class LinearValues(ActionValues):
    """Linear action values, Q(s, a) = ⟨φ(s), θ_a⟩ + b_a for every task."""

    def __init__(self, features: Features, factors: Factors, intercept: np.ndarray) -> None:
        self.features = features
        self.factors = factors
        self.intercept = intercept

    @classmethod
    def zero(cls, features: Features, shape: tuple[int, int, int]) -> LinearValues:
        """Q = 0; ``shape`` is (n_actions, n_features, n_tasks)."""
        actions, width, tasks = shape
        zero = Factors.zero((actions * width, tasks), np.zeros(0))
        return cls(features, zero, np.zeros((actions, tasks)))

    def weights(self, task: int) -> np.ndarray:
        """The coefficients θ_a of a task, as the columns of a (n_features, n_actions) array."""
        column = self.factors.U @ self.factors.V[task]
        return column.reshape(len(self.intercept), -1).T

    def of_features(self, task: int, matrix: Any) -> np.ndarray:
        """Q(s, ·) of shape (n_states, n_actions), from the features."""
        weights = self.weights(task)
        if matrix.shape[1] != len(weights):
            raise ValueError(
                f"task {task}: features must have {len(weights)} columns, as at the design states, "
                f"got {matrix.shape[1]}"
            )
        return matrix @ weights + self.intercept[:, task]

    def repeated(self, count: int) -> LinearValues:
        """The values of a single task, repeated for ``count`` tasks."""
        V, b = self.factors.V, self.intercept
        factors = Factors(self.factors.U, np.repeat(V, count, axis=0))
        return LinearValues(self.features, factors, np.repeat(b, count, axis=1))


class PredictedValues(ActionValues):
    """Action values predicted from φ(s) by fitted regressors, one per task and action."""

    def __init__(self, features: Features, regressors: Sequence[Sequence[Any]]) -> None:
        self.features = features
        self.regressors = regressors

    def of_features(self, task: int, matrix: Any) -> np.ndarray:
        """Q(s, ·) of shape (n_states, n_actions), from the features."""
        columns = [regressor.predict(matrix).reshape(-1) for regressor in self.regressors[task]]
        return np.stack(columns, axis=1)

    def repeated(self, count: int) -> PredictedValues:
        """The values of a single task, repeated for ``count`` tasks."""
        return PredictedValues(self.features, list(self.regressors) * count)


class GreedyPolicy:
    """The actions with the largest values in a task.

    Made by :meth:`MultiTaskFQI.policy`. ``policy(states)`` returns the actions of several states,
    an array of int, or that of one state, an int. It can be pickled if the feature map can.

    Parameters
    ----------
    values : LinearValues or PredictedValues
        The action values.
    task : int
        Number of the task.
    state_shape : tuple of int or None
        Shape of a state. None if it is not known, as for models that an earlier version saved: then
        the policy takes several states in one array only.
    """

    def __init__(
        self, values: ActionValues, task: int, state_shape: tuple[int, ...] | None
    ) -> None:
        self.values = values
        self.task = task
        self.state_shape = None if state_shape is None else tuple(state_shape)

    def __call__(self, states: Any) -> Any:
        """The actions of several states, or of one."""
        array = np.asarray(states)
        if self.state_shape is None:
            return self._actions(array)
        if array.shape == self.state_shape:
            return int(self._actions(array[None])[0])
        if array.ndim != len(self.state_shape) + 1:
            raise ValueError(
                f"states must be one state of shape {self.state_shape} or several in one array, "
                f"got shape {array.shape}"
            )
        return self._actions(array)

    def _actions(self, states: np.ndarray) -> np.ndarray:
        # of equal values the first, also if they differ by rounding errors
        values = arrays.half_the_digits(self.values.values(self.task, states))
        return np.argmax(values, axis=1)
