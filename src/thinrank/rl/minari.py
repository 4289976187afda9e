"""Datasets of Minari as logs.

Minari itself is needed only for names of datasets; it is installed by
``pip install 'thinrank[minari]'``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank.core.imports import import_optional
from thinrank.rl.transitions import Transitions


def from_minari(dataset: Any) -> Transitions:
    """Read the episodes of a dataset of Minari.

    Parameters
    ----------
    dataset : str or minari.MinariDataset
        A dataset with arrays or integers as observations and discrete actions, or its name, such
        as ``"classic/cartpole-v0"``, if it has been downloaded.

    Returns
    -------
    Transitions
        The transitions of one task. Episodes that are truncated do not end: rewards would follow.

    Examples
    --------
    >>> from thinrank.rl.minari import from_minari
    >>> log = from_minari("my/cartpole-v0")  # doctest: +SKIP
    """
    if isinstance(dataset, str):
        dataset = import_optional("minari").load_dataset(dataset)
    if not is_minari(dataset):
        raise TypeError(
            f"dataset must be a dataset of Minari or its name, got {type(dataset).__name__}"
        )
    first = int(getattr(getattr(dataset, "action_space", None), "start", 0))
    parts = [_steps(episode, first) for episode in dataset.iterate_episodes()]
    parts = [part for part in parts if len(part[1])]
    if not parts:
        raise ValueError("dataset must have at least one episode with a step, but it has none")
    shapes = sorted({part[0].shape[1:] for part in parts})
    if len(shapes) > 1:
        raise ValueError(f"dataset must have observations of one shape, got {shapes}")
    states, actions, rewards, after, ended = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    episodes = np.repeat(np.arange(len(parts)), [len(part[1]) for part in parts])
    return Transitions(states, actions, rewards, after, ended, episodes=episodes)


def is_minari(log: Any) -> bool:
    """Whether an object is a dataset of Minari, or may be the name of one."""
    return isinstance(log, str) or hasattr(log, "iterate_episodes")


def _steps(episode: Any, first: int) -> tuple[np.ndarray, ...]:
    """States, actions, rewards, next states and ends of an episode."""
    actions = np.asarray(episode.actions)
    if actions.ndim != 1 or actions.dtype.kind not in "iu":
        raise ValueError(
            f"dataset must have discrete actions, got actions of dtype {actions.dtype} and shape "
            f"{actions.shape}"
        )
    if isinstance(episode.observations, (dict, tuple)):
        raise ValueError(
            "dataset must have arrays as observations, got "
            f"{type(episode.observations).__name__}; flatten them with a wrapper of Gymnasium"
        )
    seen, count = np.asarray(episode.observations), len(actions)
    rewards = np.asarray(episode.rewards, dtype=np.float64)
    ended = np.asarray(episode.terminations, dtype=bool)
    each = ("observations", seen, count + 1), ("rewards", rewards, count)
    for name, values, expected in (*each, ("terminations", ended, count)):
        if values.shape[:1] != (expected,):
            raise ValueError(
                f"an episode with {count} actions must have {expected} {name}, got an array of "
                f"shape {values.shape}"
            )
    return seen[:-1], actions.astype(np.int64) - first, rewards, seen[1:], ended
