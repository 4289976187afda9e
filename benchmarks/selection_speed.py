"""Time of automatic sizes, compared with scikit-learn's MultiTaskLassoCV and one product XᵀY.

    python benchmarks/selection_speed.py --markdown docs/benchmarks/selection_speed.md

The first line of the table is the median over the paper's two-way settings, ten data sets each. The
others are problems of the paper's running-time table; ζ = 100 takes some minutes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from output import publish, table
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import MultiTaskLassoCV

import thinrank as tr


def seconds(run: Callable[[], object], repeats: int) -> float:
    best = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - began)
    return best


def measure(X: np.ndarray, Y: np.ndarray, repeats: int, lasso: bool) -> dict[str, float]:
    times = {
        "XᵀY": seconds(lambda: X.T @ Y, 10),
        "auto": seconds(lambda: tr.SparseReducedRankRegressor().fit(X, Y), repeats),
        'criterion="pic"': seconds(
            lambda: tr.SparseReducedRankRegressor(criterion="pic").fit(X, Y), repeats
        ),
        "MultiTaskLassoCV(cv=5)": np.nan,
    }
    if lasso:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            times["MultiTaskLassoCV(cv=5)"] = seconds(lambda: MultiTaskLassoCV(cv=5).fit(X, Y), 1)
    return times


def small() -> dict[str, float]:
    rows = []
    for signal in (1.0, 0.2):
        for seed in range(10):
            X, Y, _ = tr.datasets.make_two_way_sparse(signal=signal, random_state=seed)
            rows.append(measure(X, Y, 3, lasso=True))
    return {name: float(np.median([row[name] for row in rows])) for name in rows[0]} | {
        "auto/pic": float(np.median([row["auto"] / row['criterion="pic"'] for row in rows])),
        "auto/lasso": float(
            np.median([row["auto"] / row["MultiTaskLassoCV(cv=5)"] for row in rows])
        ),
    }


def label(zeta: int) -> str:
    return f"ζ = {zeta} ({50 * zeta}, {80 * zeta}, {50 * int(zeta**0.5)})"


def large(zeta: int) -> dict[str, float]:
    root = int(zeta**0.5)
    columns = min(10 * zeta, 50 * root)
    X, Y, _ = tr.datasets.make_two_way_sparse(
        50 * zeta, 80 * zeta, 50 * root, 4 * root, 10 * zeta, columns, random_state=1
    )
    times = measure(X, Y, 3 if zeta < 50 else 1, lasso=False)
    return times | {"auto/pic": times["auto"] / times['criterion="pic"'], "auto/lasso": np.nan}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--zeta", type=int, nargs="*", default=[10, 100])
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    measured = {"n = 50, p = 100, k = 50": small()}
    measured |= {label(zeta): large(zeta) for zeta in arguments.zeta}
    names = list(next(iter(measured.values())))
    rows = []
    for name_of_row, times in measured.items():
        cells = ["" if np.isnan(times[name]) else f"{times[name]:.3g}" for name in names]
        rows.append([name_of_row, *cells])
    ratios = [
        f"At ζ = {zeta} auto takes {times['auto'] / times['XᵀY']:.0f} times one product XᵀY."
        for zeta, times in zip(arguments.zeta, list(measured.values())[1:], strict=True)
    ]
    publish([*table(["seconds", *names], rows), "", *ratios], arguments.markdown)


if __name__ == "__main__":
    main()
