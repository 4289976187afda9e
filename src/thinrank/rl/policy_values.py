"""The value of a policy with an interval, from episodes that it plays or from logs of another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import t as student

from thinrank.rl.features import Features, feature_matrix
from thinrank.rl.gym import log_episodes
from thinrank.rl.transitions import Transitions


@dataclass(frozen=True)
class PolicyValue:
    """The mean return of a policy from the initial states, with an interval.

    Attributes
    ----------
    value : float
        The estimate.
    low, high : float
        Ends of the interval.
    level : float
        Level of the interval.
    n_episodes : int
        Number of episodes.
    method : str
        How the value was estimated.
    returns : ndarray of shape (n_episodes,)
        The return of each episode, or its contribution; empty if there are none.
    note : str
        What the estimate relies on.
    """

    value: float
    low: float
    high: float
    level: float
    n_episodes: int
    method: str
    returns: np.ndarray = field(repr=False, compare=False)
    note: str = ""

    def __str__(self) -> str:
        told = f"{self.value:.4g} ({self.level:.0%} interval {self.low:.4g} to {self.high:.4g}; "
        return told + f"{self.method}, {self.n_episodes} episodes)"


def evaluate(
    env: Any,
    policy: Callable[[Any], Any],
    n_episodes: int = 100,
    *,
    discount: float = 1.0,
    level: float = 0.95,
    seed: int = 0,
) -> PolicyValue:
    """Play episodes with a policy, and estimate its mean return.

    Parameters
    ----------
    env : str or gymnasium.Env
        The environment.
    policy : callable
        ``policy(state) -> action``. Actions are numbered from 0.
    n_episodes : int, default=100
        Number of episodes.
    discount : float, default=1.0
        The discount of later rewards, in (0, 1].
    level : float, default=0.95
        Level of the interval for the mean return, by Student's t.
    seed : int, default=0
        Seed of the environment.

    Returns
    -------
    PolicyValue

    Examples
    --------
    >>> import thinrank as tr
    >>> tr.rl.evaluate("CartPole-v1", lambda state: int(state[2] > 0))  # doctest: +SKIP
    """
    _check(discount, level)
    returns = episode_returns(log_episodes(env, policy, n_episodes, seed), discount)
    n, mean, error = len(returns), float(np.mean(returns)), np.inf
    if n > 1:
        error = float(student.ppf(0.5 + level / 2, n - 1) * np.std(returns, ddof=1) / n**0.5)
    method = "episodes of the policy"
    return PolicyValue(mean, mean - error, mean + error, level, n, method, returns)


def fitted_q_evaluation(
    log: Transitions,
    policy: Callable[[Any], Any],
    features: Features,
    n_actions: int,
    discount: float,
    *,
    initial_states: Any = None,
    ridge: float = 1e-3,
    n_iterations: int = 300,
    n_resamples: int = 100,
    level: float = 0.95,
    seed: int = 0,
) -> PolicyValue:
    """Fitted Q evaluation: the value of a policy by repeated ridge regressions on a log.

    Each iteration fits Q to the targets r + γ·Q(s′, π(s′)). Q^π must be nearly linear in the
    features. The policy that chose the logged actions need not be known.

    Parameters
    ----------
    log : Transitions
        Transitions of one task.
    policy : callable
        ``policy(states)`` returns the actions, an array of shape (n_states,).
    features : callable
        The feature map; an intercept per action is added.
    n_actions : int
        Number of actions.
    discount : float
        The discount γ in (0, 1].
    initial_states : array of shape (n_states, ...), default=None
        States where episodes begin; the first states of the logged episodes if None.
    ridge : float, default=1e-3
        Penalty of the regressions, in units of the number of transitions. It is raised tenfold
        while the values grow from iteration to iteration.
    n_iterations : int, default=300
        Number of iterations; at least the number of steps that matter.
    n_resamples : int, default=100
        Number of resamples of the episodes, whose quantiles are the interval.
    level : float, default=0.95
        Level of the interval.
    seed : int, default=0
        Seed of the resamples.

    Returns
    -------
    PolicyValue

    References
    ----------
    H. Le, C. Voloshin and Y. Yue, Batch policy learning under constraints, ICML 2019.
    """
    _check(discount, level)
    if not isinstance(log, Transitions):
        raise TypeError(f"log must be tr.rl.Transitions, got {type(log).__name__}")
    if log.n_tasks != 1:
        raise ValueError(
            f"log must be that of one task, but it has {log.n_tasks}; use log.of_task(number)"
        )
    if log.actions.max() >= n_actions:
        raise ValueError(f"actions must be from 0 to {n_actions - 1}, got {log.actions.max()}")
    if not ridge > 0:
        raise ValueError(f"ridge must be positive, got {ridge!r}")

    def pairs(states: np.ndarray, actions: np.ndarray | None = None) -> np.ndarray:
        """A constant and φ(s) in the block of a, with the actions of the policy if None."""
        count = len(states)
        if actions is None:
            actions = _actions(policy(states), count, n_actions)
        matrix = feature_matrix(features, states, "states")
        matrix = matrix.toarray() if sparse.issparse(matrix) else matrix
        found = np.zeros((count, n_actions, matrix.shape[1] + 1))
        found[np.arange(count), actions] = np.column_stack([np.ones(count), matrix])
        return found.reshape(count, -1)

    live = ~log.terminated
    present = pairs(log.states, log.actions)
    following = np.zeros_like(present)
    if live.any():
        following[live] = pairs(log.next_states[live])
    own = initial_states is None
    start = pairs(log.states[_first_rows(log)] if own else np.asarray(initial_states))

    def value(weights: np.ndarray, penalty: float) -> tuple[float, float]:
        """The value with each episode counted ``weights`` times, and the penalty used."""
        w = weights[log.episodes]
        scaled = present.T * (w / w.sum())
        gram, rewards, ahead = scaled @ present, scaled @ log.rewards, scaled @ following
        while True:
            inverse = np.linalg.inv(gram + penalty * np.eye(len(gram)))
            first, step = inverse @ rewards, discount * inverse @ ahead
            theta, change, size = first, first, np.abs(first).max()
            for _ in range(n_iterations - 1):
                change = step @ change
                theta = theta + change
                if not np.abs(change).max() < 1e3 * max(size, 1e-300):
                    break
            if np.abs(change).max() <= size:
                break
            penalty *= 10
        return float(np.average(start @ theta, weights=weights if own else None)), penalty

    episodes = int(log.episodes.max()) + 1
    estimate, penalty = value(np.ones(episodes), ridge)
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(episodes, np.full(episodes, 1 / episodes), size=n_resamples)
    values = [value(draw.astype(float), penalty)[0] for draw in draws]
    low, high = -np.inf, np.inf
    if n_resamples > 1:
        low, high = map(float, np.quantile(values, [0.5 - level / 2, 0.5 + level / 2]))
    method = "fitted Q evaluation"
    note = "The interval does not contain the error of the linear model."
    return PolicyValue(estimate, low, high, level, episodes, method, np.zeros(0), note)


def episode_returns(log: Transitions, discount: float) -> np.ndarray:
    """The discounted return of every logged episode."""
    steps = np.arange(len(log)) - _first_rows(log)[log.episodes]
    return np.bincount(log.episodes, discount ** steps.astype(float) * log.rewards)


def _actions(answer: Any, count: int, n_actions: int) -> np.ndarray:
    """The actions that a policy returned."""
    actions = np.asarray(answer)
    whole = actions.dtype.kind in "iu" and actions.shape == (count,)
    if not whole or not np.all((actions >= 0) & (actions < n_actions)):
        raise ValueError(
            f"policy must return {count} integers from 0 to {n_actions - 1}, got dtype "
            f"{actions.dtype} and shape {actions.shape}"
        )
    return actions


def _first_rows(log: Transitions) -> np.ndarray:
    """The first transition of every episode, in the order of their numbers."""
    return np.unique(log.episodes, return_index=True)[1]


def _check(discount: Any, level: Any) -> None:
    if not (isinstance(discount, (int, float)) and 0 < discount <= 1):
        raise ValueError(f"discount must be above 0 and at most 1, got {discount!r}")
    if not (isinstance(level, (int, float)) and 0 < level < 1):
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
