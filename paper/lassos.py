"""Lassos of the reinforcement learning studies: on short paths, refitted, on compressed data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import scipy.linalg

from thinrank.baselines import MultiTaskGroupLasso, SeparateLassos
from thinrank.baselines.sample import Prepared
from thinrank.baselines.tuning import Setting
from thinrank.core.factors import Factors

# Number of penalties without improvement after which the rest of a path of about ten is skipped:
# the remaining fits are dense and would take most of the time.
_PATIENCE = 3
# An entry below this fraction of the largest one is zero up to rounding.
_ZERO = 1e-10


class _ShortPath:
    """A path that stops when the held-out error no longer improves."""

    _patience: int | None = _PATIENCE


class _Compact:
    """A path on compressed data."""

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        path: Iterator[Factors] = super()._path(compact(data), settings, final)  # type: ignore[misc]
        return path


class _Refitted:
    """A path of least-squares fits on what the lasso selects; the penalty is tuned for these."""

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        for factors in super()._path(data, settings, final):  # type: ignore[misc]
            sizes = np.abs(factors.theta)
            picked = sizes > _ZERO * sizes.max(initial=0.0)
            theta = np.zeros(factors.shape)
            # responses for which the same rows are picked are fitted together
            patterns, which = np.unique(picked, axis=1, return_inverse=True)
            for number, rows in enumerate(patterns.T):
                columns = np.ix_(rows, which == number)
                theta[columns] = _least_squares(data.X[:, rows], data.Y[:, which == number])
            yield Factors.from_theta(theta, rank=min(theta.shape))


class ShortPathGroupLasso(_ShortPath, MultiTaskGroupLasso):
    """The group lasso on a short path."""


class ShortPathLassos(_ShortPath, SeparateLassos):
    """One lasso per response, on a short path."""


class RefittedGroupLasso(_Refitted, ShortPathGroupLasso):
    """Least squares on the rows that the group lasso selects."""


class RefittedLassos(_Refitted, ShortPathLassos):
    """Least squares on the entries that the lasso of each response selects."""


class CompactGroupLasso(_Compact, ShortPathGroupLasso):
    """The group lasso on compressed data."""


class CompactLassos(_Compact, ShortPathLassos):
    """One lasso per response, on compressed data."""


def compact(data: Prepared) -> Prepared:
    """Compress data to p rows with the same least-squares loss, up to a constant.

    With X = QR, ‖Y − XΘ‖² = ‖QᵀY − RΘ‖² + ‖Y‖² − ‖QᵀY‖². R and QᵀY are multiplied by √(p/n), so
    that the factor 1/(2n) of the loss becomes 1/(2p) and penalties keep their meaning.
    """
    n, p, _ = data.shape
    if n <= p:
        return data
    Q, R = np.linalg.qr(data.X)
    part = np.sqrt(p / n)
    return replace(data, X=np.asfortranarray(part * R), Y=np.asfortranarray(part * (Q.T @ data.Y)))


def _least_squares(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the least-squares solution of smallest norm, by QR with pivoting."""
    if not X.shape[1]:
        return np.zeros((0, Y.shape[1]))
    return scipy.linalg.lstsq(X, Y, lapack_driver="gelsy", check_finite=False)[0]
