"""Time and memory of fits with given sizes to few samples of many predictors.

    python benchmarks/wide.py --markdown docs/benchmarks/wide.md

n = 200, p = 200,000 and k = 50, in double precision. Each fit is timed from raw arrays to fitted
estimator, in turn with one product XᵀY in the same process and with the same threads; medians of
a few are reported, of wall time and of processor time. Memory is the peak resident set in a process
of its own, beyond what was resident before the fit, plus X itself, divided by X.
"""

from __future__ import annotations

import time

import numpy as np
from output import arguments_of, how, in_own_process, peak_beyond, publish, table

import thinrank as tr

SHAPE = (200, 200_000, 50)
SEED = 30_000
# True rank, rows and columns, which the fits are given, and the memory order of X.
CASES = [
    ((3, 10, 10), "C"),
    ((3, 10, 10), "F"),
    ((8, 10, 10), "C"),
    ((4, 20, 20), "C"),
]


def data(sizes: tuple[int, int, int], order: str) -> tuple[np.ndarray, np.ndarray, tr.Factors]:
    X, Y, truth = tr.datasets.make_two_way_sparse(*SHAPE, *sizes, random_state=SEED)
    return np.asarray(X, order=order), Y, truth


def timed(work) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def measure(sizes: tuple[int, int, int], order: str, repetitions: int) -> list[object]:
    X, Y, truth = data(sizes, order)
    est = tr.SparseReducedRankRegressor(*sizes).fit(X[:, :1000], Y)  # deferred imports
    pairs = []
    for _ in range(repetitions):  # alternately, so that other load affects both
        pairs.append((*timed(lambda: X.T @ Y), *timed(lambda: est.fit(X, Y))))
    product, product_cpu, fit, fit_cpu = np.median(pairs, axis=0)
    right = len(np.intersect1d(est.row_support_, truth.row_support))
    return [
        "rank {}, {} rows, {} columns".format(*sizes),
        order,
        f"{1e3 * product:.0f}",
        f"{1e3 * fit:.0f}",
        f"{fit / product:.1f}",
        f"{fit_cpu / product_cpu:.1f}",
        est.n_iter_,
        f"{right} of {sizes[1]}",
        f"{in_own_process(memory, sizes, order):.2f}",
    ]


def memory(sizes: tuple[int, int, int], order: str) -> float:
    X, Y, _ = data(sizes, order)
    est = tr.SparseReducedRankRegressor(*sizes).fit(X[:, :1000], Y)
    X.T[:5000] @ Y  # BLAS allocates its buffers
    return 1 + peak_beyond(lambda: est.fit(X, Y)) / X.nbytes


def main() -> None:
    options = arguments_of(__doc__, repetitions=7).parse_args()
    rows = [measure(sizes, order, options.repetitions) for sizes, order in CASES]
    headings = ["given sizes", "order of X", "one XᵀY, ms", "fit, ms", "ratio"]
    headings += ["ratio of processor times", "iterations", "true rows", "memory with X, times X"]
    publish([*table(headings, rows, text=2), *how()], options.markdown)


if __name__ == "__main__":
    main()
