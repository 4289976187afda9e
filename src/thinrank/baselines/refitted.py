"""Lassos that stop early on their path, and lassos followed by least squares on their support."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.linalg

from thinrank.baselines.multi_task import MultiTaskGroupLasso
from thinrank.baselines.sample import Prepared
from thinrank.baselines.separate_lassos import SeparateLassos
from thinrank.baselines.tuning import Setting
from thinrank.core.factors import Factors

# Number of penalties without improvement after which the rest of a path of about ten is skipped:
# the remaining fits are dense and would take most of the time.
_PATIENCE = 3
# An entry below this fraction of the largest one is zero up to rounding.
_ZERO = 1e-10


class ShortPathGroupLasso(MultiTaskGroupLasso):
    """The group lasso, with a path that stops when the held-out error no longer improves."""

    _patience = _PATIENCE


class ShortPathLassos(SeparateLassos):
    """One lasso per response, with a path that stops when the error no longer improves."""

    _patience = _PATIENCE


class RefittedGroupLasso(ShortPathGroupLasso):
    """Least squares on the rows that the group lasso selects.

    The penalty is tuned for the error of the least-squares fit.
    """

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        for factors in super()._path(data, settings, final):
            rows = np.asarray(factors.row_support)
            theta = np.zeros(factors.shape)
            if len(rows):
                theta[rows] = _least_squares(data.X[:, rows], data.Y)
            yield Factors.from_theta(theta, rank=min(theta.shape))


class RefittedLassos(ShortPathLassos):
    """Least squares on the entries that the lasso of each response selects.

    The penalty is tuned for the error of the least-squares fit.
    """

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


def _least_squares(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the least-squares solution of smallest norm, by QR with pivoting."""
    return scipy.linalg.lstsq(X, Y, lapack_driver="gelsy", check_finite=False)[0]
