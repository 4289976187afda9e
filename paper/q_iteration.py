"""What the studies of reinforcement learning share: how methods learn, and their lassos."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from paper.study import Record
from thinrank.baselines import MultiTaskGroupLasso, SeparateLassos
from thinrank.baselines.base import Setting
from thinrank.baselines.sample import Prepared
from thinrank.core.factors import Factors
from thinrank.rl import MultiTaskFQI


def timed_fit(fqi: MultiTaskFQI, tasks: Sequence[Any], states: np.ndarray) -> Record:
    """Fit to tasks at design states; return the size of the last model, and the CPU seconds."""
    began = time.thread_time()  # jobs share the machine
    fqi.fit(tasks, states)
    seconds = time.thread_time() - began
    rank, active = fqi.factors_.rank, len(fqi.factors_.row_support)
    return {"active": active, "rank": rank, "seconds": seconds}


class _Refitted:
    """A path of least-squares fits on what the lasso selects; the penalty is tuned for these."""

    # penalties without improvement after which the rest of a path of about ten is skipped: the
    # remaining fits are dense and would take most of the time
    _patience: int | None = 3

    def _path(self, data: Prepared, *given: Any, **options: Any) -> Iterator[Factors]:
        for factors in super()._path(data, *given, **options):  # type: ignore[misc]
            sizes = np.abs(factors.theta)
            picked = sizes > 1e-10 * sizes.max(initial=0.0)
            theta = np.zeros(factors.shape)
            # responses for which the same rows are picked are fitted together
            patterns, which = np.unique(picked, axis=1, return_inverse=True)
            for number, rows in enumerate(patterns.T):
                own = which == number
                fit = np.linalg.lstsq(data.X[:, rows], data.Y[:, own], rcond=None)[0]
                theta[np.ix_(rows, own)] = fit
            yield Factors.from_theta(theta, rank=min(theta.shape))


class RefittedGroupLasso(_Refitted, MultiTaskGroupLasso):
    """Least squares on the rows that the group lasso selects."""


class RefittedLassos(_Refitted, SeparateLassos):
    """Least squares on the entries that the lasso of each response selects."""


class _Compact:
    """A short path on compressed data, where there are more rows than predictors."""

    _patience: int | None = 3

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        path: Iterator[Factors] = super()._path(compact(data), settings, final)  # type: ignore[misc]
        return path


class CompactGroupLasso(_Compact, MultiTaskGroupLasso):
    """The group lasso on compressed data."""


class CompactLassos(_Compact, SeparateLassos):
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
