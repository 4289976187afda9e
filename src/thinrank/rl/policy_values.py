"""The value of a policy with an interval, from episodes that it plays or from logs of another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from thinrank.rl.features import Features, feature_matrix
from thinrank.rl.gym import log_episodes
from thinrank.rl.transitions import Transitions

# Estimated probabilities of logged actions are at least this, so that weights stay finite.
_LEAST_PROBABILITY = 1e-3


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
    env : str, gymnasium.Env or gymnasium.vector.VectorEnv
        The environment.
    policy : callable
        ``policy(state) -> action`` for one state, or for several states in a vector environment.
        Actions are numbered from 0.
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
    log = log_episodes(env, policy, n_episodes, seed)
    steps = np.arange(len(log)) - _first_rows(log)[log.episodes]
    returns = np.bincount(log.episodes, discount ** steps.astype(float) * log.rewards)
    return _mean_with_interval(returns, level, "episodes of the policy")


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
    need the behavior policy, and its variance does not grow with the length of episodes, but Q^π
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
    _check(discount, level, log, n_actions)
    if not ridge > 0:
        raise ValueError(f"ridge must be positive, got {ridge!r}")

    def pairs(states: np.ndarray, actions: np.ndarray | None = None) -> np.ndarray:
        """φ(s, a), with the actions of the policy if None."""
        if actions is None:
            actions = _actions(policy(states), len(states), n_actions)
        return _pair_features(features, states, actions, n_actions)

    live = ~log.terminated
    present = pairs(log.states, log.actions)
    following = np.zeros_like(present)
    if live.any():
        following[live] = pairs(log.next_states[live])
    own = initial_states is None
    start = pairs(log.states[_first_rows(log)] if own else np.asarray(initial_states))

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
        return float(np.average(start @ theta, weights=weights if own else None))

    episodes = int(log.episodes.max()) + 1
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(episodes, np.full(episodes, 1 / episodes), size=n_resamples)
    values = [value(draw.astype(float)) for draw in draws]
    low, high = -np.inf, np.inf
    if n_resamples > 1:
        low, high = map(float, np.quantile(values, [0.5 - level / 2, 0.5 + level / 2]))
    note = "The interval does not contain the error of the linear model."
    estimate = value(np.ones(episodes))
    return PolicyValue(
        estimate, low, high, level, episodes, "fitted Q evaluation", np.zeros(0), note
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
    P. Hall, On the removal of skewness by transformation, J. R. Stat. Soc. B 54, 1992.
    """
    _check(discount, level, log, n_actions)
    chance, note = _behaviour(log, behaviour, features, n_actions)
    chosen = np.asarray(policy(log.states))
    if chosen.shape == (len(log), n_actions) and chosen.dtype.kind == "f":
        ratio = chosen[np.arange(len(log)), log.actions] / chance
    else:
        ratio = (_actions(chosen, len(log), n_actions) == log.actions) / chance
    order = np.argsort(log.episodes, kind="stable")
    lengths = np.bincount(log.episodes)
    steps = np.arange(len(log)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    # ended episodes keep their last weight, so that they count with rewards of zero
    table = np.ones((len(lengths), lengths.max()))
    rewards = np.zeros_like(table)
    table[log.episodes[order], steps] = ratio[order]
    rewards[log.episodes[order], steps] = log.rewards[order]
    weights = np.cumprod(table, axis=1)
    if weighted:
        weights = weights / np.maximum(weights.mean(axis=0), 1e-300)
    returns = np.sum(weights * rewards * discount ** np.arange(table.shape[1]), axis=1)
    name = "weighted " * weighted + "per-decision importance sampling"
    return _mean_with_interval(returns, level, name, note, skewed=not weighted)


def _mean_with_interval(
    returns: np.ndarray, level: float, method: str, note: str = "", *, skewed: bool = False
) -> PolicyValue:
    """The mean over episodes with Student's interval.

    For a ``skewed`` distribution, such as that of weighted rewards, Hall's transformation of
    Student's t moves both ends towards the long tail, by an estimate of the skewness which is
    itself uncertain. Therefore the interval is enlarged to contain Student's.

    Shapes: ``returns`` (n_episodes,).
    """
    n, mean = len(returns), float(np.mean(returns))
    if n < 2:
        return PolicyValue(mean, -np.inf, np.inf, level, n, method, returns, note)
    deviation = float(np.std(returns, ddof=1))
    ends = float(student.ppf(0.5 + level / 2, n - 1)) * np.array([-1.0, 1.0])
    if skewed and deviation > 0:
        a = float(np.mean(((returns - mean) / deviation) ** 3)) / (6 * n**0.5)
        if abs(a) > np.finfo(float).eps ** 0.5:
            # the inverse of t + 2at² + (4/3)a²t³ + a, which is nearly normal
            corrected = (np.cbrt(1 + 6 * a * (ends - a)) - 1) / (2 * a)
            ends = np.array([min(ends[0], corrected[0]), max(ends[1], corrected[1])])
    low, high = (mean - float(end) * deviation / n**0.5 for end in ends[::-1])
    return PolicyValue(mean, low, high, level, n, method, returns, note)


def _behaviour(
    log: Transitions, behaviour: Any, features: Features | None, n_actions: int
) -> tuple[np.ndarray, str]:
    """Probabilities of the logged actions, and where they come from."""
    if behaviour is None:
        counts = np.bincount(log.actions, minlength=n_actions)
        if features is None or np.count_nonzero(counts) == 1:
            note = "Behavior probabilities were estimated by the frequencies of the actions."
            return (counts / len(log))[log.actions], note
        matrix = _dense(feature_matrix(features, log.states, "log"))
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        known = model.fit(matrix, log.actions).predict_proba(matrix)
        chance = known[np.arange(len(log)), np.searchsorted(model.classes_, log.actions)]
        note = "Behavior probabilities were estimated by logistic regression on the features."
        return np.maximum(chance, _LEAST_PROBABILITY), note
    if callable(behaviour):
        known = np.asarray(behaviour(log.states), dtype=float)
        if known.shape != (len(log), n_actions):
            raise ValueError(
                f"behaviour must return probabilities of shape {(len(log), n_actions)}, got "
                f"{known.shape}"
            )
        chance = known[np.arange(len(log)), log.actions]
    else:
        chance = np.asarray(behaviour, dtype=float)
    if chance.shape != (len(log),):
        raise ValueError(
            f"behaviour must be {len(log)} probabilities, one per transition, got shape "
            f"{chance.shape}"
        )
    if not np.all((chance > 0) & (chance <= 1)):
        raise ValueError(
            "behaviour must give the logged actions probabilities above 0 and at most 1"
        )
    return chance, "Behavior probabilities were given."


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


def _pair_features(
    features: Features, states: np.ndarray, actions: np.ndarray, n_actions: int
) -> np.ndarray:
    """φ(s, a): a constant and the features in the block of the action."""
    matrix = _dense(feature_matrix(features, states, "states"))
    found = np.zeros((len(matrix), n_actions, matrix.shape[1] + 1))
    found[np.arange(len(matrix)), actions] = np.column_stack([np.ones(len(matrix)), matrix])
    return found.reshape(len(matrix), -1)


def _first_rows(log: Transitions) -> np.ndarray:
    """The first transition of every episode, in the order of their numbers."""
    return np.unique(log.episodes, return_index=True)[1]


def _check(discount: Any, level: Any, log: Any = None, n_actions: int = 0) -> None:
    """Raise an error that names an argument with an invalid value."""
    if not (isinstance(discount, (int, float)) and 0 < discount <= 1):
        raise ValueError(f"discount must be above 0 and at most 1, got {discount!r}")
    if not (isinstance(level, (int, float)) and 0 < level < 1):
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    if n_actions == 0:
        return
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
