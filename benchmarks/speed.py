"""Seconds and memory of both solvers at the sizes of the paper's running-time table.

Run:  python benchmarks/speed.py [--zeta 1 5 10 20 50 100] [--wide] [--markdown F]

n = 50, p = 80 and s1* = s2* = 10 are multiplied by ζ, k = 50 and r = 4 by ⌊√ζ⌋. Each fit is given
r and 1.2 × the true sparsities, and is timed from raw arrays to fitted estimator. The best time of
a few is reported, with the best time of one product XᵀY in the same process and the seconds that
the paper reports (on another machine). Memory is the peak resident set beyond what was resident
before the fit, in a separate process for each case, after a product XᵀY has made BLAS allocate its
buffers.

With ``--wide`` instead n = 200, p = 200,000 and k = 50: medians of wall and processor time of fits
that are given the true sizes, in turn with one product XᵀY, and the same memory plus X, divided
by X.
"""

from __future__ import annotations

import time

import numpy as np
from output import arguments_of, how, in_own_process, peak_beyond, publish, table
from paper.timing import printed_seconds, problem
from rich.console import Console

import thinrank as tr

# Seconds after which gradient descent is stopped; the table marks such runs.
GDT_LIMIT = 120.0


# With --wide: true rank, rows and columns, which the fits are given, and the memory order of X.
WIDE = [((3, 10, 10), "C"), ((3, 10, 10), "F"), ((8, 10, 10), "C"), ((4, 20, 20), "C")]


def wide_problem(
    sizes: tuple[int, int, int], order: str = "C"
) -> tuple[np.ndarray, np.ndarray, tr.Factors]:
    """Few samples of many predictors."""
    X, Y, truth = tr.datasets.make_two_way_sparse(200, 200_000, 50, *sizes, random_state=30_000)
    return np.asarray(X, order=order), Y, truth


def best_seconds(work, repetitions: int) -> float:
    best = float("inf")
    for _ in range(repetitions):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best


def fit(X, Y, sizes: dict, solver: str) -> tr.SparseReducedRankRegressor:
    limit = (lambda record: record.seconds > GDT_LIMIT) if solver == "gdt" else None
    return tr.SparseReducedRankRegressor(**sizes, solver=solver, callback=limit).fit(X, Y)


def measure(zeta: int) -> list[dict]:
    """Both solvers at one size."""
    X, Y, truth, sizes = problem(zeta)
    records = []
    for solver in ("pursuit", "gdt"):
        fit(X[:50, :40], Y[:50], sizes | {"rank": 2, "row_sparsity": 12}, solver)  # warm up
        repetitions = {1: 50, 5: 20, 10: 10, 20: 7}.get(zeta, 3) if solver == "pursuit" else 1
        product = best_seconds(lambda: X.T @ Y, max(repetitions, 3))
        seconds = best_seconds(lambda: fit(X, Y, sizes, solver), repetitions)  # noqa: B023
        product = min(product, best_seconds(lambda: X.T @ Y, 3))
        est = fit(X, Y, sizes, solver) if solver == "pursuit" or seconds < 30 else None
        records.append(
            {
                "zeta": zeta,
                "solver": solver,
                "seconds": seconds,
                "product_seconds": product,
                "ratio": seconds / product,
                "paper_gdt_seconds": printed_seconds("GDT", zeta),
                "iterations": None if est is None else est.n_iter_,
                "stopped": seconds > GDT_LIMIT,
                "error": None if est is None else relative_error(est, truth),
            }
        )
    return records


def relative_error(est: tr.SparseReducedRankRegressor, truth: tr.Factors) -> float:
    error = est.factors_.theta - truth.theta
    return float(np.linalg.norm(error) / np.linalg.norm(truth.theta))


def memory(zeta: int, dtype: str, order: str) -> float:
    """Peak resident set beyond what was resident before, divided by the size of X."""
    X, Y, _, sizes = problem(zeta)
    X, Y = np.asarray(X, dtype, order=order), Y.astype(dtype)
    tr.SparseReducedRankRegressor(2, 5, 5).fit(X[:40, :20], Y[:40, :10])
    X.T @ Y
    return peak_beyond(lambda: fit(X, Y, sizes, "pursuit")) / X.nbytes


def measure_wide(sizes: tuple[int, int, int], order: str) -> list[object]:
    """Times and memory of a fit to few samples of many predictors, beside one product."""
    X, Y, truth = wide_problem(sizes, order)
    est = tr.SparseReducedRankRegressor(*sizes).fit(X[:, :1000], Y)  # deferred imports
    times = []
    for _ in range(7):  # alternately, so that other load affects both
        for work in (lambda: X.T @ Y, lambda: est.fit(X, Y)):
            wall, cpu = time.perf_counter(), time.process_time()
            work()
            times.append((time.perf_counter() - wall, time.process_time() - cpu))
    product, fit = np.median(np.reshape(times, (7, 2, 2)), axis=0)
    right = len(np.intersect1d(est.row_support_, truth.row_support))
    return [
        "rank {}, {} rows, {} columns".format(*sizes),
        order,
        *(f"{1e3 * seconds:.0f}" for seconds in (product[0], fit[0])),
        *(f"{ratio:.1f}" for ratio in fit / product),
        est.n_iter_,
        f"{right} of {sizes[1]}",
        f"{in_own_process(memory_of_wide, sizes, order):.2f}",
    ]


def memory_of_wide(sizes: tuple[int, int, int], order: str) -> float:
    X, Y, _ = wide_problem(sizes, order)
    est = tr.SparseReducedRankRegressor(*sizes).fit(X[:, :1000], Y)
    X.T[:5000] @ Y
    return 1 + peak_beyond(lambda: est.fit(X, Y)) / X.nbytes


def wide_lines() -> list[str]:
    headings = ["given sizes", "order of X", "one XᵀY, ms", "fit, ms", "ratio"]
    headings += ["ratio of processor times", "iterations", "true rows", "memory with X, times X"]
    return [*table(headings, [measure_wide(*case) for case in WIDE], text=2), *how()]


def lines_of(speed: list[dict], beyond: dict[str, float]) -> list[str]:
    rows = []
    for r in speed:
        seconds = f"> {GDT_LIMIT:.0f}" if r["stopped"] else f"{r['seconds']:.3g}"
        times = (seconds, f"{r['product_seconds']:.3g}", f"{r['ratio']:.1f}")
        error = "" if r["error"] is None else f"{r['error']:.4f}"
        fit = (r["iterations"] or "", error, r["paper_gdt_seconds"])
        rows.append([r["zeta"], r["solver"], *times, *fit])
    headings = ["ζ", "solver", "seconds", "one XᵀY", "ratio", "iterations", "relative error"]
    lines = [*table([*headings, "paper's GDT"], rows, text=2), ""]
    rows = [[name, f"{100 * part:.1f} %"] for name, part in beyond.items()]
    lines += table(["memory beyond X", "peak, part of X"], rows)
    return [*lines, *how()]


def main() -> None:
    parser = arguments_of(__doc__)
    parser.add_argument("--zeta", type=int, nargs="+", default=[1, 5, 10, 20, 50, 100])
    parser.add_argument("--wide", action="store_true", help="few samples of many predictors")
    options = parser.parse_args()
    if options.wide:
        publish(wide_lines(), options.markdown)
        return
    console = Console()
    speed = []
    for zeta in options.zeta:
        with console.status(f"ζ = {zeta}"):
            speed += measure(zeta)
    large = max(options.zeta)
    cases = [(dtype, order) for dtype in ("float64", "float32") for order in ("C", "F")]
    beyond = {
        f"ζ = {large}, {dtype}, {order} order": in_own_process(memory, large, dtype, order)
        for dtype, order in cases
    }
    publish(lines_of(speed, beyond), options.markdown)


if __name__ == "__main__":
    main()
