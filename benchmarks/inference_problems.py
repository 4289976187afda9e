"""Simulated data for benchmarks/inference.py, and baselines to compare with."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

import numpy as np
from scipy.stats import f
from sklearn.linear_model import MultiTaskLassoCV

import thinrank as tr

SIZES = {"n": 400, "p": 150, "k": 20, "rank": 3, "rows": 15}
DISCOVERIES = "n = 400, p = 150, k = 20, 15 predictors with effects, rank 3 unless noted"
SIGNALS = {"weak": 0.05, "medium": 0.08, "strong": 0.15, "very strong": 0.3, "none": 0.0}
CELLS: list[dict] = [
    *(
        {"rho": rho, "signal": signal, "noise": noise}
        for noise in ("independent", "common factor")
        for rho in (0.0, 0.5, 0.8)
        for signal in ("weak", "medium", "strong")
    ),
    {"rho": 0.5, "signal": "medium", "noise": "t5"},
    *({"rho": 0.5, "signal": "none", "noise": noise} for noise in ("independent", "t5")),
    {"rho": 0.5, "signal": "medium", "noise": "independent", "rank": 15},
    # predictors with many neighbors: 7 to 27 on average
    *(
        {"factors": factors, "share": share, "rows": n, "signal": signal, "noise": "independent"}
        for factors, share, n, signal in (
            (25, 0.9, 200, "very strong"),
            (40, 0.95, 200, "very strong"),
            (40, 0.95, 400, "very strong"),
            (40, 0.95, 200, "none"),
        )
    ),
    # noise whose variance is exp(a·x₀), where x₀ has no effect
    *(
        {"rho": rho, "signal": signal, "noise": f"variance exp({a}·x₀)", "exponent": a} | sizes
        for signal in ("none", "medium")
        for rho, a, sizes in (
            (0.0, 1.0, {"n": 600, "p": 50, "k": 5, "effects": 5}),
            (0.0, 1.4, {"n": 300, "p": 60, "k": 25, "effects": 8}),
            (0.5, 1.4, {}),
        )
    ),
]
# signal, whether all responses share noise
SETTINGS = {
    "strong, independent": (1.0, False),
    "strong, shared": (1.0, True),
    "weak, independent": (0.3, False),
    "weak, shared": (0.3, True),
}
INTERVALS = "n = 200, p = 80, k = 8, rank 2, 8 predictors and 6 responses with effects, ρ = 0.5"


def in_words(cell: dict) -> str:
    """The cell of a table of discoveries."""
    design = str(cell.get("rho"))
    if "factors" in cell:
        design = f"{cell['factors']} factors in {cell['rows']} rows"
    sizes = f", n = {cell['n']}, p = {cell['p']}, k = {cell['k']}" if "n" in cell else ""
    rank = f", rank {cell['rank']}" if "rank" in cell else ""
    return f"{cell['noise']}, {design}, {cell['signal']}{rank}{sizes}"


def discoveries(seed: int, cell: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, Y and the true rows.

    Columns of X have correlation ρ^|i−j|, or share factors. Rows of Θ are signal·u·Vᵀ/√rank with
    standard normal u and V, and noise has variance 1: independent, with a common factor that has
    half of the variance on average, or t with 5 degrees of freedom.
    """
    rng = np.random.default_rng(seed)
    p, k = cell.get("p", SIZES["p"]), cell.get("k", SIZES["k"])
    X = _predictors(rng, cell, p)
    n, rank = len(X), cell.get("rank", SIZES["rank"])
    effects = cell.get("effects", SIZES["rows"])
    first = 1 if "exponent" in cell else 0  # the predictor that the variance depends on has none
    true = np.sort(first + rng.choice(p - first, effects, replace=False))
    theta = np.zeros((p, k))
    values = rng.standard_normal((effects, rank)) @ rng.standard_normal((rank, k))
    theta[true] = SIGNALS[cell["signal"]] * values / np.sqrt(rank)
    noise = _noise(rng, n, k, cell["noise"]) * np.exp(cell.get("exponent", 0.0) * X[:, [0]] / 2)
    Y = X @ theta + noise + 5 * rng.standard_normal(k)
    return X, Y, true if SIGNALS[cell["signal"]] else true[:0]


def _predictors(rng: np.random.Generator, cell: dict, p: int) -> np.ndarray:
    if "factors" in cell:
        n, factors, share = cell["rows"], cell["factors"], cell["share"]
        loadings = rng.standard_normal((factors, p)) / np.sqrt(factors)
        common = rng.standard_normal((n, factors)) @ loadings
        return np.sqrt(share) * common + np.sqrt(1 - share) * rng.standard_normal((n, p))
    X = rng.standard_normal((cell.get("n", SIZES["n"]), p))
    for j in range(1, p):
        X[:, j] = cell["rho"] * X[:, j - 1] + np.sqrt(1 - cell["rho"] ** 2) * X[:, j]
    return X


def _noise(rng: np.random.Generator, n: int, k: int, kind: str) -> np.ndarray:
    if kind == "t5":
        return rng.standard_t(5, (n, k)) / np.sqrt(5 / 3)
    noise = rng.standard_normal((n, k))
    if kind == "common factor":
        noise += rng.standard_normal((n, 1)) * rng.standard_normal(k)
        noise /= np.sqrt(2)
    return noise


def intervals(seed: int, signal: float, shared: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, Y and the coefficients; shared noise is as large as that of each response."""
    X, Y, truth = tr.datasets.make_two_way_sparse(
        200, 80, 8, 2, 8, 6, signal=signal, correlation=0.5, random_state=seed
    )
    if shared:
        Y = Y + np.random.default_rng([seed, 1]).standard_normal((200, 1))
    return X, Y, truth.U @ truth.V.T


def sofari(seed: int, n: int = 200, p: int = 25, k: int = 15) -> tuple[np.ndarray, ...]:
    """Example 2 of SOFARI: three layers with disjoint rows and columns, noise as large as the last.

    Entries of u are ±1/√5 with the signs of its scripts, those of v uniform on ±[0.3, 1] before
    they are normalized; predictors and noise have covariances 0.3^|i−j|; the noise is scaled so
    that its Frobenius norm is that of the third layer of XΘ.
    """
    rng = np.random.default_rng(seed)
    U, V, D = np.zeros((p, 3)), np.zeros((k, 3)), np.array([200.0, 15.0, 5.0])
    signs = [1, 1, 1, -1, 1], [-1, -1, -1, 1, 1], [1, -1, 1, 1, 1]
    for layer in range(3):
        part = slice(5 * layer, 5 * layer + 5)
        U[part, layer] = np.asarray(signs[layer]) / 5**0.5
        V[part, layer] = rng.choice([-1, 1], 5) * rng.uniform(0.3, 1, 5)
    V /= np.linalg.norm(V, axis=0)

    def correlated(size: int) -> np.ndarray:
        gaps = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        return rng.standard_normal((n, size)) @ np.linalg.cholesky(0.3**gaps).T

    X, E = correlated(p), correlated(k)
    E *= np.linalg.norm(X @ U[:, 2] * D[2]) / np.linalg.norm(E)
    return X, X @ (U * D) @ V.T + E, U, D


def manova(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """p-values of each row given all other predictors: F tests of the Lawley–Hotelling trace."""
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    n, p = X.shape
    k = Y.shape[1]
    inverse = np.linalg.inv(X.T @ X)
    theta = inverse @ X.T @ Y
    residual = Y - X @ theta
    freedom = n - 1 - p
    precision = np.linalg.inv(residual.T @ residual / freedom)
    squares = np.einsum("jk,kl,jl->j", theta, precision, theta) / np.diag(inverse)
    return f.sf(squares * (freedom - k + 1) / (freedom * k), k, freedom - k + 1)


def hidimstat_p_values(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """p-values of the multi-task desparsified lasso, with responses centered one by one."""
    from hidimstat import DesparsifiedLasso

    model = DesparsifiedLasso(estimator=MultiTaskLassoCV(cv=5, tol=1e-3), random_state=0)
    with redirect_stdout(StringIO()):  # it prints
        model.fit_importance(X, Y - Y.mean(axis=0))
    return np.asarray(model.pvalues_)
