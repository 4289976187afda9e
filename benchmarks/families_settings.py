"""Simulated data for families.py, and the methods that it compares with."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LogisticRegressionCV, PoissonRegressor
from sklearn.model_selection import GridSearchCV, KFold

FOLDS = 5
# The largest mean of a count.
LARGEST_MEAN = 50.0


@dataclass(frozen=True)
class Signal:
    """Predictors and true coefficients."""

    X: np.ndarray
    theta: np.ndarray

    @property
    def linear(self) -> np.ndarray:
        """Linear predictors."""
        return self.X @ self.theta

    @property
    def rows(self) -> np.ndarray:
        """Predictors with coefficients that are not zero."""
        return np.flatnonzero(self.theta.any(axis=1))

    @property
    def columns(self) -> np.ndarray:
        """Responses with coefficients that are not zero."""
        return np.flatnonzero(self.theta.any(axis=0))

    def for_counts(self) -> Signal:
        """Coefficients times a number, so that the largest mean of counts is just below 50."""
        return Signal(self.X, self.theta * (0.999 * np.log(LARGEST_MEAN) / self.linear.max()))

    def error(self, theta: np.ndarray) -> float:
        """Relative Frobenius error."""
        return float(np.linalg.norm(theta - self.theta) / np.linalg.norm(self.theta))


def signal(
    rng: np.random.Generator,
    n: int = 400,
    p: int = 200,
    k: int = 40,
    rank: int = 3,
    rows: int = 10,
    columns: int = 10,
) -> Signal:
    """Standard normal X; entries of the factors are uniform on [-1, -.5] and [.5, 1]."""
    X = rng.standard_normal((n, p))
    factors = []
    for size, count in ((p, rows), (k, columns)):
        block = np.zeros((size, rank))
        entries = rng.uniform(0.5, 1.0, (count, rank)) * rng.choice([-1.0, 1.0], (count, rank))
        block[np.sort(rng.choice(size, count, replace=False))] = entries
        factors.append(block)
    return Signal(X, factors[0] @ factors[1].T)


def responses(rng: np.random.Generator, family: str, linear: np.ndarray) -> np.ndarray:
    """Responses with given linear predictors; Gaussian noise has standard deviation 1."""
    if family == "bernoulli":
        return (rng.random(linear.shape) < 1.0 / (1.0 + np.exp(-linear))).astype(float)
    if family == "poisson":
        return rng.poisson(np.exp(linear)).astype(float)
    return linear + rng.standard_normal(linear.shape)


# ---------------------------------------------------------------- oracles


def masked_oracle(
    X: np.ndarray, Y: np.ndarray, rows: np.ndarray, columns: np.ndarray, rank: int
) -> np.ndarray:
    """Least squares of a given rank over the observed entries, on the true supports.

    Alternating least squares from the truncated separate regressions, without intercepts.
    """
    A, B = X[:, rows], Y[:, columns]
    seen = np.isfinite(B)
    separate = np.stack(
        [np.linalg.lstsq(A[o], b[o], rcond=None)[0] for b, o in zip(B.T, seen.T, strict=True)], 1
    )
    left, values, right = np.linalg.svd(separate, full_matrices=False)
    U = left[:, :rank] * values[:rank]
    V = right[:rank].T
    samples, targets = np.nonzero(seen)
    observed, theta = B[seen], U @ V.T
    for _ in range(2000):
        before = theta
        U = np.linalg.qr(U)[0]
        scores = A @ U
        V = np.stack(
            [
                np.linalg.lstsq(scores[o], b[o], rcond=None)[0]
                for b, o in zip(B.T, seen.T, strict=True)
            ]
        )
        V = np.linalg.qr(V)[0]
        design = (A[samples][:, :, None] * V[targets][:, None, :]).reshape(len(observed), -1)
        U = np.linalg.lstsq(design, observed, rcond=None)[0].reshape(len(rows), rank)
        theta = U @ V.T
        if np.linalg.norm(theta - before) < 1e-7 * np.linalg.norm(theta):
            break
    full = np.zeros((X.shape[1], Y.shape[1]))
    full[np.ix_(rows, columns)] = theta
    return full


# ---------------------------------------------------------------- separate regressions


def separate_logistic_lassos(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """LogisticRegressionCV with the lasso penalty, one per response."""
    columns = []
    for y in Y.T:
        model = LogisticRegressionCV(
            Cs=10,
            cv=FOLDS,
            l1_ratios=(1.0,),
            solver="liblinear",
            scoring="neg_log_loss",
            use_legacy_attributes=False,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            columns.append(model.fit(X, y).coef_[0])
    return np.stack(columns, 1)


def separate_poisson_lassos(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Poisson regressions with the lasso penalty, tuned by the deviance of held-out folds."""
    return np.stack([poisson_lasso_cv(X, y) for y in Y.T], 1)


def poisson_lasso_cv(X: np.ndarray, y: np.ndarray, count: int = 20) -> np.ndarray:
    largest = np.abs(X.T @ (y - y.mean())).max() / len(y)
    penalties = largest * np.geomspace(1.0, 1e-3, count)
    held_out = np.zeros(count)
    for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(X):
        path = poisson_lasso_path(X[train], y[train], penalties)
        for i, (intercept, coef) in enumerate(path):
            linear = np.clip(intercept + X[test] @ coef, -30.0, 30.0)
            held_out[i] += np.sum(np.exp(linear) - y[test] * linear)
    best = int(np.argmin(held_out))
    return poisson_lasso_path(X, y, penalties[: best + 1])[-1][1]


def poisson_lasso_path(
    X: np.ndarray, y: np.ndarray, penalties: np.ndarray
) -> list[tuple[float, np.ndarray]]:
    """Minima of 1/n·sum(exp(eta) - y*eta) + penalty·||coef||_1, with free intercepts.

    Proximal Newton steps, each a weighted lasso, with halving of the step.
    """
    n = len(y)
    intercept, coef = float(np.log(max(y.mean(), 0.5 / n))), np.zeros(X.shape[1])

    def objective(intercept: float, coef: np.ndarray, penalty: float) -> float:
        linear = np.minimum(intercept + X @ coef, 50.0)
        return float(np.mean(np.exp(linear) - y * linear) + penalty * np.abs(coef).sum())

    found = []
    for penalty in penalties:
        value = objective(intercept, coef, penalty)
        for _ in range(50):
            linear = intercept + X @ coef
            weight = np.maximum(np.exp(linear), 1e-6)
            inner = Lasso(alpha=penalty * n / weight.sum(), tol=1e-6, max_iter=2000)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                inner.fit(X, linear + (y - weight) / weight, sample_weight=weight)
            step = 1.0
            while step > 1e-6:
                trial = (
                    intercept + step * (inner.intercept_ - intercept),
                    coef + step * (inner.coef_ - coef),
                )
                lower = objective(*trial, penalty)
                if lower <= value:
                    break
                step /= 2
            else:
                break
            gain, value = value - lower, lower
            intercept, coef = float(trial[0]), trial[1]
            if gain < 1e-7 * (1.0 + abs(value)):
                break
        found.append((intercept, coef.copy()))
    return found


def separate_poisson_ridges(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """PoissonRegressor, its ridge tuned by the deviance of held-out folds, one per response."""
    grid = {"alpha": np.geomspace(1e-3, 1e2, 11)}
    columns = []
    for y in Y.T:
        model = PoissonRegressor(max_iter=1000)
        search = GridSearchCV(model, grid, cv=FOLDS, scoring="neg_mean_poisson_deviance")
        columns.append(search.fit(X, y).best_estimator_.coef_)
    return np.stack(columns, 1)
