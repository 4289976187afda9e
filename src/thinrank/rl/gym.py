"""Logs of episodes in environments of Gymnasium.

An environment is given as an object or by its name. Gymnasium itself is needed only for names; it
is installed by ``pip install 'thinrank[rl]'``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from numbers import Integral
from typing import Any

import numpy as np

from thinrank.core.checks import positive_integer
from thinrank.core.imports import import_optional
from thinrank.rl.transitions import Transitions


def log_episodes(
    env: Any,
    policy: Callable[[Any], int] | None = None,
    n_episodes: int = 100,
    seed: int = 0,
) -> Transitions:
    """Run episodes of an environment, and log all transitions.

    Actions must be discrete, or a number in an interval: action 0 is then its lower end, 1 the
    middle and 2 the upper end.

    Parameters
    ----------
    env : str or gymnasium.Env
        The environment.
    policy : callable, default=None
        ``policy(state) -> action``; uniformly random actions if None. Actions are numbered from 0,
        here and in the log, even if the environment numbers them differently.
    n_episodes : int, default=100
        Number of episodes.
    seed : int, default=0
        Seed of the environment and of the random actions.

    Returns
    -------
    Transitions
        The transitions of one task. An episode that is truncated by a time limit is not
        ``terminated``: rewards would follow its last state.

    Examples
    --------
    >>> from thinrank.rl.gym import log_episodes
    >>> log = log_episodes("CartPole-v1", n_episodes=3)  # doctest: +SKIP
    """
    n_episodes = positive_integer("n_episodes", n_episodes)
    if policy is not None and not callable(policy):
        raise TypeError(f"policy must be a function of states or None, got {policy!r}")
    rng, steps = np.random.default_rng(seed), []
    with _opened(env) as environment:
        actions = _actions(environment.action_space)
        for number in range(n_episodes):
            state, _ = environment.reset(seed=None if number else seed)
            over = False
            while not over:
                action = int(rng.integers(len(actions)) if policy is None else policy(state))
                if not 0 <= action < len(actions):
                    raise ValueError(
                        f"policy must return actions from 0 to {len(actions) - 1}, got {action}"
                    )
                seen = np.array(state)  # a copy, because the environment may change it
                state, reward, terminated, truncated, _ = environment.step(actions[action])
                after = np.array(state)
                steps.append((seen, action, float(reward), after, bool(terminated), number))
                over = terminated or truncated
    states, taken, rewards, after, ended, episodes = map(np.array, zip(*steps, strict=True))
    return Transitions(states, taken, rewards, after, ended, episodes=episodes)


def is_environment(candidate: Any) -> bool:
    """Whether an object is an environment or the name of one, rather than a generative model."""
    if isinstance(candidate, str):
        return True
    has = all(hasattr(candidate, name) for name in ("reset", "step", "action_space"))
    return has and not hasattr(candidate, "sample")


def _actions(space: Any) -> list[Any]:
    """The actions of a space, in order; levels of a number in an interval."""
    count = getattr(space, "n", None)
    # MultiBinary has an attribute n too, but its actions are arrays
    if isinstance(count, Integral) and getattr(space, "shape", ()) == ():
        first = int(getattr(space, "start", 0))
        return list(range(first, first + int(count)))
    ends = np.array([getattr(space, "low", np.nan), getattr(space, "high", np.nan)], dtype=float)
    if ends.size != 2 or not np.isfinite(ends).all():
        raise ValueError(f"env must have discrete actions or one in an interval, got {space}")
    levels = ends.min(), ends.mean(), ends.max()
    return [np.full(space.shape, level, dtype=space.dtype) for level in levels]


def _opened(env: Any) -> AbstractContextManager[Any]:
    """The given environment, or one that is created by its name and closed afterwards."""
    if not isinstance(env, str):
        return nullcontext(env)
    gymnasium = import_optional("gymnasium")
    try:
        return closing(gymnasium.make(env))
    except gymnasium.error.Error as error:
        raise ValueError(
            f"{env!r} is not an environment of Gymnasium ({error}); fit_batch learns from logs, "
            "such as datasets of Minari"
        ) from error
