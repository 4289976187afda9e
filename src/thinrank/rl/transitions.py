"""Logged transitions of one or more tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thinrank.core.checks import check_finite


@dataclass(frozen=True, eq=False)
class Transitions:
    """Logged transitions of one or more tasks.

    They may be in any order, and tasks may have different numbers of transitions.

    Parameters
    ----------
    states : array of shape (n_transitions, ...)
        The states.
    actions : array of int of shape (n_transitions,)
        The actions, numbered from 0.
    rewards : array of shape (n_transitions,)
        The rewards.
    next_states : array of the same shape as ``states``
        The next states. They are ignored where the episode ended.
    terminated : boolean array of shape (n_transitions,)
        Whether the episode ended, so that no rewards follow. Truncation by a time limit is not
        such an end.
    tasks : array of int of shape (n_transitions,), default=None
        The task of each transition, numbered from 0. All belong to task 0 if None.
    episodes : array of int of shape (n_transitions,), default=None
        The episode of each transition; transitions of different tasks belong to different episodes,
        even with the same number. Automatic sizes are chosen on held-out episodes. If None, an
        episode ends where the next transition is of another task or does not begin in the next
        state.

    Attributes
    ----------
    n_tasks : int
        Number of tasks. Each has at least one transition.

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
    episodes: Any = None
    n_tasks: int = field(init=False, default=1)

    def __post_init__(self) -> None:
        states, next_states = np.asarray(self.states), np.asarray(self.next_states)
        count = len(states) if states.ndim else 0
        if count == 0:
            raise ValueError("states must not be empty")
        tasks = np.zeros(count, dtype=np.int64) if self.tasks is None else np.asarray(self.tasks)
        check_column("tasks", tasks, count, "integers")
        _check_labels("tasks", tasks)
        absent = np.flatnonzero(np.bincount(tasks) == 0)
        if len(absent):
            raise ValueError(
                f"tasks must be numbered from 0 without gaps: task {absent[0]} has no transition"
            )
        actions = np.asarray(self.actions)
        check_column("actions", actions, count, "integers")
        _check_labels("actions", actions, tasks)
        if next_states.shape != states.shape:
            raise ValueError(
                f"next_states must have the shape {states.shape} of states, got {next_states.shape}"
            )
        rewards, terminated = np.asarray(self.rewards), np.asarray(self.terminated)
        check_column("rewards", rewards, count, "numbers")
        check_column("terminated", terminated, count, "booleans")
        bad = np.flatnonzero(~np.isfinite(rewards))
        check_finite(f"rewards of task {tasks[bad[0]] if len(bad) else 0}", rewards)
        if self.episodes is None:
            episodes = _runs(states, next_states, terminated, tasks)
        else:
            episodes = np.asarray(self.episodes)
            check_column("episodes", episodes, count, "integers")
            pairs = np.stack([tasks.astype(np.int64), episodes.astype(np.int64)])
            episodes = np.unique(pairs, axis=1, return_inverse=True)[1].reshape(-1)
        vars(self).update(
            states=states,
            actions=actions.astype(np.int64),
            rewards=rewards.astype(np.float64),
            next_states=next_states,
            terminated=terminated,
            tasks=tasks.astype(np.int64),
            episodes=episodes,
            n_tasks=int(tasks.max()) + 1,
        )

    @classmethod
    def of_tasks(cls, parts: Sequence[Transitions]) -> Transitions:
        """Combine several logs of one task each; the tasks are numbered in their order."""
        if not len(parts):
            raise ValueError("parts must contain the log of at least one task, but it is empty")
        for index, part in enumerate(parts):
            if part.n_tasks != 1:
                raise ValueError(
                    f"part {index} must be the log of one task, but it has {part.n_tasks}"
                )
            if part.states.shape[1:] != parts[0].states.shape[1:]:
                raise ValueError(
                    f"task {index}: a state must have the same shape as in task 0, "
                    f"{parts[0].states.shape[1:]}, got {part.states.shape[1:]}"
                )
        names = ("states", "actions", "rewards", "next_states", "terminated")
        joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        tasks = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        episodes = np.concatenate([part.episodes for part in parts])
        return cls(**joined, tasks=tasks, episodes=episodes)

    def of_task(self, task: int) -> Transitions:
        """The log of one task, as a log with the single task 0."""
        own = self.tasks == task
        if not own.any():
            raise ValueError(f"task must be from 0 to {self.n_tasks - 1}, got {task!r}")
        names = ("states", "actions", "rewards", "next_states", "terminated", "episodes")
        return Transitions(**{name: getattr(self, name)[own] for name in names})

    def __len__(self) -> int:
        return len(self.states)


def _runs(
    states: np.ndarray, next_states: np.ndarray, terminated: np.ndarray, tasks: np.ndarray
) -> np.ndarray:
    """Numbers of the episodes, from transitions that follow each other."""
    differs = states[1:] != next_states[:-1]
    breaks = differs.any(axis=tuple(range(1, differs.ndim)))
    breaks |= terminated[:-1] | (tasks[1:] != tasks[:-1])
    return np.concatenate([[0], np.cumsum(breaks)])


def check_column(name: str, values: np.ndarray, count: int, kind: str) -> None:
    """Raise a ValueError unless an array has one number, integer or boolean per transition."""
    kinds = {"numbers": "biuf", "integers": "iu", "booleans": "b"}[kind]
    if values.shape != (count,) or values.dtype.kind not in kinds:
        raise ValueError(
            f"{name} must be {count} {kind}, got dtype {values.dtype}, shape {values.shape}"
        )


def _check_labels(name: str, labels: np.ndarray, tasks: np.ndarray | None = None) -> None:
    """Raise a ValueError if a task or an action is negative."""
    negative = labels < 0
    if negative.any():
        whose = "" if tasks is None else f" of task {tasks[negative][0]}"
        raise ValueError(f"{name} must be at least 0, got {labels[negative][0]}{whose}")
