"""Checks of the parameters and arguments of fitted Q-iteration."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from thinrank.minimize import check_size
from thinrank.rl.minari import from_minari
from thinrank.rl.tasks import check_discounts
from thinrank.rl.transitions import Transitions


def check_parameters(parameters: dict[str, Any]) -> None:
    """Raise an error that names a parameter of MultiTaskFQI with an invalid value."""
    tune_at, tol = parameters["tune_at"], parameters["tol"]
    check_size("n_actions", parameters["n_actions"], 10**9, "actions")
    check_size("n_iterations", parameters["n_iterations"], 10**9, "iterations")
    if not callable(parameters["features"]):
        raise TypeError(
            "features must be a function of states, such as tr.rl.Identity(), got "
            f"{type(parameters['features']).__name__}"
        )
    if isinstance(tune_at, str) and tune_at not in ("every", "doubling"):
        raise ValueError(f'tune_at must be "every", "doubling" or iterations, got {tune_at!r}')
    if not isinstance(tune_at, Collection):
        raise ValueError(
            'tune_at must be "every", "doubling" or a collection of iterations, such as '
            f"[{tune_at!r}]; got {tune_at!r}"
        )
    if not 0 <= tol < float("inf"):
        raise ValueError(f"tol must be at least 0 and finite, got {tol!r}")


def tunes(tune_at: str | Collection[int], iteration: int) -> bool:
    """Whether automatic parameters are chosen in an iteration."""
    if isinstance(tune_at, str):
        return tune_at == "every" or iteration & (iteration - 1) == 0
    return iteration in tune_at or iteration == 1


def discounts_of(
    discount: float | Sequence[float],
    episodic: bool | Sequence[bool] | None,
    declared: list[bool],
) -> np.ndarray:
    """The discount of each task; ``declared`` says which tasks declare themselves episodic."""
    if episodic is None:
        return check_discounts(discount, declared)
    given = np.asarray(episodic)
    if given.dtype != np.bool_ or given.shape not in ((), (len(declared),)):
        raise ValueError(
            f"episodic must be a bool or {len(declared)} bools, one per task, got {episodic!r}"
        )
    return check_discounts(discount, np.broadcast_to(given, (len(declared),)).tolist())


def design_states(states: Any, n_actions: int) -> list[np.ndarray]:
    """Design states of each action; the same object if they are the same."""
    listed = isinstance(states, list) and all(isinstance(s, np.ndarray) for s in states)
    each = states if listed and states else [np.asarray(states)] * n_actions
    if len(each) != n_actions:
        raise ValueError(
            f"states must be one array, or a list of {n_actions} arrays, one per action; got a "
            f"list of {len(each)}"
        )
    for action, array in enumerate(each):
        if array.ndim == 0 or len(array) == 0:
            raise ValueError(f"states must contain at least one state; action {action} has none")
    return each


def as_transitions(logs: Any) -> Transitions:
    """A log of several tasks, from one log, one per task, or datasets of Minari or their names."""
    if isinstance(logs, Transitions):
        return logs
    if _is_minari(logs):
        return from_minari(logs)
    if not isinstance(logs, (list, tuple)) or not logs:
        raise TypeError(
            "transitions must be tr.rl.Transitions, a dataset of Minari or its name, or a list "
            "with one of them per task; got "
            f"{'an empty list' if logs == [] else type(logs).__name__}"
        )
    for task, log in enumerate(logs):
        if not isinstance(log, Transitions) and not _is_minari(log):
            raise TypeError(
                "transitions must contain logs of type tr.rl.Transitions or datasets of Minari or "
                f"their names; that of task {task} is {type(log).__name__}"
            )
    return Transitions.of_tasks(
        [log if isinstance(log, Transitions) else from_minari(log) for log in logs]
    )


def check_generative(tasks: list[Any]) -> None:
    """Raise an error for tasks that cannot be sampled; logs belong to ``fit_batch``."""
    for number, task in enumerate(tasks):
        if isinstance(task, Transitions) or _is_minari(task):
            raise TypeError(
                f"tasks must have a method sample(states, action, rng), task {number} is a log "
                f"of transitions ({type(task).__name__}): use fit_batch(transitions)"
            )


def _is_minari(log: Any) -> bool:
    return isinstance(log, str) or hasattr(log, "iterate_episodes")
