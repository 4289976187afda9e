"""The value of a policy from logs of another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from thinrank.rl.estimates import (
    PolicyValue,
    check_discount,
    check_level,
    mean_with_interval,
    skewed_interval,
)
from thinrank.rl.features import Features, feature_matrix
from thinrank.rl.transitions import Transitions

# Estimated probabilities of logged actions are at least this, so that weights stay finite.
_LEAST_PROBABILITY = 1e-3


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

    Each iteration fits Q to the targets r + γ·Q(s′, π(s′)). Unlike importance sampling it does not
    need the behaviour policy, and its variance does not grow with the length of episodes, but Q^π
    must be nearly linear in the features.

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
        Penalty of the regressions, in units of the number of transitions.
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
    _check_log(log, n_actions)
    check_discount(discount)
    check_level(level)
    if not ridge > 0:
        raise ValueError(f"ridge must be positive, got {ridge!r}")
    live = ~log.terminated
    present = _pair_features(features, log.states, log.actions, n_actions)
    following = np.zeros_like(present)
    if live.any():
        ahead = _actions(policy, log.next_states[live], n_actions)
        following[live] = _pair_features(features, log.next_states[live], ahead, n_actions)
    first = _first_rows(log)
    begin = log.states[first] if initial_states is None else np.asarray(initial_states)
    start = _pair_features(features, begin, _actions(policy, begin, n_actions), n_actions)
    own = initial_states is None

    def value(weights: np.ndarray) -> float:
        """The value with each episode counted ``weights`` times."""
        w = weights[log.episodes]
        scaled = present.T * w
        gram = scaled @ present / w.sum() + ridge * np.eye(present.shape[1])
        inverse = np.linalg.inv(gram)
        moments = inverse @ (scaled @ log.rewards) / w.sum()
        step = discount * inverse @ (scaled @ following) / w.sum()
        theta = np.zeros(present.shape[1])
        for _ in range(n_iterations):
            theta = moments + step @ theta
        q = start @ theta
        return float(np.average(q, weights=weights)) if own else float(q.mean())

    episodes = len(first)
    rng = np.random.default_rng(seed)
    estimate = value(np.ones(episodes))
    draws = rng.multinomial(episodes, np.full(episodes, 1 / episodes), size=n_resamples)
    values = np.array([value(draw.astype(float)) for draw in draws])
    tails = [0.5 - level / 2, 0.5 + level / 2]
    low, high = np.quantile(values, tails) if n_resamples > 1 else (-np.inf, np.inf)
    return PolicyValue(
        estimate,
        float(low),
        float(high),
        level,
        episodes,
        "fitted Q evaluation",
        np.zeros(0),
        "The interval does not contain the error of the linear model.",
    )


def importance_sampling(
    log: Transitions,
    policy: Callable[[Any], Any],
    n_actions: int,
    discount: float,
    *,
    behaviour: Any = None,
    features: Features | None = None,
    weighted: bool = False,
    level: float = 0.95,
) -> PolicyValue:
    """Per-decision importance sampling: the value of a policy by reweighted logged rewards.

    The reward of step t is multiplied by the product over the steps up to t of π(a | s) divided by
    the probability of the logged action. Without a model of Q the estimate is unbiased, but its
    variance grows quickly with the length of episodes.

    Parameters
    ----------
    log : Transitions
        Complete episodes of one task, with the steps of an episode in order.
    policy : callable
        ``policy(states)`` returns the actions, an array of shape (n_states,), or probabilities of
        shape (n_states, n_actions).
    n_actions : int
        Number of actions.
    discount : float
        The discount γ in (0, 1].
    behaviour : array of shape (n_transitions,) or callable, default=None
        Probabilities with which the logged actions were chosen, or a function from states to the
        probabilities of all actions. If None they are estimated, and the note of the result says
        so: by the frequencies of the actions, or from ``features``.
    features : callable, default=None
        Feature map for a logistic regression of the logged actions, if ``behaviour`` is None.
    weighted : bool, default=False
        Whether the weights of every step are divided by their mean over the episodes. This has a
        small bias and a much smaller variance.
    level : float, default=0.95
        Level of the interval, by Student's t over the episodes; without ``weighted`` it is
        corrected for the skewness of the weights. It is too narrow if few episodes have most of
        the weight.

    Returns
    -------
    PolicyValue

    References
    ----------
    D. Precup, R. Sutton and S. Singh, Eligibility traces for off-policy policy evaluation, ICML
    2000.
    """
    _check_log(log, n_actions)
    check_discount(discount)
    check_level(level)
    chance, note = _behaviour(log, behaviour, features, n_actions)
    chosen = _chances(policy, log.states, n_actions)[np.arange(len(log)), log.actions]
    ratio = chosen / chance
    order = np.argsort(log.episodes, kind="stable")
    first = np.flatnonzero(np.diff(log.episodes[order], prepend=-1))
    lengths = np.diff(np.append(first, len(log)))
    longest = int(lengths.max())
    steps = np.arange(len(log)) - np.repeat(first, lengths)
    table = np.ones((len(first), longest))
    rewards = np.zeros((len(first), longest))
    episode = np.repeat(np.arange(len(first)), lengths)
    table[episode, steps] = ratio[order]
    rewards[episode, steps] = log.rewards[order]
    weights = np.cumprod(table, axis=1)
    if weighted:
        # ended episodes keep their last weight, so that they count with rewards of zero
        weights = weights / np.maximum(weights.mean(axis=0), 1e-300)
    returns = np.sum(weights * rewards * discount ** np.arange(longest), axis=1)
    name = "per-decision importance sampling"
    if weighted:
        return mean_with_interval(returns, level, f"weighted {name}", note)
    low, high = skewed_interval(returns, level)
    return PolicyValue(float(returns.mean()), low, high, level, len(first), name, returns, note)


def _behaviour(
    log: Transitions, behaviour: Any, features: Features | None, n_actions: int
) -> tuple[np.ndarray, str]:
    """Probabilities of the logged actions, and where they come from."""
    if callable(behaviour):
        known = np.asarray(behaviour(log.states), dtype=float)
        if known.shape != (len(log), n_actions):
            raise ValueError(
                f"behaviour must return probabilities of shape {(len(log), n_actions)}, got "
                f"{known.shape}"
            )
        chance = known[np.arange(len(log)), log.actions]
    elif behaviour is not None:
        chance = np.asarray(behaviour, dtype=float)
        if chance.shape != (len(log),):
            raise ValueError(
                f"behaviour must be {len(log)} probabilities, one per transition, got shape "
                f"{chance.shape}"
            )
    else:
        return _estimated(log, features, n_actions)
    if not np.all((chance > 0) & (chance <= 1)):
        raise ValueError(
            "behaviour must give the logged actions probabilities above 0 and at most 1"
        )
    return chance, "Behaviour probabilities were given."


def _estimated(
    log: Transitions, features: Features | None, n_actions: int
) -> tuple[np.ndarray, str]:
    counts = np.bincount(log.actions, minlength=n_actions)
    if features is None or np.count_nonzero(counts) == 1:
        chance = (counts / len(log))[log.actions]
        return chance, "Behaviour probabilities were estimated by the frequencies of the actions."
    matrix = _dense(feature_matrix(features, log.states, "log"))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model.fit(matrix, log.actions)
    known = model.predict_proba(matrix)
    column = np.searchsorted(model.classes_, log.actions)
    chance = np.maximum(known[np.arange(len(log)), column], _LEAST_PROBABILITY)
    return chance, "Behaviour probabilities were estimated by logistic regression on the features."


def _chances(policy: Callable[[Any], Any], states: np.ndarray, n_actions: int) -> np.ndarray:
    """Probabilities of all actions under a policy, of shape (n_states, n_actions)."""
    answer = np.asarray(policy(states))
    if answer.shape == (len(states), n_actions) and answer.dtype.kind == "f":
        return answer
    return np.eye(n_actions)[_checked(answer, len(states), n_actions)]


def _actions(policy: Callable[[Any], Any], states: np.ndarray, n_actions: int) -> np.ndarray:
    return _checked(np.asarray(policy(states)), len(states), n_actions)


def _checked(actions: np.ndarray, count: int, n_actions: int) -> np.ndarray:
    whole = actions.dtype.kind in "iu" and actions.shape == (count,)
    if not whole or not np.all((actions >= 0) & (actions < n_actions)):
        raise ValueError(
            f"policy must return {count} integers from 0 to {n_actions - 1}, got dtype "
            f"{actions.dtype} and shape {actions.shape}"
        )
    return actions


def _pair_features(
    features: Features, states: np.ndarray, actions: np.ndarray, n_actions: int
) -> np.ndarray:
    """φ(s, a): a constant and the features in the block of the action."""
    matrix = _dense(feature_matrix(features, states, "states"))
    width = matrix.shape[1] + 1
    found = np.zeros((len(matrix), n_actions, width))
    rows = np.arange(len(matrix))
    found[rows, actions, 0] = 1.0
    found[rows, actions, 1:] = matrix
    return found.reshape(len(matrix), -1)


def _first_rows(log: Transitions) -> np.ndarray:
    """The first transition of every episode, in the order of their numbers."""
    return np.unique(log.episodes, return_index=True)[1]


def _check_log(log: Any, n_actions: int) -> None:
    if not isinstance(log, Transitions):
        raise TypeError(f"log must be tr.rl.Transitions, got {type(log).__name__}")
    if log.n_tasks != 1:
        raise ValueError(
            f"log must be that of one task, but it has {log.n_tasks}; use log.of_task(number)"
        )
    if log.actions.max() >= n_actions:
        raise ValueError(f"actions must be from 0 to {n_actions - 1}, got {log.actions.max()}")


def _dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)
