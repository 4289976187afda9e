"""Families with parameters that differ between columns, and responses that are valid for them."""

import numpy as np

from thinrank.losses import families
from thinrank.losses.families import (
    Bernoulli,
    Gaussian,
    Huber,
    Mixed,
    Multinomial,
    NegativeBinomial,
    Poisson,
)

Q = 3
SCALES = np.array([0.5, 1.0, 3.0])
DISPERSIONS = np.array([0.0, 0.3, 20.0])

FAMILIES = {
    "gaussian": Gaussian(),
    "gaussian scaled": Gaussian(SCALES),
    "bernoulli": Bernoulli(),
    "proportions": Bernoulli(),
    "poisson": Poisson(),
    "negative binomial": NegativeBinomial(),
    "negative binomial per column": NegativeBinomial(DISPERSIONS),
    "multinomial": Multinomial(),
    "multinomial counts": Multinomial(Q),
    "huber": Huber(),
    "huber scaled": Huber([1.0, 1.345, 2.0], SCALES),
    "mixed": Mixed([Poisson(), Huber(scale=2.0), Bernoulli()], [[2], [0], [1]]),
}
# a new family takes part with its default parameters, on counts or, if they are not valid, on 0/1
_TESTED = {type(family) for family in FAMILIES.values()}
FAMILIES |= {name: new() for name, new in families.FAMILIES.items() if new not in _TESTED}


def responses(name, n, seed=0):
    """Responses of shape (n, Q) for a family in FAMILIES."""
    rng = np.random.default_rng(seed)
    if name.startswith(("gaussian", "huber")):
        return 3 * rng.standard_normal((n, Q))
    if name == "bernoulli":
        return rng.integers(0, 2, (n, Q)).astype(float)
    if name == "proportions":
        return np.round(rng.uniform(-0.2, 1.2, (n, Q)), 2).clip(0, 1)
    if name == "multinomial":
        return np.eye(Q)[rng.integers(0, Q, n)]
    if name == "multinomial counts":
        return rng.multinomial(6, [0.2, 0.3, 0.5], n).astype(float)
    counts = rng.poisson(3.0, (n, Q)).astype(float)
    if name == "mixed":
        counts[:, 1] = counts[:, 1] > 2
    elif families.FAMILIES.get(name, Poisson) not in _TESTED:
        try:
            FAMILIES[name].check(counts, None, [f"y{j}" for j in range(Q)])
        except ValueError:
            return (counts > 2).astype(float)
    return counts
