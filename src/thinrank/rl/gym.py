"""Environments of Gymnasium as tasks: those with a table of transitions, and any other by its log.

An environment may be given as such or by its name. Only for a name is Gymnasium itself needed,
which comes with ``pip install 'thinrank[rl]'``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from numbers import Integral
from typing import Any

import numpy as np

from thinrank.core.extras import import_optional
from thinrank.rl.kernels import DenseKernel
from thinrank.rl.tabular import TabularMDP
from thinrank.rl.transitions import Transitions

__all__ = ["from_transition_table", "log_episodes", "table_family"]


def from_transition_table(env: Any) -> TabularMDP:
    """A toy text environment, such as FrozenLake, CliffWalking or Taxi, with its exact model.

    Parameters
    ----------
    env : str or gymnasium.Env
        With a table ``env.unwrapped.P[state][action]`` of (probability, next state, reward,
        terminated).

    Returns
    -------
    TabularMDP
        Episodic. Its terminal states are those that transitions enter and end in. Where a state
        is also entered without an end (the table of Taxi has such, though nobody gets there), the
        transitions that end lead to one further state instead, the last.
    """
    with _opened(env) as environment:
        table = getattr(environment.unwrapped, "P", None)
        if table is None:
            raise ValueError(
                f"env must have a table of transitions, unwrapped.P; {environment} has none: "
                "use log_episodes"
            )
        rows = [
            (int(s), int(a), int(after), float(chance), float(reward), bool(ended))
            for s, actions in table.items()
            for a, outcomes in actions.items()
            for chance, after, reward, ended in outcomes
        ]
    state, action, after, chance, reward, ended = map(np.array, zip(*rows, strict=True))
    n_states, n_actions = len(table), int(action.max()) + 1
    # what happens after the end does not matter
    over = np.isin(np.arange(n_states), after[ended])
    going_on = ~ended & ~over[state]
    if np.any(over[after[going_on]]):
        after = np.where(ended, n_states, after)
        over = np.arange(n_states + 1) == n_states
        n_states += 1
    probabilities = np.zeros((n_states, n_actions, n_states))
    earned = np.zeros_like(probabilities)
    np.add.at(probabilities, (state, action, after), chance)
    np.add.at(earned, (state, action, after), chance * reward)
    # outcomes with the same next state are one, with the mean of their rewards
    rewards = np.divide(earned, probabilities, out=earned, where=probabilities > 0)
    probabilities[over] = 0
    probabilities[over, :, over] = 1
    rewards[over] = 0
    return TabularMDP(probabilities, rewards, over, episodic=True)


def table_family(
    env: Any,
    slips: Iterable[float] = (0.0, 0.1, 0.2),
    step_rewards: Iterable[float] = (0.0,),
) -> list[TabularMDP]:
    """Variants of an environment with a transition table, as tasks.

    Parameters
    ----------
    env : str or gymnasium.Env
        As for :func:`from_transition_table`; make it without a slippery ground of its own.
    slips : iterable of float
        How often an action drawn at random takes the place of the chosen one, from 0 to 1.
    step_rewards : iterable of float
        What is added to the reward of every step.

    Returns
    -------
    list of TabularMDP
        One for every combination, the step rewards varying faster.
    """
    plain = from_transition_table(env)
    chosen = plain.kernel.dense()
    joint = chosen * plain.by_transition
    going = ~plain.terminal[:, None]
    tasks = []
    for slip, extra in product(slips, step_rewards):
        if not 0 <= slip <= 1:
            raise ValueError(f"slips must be from 0 to 1, got {slip!r}")
        P, earned = (
            (1 - slip) * part + slip * part.mean(axis=1, keepdims=True) for part in (chosen, joint)
        )
        rewards = np.divide(earned, P, out=np.zeros_like(P), where=P > 0)
        rewards += extra * going[..., None]
        tasks.append(TabularMDP(DenseKernel(P), rewards, plain.terminal, episodic=True))
    return tasks


def log_episodes(
    env: Any,
    policy: Callable[[Any], int] | None = None,
    n_episodes: int = 100,
    seed: int = 0,
) -> Transitions:
    """Play episodes of an environment with discrete actions, and write down what happened.

    Parameters
    ----------
    env : str or gymnasium.Env
    policy : callable, optional
        ``policy(state) -> action`` for one state; actions drawn uniformly when missing. They
        count from 0, here and in the log, whatever the environment counts from.
    n_episodes : int
        How many.
    seed : int
        Of the environment and of the actions.

    Returns
    -------
    Transitions
        Of one task. An episode that is cut off by a time limit is not ``terminated``: its last
        state has a future, even if nobody saw it.

    Examples
    --------
    >>> from thinrank.rl.gym import log_episodes
    >>> log = log_episodes("CartPole-v1", n_episodes=3)  # doctest: +SKIP
    """
    if n_episodes < 1:
        raise ValueError(f"n_episodes must be at least 1, got {n_episodes!r}")
    rng = np.random.default_rng(seed)
    log: list[tuple[Any, int, float, Any, bool]] = []
    with _opened(env) as environment:
        n_actions, first = _discrete_actions(environment.action_space)
        for episode in range(n_episodes):
            state, _ = environment.reset(seed=seed if episode == 0 else None)
            over = False
            while not over:
                action = int(rng.integers(n_actions) if policy is None else policy(state))
                seen = np.array(state)  # the environment may write over its own
                after, reward, terminated, truncated, _ = environment.step(first + action)
                log.append((seen, action, float(reward), np.array(after), bool(terminated)))
                state, over = after, terminated or truncated
    states, actions, rewards, next_states, ended = (
        np.array(part) for part in zip(*log, strict=True)
    )
    return Transitions(states, actions, rewards, next_states, ended)


def _discrete_actions(space: Any) -> tuple[int, int]:
    """How many actions there are, and the first of them."""
    count = getattr(space, "n", None)
    # MultiBinary has n as well, but its actions are arrays
    if not isinstance(count, Integral) or getattr(space, "shape", ()) != ():
        raise ValueError(f"env must have discrete actions, got {space}")
    return int(count), int(getattr(space, "start", 0))


@contextmanager
def _opened(env: Any) -> Iterator[Any]:
    """An environment as it is, or one made by its name and closed afterwards."""
    if not isinstance(env, str):
        yield env
        return
    made = import_optional("gymnasium").make(env)
    try:
        yield made
    finally:
        made.close()
