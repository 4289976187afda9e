"""What a task is, and checks of what tasks answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from thinrank.core.checks import check_finite

__all__ = ["ExpectedTask", "GenerativeTask", "Value", "check_discounts", "expected", "sampled"]

Value = Callable[[np.ndarray], np.ndarray]
"""The value of states: ``value(states) -> (n,)``."""


class GenerativeTask(Protocol):
    """A Markov decision process that can be asked what happens: a generative model.

    An attribute ``episodic`` that is True says that every episode ends; only then may the discount
    be 1.
    """

    def sample(
        self, states: np.ndarray, action: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take one action in each of n states.

        Parameters
        ----------
        states : array of shape (n, ...)
        action : int
            From 0.
        rng : numpy Generator
            The only source of chance.

        Returns
        -------
        rewards : array of shape (n,)
        next_states : array of the shape of ``states``
        terminated : boolean array of shape (n,)
            Where the episode is over; nothing is earned after that, and the next state does not
            matter.
        """
        ...


class ExpectedTask(GenerativeTask, Protocol):
    """A task that can also take expectations in place of samples."""

    def expect(
        self, states: np.ndarray, action: int, value: Value
    ) -> tuple[np.ndarray, np.ndarray]:
        """Expected rewards of n states, and the expected value of what comes next.

        After the end of an episode the value is zero, and the task sees to that.
        """
        ...


def sampled(
    task: Any, index: int, states: np.ndarray, action: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rewards, next states and ends of a task, checked."""
    where = f"task {index}, action {action}"
    if not hasattr(task, "sample"):
        raise TypeError(
            f"task {index} must have sample(states, action, rng), {type(task).__name__} has not"
        )
    with _named(f"{where}: sample failed"):
        rewards, next_states, terminated = map(np.asarray, task.sample(states, action, rng))
    if next_states.shape != states.shape:
        raise ValueError(
            f"{where}: next states must have the shape {states.shape} of the states, they have "
            f"{next_states.shape}"
        )
    if terminated.shape != states.shape[:1] or terminated.dtype != np.bool_:
        raise ValueError(
            f"{where}: terminated must hold {len(states)} booleans, it has dtype "
            f"{terminated.dtype} and shape {terminated.shape}"
        )
    return _numbers(rewards, len(states), where, "rewards"), next_states, terminated


def expected(
    task: Any, index: int, states: np.ndarray, action: int, value: Value
) -> tuple[np.ndarray, np.ndarray]:
    """Expected rewards and next values of a task, checked."""
    where = f"task {index}, action {action}"
    if not hasattr(task, "expect"):
        raise TypeError(
            f"expectation=True needs tasks with expect(states, action, value); task {index}, "
            f"{type(task).__name__}, has not"
        )
    with _named(f"{where}: expect failed"):
        rewards, values = map(np.asarray, task.expect(states, action, value))
    return (
        _numbers(rewards, len(states), where, "rewards"),
        _numbers(values, len(states), where, "expected next values"),
    )


def check_discounts(discount: Any, episodic: Sequence[bool]) -> np.ndarray:
    """One discount a task, each in (0, 1], and below 1 unless the task is episodic."""
    count = len(episodic)
    given = np.asarray(discount)
    if given.dtype.kind not in "iuf" or given.shape not in ((), (count,)):
        raise ValueError(
            f"discount must be a number or {count} numbers, one for each task, got {discount!r}"
        )
    discounts = np.broadcast_to(given.astype(np.float64), (count,))
    for index, (gamma, ends) in enumerate(zip(discounts, episodic, strict=True)):
        if not 0 < gamma <= 1:
            raise ValueError(f"discount must be in (0, 1], that of task {index} is {gamma:g}")
        if gamma == 1 and not ends:
            raise ValueError(
                f"discount 1 is for episodic tasks only; task {index} is not declared episodic"
            )
    return discounts


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Failures in the code of a task say whose it is."""
    try:
        yield
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{where}: {error}") from error


def _numbers(numbers: np.ndarray, count: int, where: str, name: str) -> np.ndarray:
    if numbers.shape != (count,) or numbers.dtype.kind not in "biuf":
        raise ValueError(
            f"{where}: {name} must be {count} numbers, they have dtype {numbers.dtype} and shape "
            f"{numbers.shape}"
        )
    numbers = numbers.astype(np.float64)
    check_finite(f"{where}: {name}", numbers)
    return numbers
