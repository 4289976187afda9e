"""``thinrank demo``: simulate data, fit with automatic tuning, and compare with the truth."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import thinrank as tr
from thinrank.cli.options import Seed, check_output_file
from thinrank.cli.running import Output
from thinrank.core.imports import how_to_install, is_installed


def demo(
    seed: Seed = 0,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File of the report; it is replaced.")
    ] = Path("thinrank-demo.html"),
    *,
    output: Output,
) -> None:
    """Simulate the two-way sparse setting of the paper, fit it, and show the results."""
    from thinrank.estimators.summary import text_table

    check_output_file(out)
    output.show(
        "Simulating the paper's strong two-way setting: "
        "n=50, p=100, k=50, rank 8, 10 predictors, 10 responses.\n"
    )
    X, Y, truth = tr.datasets.make_two_way_sparse(50, 100, 50, 8, 10, 10, random_state=seed)
    began = time.perf_counter()
    est = tr.SparseReducedRankRegressor(ridge="auto").fit(X, Y)
    seconds = time.perf_counter() - began
    rows = [
        ("estimation error, spectral", f"{_error(est, truth, 2):.4f}"),
        ("estimation error, Frobenius", f"{_error(est, truth, 'fro'):.4f}"),
        ("prediction error on new data", f"{_prediction_error(est, truth, seed):.4f}"),
        ("rank, estimated / true", f"{est.rank_} / {truth.rank}"),
        ("predictors, correct / selected / true", _overlap(est.row_support_, truth.row_support)),
        (
            "responses, correct / selected / true",
            _overlap(est.column_support_, truth.column_support),
        ),
        ("ridge", f"{est.best_params_['ridge']:.2g}"),
        ("models tried", str(len(est.search_))),
        ("total seconds", f"{seconds:.2f}"),
    ]
    for line in text_table((f"results (seed {seed})", "value"), rows, [1]):
        output.show(line)
    output.show(f"\n{est.status_}")
    if not is_installed("matplotlib"):
        output.show(f"No report was written: for one {how_to_install('report')}")
        return
    from thinrank import report  # its libraries are optional

    report.write(est, out, X=X, Y=Y, command=f"thinrank demo --seed {seed}")
    output.show(f"The report is in {out}")


def _error(est: Any, truth: tr.Factors, order: Any) -> float:
    error = np.linalg.norm(est.factors_.theta - truth.theta, order)
    return float(error / np.linalg.norm(truth.theta, order))


def _prediction_error(est: Any, truth: tr.Factors, seed: int) -> float:
    """Return the root mean squared error on new rows with noise of standard deviation 1."""
    rng = np.random.default_rng([seed, 1])
    X = rng.standard_normal((1000, truth.shape[0]))
    Y = X @ truth.theta + rng.standard_normal((1000, truth.shape[1]))
    return float(np.sqrt(np.mean((est.predict(X) - Y) ** 2)))


def _overlap(found: np.ndarray, true: np.ndarray) -> str:
    return f"{len(np.intersect1d(found, true))} / {len(found)} / {len(true)}"
