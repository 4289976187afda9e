"""The search for sizes compared with an explicit grid.

    python benchmarks/search_grid.py --markdown docs/benchmarks/search_grid.md

For each data set the held-out errors of 6 ranks × 10 numbers of predictors × {all, half} of the
responses × 6 ridges are computed on the same five splits that the search uses. "gap" is the
smallest error that the search visited minus the smallest one on the grid, in per cent of the error
of the means; a negative gap means that the search found a better model. The estimators do not
standardise, since units of the noise would change the errors that are compared; the data are
standardised beforehand. The data sets are the settings of robustness.py and its spectra, and with
THINRANK_DATA some real ones.
"""

from __future__ import annotations

import argparse
import itertools
import os
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from output import publish, table
from real_data import read, standardised
from rich.progress import track
from robustness import smooth_spectra
from robustness_settings import draw
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import thinrank as tr

REAL = ("edm", "jura", "nir", "slump")


def load(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if name == "random":
        data = draw(seed)
        X, Y = data.X, data.Y
    elif name == "spectra":
        X, Y, *_ = smooth_spectra(seed, fresh=0)
    else:
        X, Y = read(Path(name))
    everything = np.arange(len(X))
    return standardised(X, everything), standardised(Y, everything)


def grids(n: int, p: int, k: int) -> list[dict]:
    """Twelve grids of at most 60 points, which are tried in full."""

    def spread(most: int, count: int) -> list[int]:
        return np.unique(np.geomspace(1, most, count).round().astype(int)).tolist()

    ranks, rows = spread(min(p, k, n // 2), 6), spread(min(p, int(0.8 * n) - 1), 10)
    columns, ridges = sorted({max(k // 2, 1), k}), [0.0, *np.geomspace(1e-3, 30, 5)]
    return [
        {
            "ranks": [rank for rank in ranks if rank <= width],
            "row_sparsities": rows,
            "column_sparsities": [width],
            "ridges": [ridge],
        }
        for width, ridge in itertools.product(columns, ridges)
    ]


def measure(name: str, seed: int) -> dict:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    X, Y = load(name, seed)
    splits = list(KFold(5, shuffle=True, random_state=seed).split(X))
    options = {"cv": splits, "standardize": False}
    search = tr.SparseReducedRankRegressorCV(**options).fit(X, Y)
    found = -np.max(search.cv_results_["mean_test_score"])
    least, points = np.inf, 0
    for grid in grids(len(X), X.shape[1], Y.shape[1]):
        tried = tr.SparseReducedRankRegressorCV(**options, **grid).fit(X, Y)
        scores = -tried.cv_results_["mean_test_score"]
        least, points = min(least, float(scores.min())), points + len(scores)
    null = np.mean([np.mean((Y[test] - Y[train].mean(axis=0)) ** 2) for train, test in splits])
    return {
        "name": Path(name).stem,
        "seed": seed,
        "gap": 100 * (found - least) / null,
        "visited": len(search.cv_results_["params"]),
        "points": points,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20, help="random settings")
    parser.add_argument("--spectra", type=int, default=5)
    parser.add_argument("--seed", type=int, default=600_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    jobs = [("random", arguments.seed + i) for i in range(arguments.draws)]
    jobs += [("spectra", arguments.seed + i) for i in range(arguments.spectra)]
    data = Path(os.environ.get("THINRANK_DATA", ""))
    real = [*(data / "real" / f"{name}.npz" for name in REAL), data / "mice_eqtl_spls.npz"]
    jobs += [(str(path), arguments.seed) for path in real if path.is_file()]
    measured = Parallel(arguments.jobs, return_as="generator")(
        delayed(measure)(*job) for job in jobs
    )
    records = list(track(measured, "data sets", len(jobs)))
    rows = []
    for name in dict.fromkeys(record["name"] for record in records):
        mine = [record for record in records if record["name"] == name]
        gaps = np.array([record["gap"] for record in mine])
        counts = (np.mean([r[field] for r in mine]) for field in ("visited", "points"))
        spread = (f"{gaps.max():.2f}", f"{np.median(gaps):.2f}")
        within = np.sum(gaps <= 1)
        rows.append([name, len(mine), within, *spread, *(f"{count:.0f}" for count in counts)])
    headings = ["data", "sets", "within 1 %", "largest gap, %", "median gap, %", "visited"]
    publish(table([*headings, "on the grid"], rows), arguments.markdown)


if __name__ == "__main__":
    main()
