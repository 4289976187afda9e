"""The value of a policy with an interval, from episodes that it plays itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import t as student

from thinrank.rl.gym import log_episodes

# Corrections for less skewness than this are rounding errors.
_SYMMETRIC = 1e-8


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
    check_discount(discount)
    check_level(level)
    log = log_episodes(env, policy, n_episodes, seed)
    first = np.unique(log.episodes, return_index=True)[1]
    steps = np.arange(len(log)) - first[log.episodes]
    returns = np.bincount(log.episodes, discount ** steps.astype(float) * log.rewards)
    return mean_with_interval(returns, level, "episodes of the policy")


def mean_with_interval(
    returns: np.ndarray, level: float, method: str, note: str = ""
) -> PolicyValue:
    """The mean over episodes with Student's interval.

    Shapes: result (n_episodes,).
    """
    n, value = len(returns), float(np.mean(returns))
    half = np.inf
    if n > 1:
        half = float(student.ppf(0.5 + level / 2, n - 1) * np.std(returns, ddof=1) / n**0.5)
    return PolicyValue(value, value - half, value + half, level, n, method, returns, note)


def skewed_interval(values: np.ndarray, level: float) -> tuple[float, float]:
    """An interval for the mean of numbers with a skewed distribution, such as weighted rewards.

    Hall's transformation of Student's t removes the effect of the skewness. It moves both ends
    towards the long tail, by an estimate of the skewness which is itself uncertain. Therefore the
    interval is enlarged to contain Student's.

    References
    ----------
    P. Hall, On the removal of skewness by transformation, J. R. Stat. Soc. B 54, 1992.
    """
    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return -np.inf, np.inf
    deviation = float(np.std(values, ddof=1))
    quantile = float(student.ppf(0.5 + level / 2, n - 1))
    ends = np.array([-quantile, quantile])
    if deviation > 0:
        skewness = float(np.mean(((values - mean) / deviation) ** 3))
        a = skewness / (6 * n**0.5)
        if abs(a) > _SYMMETRIC:
            # the inverse of t + 2at² + (4/3)a²t³ + a, which is nearly normal
            corrected = (np.cbrt(1 + 6 * a * (ends - a)) - 1) / (2 * a)
            ends = np.array([min(ends[0], corrected[0]), max(ends[1], corrected[1])])
    error = deviation / n**0.5
    return mean - float(ends[1]) * error, mean - float(ends[0]) * error


def check_discount(discount: Any) -> None:
    """Raise a ValueError unless a discount is in (0, 1]."""
    if not (isinstance(discount, (int, float)) and 0 < discount <= 1):
        raise ValueError(f"discount must be above 0 and at most 1, got {discount!r}")


def check_level(level: Any) -> None:
    """Raise a ValueError unless the level of an interval is between 0 and 1."""
    if not (isinstance(level, (int, float)) and 0 < level < 1):
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
