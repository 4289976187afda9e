"""The search for sizes compared with an explicit grid.

    python benchmarks/search_grid.py --markdown docs/benchmarks/search_grid.md

For each data set the held-out errors of 6 ranks × 10 numbers of predictors × {all, half} of the
responses × 6 ridges are computed on the same five splits that the search uses. "gap" is the
smallest error that the search visited minus the smallest one on the grid, in per cent of the error
of the means; a negative gap means that the search found a better model. The estimators do not
standardise, since units of the noise would change the errors that are compared; the data are
standardised beforehand. The data sets are the settings of robustness.py and its spectra, and with
THINRANK_DATA some real ones.

The smallest of hundreds of held-out errors is often small by chance. Therefore the best model of
the search and that of the grid are fitted to all rows of the random settings, too, and their errors
on fresh rows are compared, in units of the error of the means.
"""

from __future__ import annotations

import itertools
import os
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from output import arguments_of, publish, table
from real_data import read, standardised
from rich.progress import track
from robustness import smooth_spectra
from robustness_settings import draw
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import thinrank as tr

REAL = ("edm", "jura", "nir", "slump")


class Data(NamedTuple):
    """Rows to fit, and fresh ones if there are any, all in the units of those to fit."""

    X: np.ndarray
    Y: np.ndarray
    fresh: tuple[np.ndarray, np.ndarray] | None = None
    facts: str = ""


def load(name: str, seed: int) -> Data:
    if name == "random":
        drawn = draw(seed)
        fitted = slice(len(drawn.X))
        X = standardised(np.concatenate([drawn.X, drawn.X_new]), np.arange(len(drawn.X)))
        Y = standardised(np.concatenate([drawn.Y, drawn.Y_new]), np.arange(len(drawn.X)))
        facts = ", ".join(f"{key} {value}" for key, value in drawn.facts.items() if key != "r2")
        return Data(X[fitted], Y[fitted], (X[len(drawn.X) :], Y[len(drawn.X) :]), facts)
    X, Y = smooth_spectra(seed, fresh=0)[:2] if name == "spectra" else read(Path(name))
    everything = np.arange(len(X))
    return Data(standardised(X, everything), standardised(Y, everything))


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


def best_of(tried: tr.SparseReducedRankRegressorCV) -> tuple[float, dict]:
    """The smallest held-out error, and the sizes that have it."""
    place = int(np.argmax(tried.cv_results_["mean_test_score"]))
    return -tried.cv_results_["mean_test_score"][place], tried.cv_results_["params"][place]


def fresh_error(data: Data, sizes: dict) -> float:
    """The error on fresh rows of a fit of given sizes, over that of the means; nan without any."""
    if data.fresh is None:
        return np.nan
    X, Y = data.fresh
    if sizes["rank"] == 0:
        return 1.0
    est = tr.SparseReducedRankRegressor(**sizes, standardize=False).fit(data.X, data.Y)
    return float(np.sum((Y - est.predict(X)) ** 2) / np.sum((Y - data.Y.mean(axis=0)) ** 2))


def measure(name: str, seed: int) -> dict:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    data = load(name, seed)
    X, Y = data.X, data.Y
    splits = list(KFold(5, shuffle=True, random_state=seed).split(X))
    options = {"cv": splits, "standardize": False}
    search = tr.SparseReducedRankRegressorCV(**options).fit(X, Y)
    found, sizes = best_of(search)
    tried = [
        tr.SparseReducedRankRegressorCV(**options, **grid).fit(X, Y)
        for grid in grids(len(X), X.shape[1], Y.shape[1])
    ]
    least, others = min(map(best_of, tried), key=lambda best: best[0])
    null = np.mean([np.mean((Y[test] - Y[train].mean(axis=0)) ** 2) for train, test in splits])
    return {
        "name": Path(name).stem,
        "facts": data.facts,
        "gap": 100 * (found - least) / null,
        "visited": len(search.cv_results_["params"]),
        "points": sum(len(grid.cv_results_["params"]) for grid in tried),
        "search": fresh_error(data, sizes),
        "grid": fresh_error(data, others),
    }


def main() -> None:
    parser = arguments_of(__doc__)
    parser.add_argument("--draws", type=int, default=20, help="random settings")
    parser.add_argument("--spectra", type=int, default=5)
    parser.add_argument("--seed", type=int, default=600_000)
    parser.add_argument("--jobs", type=int, default=1)
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
        fresh = (np.mean([r[field] for r in mine]) for field in ("search", "grid"))
        spread = (f"{gaps.max():.2f}", f"{np.median(gaps):.2f}")
        within = np.sum(gaps <= 1)
        rows.append(
            [name, len(mine), within, *spread, *(f"{count:.0f}" for count in counts)]
            + ["–" if np.isnan(error) else f"{error:.3f}" for error in fresh]
        )
    headings = ["data", "sets", "within 1 %", "largest gap, %", "median gap, %", "visited"]
    headings += ["on the grid", "fresh error, search", "fresh error, grid"]
    above = [
        f"- {r['facts'] or r['name']}: gap {r['gap']:.1f} %, error on fresh rows {r['search']:.3f} "
        f"(best of the search), {r['grid']:.3f} (best of the grid)"
        for r in records
        if r["gap"] > 1
    ]
    lines = ["", "Gaps above 1 %:", "", *above] if above else []
    publish([*table(headings, rows), *lines], arguments.markdown)


if __name__ == "__main__":
    main()
