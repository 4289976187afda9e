"""Time of a default fit with one and with all threads of the linear algebra library.

    python benchmarks/threads.py --markdown docs/benchmarks/threads.md

Small fits use one thread by default; here that limit is lifted. The predictors have one common
factor, and two directions in eight of them determine up to 20 of the responses.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from output import arguments_of, machine, publish, table
from threadpoolctl import threadpool_limits

import thinrank as tr
from thinrank.core import resources

SIZES = ((50, 100, 50), (160, 235, 2), (200, 400, 50), (337, 370, 6), (500, 800, 150))


def problem(n: int, p: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(30_000)
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    some = min(k, 20)
    Y = 2 * rng.standard_normal((n, k))
    Y[:, :some] += X[:, :8] @ rng.standard_normal((8, 2)) @ rng.standard_normal((2, some))
    return X, Y


def seconds(X: np.ndarray, Y: np.ndarray, limit: int | None) -> float:
    best = np.inf
    with threadpool_limits(limit):
        for _ in range(2):
            began = time.perf_counter()
            tr.SparseReducedRankRegressor().fit(X, Y)
            best = min(best, time.perf_counter() - began)
    return best


def main() -> None:
    parser = arguments_of(__doc__)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    resources._SMALL = 0.0
    rows = []
    for n, p, k in SIZES:
        X, Y = problem(n, p, k)
        one, several = seconds(X, Y, 1), seconds(X, Y, None)
        rows.append([f"{n} × {p} → {k}", f"{one:.2f}", f"{several:.2f}", f"{several / one:.1f}"])
    headings = ["data", "one thread, s", "all threads, s", "ratio"]
    publish([*table(headings, rows), "", machine()], arguments.markdown)


if __name__ == "__main__":
    main()
