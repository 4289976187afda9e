"""Simulated data for benchmarks/inference_discoveries.py, and baselines to compare with."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

import numpy as np
from scipy.stats import f
from sklearn.linear_model import MultiTaskLassoCV, lasso_path

from thinrank.inference.knockoffs import fixed_knockoffs

SIZES = {"n": 400, "p": 150, "k": 20, "rank": 3, "rows": 15}
SIGNALS = {"weak": 0.05, "medium": 0.08, "strong": 0.15, "very strong": 0.3, "none": 0.0}
CELLS: list[dict] = [
    *(
        {"rho": rho, "signal": signal, "noise": noise}
        for noise in ("independent", "common factor")
        for rho in (0.0, 0.5, 0.8)
        for signal in ("weak", "medium", "strong")
    ),
    *({"rho": rho, "signal": "medium", "noise": "t5"} for rho in (0.0, 0.5, 0.8)),
    *(
        {"rho": 0.5, "signal": "none", "noise": noise}
        for noise in ("independent", "common factor", "t5")
    ),
    {"rho": 0.5, "signal": "medium", "noise": "independent", "rank": 15},
    # predictors with many neighbours, and fewer than 1.5 rows per predictor: with 40 factors,
    # neighbours are so many that "auto" uses model-X knockoffs
    {"factors": 25, "share": 0.9, "rows": 200, "signal": "very strong", "noise": "independent"},
    {"factors": 40, "share": 0.95, "rows": 200, "signal": "very strong", "noise": "independent"},
]
# noise whose variance is exp(a·x₀), independent of the effects: x₀ has none
CELLS += [
    {"rho": rho, "signal": signal, "noise": f"variance exp({a}·x₀)", "exponent": a}
    for rho, signal, a in ((0.0, "none", 1.0), (0.0, "medium", 1.0), (0.5, "medium", 1.4))
]
MAIN = 18  # cells with Gaussian noise, effects and shared structure


def problem(seed: int, cell: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, Y and the true rows.

    Columns of X have correlation ρ^|i−j|, or share factors. Rows of Θ are signal·u·Vᵀ/√rank with
    standard normal u and V, and noise has variance 1: independent, with a common factor that has
    half of the variance on average, or t with 5 degrees of freedom.
    """
    rng = np.random.default_rng(seed)
    p, k = SIZES["p"], SIZES["k"]
    X = _predictors(rng, cell)
    n = len(X)
    rank = cell.get("rank", SIZES["rank"])
    first = 1 if "exponent" in cell else 0  # the predictor that the variance depends on has none
    true = np.sort(first + rng.choice(p - first, SIZES["rows"], replace=False))
    theta = np.zeros((p, k))
    effects = rng.standard_normal((SIZES["rows"], rank)) @ rng.standard_normal((rank, k))
    theta[true] = SIGNALS[cell["signal"]] * effects / np.sqrt(rank)
    noise = _noise(rng, n, k, cell["noise"]) * np.exp(cell.get("exponent", 0.0) * X[:, [0]] / 2)
    Y = X @ theta + noise + 5 * rng.standard_normal(k)
    return X, Y, true if SIGNALS[cell["signal"]] else true[:0]


def _predictors(rng: np.random.Generator, cell: dict) -> np.ndarray:
    p = SIZES["p"]
    if "factors" in cell:
        n, factors, share = cell["rows"], cell["factors"], cell["share"]
        loadings = rng.standard_normal((factors, p)) / np.sqrt(factors)
        common = rng.standard_normal((n, factors)) @ loadings
        return np.sqrt(share) * common + np.sqrt(1 - share) * rng.standard_normal((n, p))
    X = rng.standard_normal((SIZES["n"], p))
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
    """p-values of the multi-task desparsified lasso, with responses centred one by one."""
    from hidimstat import DesparsifiedLasso

    model = DesparsifiedLasso(estimator=MultiTaskLassoCV(cv=5, tol=1e-3), random_state=0)
    with redirect_stdout(StringIO()):  # it prints
        model.fit_importance(X, Y - Y.mean(axis=0))
    return np.asarray(model.pvalues_)


def one_response_knockoffs(X: np.ndarray, Y: np.ndarray) -> list[np.ndarray]:
    """W of fixed-X knockoffs for each response alone: signed entry on the path of the lasso."""
    X = X - X.mean(axis=0)
    X /= np.linalg.norm(X, axis=0)
    both = np.column_stack([X, fixed_knockoffs(X, 0)])
    basis, small = np.linalg.qr(both)
    p = X.shape[1]
    found = []
    for y in (basis.T @ (Y - Y.mean(axis=0))).T:
        alphas, path, _ = lasso_path(small, y, eps=0.05, n_alphas=60, tol=1e-3)
        entered = np.where((path != 0).any(axis=1), alphas[(path != 0).argmax(axis=1)], 0.0)
        found.append(np.maximum(entered[:p], entered[p:]) * np.sign(entered[:p] - entered[p:]))
    return found
