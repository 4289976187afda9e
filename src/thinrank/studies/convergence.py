"""Linear convergence of GDT where the limit is known: without errors, and without sparsity."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from thinrank.core.factors import Factors
from thinrank.core.threshold import hard
from thinrank.datasets import make_two_way_sparse
from thinrank.losses import LeastSquares
from thinrank.minimize import minimize
from thinrank.starts import Lasso
from thinrank.studies.closed_form import reduced_rank_regression
from thinrank.studies.spec import Job, Record, Study

__all__ = ["CONVERGENCE", "log_linear", "thinned"]

_SEED = 63_000
_RANK = 8
_SAMPLES = (100, 200, 400)
# Relative error at which nothing but rounding is left to gain.
_FLOOR = {"truth": 1e-11, "global minimum": 1e-9}
_MOST_ITERATIONS = 20_000
_MOST_POINTS = 300


def jobs(name: str, reference: str, quick: bool) -> list[Job]:
    """One job a sample size."""
    samples = _SAMPLES[1:2] if quick else _SAMPLES
    return [Job(name, {"n": n, "reference": reference}, _SEED) for n in samples]


def run(job: Job) -> list[Record]:
    """The error of every iterate until it is at the floor."""
    reference, n = job.cell["reference"], job.cell["n"]
    sizes: dict[str, Any]
    if reference == "truth":
        X, Y, truth = make_two_way_sparse(
            n, 100, 50, _RANK, 10, 10, noise=0.0, random_state=job.seed
        )
        sizes, target = {"row_sparsity": 10, "column_sparsity": 10}, truth.theta
    else:
        X, Y, _ = make_two_way_sparse(n, 50, 50, _RANK, None, None, random_state=job.seed)
        sizes, target = {}, reduced_rank_regression(X, Y, _RANK)
    loss, size = LeastSquares(X, Y), np.linalg.norm(target)
    start = Factors.from_theta(Lasso().solution(loss, 0), _RANK)
    most = sizes.get("row_sparsity") or X.shape[1], sizes.get("column_sparsity") or Y.shape[1]
    first = Factors(hard(start.U, most[0]), hard(start.V, most[1]))
    errors = [float(np.linalg.norm(first.theta - target) / size)]

    def watch(record: Any) -> bool:
        errors.append(float(np.linalg.norm(record.factors.theta - target) / size))
        return errors[-1] < _FLOOR[reference]

    solution = minimize(
        loss, rank=_RANK, start=start, max_iter=_MOST_ITERATIONS, tol=0.0, callback=watch, **sizes
    )
    rate, straightness = log_linear(errors)
    kept = thinned(len(errors))
    return [
        {
            "method": "GDT",
            "iterations": kept,
            "errors": [errors[i] for i in kept],
            "rate": rate,
            "straightness": straightness,
            "total_iterations": solution.n_iter,
            "last_error": errors[-1],
            "seconds": solution.history.seconds,
        }
    ]


def log_linear(errors: Sequence[float]) -> tuple[float, float]:
    """The factor by which the error shrinks an iteration, and R² of the straight line in log."""
    steps, logs = np.arange(len(errors)), np.log(errors)
    slope = np.polyfit(steps, logs, 1)[0]
    return float(np.exp(slope)), float(np.corrcoef(steps, logs)[0, 1] ** 2)


def thinned(count: int, most: int = _MOST_POINTS) -> list[int]:
    """At most ``most`` of the indices below ``count``, evenly spaced, the first and last in it."""
    if count <= most:
        return list(range(count))
    return [int(i) for i in np.unique(np.linspace(0, count - 1, most).round())]


CONVERGENCE = [
    Study(
        name="figure-no-error",
        title="Figure: convergence without errors",
        claim="Without errors GDT converges linearly to the true coefficients.",
        jobs=partial(jobs, "figure-no-error", "truth"),
        run=run,
    ),
    Study(
        name="figure-no-sparsity",
        title="Figure: convergence without sparsity",
        claim="Without sparsity GDT converges linearly to the global minimum.",
        jobs=partial(jobs, "figure-no-sparsity", "global minimum"),
        run=run,
    ),
]
