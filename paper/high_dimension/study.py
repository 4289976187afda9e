"""High dimension: the specification. Error and objective of GDT from the lasso start on."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from paper.studies import Job, Study, StudyRecord
from thinrank.arrays import hard_threshold
from thinrank.core.factors import Factors
from thinrank.datasets import make_two_way_sparse
from thinrank.losses import LeastSquares
from thinrank.minimize import minimize
from thinrank.starts import Lasso

_SEED = 64_000
_FULL = {"p": 5000, "k": 3000, "rank": 50, "size": 100, "asked": 120}
_QUICK = {"p": 500, "k": 300, "rank": 10, "size": 20, "asked": 24}
_SAMPLES, _QUICK_SAMPLES = (500, 1000, 2000), (100, 200, 400)
_ITERATIONS = 200
# The lasso stops when no entry of the gradient mapping exceeds this fraction of the penalty.
_LASSO_TOLERANCE = 0.03
_LASSO_ITERATIONS = 3000
_BLOCK = 100  # number of responses that are solved together


def jobs(quick: bool) -> list[Job]:
    """Return one job per sample size."""
    sizes, samples = (_QUICK, _QUICK_SAMPLES) if quick else (_FULL, _SAMPLES)
    return [Job("figure-high-dimension", {"n": n, **sizes}, _SEED) for n in reversed(samples)]


def run(job: Job) -> list[StudyRecord]:
    """Run the lasso, then gradient descent for a fixed number of iterations."""
    cell = job.cell
    n, p, k, rank, size, asked = (cell[x] for x in ("n", "p", "k", "rank", "size", "asked"))
    X, Y, truth = make_two_way_sparse(n, p, k, rank, size, size, random_state=job.seed)
    penalty = 0.5 * math.sqrt(math.log(p) / n)  # the noise has standard deviation 1
    began = time.perf_counter()
    lasso = lasso_in_blocks(X, Y, penalty, _LASSO_TOLERANCE)
    start = Factors.from_theta(lasso, rank)
    start = Factors(start.U.astype(np.float64), start.V.astype(np.float64))
    seconds_start = time.perf_counter() - began

    lasso_error = float(np.linalg.norm(lasso - truth.theta)) / truth.norm()
    lasso_objective = 0.5 * float(np.sum((Y - X @ lasso) ** 2)) / n
    loss = LeastSquares(X, Y)
    first = Factors(hard_threshold(start.U, asked), hard_threshold(start.V, asked))
    frobenius, spectral = _errors(first, truth)
    errors, spectra = [frobenius], [spectral]
    objectives = [float(loss.value_and_gradient(first)[0])]

    watching = 0.0

    def watch(record: Any) -> None:
        nonlocal watching
        began = time.perf_counter()
        frobenius, spectral = _errors(record.factors, truth)
        errors.append(frobenius)
        spectra.append(spectral)
        objectives.append(float(record.objective))
        watching += time.perf_counter() - began

    solution = minimize(
        loss,
        rank=rank,
        row_sparsity=asked,
        column_sparsity=asked,
        start=start,
        solver="gdt",
        max_iter=_ITERATIONS,
        tol=0.0,
        callback=watch,
    )
    best = int(np.argmin(errors))
    seconds_solver = solution.history.seconds - watching
    return [
        {
            "method": "GDT",
            "iterations": list(range(len(errors))),
            "errors": errors,
            "spectral_errors": spectra,
            "objectives": objectives,
            "best_iteration": best,
            "best_error": errors[best],
            "last_error": errors[-1],
            "lasso_error": lasso_error,
            "lasso_objective": lasso_objective,
            "penalty": penalty,
            "tolerance": _LASSO_TOLERANCE,
            "rows": len(solution.factors.row_support),
            "columns": len(solution.factors.column_support),
            "seconds": seconds_start + seconds_solver,
            "seconds_start": seconds_start,
            "seconds_solver": seconds_solver,
        }
    ]


def lasso_in_blocks(
    X: np.ndarray, Y: np.ndarray, penalty: float, tolerance: float, block: int = _BLOCK
) -> np.ndarray:
    """Solve the lasso of every response on X, in single precision.

    The responses are independent problems. They are solved in blocks, in decreasing order of their
    norm, so that blocks of weak responses can stop early.

    Shapes: ``theta`` (n_features, n_targets).
    """
    X, Y = X.astype(np.float32), Y.astype(np.float32)
    theta = np.zeros((X.shape[1], Y.shape[1]), dtype=np.float32)
    order = np.argsort(-np.linalg.norm(Y, axis=0), kind="stable")
    curvature = LeastSquares(X, Y[:, :1], form="direct").smoothness()
    for begin in range(0, len(order), block):
        columns = order[begin : begin + block]
        part = np.ascontiguousarray(Y[:, columns])
        largest = float(np.max(np.abs(X.T @ part))) / len(X)
        if largest <= penalty:
            continue
        relative = tolerance * penalty / largest
        start = Lasso(penalty=penalty, tol=relative, max_iter=_LASSO_ITERATIONS)
        theta[:, columns] = start.solution(_ResponseBlock(X, part, curvature), 0)
    return theta


class _ResponseBlock(LeastSquares):
    """Least squares for some of the responses, with the curvature of X already known."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, curvature: float) -> None:
        super().__init__(X, Y, form="direct")
        self._curvature = curvature

    def smoothness(self) -> float:
        """Return the largest curvature of the loss."""
        return self._curvature


def _errors(factors: Factors, truth: Factors) -> tuple[float, float]:
    """Return ‖Θ − Θ*‖/‖Θ*‖ in the Frobenius and the spectral norm, without forming Θ."""
    difference = Factors(
        np.concatenate([factors.U, truth.U], axis=1), np.concatenate([factors.V, -truth.V], axis=1)
    )
    values = np.asarray(difference.singular_values())
    largest = float(np.asarray(truth.singular_values())[0])
    return float(np.linalg.norm(values)) / truth.norm(), float(values[0]) / largest


_STUDY = Study(
    name="figure-high-dimension",
    title="Figure: estimation error and objective in high dimension",
    claim=(
        "From the lasso start both the estimation error and the objective keep falling; early "
        "stopping reduces overfitting, though not by much, and most when n is small."
    ),
    jobs=jobs,
    run=run,
)
STUDIES = (_STUDY,)
