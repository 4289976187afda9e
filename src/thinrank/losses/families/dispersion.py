"""Maximum-likelihood estimates of the dispersion of negative binomial counts."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma

# Limits of the estimates. At the lower end the variance of counts with mean 100 is 1 % above that
# of Poisson counts; at the upper end nearly all counts with mean 1 are 0.
_LOWEST = 1e-4
_HIGHEST = 1e3
# Halvings of the interval of log(a), whose length is 16: the relative error of the estimate is
# at most 16/2²⁰ = 1.5e-5, which is far below its standard error.
_HALVINGS = 20
# Larger linear predictors would overflow.
_MAX_ETA = 700.0


def fitted_dispersion(y: np.ndarray, eta: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Dispersion a of each column that maximises the weighted likelihood, given the means.

    Shapes: ``y``, ``eta`` (n, q), result (q,).
    """
    y, eta = np.where(weight > 0, y, 0.0), np.where(weight > 0, eta, 0.0)
    mean = np.exp(np.minimum(eta, _MAX_ETA))
    low = np.full(y.shape[1], np.log(_LOWEST))
    high = np.full(y.shape[1], np.log(_HIGHEST))
    flat = _slope(low, y, mean, weight) <= 0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        rising = _slope(middle, y, mean, weight) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return np.where(flat, _LOWEST, np.exp(0.5 * (low + high)))


def _slope(
    log_dispersion: np.ndarray, y: np.ndarray, mean: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Derivative of the log-likelihood of each column with respect to log(a).

    With the size r = 1/a, the log-likelihood of an entry is logΓ(y + r) − logΓ(r) + r·log(r) +
    y·log(μ) − (y + r)·log(r + μ), without terms that do not depend on r.
    """
    size = np.exp(-log_dispersion)
    by_size = digamma(y + size) - digamma(size) - np.log1p(mean / size) + (mean - y) / (size + mean)
    return -size * (weight * by_size).sum(axis=0)
