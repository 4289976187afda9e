"""The loop of fitted Q-iteration."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from thinrank.rl.action_values import ActionValues, LinearValues
from thinrank.rl.history import QCallback, QHistory, QRecord
from thinrank.rl.regression import Regression
from thinrank.rl.rows import Rows
from thinrank.rl.targets import Targets

# Larger targets count as divergence. Their squares do not overflow yet.
_LARGEST = 1e100


def iterate(
    targets: Targets,
    regression: Regression,
    values: ActionValues,
    *,
    n_iterations: int,
    tunes: Callable[[int], bool],
    tol: float,
    callback: QCallback | None,
) -> tuple[ActionValues, QHistory]:
    """Alternate between computing targets and fitting a regression."""
    rows, history = targets.rows, QHistory()
    fitted = values.at(rows)
    began = time.perf_counter()
    for iteration in range(1, n_iterations + 1):
        start = time.perf_counter()
        y = targets.under(values)
        _check_size(y, iteration)
        sampled = time.perf_counter()
        values = regression.fit(rows, y, tunes(iteration))
        before, fitted = fitted, values.at(rows)
        end = time.perf_counter()
        factors = values.factors if isinstance(values, LinearValues) else None
        record = QRecord(
            iteration=iteration,
            bellman_residual=_root_mean_square(y - before),
            bellman_residuals=_by_task(y - before, rows),
            misfit=_root_mean_square(y - fitted),
            change=_root_mean_square(fitted - before),
            rows=None if factors is None else len(factors.row_support),
            rank=None if factors is None else factors.rank,
            row_support=None if factors is None else np.asarray(factors.row_support),
            seconds_targets=sampled - start,
            seconds_regression=end - sampled,
            seconds=end - began,
        )
        history.append(record)
        stop = callback is not None and callback(record)
        if stop or record.change < tol * _root_mean_square(fitted):
            break
    return values, history


def _check_size(y: np.ndarray, iteration: int) -> None:
    largest = float(np.abs(y).max())
    if not largest <= _LARGEST:
        raise ValueError(
            f"values diverge: targets in iteration {iteration} are as large as {largest:.2g}; try "
            "other features, more design states, a regressor with a penalty or a smaller discount"
        )


def _by_task(residual: np.ndarray, rows: Rows) -> np.ndarray:
    """Root mean square of the residuals of each task."""
    if rows.owner is None:
        return np.sqrt(np.mean(residual**2, axis=0))
    sums = np.bincount(rows.owner, residual**2, minlength=rows.n_tasks)
    return np.sqrt(sums / np.bincount(rows.owner, minlength=rows.n_tasks))


def _root_mean_square(x: np.ndarray) -> float:
    return float(np.sqrt(np.mean(x**2)))
