"""Gymnasium environments as tasks, and logs of their episodes.

Environments with a table of transitions become tasks with a known model; others can be logged. An
environment is given as an object or by its name. Gymnasium itself is needed only for names; it is
installed by ``pip install 'thinrank[rl]'``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np

from thinrank.rl.episodes import opened, play_episodes
from thinrank.rl.kernels import DenseKernel
from thinrank.rl.tabular import TabularMDP
from thinrank.rl.transitions import Transitions


def from_transition_table(env: Any) -> TabularMDP:
    """Read the exact model of a toy text environment such as FrozenLake, CliffWalking or Taxi.

    Parameters
    ----------
    env : str or gymnasium.Env
        An environment with a table ``env.unwrapped.P[state][action]`` of tuples (probability,
        next state, reward, terminated).

    Returns
    -------
    TabularMDP
        An episodic process. Its terminal states are the next states of transitions that end the
        episode. If such a state is also entered without an end, as in the table of Taxi, all
        transitions that end the episode lead to one additional state instead, the last one.
    """
    with opened(env) as environment:
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
    # transitions after the end are irrelevant
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
    # outcomes with the same next state are combined, with the mean of their rewards
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
        As for :func:`from_transition_table`. Create it with deterministic transitions, such as
        ``is_slippery=False`` for FrozenLake.
    slips : iterable of float, default=(0.0, 0.1, 0.2)
        Probabilities, from 0 to 1, that the chosen action is replaced by a random one.
    step_rewards : iterable of float, default=(0.0,)
        Numbers that are added to the reward of every step.

    Returns
    -------
    list of TabularMDP
        One per combination; the step rewards vary fastest.
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
    """Run episodes of an environment with discrete actions, and log all transitions.

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
    played = play_episodes(env, policy, n_episodes, seed)
    return Transitions(
        played.states,
        played.actions,
        played.rewards,
        played.next_states,
        played.terminated,
        episodes=played.episodes,
    )
