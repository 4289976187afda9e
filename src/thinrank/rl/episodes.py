"""Episodes of Gymnasium environments, one at a time or in a vector environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from thinrank.core.imports import import_optional


@dataclass(frozen=True, eq=False)
class Played:
    """All steps of some episodes; see :class:`thinrank.rl.Transitions`."""

    states: np.ndarray  # one entry per step; the steps of an episode are in order
    actions: np.ndarray
    rewards: np.ndarray
    next_states: np.ndarray
    terminated: np.ndarray
    episodes: np.ndarray
    steps: np.ndarray  # number of the step in its episode, from 0


_Step = tuple[Any, int, float, Any, bool]


def is_environment(candidate: Any) -> bool:
    """Whether an object is an environment or the name of one, rather than a generative model."""
    if isinstance(candidate, str):
        return True
    has = all(hasattr(candidate, name) for name in ("reset", "step", "action_space"))
    return has and not hasattr(candidate, "sample")


def play_episodes(
    env: Any, policy: Callable[[Any], Any] | None, n_episodes: int, seed: int
) -> Played:
    """Play complete episodes.

    ``policy``: random actions if None.
    """
    if not isinstance(n_episodes, Integral) or n_episodes < 1:
        raise ValueError(f"n_episodes must be at least 1, got {n_episodes!r}")
    rng = np.random.default_rng(seed)
    with opened(env) as environment:
        many = getattr(environment, "num_envs", None)
        play = _one_at_a_time if many is None else _side_by_side
        episodes = play(environment, policy, int(n_episodes), seed, rng)
    steps = [(number, *step) for number, episode in enumerate(episodes) for step in episode]
    number, states, actions, rewards, after, ended = zip(*steps, strict=True)
    count = np.concatenate([np.arange(len(episode)) for episode in episodes])
    return Played(
        np.array(states),
        np.array(actions),
        np.array(rewards),
        np.array(after),
        np.array(ended),
        np.array(number),
        count,
    )


def _one_at_a_time(
    env: Any, policy: Any, n_episodes: int, seed: int, rng: np.random.Generator
) -> list[list[_Step]]:
    n_actions, first = _discrete_actions(env.action_space)
    episodes: list[list[_Step]] = []
    for number in range(n_episodes):
        state, _ = env.reset(seed=seed if number == 0 else None)
        episode: list[_Step] = []
        over = False
        while not over:
            action = int(rng.integers(n_actions) if policy is None else policy(state))
            seen = np.array(state)  # a copy, because the environment may change it
            after, reward, terminated, truncated, _ = env.step(first + action)
            episode.append((seen, action, float(reward), np.array(after), bool(terminated)))
            state, over = after, terminated or truncated
        episodes.append(episode)
    return episodes


def _side_by_side(
    env: Any, policy: Any, n_episodes: int, seed: int, rng: np.random.Generator
) -> list[list[_Step]]:
    n_actions, first = _discrete_actions(env.single_action_space)
    count = int(env.num_envs)
    mode = str(getattr(env, "metadata", {}).get("autoreset_mode", "NextStep"))
    states, _ = env.reset(seed=seed)
    episodes: list[list[_Step]] = [[] for _ in range(n_episodes)]
    # the episode of each environment; later ones are played too, but not kept
    current = list(range(count))
    resets = np.zeros(count, dtype=bool)
    finished = 0
    while finished < n_episodes:
        chosen = rng.integers(n_actions, size=count) if policy is None else policy(states)
        actions = np.asarray(chosen).astype(np.int64)
        if actions.shape != (count,):
            raise ValueError(
                f"policy must return {count} actions, one per environment of the vector "
                f"environment; got shape {actions.shape}"
            )
        seen = np.array(states)
        states, rewards, terminated, truncated, info = env.step(first + actions)
        over = np.asarray(terminated) | np.asarray(truncated)
        after = _last_observations(states, info, over) if "same" in mode.lower() else states
        for i in np.flatnonzero(~resets):
            step = (
                seen[i],
                int(actions[i]),
                float(rewards[i]),
                np.array(after[i]),
                bool(terminated[i]),
            )
            if current[i] < n_episodes:
                episodes[current[i]].append(step)
                finished += bool(over[i])
            if over[i]:
                current[i] = max(current) + 1
        if "disabled" in mode.lower():
            if over.any():
                states, _ = env.reset(options={"reset_mask": over})
        else:
            # with resets in the next step, that step only returns the new initial state
            resets = over & ~resets if "next" in mode.lower() else resets
    return episodes


def _last_observations(states: Any, info: dict[str, Any], over: np.ndarray) -> np.ndarray:
    """Observations after the step, where ``states`` holds those of the next episode already."""
    after = np.array(states)
    final: Any = info["final_obs"] if over.any() else None
    for i in np.flatnonzero(over):
        after[i] = final[i]
    return after


def _discrete_actions(space: Any) -> tuple[int, int]:
    """The number of actions, and the first one."""
    count = getattr(space, "n", None)
    # MultiBinary has an attribute n too, but its actions are arrays
    if not isinstance(count, Integral) or getattr(space, "shape", ()) != ():
        raise ValueError(f"env must have discrete actions, got {space}")
    return int(count), int(getattr(space, "start", 0))


@contextmanager
def opened(env: Any) -> Iterator[Any]:
    """The given environment, or one that is created by its name and closed afterwards."""
    if not isinstance(env, str):
        yield env
        return
    made = import_optional("gymnasium").make(env)
    try:
        yield made
    finally:
        made.close()
