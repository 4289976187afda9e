"""Greedy policies of fitted action values."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.rl.action_values import ActionValues


class GreedyPolicy:
    """The actions with the largest values in a task.

    Made by :meth:`MultiTaskFQI.policy`. It can be pickled if the feature map can.

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
        """The actions of several states, or of one.

        Parameters
        ----------
        states : array of shape (n_states, ...), or one state
            The states.

        Returns
        -------
        ndarray of int of shape (n_states,), or int for one state
        """
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
