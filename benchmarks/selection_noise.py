"""How often automatic sizes choose rank 0 in pure noise.

python benchmarks/selection_noise.py --markdown docs/benchmarks/selection_noise.md
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from output import publish, table
from rich.progress import track

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

SHAPES = [(50, 100, 50), (100, 30, 20), (30, 200, 10), (200, 20, 5)]
METHODS = {
    "auto": tr.SparseReducedRankRegressor,
    'criterion="pic"': lambda: tr.SparseReducedRankRegressor(criterion="pic"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=77)
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", SelectionWarning)  # rank 0 is expected here
    rows = []
    for shape in track(SHAPES, "shapes"):
        n, p, k = shape
        cells = []
        for make in METHODS.values():
            empty, ratios = 0, []
            for i in range(arguments.runs):
                rng = np.random.default_rng([arguments.seed, i, *shape])
                X, Y = rng.standard_normal((n, p)), rng.standard_normal((n, k))
                X_new, Y_new = rng.standard_normal((500, p)), rng.standard_normal((500, k))
                est = make().fit(X, Y)
                empty += est.rank_ == 0
                error = np.mean((Y_new - est.predict(X_new)) ** 2)
                ratios.append(error / np.mean((Y_new - Y.mean(axis=0)) ** 2))
            cells.append(f"{empty} of {arguments.runs}, {np.mean(ratios):.4f}")
        rows.append([f"{n}, {p}, {k}", *cells])
    headings = ["n, p, k", *(f"{name}: rank 0, error" for name in METHODS)]
    publish(table(headings, rows), arguments.markdown)


if __name__ == "__main__":
    main()
