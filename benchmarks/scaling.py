"""Time per GDT iteration against n, p, k and r: each grows linearly.

Run:  python benchmarks/scaling.py

Each size is doubled in turn from a large base; the exponent is the base-2 logarithm of the ratio
of the best times of interleaved runs. The cost model is r(n + r)(p + k): doubling one of p and k
alone may give any exponent up to 1.
"""

from __future__ import annotations

import math
import time

import numpy as np
from output import arguments_of, publish, table

import thinrank as tr
from thinrank.solvers.gdt import GDT

BASE = {"n": 2000, "p": 3000, "k": 2000, "r": 8}
ITERATIONS = 5
ROUNDS = 6


class Run:
    """GDT on one problem, ready to be timed."""

    def __init__(self, n: int, p: int, k: int, r: int) -> None:
        rng = np.random.default_rng(0)
        X, Y = rng.standard_normal((n, p)), rng.standard_normal((n, k))
        self.loss = tr.losses.LeastSquares(X, Y, form="direct")
        self.solver = GDT().sized(r, p // 10, k // 10)
        start = tr.Factors(rng.standard_normal((p, r)), rng.standard_normal((k, r)))
        self.state = self.solver.step(self.loss, self.solver.init(self.loss, start))
        self.best = math.inf

    def time_once(self) -> None:
        """Time a few iterations, and keep the best time so far."""
        began = time.perf_counter()
        for _ in range(ITERATIONS):
            self.state = self.solver.step(self.loss, self.state)
        self.best = min(self.best, (time.perf_counter() - began) / ITERATIONS)


def main() -> None:
    parser = arguments_of(__doc__)
    options = parser.parse_args()
    sizes = ", ".join(f"{name} = {size}" for name, size in BASE.items())
    headings = ["doubled", f"milliseconds, base ({sizes})", "milliseconds, doubled", "exponent"]
    rows = []
    for name in BASE:
        base, doubled = Run(**BASE), Run(**(BASE | {name: 2 * BASE[name]}))
        for _ in range(ROUNDS):  # alternately, so that other load affects both
            base.time_once()
            doubled.time_once()
        exponent = math.log2(doubled.best / base.best)
        times = (f"{1e3 * run.best:.1f}" for run in (base, doubled))
        rows.append([name, *times, f"{exponent:.2f}"])
    command = "Command: `python benchmarks/scaling.py`."
    publish([*table(headings, rows), "", command], options.markdown)


if __name__ == "__main__":
    main()
