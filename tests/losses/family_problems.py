"""Small regressions under every family, with weights, offsets and free predictors."""

import numpy as np
from scipy.optimize import minimize

from thinrank import Factors
from thinrank.losses import GeneralizedLinear
from thinrank.losses.families import (
    Bernoulli,
    Gaussian,
    Huber,
    Mixed,
    Multinomial,
    NegativeBinomial,
    Poisson,
)

N, P, K = 25, 5, 4

FAMILIES = {
    "gaussian": Gaussian(np.array([0.5, 1.0, 2.0, 3.0])),
    "bernoulli": Bernoulli(),
    "poisson": Poisson(),
    "negative binomial": NegativeBinomial(np.array([0.1, 0.3, 1.0, 2.0])),
    "multinomial": Multinomial(K),
    "huber": Huber(1.2, np.array([0.5, 1.0, 2.0, 1.0])),
    # the category columns 0, 2 and 3 belong together
    "mixed": Mixed([Poisson(), Multinomial(3)], [[1], [0, 2, 3]]),
    "numbers and counts": Mixed([Poisson(), Gaussian()], [[2, 0], [1, 3]]),
}

# Z, weights of samples and entries, offset, units and ridge
PARTS = {
    "bare": (),
    "intercept": ("intercept",),
    "everything": ("free", "sample_weight", "entry_weight", "offset", "unit", "ridge"),
    "entries": ("intercept", "entry_weight", "ridge"),
    "weights": ("intercept", "sample_weight", "unit", "ridge"),
}


def blocks_of(name):
    return {"multinomial": [[0, 1, 2, 3]], "mixed": [[0, 2, 3]]}.get(name, [])


def responses(name, n=N, seed=0):
    rng = np.random.default_rng(seed)
    if name in ("gaussian", "huber"):
        return 2 * rng.standard_normal((n, K)) + 1
    if name == "bernoulli":
        return rng.integers(0, 2, (n, K)).astype(float)
    if name == "multinomial":
        return np.eye(K)[rng.integers(0, K, n)]
    counts = rng.poisson(2.0, (n, K)).astype(float)
    if name == "mixed":
        counts[:, [0, 2, 3]] = np.eye(3)[rng.integers(0, 3, n)]
    if name == "numbers and counts":
        counts[:, [1, 3]] = rng.standard_normal((n, 2))
    return counts


def arguments(name, parts, seed=0):
    """Arguments of GeneralizedLinear, as arrays of NumPy."""
    rng = np.random.default_rng([seed, 1])
    given = {"X": rng.standard_normal((N, P)), "Y": responses(name, seed=seed)}
    wanted = PARTS[parts]
    if "intercept" in wanted:
        given["free"] = np.ones((N, 1))
    if "free" in wanted:
        given["free"] = np.column_stack([np.ones(N), 0.5 * rng.standard_normal((N, 2))])
    if "sample_weight" in wanted:
        given["sample_weight"] = rng.uniform(0.2, 2.0, N)
    if "entry_weight" in wanted:
        weight = rng.uniform(0.5, 1.5, (N, K)) * (rng.uniform(size=(N, K)) > 0.3)
        for block in blocks_of(name):
            weight[:, block] = weight[:, block[:1]]
        given["entry_weight"] = weight
    if "offset" in wanted:
        given["offset"] = 0.3 * rng.standard_normal((N, K))
    if "unit" in wanted:
        given["unit"] = rng.uniform(0.5, 2.0, K)
    if "ridge" in wanted:
        given["ridge"] = 0.3
    return given


def loss_of(name, parts, seed=0):
    return GeneralizedLinear(family=FAMILIES[name], **arguments(name, parts, seed))


def linear_without_free(given, theta):
    return given["X"] @ theta * given.get("unit", 1.0) + given.get("offset", 0.0)


def weights(given):
    weight = np.ones((N, K)) * given.get("entry_weight", 1.0)
    return weight * given["sample_weight"][:, None] if "sample_weight" in given else weight


def best_free(family, Y, weight, linear, Z):
    """The best coefficients of Z by BFGS, then Newton steps with quotients of derivatives."""
    q, k = Z.shape[1], Y.shape[1]

    def value_and_gradient(beta):
        eta = linear + Z @ beta.reshape(q, k)
        value = np.sum(weight * family.value(Y, eta))
        return value, (Z.T @ (weight * family.derivative(Y, eta))).ravel()

    found = minimize(
        value_and_gradient, np.zeros(q * k), jac=True, method="BFGS", options={"gtol": 1e-9}
    )
    return found.x.reshape(q, k), found.fun


def literal(name, given, theta):
    """The loss, by its definition."""
    family, linear, weight = FAMILIES[name], linear_without_free(given, theta), weights(given)
    if "free" in given:
        total = best_free(family, given["Y"], weight, linear, given["free"])[1]
    else:
        total = np.sum(weight * family.value(given["Y"], linear))
    n = given["sample_weight"].sum() if "sample_weight" in given else N
    return total / n + given.get("ridge", 0.0) / 2 * np.sum(theta**2)


def least_by_bfgs(loss, rank, seeds, gtol=1e-7):
    """The least value over the factors, by scipy from several starts."""
    p, k = loss.shape

    def value_and_gradient(flat):
        factors = Factors(flat[: p * rank].reshape(p, rank), flat[p * rank :].reshape(k, rank))
        value, U, V = loss.value_and_gradient(factors)
        return value, np.concatenate([U.ravel(), V.ravel()])

    starts = (np.random.default_rng(seed).standard_normal((p + k) * rank) for seed in seeds)
    return min(
        minimize(value_and_gradient, start, jac=True, method="BFGS", options={"gtol": gtol}).fun
        for start in starts
    )


def quotients(function, at, h=1e-5):
    out = np.zeros_like(at)
    for place in np.ndindex(*at.shape):
        bump = np.zeros_like(at)
        bump[place] = h
        out[place] = (function(at + bump) - function(at - bump)) / (2 * h)
    return out
