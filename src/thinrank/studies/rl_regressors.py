"""Rivals of the reinforcement learning studies that the paper's tables do not have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from thinrank.baselines import MultiTaskGroupLasso, SeparateLassos
from thinrank.baselines.base import Baseline
from thinrank.baselines.sample import Prepared
from thinrank.baselines.tuning import Setting
from thinrank.core.factors import Factors

__all__ = ["GroupLasso", "Lassos", "RefittedGroupLasso", "RefittedLassos", "SeparateRidges"]

# Penalties without improvement after which a path of about ten is left: what follows is dense,
# and takes most of the time.
_PATIENCE = 3
# An entry below this part of the largest is a zero with rounding on top.
_ZERO = 1e-10


class GroupLasso(MultiTaskGroupLasso):
    """The group lasso on a short path."""

    _patience = _PATIENCE


class Lassos(SeparateLassos):
    """A lasso a response on a short path."""

    _patience = _PATIENCE


class RefittedGroupLasso(GroupLasso):
    """Least squares on the rows that the group lasso picks, the penalty tuned for that."""

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        for factors in super()._path(data, settings, final):
            rows = np.asarray(factors.row_support)
            theta = np.zeros(factors.shape)
            if len(rows):
                theta[rows] = _least_squares(data.X[:, rows], data.Y)
            yield Factors.from_theta(theta, rank=min(theta.shape))


class RefittedLassos(Lassos):
    """Least squares on the entries that the lasso of each response picks, tuned likewise."""

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        for factors in super()._path(data, settings, final):
            sizes = np.abs(factors.theta)
            picked = sizes > _ZERO * sizes.max(initial=0.0)
            theta = np.zeros(factors.shape)
            for j, rows in enumerate(map(np.flatnonzero, picked.T)):
                if len(rows):
                    theta[rows, j] = _least_squares(data.X[:, rows], data.Y[:, j])
            yield Factors.from_theta(theta, rank=min(theta.shape))


class SeparateRidges(Baseline):
    """Ridge regression of each response, with one penalty for all.

    Minimises 1/(2n)·‖Y − XΘ‖² + penalty/2·‖Θ‖².
    """

    def __init__(
        self,
        penalty: float | str = "auto",
        *,
        n_penalties: int = 30,
        cv: Any = 5,
        fit_intercept: bool = True,
        standardize: bool = True,
    ) -> None:
        self.penalty = penalty
        self.n_penalties = n_penalties
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.standardize = standardize

    def _settings(self, data: Prepared) -> list[Setting]:
        if not isinstance(self.penalty, str):
            return [{"penalty": float(self.penalty)}]
        largest = float(data.svd[1][0]) ** 2 / data.shape[0]
        parts = np.geomspace(10.0, 1e-5, self.n_penalties)
        return [{"penalty": largest * float(part)} for part in parts]

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        left, values, right = data.svd
        scores = left.T @ data.Y
        for setting in settings:
            shrunk = values / (values**2 + data.shape[0] * setting["penalty"])
            theta = right @ (shrunk[:, None] * scores)
            yield Factors.from_theta(theta, rank=min(theta.shape))


def _least_squares(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """By QR with pivoting, of least norm where columns depend on one another."""
    return scipy.linalg.lstsq(X, Y, lapack_driver="gelsy", check_finite=False)[0]
