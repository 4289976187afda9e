"""Logs of episodes in environments of Gymnasium.

An environment is given as an object or by its name. Gymnasium itself is needed only for names; it
is installed by ``pip install 'thinrank[rl]'``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np

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
    env : str, gymnasium.Env or gymnasium.vector.VectorEnv
        The environment.
    policy : callable, default=None
        ``policy(state) -> action`` for one state, or for several states in a vector environment;
        uniformly random actions if None. Actions are numbered from 0, here and in the log, even if
        the environment numbers them differently.
    n_episodes : int, default=100
        Number of episodes. In a vector environment those that begin first are logged, so that
        short episodes are not preferred.
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
    if not isinstance(n_episodes, Integral) or n_episodes < 1:
        raise ValueError(f"n_episodes must be at least 1, got {n_episodes!r}")
    rng = np.random.default_rng(seed)
    with _opened(env) as environment:
        many = getattr(environment, "num_envs", None)
        play = _one_at_a_time if many is None else _several
        played = play(environment, policy, int(n_episodes), seed, rng)
    numbers = np.repeat(np.arange(len(played)), [len(steps) for steps in played])
    columns = zip(*(step for steps in played for step in steps), strict=True)
    return Transitions(*map(np.array, columns), episodes=numbers)


def is_environment(candidate: Any) -> bool:
    """Whether an object is an environment or the name of one, rather than a generative model."""
    if isinstance(candidate, str):
        return True
    has = all(hasattr(candidate, name) for name in ("reset", "step", "action_space"))
    return has and not hasattr(candidate, "sample")


_Step = tuple[Any, int, float, Any, bool]
"""State, action, reward, next state, and whether the episode ended."""


def _one_at_a_time(
    env: Any, policy: Any, n_episodes: int, seed: int, rng: np.random.Generator
) -> list[list[_Step]]:
    actions = _actions(env.action_space)
    episodes: list[list[_Step]] = []
    for number in range(n_episodes):
        state, _ = env.reset(seed=seed if number == 0 else None)
        episode: list[_Step] = []
        over = False
        while not over:
            action = int(rng.integers(len(actions)) if policy is None else policy(state))
            seen = np.array(state)  # a copy, because the environment may change it
            after, reward, terminated, truncated, _ = env.step(actions[action])
            episode.append((seen, action, float(reward), np.array(after), bool(terminated)))
            state, over = after, terminated or truncated
        episodes.append(episode)
    return episodes


def _several(
    env: Any, policy: Any, n_episodes: int, seed: int, rng: np.random.Generator
) -> list[list[_Step]]:
    known = np.array(_actions(env.single_action_space))
    count = int(env.num_envs)
    mode = str(getattr(env, "metadata", {}).get("autoreset_mode", "NextStep")).lower()
    states, _ = env.reset(seed=seed)
    episodes: list[list[_Step]] = [[] for _ in range(n_episodes)]
    # the episode of each environment; later ones are played too, but not kept
    current = list(range(count))
    resets = np.zeros(count, dtype=bool)
    finished = 0
    while finished < n_episodes:
        chosen = rng.integers(len(known), size=count) if policy is None else policy(states)
        actions = np.asarray(chosen).astype(np.int64)
        if actions.shape != (count,):
            raise ValueError(
                f"policy must return {count} actions, one per environment of the vector "
                f"environment; got shape {actions.shape}"
            )
        seen = np.array(states)
        states, rewards, terminated, truncated, info = env.step(known[actions])
        over = np.asarray(terminated) | np.asarray(truncated)
        after = np.array(states)
        if "same" in mode:  # the states are those of the next episode already
            for i in np.flatnonzero(over):
                after[i] = info["final_obs"][i]
        for i in np.flatnonzero(~resets):
            if current[i] < n_episodes:
                step = seen[i], int(actions[i]), float(rewards[i]), after[i], bool(terminated[i])
                episodes[current[i]].append(step)
                finished += bool(over[i])
            if over[i]:
                current[i] = max(current) + 1
        if "disabled" in mode:
            if over.any():
                states, _ = env.reset(options={"reset_mask": over})
        else:
            # with resets in the next step, that step only returns the new initial state
            resets = over & ~resets if "next" in mode else resets
    return episodes


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


@contextmanager
def _opened(env: Any) -> Iterator[Any]:
    """The given environment, or one that is created by its name and closed afterwards."""
    if not isinstance(env, str):
        yield env
        return
    gymnasium = import_optional("gymnasium")
    try:
        made = gymnasium.make(env)
    except gymnasium.error.Error as error:
        raise ValueError(
            f"{env!r} is not an environment of Gymnasium ({error}); fit_batch learns from logs, "
            "such as datasets of Minari"
        ) from error
    try:
        yield made
    finally:
        made.close()
