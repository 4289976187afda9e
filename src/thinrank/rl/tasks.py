"""The interface of tasks, and checks of the results of their methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from thinrank.core.checks import check_finite
from thinrank.rl.transitions import check_column

Value = Callable[[np.ndarray], np.ndarray]
"""``value(states)`` returns the values of states, an array of shape (n_states,)."""


class GenerativeTask(Protocol):
    """A Markov decision process that can be sampled: a generative model.

    If the attribute ``episodic`` exists and is True, every episode ends; only then may the discount
    be 1.
    """

    def sample(
        self, states: np.ndarray, action: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take one action in each of several states.

        Parameters
        ----------
        states : ndarray of shape (n_samples, ...)
            The states.
        action : int
            The action, numbered from 0.
        rng : numpy.random.Generator
            The only source of randomness.

        Returns
        -------
        rewards : ndarray of shape (n_samples,)
        next_states : ndarray of the same shape as ``states``
        terminated : boolean ndarray of shape (n_samples,)
            Whether the episode is over. Then there are no further rewards, and the next state is
            ignored.
        """
        ...


class ExpectedTask(GenerativeTask, Protocol):
    """A task that can also compute expectations."""

    def expect(
        self, states: np.ndarray, action: int, value: Value
    ) -> tuple[np.ndarray, np.ndarray]:
        """Expected rewards, and expected values of the next states, both of shape (n_samples,).

        ``value(states)`` returns the values of states. The task must use 0 in its place after the
        end of an episode.
        """
        ...


def sampled(
    task: Any, index: int, states: np.ndarray, action: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rewards, next states and ends of a task, checked."""
    where = f"task {index}, action {action}"
    if not hasattr(task, "sample"):
        raise TypeError(
            f"task {index} must have sample(states, action, rng), but {type(task).__name__} has not"
        )
    with _named(f"{where}: sample failed"):
        rewards, next_states, terminated = map(np.asarray, task.sample(states, action, rng))
    if next_states.shape != states.shape:
        raise ValueError(
            f"{where}: next states must have the shape {states.shape} of the states, got "
            f"{next_states.shape}"
        )
    check_column(f"{where}: terminated", terminated, len(states), "booleans")
    return _numbers(f"{where}: rewards", rewards, len(states)), next_states, terminated


def expected(
    task: Any, index: int, states: np.ndarray, action: int, value: Value
) -> tuple[np.ndarray, np.ndarray]:
    """Expected rewards and values of a task, checked."""
    where = f"task {index}, action {action}"
    if not hasattr(task, "expect"):
        raise TypeError(
            f"expectation=True needs tasks with a method expect(states, action, value), but task "
            f"{index}, {type(task).__name__}, has none"
        )
    with _named(f"{where}: expect failed"):
        rewards, values = map(np.asarray, task.expect(states, action, value))
    return (
        _numbers(f"{where}: rewards", rewards, len(states)),
        _numbers(f"{where}: expected next values", values, len(states)),
    )


def check_discounts(discount: Any, episodic: Any, declared: Sequence[bool]) -> np.ndarray:
    """Discounts of the tasks; ``declared`` says which of them are episodic, if that is None."""
    count, given = len(declared), np.asarray(discount)
    ends = np.asarray(declared if episodic is None else episodic)
    if ends.dtype != np.bool_ or ends.shape not in ((), (count,)):
        raise ValueError(
            f"episodic must be a bool or {count} bools, one per task, got {episodic!r}"
        )
    if given.dtype.kind not in "iuf" or given.shape not in ((), (count,)):
        raise ValueError(
            f"discount must be a number or {count} numbers, one per task, got {discount!r}"
        )
    discounts = np.broadcast_to(given.astype(np.float64), (count,))
    every = zip(discounts, np.broadcast_to(ends, (count,)), strict=True)
    for index, (gamma, over) in enumerate(every):
        if not 0 < gamma <= 1:
            raise ValueError(f"discount must be in (0, 1], but that of task {index} is {gamma:g}")
        if gamma == 1 and not over:
            raise ValueError(
                f"discount 1 is for episodic tasks only; task {index} is not declared episodic"
            )
    return discounts


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Name the task and action in errors of its code."""
    try:
        yield
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{where}: {error}") from error


def _numbers(name: str, numbers: np.ndarray, count: int) -> np.ndarray:
    check_column(name, numbers, count, "numbers")
    numbers = numbers.astype(np.float64)
    check_finite(name, numbers)
    return numbers
