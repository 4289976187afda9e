"""Tiny data for every kind of estimator, and the changes that must not matter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

# The axes of X, of Y and of the coefficients, by the kind of the data.
_RESPONSES = (("sample", "predictor"), ("sample", "response"), ("predictor", "response"))
_AXES = {
    "numbers": _RESPONSES,
    "counts": _RESPONSES,
    "labels": _RESPONSES,
    "classes": (("sample", "predictor"), ("sample",), ("predictor", "response")),
    "matrix": (("sample", "predictor"), (), ("sample", "predictor")),
    "cells": (("sample", "predictor"), (), ("sample", "predictor")),
    "graph": (("predictor", "predictor"), (), ("predictor", "predictor")),
}


@dataclass(frozen=True)
class Problem:
    """Data of one kind.

    Attributes
    ----------
    kind : str
        "numbers", "counts" and "labels" (zeros and ones) have a matrix of responses, "classes"
        have a vector of labels; "matrix" and "cells" (some of them NaN) have none, and of a
        "graph" X is symmetric.
    X, Y : array-like or None
    folds : ndarray of shape (n_samples,)
        Number of the fold of each sample.
    weight : ndarray of shape (n_samples,)
        Whole numbers from 1 to 3.
    """

    kind: str
    X: Any
    Y: Any
    folds: np.ndarray
    weight: np.ndarray

    def reordered(self, axis: str, order: np.ndarray) -> Problem:
        """The problem with its samples, predictors or responses in another order."""
        of_x, of_y, _ = _AXES[self.kind]
        X, Y = _taken(self.X, of_x, axis, order), _taken(self.Y, of_y, axis, order)
        if self.kind == "classes" and axis == "response":
            Y = np.argsort(order)[Y]
        if axis == "sample":
            return replace(self, X=X, Y=Y, folds=self.folds[order], weight=self.weight[order])
        return replace(self, X=X, Y=Y)

    def repeated(self) -> Problem:
        """The problem with every sample as many times as its weight says."""
        rows = np.repeat(np.arange(len(self.weight)), self.weight)
        return self.reordered("sample", rows)

    def with_column(self, axis: str, place: int, value: float) -> Problem:
        """The problem with a constant predictor or response inserted."""
        of_x, of_y, _ = _AXES[self.kind]
        X, Y = _inserted(self.X, of_x, axis, place, value), self.Y
        if Y is not None:
            Y = _inserted(Y, of_y, axis, place, value)
        return replace(self, X=X, Y=Y)

    def size(self, axis: str) -> int:
        """Number of samples, predictors or responses."""
        of_x = _AXES[self.kind][0]
        if axis in of_x:
            return self.X.shape[of_x.index(axis)]
        return int(self.Y.max()) + 1 if self.kind == "classes" else self.Y.shape[1]

    def theta_reordered(self, theta: np.ndarray, axis: str, order: np.ndarray) -> np.ndarray:
        """Coefficients of this problem in the order of ``reordered``."""
        return _taken(theta, _AXES[self.kind][2], axis, order)

    def theta_with_zeros(self, theta: np.ndarray, axis: str, place: int) -> np.ndarray:
        """Coefficients of this problem with zeros for the column of ``with_column``."""
        return _inserted(theta, _AXES[self.kind][2], axis, place, 0.0)


def _taken(array: Any, axes: tuple[str, ...], axis: str, order: np.ndarray) -> Any:
    for i, name in enumerate(axes):
        if name == axis:
            array = np.take(array, order, axis=i)
    return array


def _inserted(array: Any, axes: tuple[str, ...], axis: str, place: int, value: float) -> Any:
    for i, name in enumerate(axes):
        if name == axis:
            array = np.insert(array, place, value, axis=i)
    return array


def make_problem(kind: str, seed: int) -> Problem:
    """Random data with a signal of rank 2 in three predictors and some of the responses."""
    rng = np.random.default_rng(seed)
    n, p, k = rng.integers(20, 31), rng.integers(6, 11), rng.integers(3, 6)
    folds = rng.permutation(np.arange(n) % 3)
    weight = rng.integers(1, 4, size=n)
    if kind in ("matrix", "cells"):
        X = 0.3 * rng.standard_normal((n, p))
        X[:8, :4] += rng.standard_normal((8, 2)) @ rng.standard_normal((2, 4))
        if kind == "cells":
            X[rng.random(X.shape) < 0.1] = np.nan
        return Problem(kind, X, None, folds, weight)
    if kind == "graph":
        noise = 0.2 * rng.standard_normal((p, p))
        nodes = np.zeros((p, 2))
        nodes[:4] = rng.standard_normal((4, 2))
        return Problem(kind, nodes @ nodes.T + noise + noise.T, None, folds, weight)
    X = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))
    theta = np.zeros((p, k))
    theta[:3] = rng.standard_normal((3, 2)) @ rng.standard_normal((2, k))
    theta[:, 2:] *= 0.1
    return Problem(kind, X, _responses(kind, X @ theta, rng), folds, weight)


def _responses(kind: str, mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noisy = mean + 0.5 * rng.standard_normal(mean.shape)
    if kind == "numbers":
        return noisy
    if kind == "counts":
        return rng.poisson(np.exp(np.clip(mean, -2.0, 2.0))).astype(np.float64)
    if kind == "labels":
        labels = (noisy > np.median(noisy, axis=0)).astype(np.int64)
        return np.where(rng.random(labels.shape) < 0.15, 1 - labels, labels)
    classes = np.argmax(noisy[:, :3], axis=1)
    classes[:6] = [0, 1, 2, 0, 1, 2]  # every class has samples
    return classes
