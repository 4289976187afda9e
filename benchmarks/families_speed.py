"""Times of fits of generalized linear models with known sizes, for families.py."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from families_settings import Signal, responses, signal

import thinrank as tr
from thinrank.core.warnings import SelectionWarning
from thinrank.minimize import as_start
from thinrank.starts import complete_rank

Record = dict[str, Any]
# Standard deviations of the linear predictors; None for the coefficients as they are drawn.
SPREADS = {"moderate probabilities": 1.0, "extreme probabilities": None}
REPEATS = 3


def seconds_of(work: Callable[[], Any], repeats: int = REPEATS) -> tuple[float, Any]:
    """Median seconds, and the last result."""
    spent = []
    for _ in range(repeats):
        began = time.perf_counter()
        result = work()
        spent.append(time.perf_counter() - began)
    return float(np.median(spent)), result


def scaled(truth: Signal, spread: float | None) -> Signal:
    if spread is None:
        return truth
    return Signal(truth.X, truth.theta * (spread / truth.linear.std()))


def with_intercept(X: np.ndarray, Y: np.ndarray, family: str, **options: Any) -> Any:
    """The loss with a free intercept and centered predictors."""
    ones = np.ones((len(Y), 1))
    return tr.losses.GeneralizedLinear(
        X - X.mean(axis=0), Y, tr.losses.families.as_family(family), free=ones, **options
    )


def over_product(seed: int) -> Record:
    """Seconds of fits of 20 rows and rank 5, and of XᵀY, for two sizes of the coefficients."""
    rng = np.random.default_rng(seed)
    truth = signal(rng, 2000, 2000, 100, rank=5, rows=20, columns=100)
    record = {}
    for name, spread in SPREADS.items():
        own = scaled(truth, spread)
        record[name] = fits_over_product(own, responses(rng, "bernoulli", own.linear))
    return record


def fits_over_product(truth: Signal, Y: np.ndarray) -> Record:
    X, model = truth.X, tr.SparseReducedRankGLM("bernoulli", 5, 20, None)

    def bare() -> Any:
        loss = with_intercept(X, Y, "bernoulli")
        return tr.minimize(loss, rank=5, row_sparsity=20, solver="pursuit")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        product, _ = seconds_of(lambda: X.T @ Y, 21)
        fit, est = seconds_of(lambda: model.fit(X, Y))
        minimized, _ = seconds_of(bare)
    return {
        "product": product,
        "fit": fit,
        "minimize": minimized,
        "spread": float(truth.linear.std()),
        "error": truth.error(est.factors_.theta),
        "exact": bool(np.array_equal(est.row_support_, truth.rows)),
    }


def speed_table(records: Sequence[Record], judge: Callable[..., list[str]]) -> list[str]:
    rows, lines = [], []
    for name in SPREADS:
        of = {field: [r[name][field] for r in records] for field in records[0][name]}
        for field, title in (("fit", "fit of the estimator"), ("minimize", "minimize on the loss")):
            ratio = float(np.median(np.array(of[field]) / of["product"]))
            rows.append((f"{title} over XᵀY, {name}", ratio, 30.0, 1))
        lines.append(
            f"{name}, linear predictors with standard deviation {np.mean(of['spread']):.1f}: "
            f"XᵀY {1e3 * np.median(of['product']):.1f} ms, fit {np.median(of['fit']):.3f} s, "
            f"minimize {np.median(of['minimize']):.3f} s, error {np.mean(of['error']):.4f}, "
            f"exact rows in {sum(of['exact'])} of {len(records)}."
        )
    return [*judge(*rows), "", *(f"- {line}" for line in lines)]


# ---------------------------------------------------------------- solvers

PROBLEMS = ("bernoulli", "poisson", "gaussian")
SHAPES = {
    "400 × 200 → 40": (400, 200, 40, 3, 10, 10),
    "2000 × 1000 → 50": (2000, 1000, 50, 5, 20, 20),
}


def solvers(seed: int) -> Record:
    """Pursuit with and without Gauss-Newton steps, and gradient descent, from the same start."""
    record = {}
    for shape, (n, p, k, rank, rows, columns) in SHAPES.items():
        for family in PROBLEMS:
            rng = np.random.default_rng(seed)
            truth = signal(rng, n, p, k, rank, rows, columns).for_counts()
            Y = responses(rng, family, truth.linear)
            weight = (rng.random(Y.shape) > 0.2).astype(float) if family == "gaussian" else None
            name = "gaussian, 20 % missing" if family == "gaussian" else family
            loss = with_intercept(truth.X, Y, family, entry_weight=weight)
            record[f"{name}, {shape}"] = compared(loss, rank, rows, columns)
    return record


def compared(loss: Any, rank: int, rows: int, columns: int) -> Record:
    start = as_start("auto", True)(loss, rank, rows, columns, 0)
    start = complete_rank(start, loss, rank, 0)
    null = float(np.sum(loss.null.values))
    plain = with_capabilities(loss, loss.capabilities - {"gauss_newton"})
    runs = {
        "pursuit, Gauss-Newton": (loss, "pursuit", None),
        "pursuit, majorizers": (plain, "pursuit", None),
        "gradient descent": (loss, "gdt", 2000),
    }
    found = {}
    for name, (on, solver, limit) in runs.items():
        began = time.perf_counter()
        answer = tr.minimize(
            fresh(on),
            rank=rank,
            row_sparsity=rows,
            column_sparsity=columns,
            solver=solver,
            start=start,
            max_iter=limit,
        )
        found[name] = (answer, time.perf_counter() - began)
    best = min(answer.value for answer, _ in found.values())
    record = {}
    for name, (answer, seconds) in found.items():
        near = [r.seconds for r in answer.history if r.objective - best <= 1e-3 * (null - best)]
        record[name] = {
            "seconds": seconds,
            "within": near[0] if near else None,
            "excess": (answer.value - best) / (null - best),
            "iterations": len(answer.history),
            "converged": answer.status.converged,
        }
    return record


def fresh(loss: Any) -> Any:
    """The same loss without results that an earlier fit left in it."""
    return with_capabilities(loss.with_family(loss.family, loss.unit), loss.capabilities)


def with_capabilities(loss: Any, capabilities: frozenset[str]) -> Any:
    other = loss.with_ridge(loss.ridge)
    other.capabilities = capabilities
    return other
