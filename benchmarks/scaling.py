"""Time per GDT iteration against n, p, k and r: each grows linearly.

Run:  make bench    (or: python benchmarks/scaling.py)

Each size is doubled in turn from a large base; the exponent is the base-2 logarithm of the ratio
of the best times of interleaved runs. The cost model is r(n + r)(p + k): doubling one of p and k
alone may give any exponent up to 1.
"""

from __future__ import annotations

import math
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import thinrank as tr
from thinrank.solvers.gdt import GDT

BASE = {"n": 2000, "p": 3000, "k": 2000, "r": 8}
ITERATIONS = 5
ROUNDS = 4


def seconds_per_iteration(n: int, p: int, k: int, r: int) -> float:
    rng = np.random.default_rng(0)
    loss = tr.losses.LeastSquares(
        rng.standard_normal((n, p)), rng.standard_normal((n, k)), form="direct"
    )
    solver = GDT(row_sparsity=p // 10, column_sparsity=k // 10)
    start = tr.Factors(rng.standard_normal((p, r)), rng.standard_normal((k, r)))
    state = solver.step(loss, solver.init(loss, start))
    best = math.inf
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(ITERATIONS):
            state = solver.step(loss, state)
        best = min(best, time.perf_counter() - began)
    return best / ITERATIONS


def main() -> None:
    table = Table(title=f"GDT, seconds per iteration; base {BASE}")
    for heading in ("doubled", "base, ms", "doubled, ms", "exponent"):
        table.add_column(heading, justify="right")
    for name in BASE:
        base = seconds_per_iteration(**BASE)
        doubled = seconds_per_iteration(**(BASE | {name: 2 * BASE[name]}))
        exponent = math.log2(doubled / base)
        table.add_row(name, f"{1e3 * base:.1f}", f"{1e3 * doubled:.1f}", f"{exponent:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
