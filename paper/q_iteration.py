"""What the studies of reinforcement learning share: how methods learn, and their lassos."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from paper.statistics import seconds
from paper.study import Record
from thinrank.baselines import MultiTaskGroupLasso, SeparateLassos
from thinrank.baselines.sample import Prepared
from thinrank.core.factors import Factors
from thinrank.report.document import Table
from thinrank.rl import MultiTaskFQI


def learned(
    name: str, tasks: Sequence[Any], states: np.ndarray, *given: Any, **options: Any
) -> tuple[MultiTaskFQI, Record]:
    """Fitted Q-iteration at design states; the size of the last model, and the CPU seconds.

    The method "pooled" treats all tasks as one.
    """
    fqi = MultiTaskFQI(*given, pooled=name == "pooled", **options)
    began = time.thread_time()  # jobs share the machine
    fqi.fit(tasks, states)
    spent = time.thread_time() - began
    rank, active = fqi.factors_.rank, len(fqi.factors_.row_support)
    return fqi, {"active": active, "rank": rank, "seconds": spent}


def model_table(records: pd.DataFrame, **first: tuple[str, Callable[[float], str]]) -> Table:
    """Mean sizes and seconds of the models by method and number of states.

    ``first``: fields of columns in front of them, with a heading and how to show a mean.
    """
    columns: dict[str, tuple[str, Callable[[float], str]]] = {
        **first,
        "active": ("active rows", "{:.1f}".format),
        "rank": ("rank", "{:.1f}".format),
        "seconds": ("CPU seconds", seconds),
    }
    found = records.groupby(["method", "states"])[[*columns]].mean()
    rows = [
        (method, str(n), *(show(row[field]) for field, (_, show) in columns.items()))
        for method in records["method"].unique()
        for n, row in found.loc[method].iterrows()
    ]
    return Table(("method", "states", *(heading for heading, _ in columns.values())), list(rows))


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
    """A short path on data with at most p rows and the same least-squares loss, up to a constant.

    With X = QR, ‖Y − XΘ‖² = ‖QᵀY − RΘ‖² + ‖Y‖² − ‖QᵀY‖². R and QᵀY are multiplied by √(p/n), so
    that the factor 1/(2n) of the loss becomes 1/(2p) and penalties keep their meaning.
    """

    _patience: int | None = 3

    def _path(self, data: Prepared, *given: Any, **options: Any) -> Iterator[Factors]:
        n, p, _ = data.shape
        if n > p:
            Q, R = np.linalg.qr(data.X)
            X, Y = (np.asfortranarray((p / n) ** 0.5 * part) for part in (R, Q.T @ data.Y))
            data = replace(data, X=X, Y=Y)
        yield from super()._path(data, *given, **options)  # type: ignore[misc]


class CompactGroupLasso(_Compact, MultiTaskGroupLasso):
    """The group lasso on compressed data."""


class CompactLassos(_Compact, SeparateLassos):
    """One lasso per response, on compressed data."""
