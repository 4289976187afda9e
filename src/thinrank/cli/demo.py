"""``thinrank demo``: simulate data, fit with automatic tuning, and compare with the truth."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import thinrank as tr
from thinrank.cli.options import Debug, check_output_file, plain_console
from thinrank.cli.running import output_of
from thinrank.core.imports import how_to_install, is_installed

if TYPE_CHECKING:
    from rich.console import Console

_RANK, _ROWS, _COLUMNS = 8, 10, 10  # of the paper's two-way sparse setting


def demo(
    context: typer.Context,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated data.")] = 0,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File of the report; it is replaced.")
    ] = Path("thinrank-demo.html"),
    debug: Debug = False,
) -> None:
    """Simulate the two-way sparse setting of the paper, fit it, and show the results."""
    check_output_file(out)
    output_of(context, debug=debug)
    console = plain_console()
    console.print(
        "Simulating the paper's strong two-way setting: "
        "n=50, p=100, k=50, rank 8, 10 predictors, 10 responses."
    )
    X, Y, truth = tr.datasets.make_two_way_sparse(
        50, 100, 50, _RANK, _ROWS, _COLUMNS, random_state=seed
    )
    began = time.perf_counter()
    with console.status("choosing rank, predictors, responses and ridge"):
        est = tr.SparseReducedRankRegressor(ridge="auto").fit(X, Y)
    seconds = time.perf_counter() - began

    from rich.table import Table

    table = Table(title=f"Results (seed {seed})")
    table.add_column("quantity")
    table.add_column("value", justify="right")
    error = est.factors_.theta - truth.theta
    table.add_row("estimation error, spectral", f"{_ratio(error, truth, 2):.4f}")
    table.add_row("estimation error, Frobenius", f"{_ratio(error, truth, 'fro'):.4f}")
    table.add_row("prediction error on new data", f"{_prediction_error(est, truth, seed):.4f}")
    table.add_row("rank, estimated / true", f"{est.rank_} / {truth.rank}")
    table.add_row(
        "predictors, correct / selected / true", _overlap(est.row_support_, truth.row_support)
    )
    table.add_row(
        "responses, correct / selected / true", _overlap(est.column_support_, truth.column_support)
    )
    table.add_row("ridge", f"{est.best_params_['ridge']:.2g}")
    table.add_row("models tried", str(len(est.search_)))
    table.add_row("total seconds", f"{seconds:.2f}")
    console.print(table)
    console.print(str(est.status_))
    _write_report(console, est, X, Y, seed, out)


def _write_report(console: Console, est: Any, X: Any, Y: Any, seed: int, out: Path) -> None:
    """Write the report and name it; if libraries are missing, say how to install them."""
    if not is_installed("matplotlib"):
        console.print(f"No report was written: for one {how_to_install('report')}", soft_wrap=True)
        return
    from thinrank import report  # its libraries are optional

    with console.status("writing the report"):
        report.write(est, out, X=X, Y=Y, command=f"thinrank demo --seed {seed}")
    console.print(f"The report is in {out}", soft_wrap=True)


def _ratio(error: np.ndarray, truth: tr.Factors, order: Any) -> float:
    return float(np.linalg.norm(error, order) / np.linalg.norm(truth.theta, order))


def _prediction_error(est: tr.SparseReducedRankRegressor, truth: tr.Factors, seed: int) -> float:
    """Return the root mean squared error on new rows with noise of standard deviation 1."""
    rng = np.random.default_rng([seed, 1])
    X = rng.standard_normal((1000, truth.shape[0]))
    Y = X @ truth.theta + rng.standard_normal((1000, truth.shape[1]))
    return float(np.sqrt(np.mean((est.predict(X) - Y) ** 2)))


def _overlap(found: np.ndarray, true: np.ndarray) -> str:
    return f"{len(np.intersect1d(found, true))} / {len(found)} / {len(true)}"
