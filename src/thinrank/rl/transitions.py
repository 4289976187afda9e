"""Logged data: what was seen while somebody acted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thinrank.core.checks import check_finite

__all__ = ["Transitions"]


@dataclass(frozen=True, eq=False)
class Transitions:
    """Transitions of one or more tasks, in any order and any number a task.

    Parameters
    ----------
    states : array of shape (n, ...)
    actions : array of n integers
        From 0.
    rewards : array of n numbers
    next_states : array of the shape of ``states``
        Where an episode ended the next state does not matter.
    terminated : array of n booleans
        Whether the episode was over: nothing is earned afterwards. A time limit is no such end.
    tasks : array of n integers, optional
        The task of each transition, from 0; all of task 0 when missing.

    Attributes
    ----------
    n_tasks : int
        One more than the largest of ``tasks``; each has at least one transition.

    Examples
    --------
    >>> import thinrank as tr
    >>> log = tr.rl.Transitions([0, 1], [0, 0], [0.0, 1.0], [1, 0], [False, True])
    >>> len(log), log.n_tasks
    (2, 1)
    """

    states: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    next_states: np.ndarray
    terminated: np.ndarray
    tasks: Any = None
    n_tasks: int = field(init=False, default=1)

    def __post_init__(self) -> None:
        states, next_states = np.asarray(self.states), np.asarray(self.next_states)
        count = len(states) if states.ndim else 0
        if count == 0:
            raise ValueError("states must hold at least one state, it is empty")
        tasks = np.zeros(count, dtype=np.int64) if self.tasks is None else np.asarray(self.tasks)
        _check_labels("tasks", tasks, count)
        for index in range(int(tasks.max()) + 1):
            if not np.any(tasks == index):
                raise ValueError(
                    f"tasks must be numbered from 0 without gaps: task {index} has no transition"
                )
        actions = np.asarray(self.actions)
        _check_labels("actions", actions, count, tasks)
        if next_states.shape != states.shape:
            raise ValueError(
                f"next_states must have the shape {states.shape} of states, got {next_states.shape}"
            )
        rewards, terminated = np.asarray(self.rewards), np.asarray(self.terminated)
        if rewards.shape != (count,) or rewards.dtype.kind not in "biuf":
            raise ValueError(
                f"rewards must be {count} numbers, got dtype {rewards.dtype}, shape {rewards.shape}"
            )
        for index in range(int(tasks.max()) + 1):
            check_finite(f"rewards of task {index}", rewards[tasks == index])
        if terminated.shape != (count,) or terminated.dtype != np.bool_:
            raise ValueError(
                f"terminated must be {count} booleans, got dtype {terminated.dtype}, shape "
                f"{terminated.shape}"
            )
        for name, value in (
            ("states", states),
            ("actions", actions.astype(np.int64)),
            ("rewards", rewards.astype(np.float64)),
            ("next_states", next_states),
            ("terminated", terminated),
            ("tasks", tasks.astype(np.int64)),
            ("n_tasks", int(tasks.max()) + 1),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def of_tasks(cls, parts: Sequence[Transitions]) -> Transitions:
        """The transitions of several logs, each of one task, numbered in their order."""
        if not len(parts):
            raise ValueError("parts must hold the log of at least one task, it is empty")
        for index, part in enumerate(parts):
            if part.n_tasks != 1:
                raise ValueError(f"part {index} must be of one task, it has {part.n_tasks}")
            if part.states.shape[1:] != parts[0].states.shape[1:]:
                raise ValueError(
                    f"task {index}: a state must have the shape {parts[0].states.shape[1:]} that "
                    f"it has in task 0, it has {part.states.shape[1:]}"
                )
        names = ("states", "actions", "rewards", "next_states", "terminated")
        joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        tasks = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return cls(**joined, tasks=tasks)

    def __len__(self) -> int:
        return len(self.states)


def _check_labels(
    name: str, labels: np.ndarray, count: int, tasks: np.ndarray | None = None
) -> None:
    if labels.shape != (count,) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be {count} integers, got dtype {labels.dtype}, shape {labels.shape}"
        )
    negative = labels < 0
    if negative.any():
        whose = "" if tasks is None else f" of task {tasks[negative][0]}"
        raise ValueError(f"{name} must be at least 0, got {labels[negative][0]}{whose}")
