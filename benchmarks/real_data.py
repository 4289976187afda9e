"""Prediction error on real data with several responses, compared with scikit-learn's regressors.

    THINRANK_DATA=... python benchmarks/real_data.py --json real_data.json \
        --markdown docs/benchmarks/real_data.md

The sets are THINRANK_DATA/real/*.npz, yeast_spls.npz and mice_eqtl_spls.npz;
each holds X and Y. Rows with a missing entry are dropped. Y is centered and
divided by its standard deviations over all rows, X in each of five outer folds, for each seed, by
those of the training rows; the error is the mean of the squared differences over the held-out rows
and all responses, so that predicting the training means has an error of about 1. All tuning uses
the training rows only.

Records are kept in the file that --json names, and fits that are in it are not repeated.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from output import StoredRecords, arguments_of, how, publish, quiet, table
from sklearn.base import BaseEstimator
from sklearn.cross_decomposition import PLSRegression
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import MultiTaskElasticNetCV, MultiTaskLassoCV, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold

import thinrank as tr
from thinrank.baselines.sample import Prepared

FOLDS = 5
ALPHAS = np.geomspace(1e-2, 1e5, 25)
# Most components of PLS, and the ranks of reduced-rank ridge that are tried besides the full one.
COMPONENTS = 15
# Sets with fewer rows are reported, but left out of the summary.
FEWEST_ROWS = 40
# Sets with fewer predictors are left out of the mean share of predictors kept.
FEWEST_PREDICTORS = 100

Record = dict[str, object]


class ReducedRankRidgeCV(tr.baselines.ReducedRankRegression):
    """Reduced-rank ridge regression, with rank and ridge chosen together by cross-validation."""

    _patience = None

    def _settings(self, data: Prepared) -> list[dict]:
        n, p, k = data.shape
        ranks = sorted({*range(1, min(COMPONENTS, p, k) + 1), min(p, k)})
        return [{"rank": rank, "ridge": alpha / n} for alpha in ALPHAS for rank in ranks]

    def _path(
        self, data: Prepared, settings: Sequence[dict], final: bool = False
    ) -> Iterator[tr.Factors]:
        """The solution of rank r has the first r columns of the factors of full rank."""
        ridge, factors = None, None
        for setting in settings:
            if factors is None or setting["ridge"] != ridge:
                ridge = setting["ridge"]
                factors = data.reduced_rank(min(data.shape[1:]), ridge)
            rank = setting["rank"]
            yield tr.Factors(factors.U[:, :rank], factors.V[:, :rank])


def pls(n: int, p: int) -> GridSearchCV:
    """PLS with the number of components chosen by cross-validation.

    At most as many as a training part of the inner folds allows.
    """
    most = min(COMPONENTS, p, n - -(-n // FOLDS) - 1)
    grid = {"n_components": list(range(1, most + 1))}
    return GridSearchCV(PLSRegression(), grid, cv=FOLDS, scoring="neg_mean_squared_error")


# Functions of the number of training rows and the number of predictors.
METHODS: dict[str, Callable[[int, int], BaseEstimator]] = {
    "mean": lambda n, p: DummyRegressor(),
    "ridge": lambda n, p: RidgeCV(ALPHAS),
    "lasso": lambda n, p: MultiTaskLassoCV(alphas=20, cv=FOLDS),
    "elastic_net": lambda n, p: MultiTaskElasticNetCV(l1_ratio=0.5, alphas=20, cv=FOLDS),
    "pls": pls,
    "reduced_rank": lambda n, p: ReducedRankRidgeCV(cv=FOLDS),
    "default": lambda n, p: tr.SparseReducedRankRegressor(),
    "thinnest": lambda n, p: tr.SparseReducedRankRegressor(refit_rule="thinnest"),
}
TITLES = {
    "mean": "mean",
    "ridge": "RidgeCV",
    "lasso": "MultiTaskLassoCV",
    "elastic_net": "MultiTaskElasticNetCV",
    "pls": "PLS",
    "reduced_rank": "reduced-rank ridge",
    "default": "thinrank",
    "thinnest": 'thinrank, "thinnest"',
}
# The methods that leave predictors out.
SELECTING = ("lasso", "elastic_net", "default", "thinnest")


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """X and Y without the rows that have a missing entry."""
    with np.load(path) as content:
        X, Y = content["X"].astype(float), content["Y"].astype(float)
    Y = Y.reshape(len(Y), -1)
    complete = np.isfinite(X).all(axis=1) & np.isfinite(Y).all(axis=1)
    return X[complete], Y[complete]


def standardised(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """All rows, standardized with the means and standard deviations of ``rows``."""
    scale = values[rows].std(axis=0)
    return (values - values[rows].mean(axis=0)) / np.where(scale > 0, scale, 1.0)


def size(est: BaseEstimator) -> tuple[int, int]:
    """Number of predictors in use, and rank of the coefficients."""
    est = getattr(est, "best_estimator_", est)
    if isinstance(est, DummyRegressor):
        return 0, 0
    coef = np.atleast_2d(est.coef_)
    rank = getattr(est, "rank_", None)
    if rank is None:
        rank = np.linalg.matrix_rank(coef)
    return int(np.count_nonzero(coef.any(axis=0))), int(rank)


def measure(path: Path, seed: int, fold: int, method: str) -> Record:
    X, Y = read(path)
    folds = KFold(FOLDS, shuffle=True, random_state=seed)
    train, test = list(folds.split(X))[fold]
    X, Y = standardised(X, train), standardised(Y, np.arange(len(Y)))
    est = METHODS[method](len(train), X.shape[1])
    began = time.perf_counter()
    quiet(est.fit, X[train], Y[train])
    seconds = time.perf_counter() - began
    predicted = est.predict(X[test]).reshape(Y[test].shape)
    kept, rank = size(est)
    return {
        "set": path.stem,
        "seed": seed,
        "fold": fold,
        "method": method,
        "n": X.shape[0],
        "p": X.shape[1],
        "k": Y.shape[1],
        "error": float(np.mean((Y[test] - predicted) ** 2)),
        "kept": kept,
        "rank": rank,
        "seconds": seconds,
    }


class Means:
    """Means over seeds and folds."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.sizes = {r["set"]: (r["n"], r["p"], r["k"]) for r in records}
        self._groups: dict[tuple, list[Record]] = {}
        for record in records:
            self._groups.setdefault((record["set"], record["method"]), []).append(record)

    def __call__(self, name: str, method: str, field: str = "error") -> float:
        """The mean of a field of the records of one set and method."""
        return float(np.mean([record[field] for record in self._groups[name, method]]))


def error_table(means: Means, methods: Sequence[str]) -> list[str]:
    rows = []
    for name, (n, p, k) in means.sizes.items():
        errors = {method: means(name, method) for method in methods}
        best = min(errors, key=lambda method: errors[method])
        cells = []
        for method, error in errors.items():
            text = f"**{error:.4f}**" if method == best else f"{error:.4f}"
            kept = f" ({means(name, method, 'kept'):.1f})" if method in SELECTING else ""
            cells.append(text + kept)
        rows.append([name, f"{n} × {p} → {k}", *cells])
    return table(["set", "n × p → k", *(TITLES[m] for m in methods)], rows, text=2)


def cost_table(means: Means, methods: Sequence[str]) -> list[str]:
    rows = []
    for name in means.sizes:
        cells = [
            f"{means(name, method, 'rank'):.1f}, {means(name, method, 'seconds'):.3f}"
            for method in methods
        ]
        rows.append([name, *cells])
    return table(["set", *(f"{TITLES[m]}: rank, s" for m in methods)], rows)


def summary(means: Means, methods: Sequence[str]) -> list[str]:
    """One line per figure, for those whose methods were run."""
    names = [name for name, (n, *_) in means.sizes.items() if n >= FEWEST_ROWS]
    if not names:
        return []
    wide = [name for name in names if means.sizes[name][1] >= FEWEST_PREDICTORS]
    lines = [f"Summary of the {len(names)} sets with n ≥ {FEWEST_ROWS}:", ""]
    for method in (m for m in ("default", "thinnest") if m in methods):
        title = TITLES[method]
        for other in (m for m in ("ridge", "lasso") if m in methods):
            ratios = [means(name, method) / means(name, other) for name in names]
            mean = np.exp(np.mean(np.log(ratios)))
            lines.append(
                f"- {title}: error over that of {TITLES[other]}, geometric mean {mean:.4f}"
            )
        if {"ridge", "mean"} <= set(methods):
            worst = {
                name: means(name, method) / min(means(name, "ridge"), means(name, "mean"))
                for name in names
            }
            name = max(worst, key=lambda name: worst[name])
            lines.append(
                f"- {title}: error over the smaller of RidgeCV and the mean, largest "
                f"{worst[name]:.4f} ({name})"
            )
        if wide:
            shares = {name: means(name, method, "kept") / means.sizes[name][1] for name in wide}
            name = max(shares, key=lambda name: shares[name])
            lines.append(
                f"- {title}: predictors kept, for the {len(wide)} sets with "
                f"p ≥ {FEWEST_PREDICTORS}, mean {100 * np.mean(list(shares.values())):.1f} % "
                f"of p, largest {100 * shares[name]:.1f} % ({name})"
            )
    return lines


def find_sets() -> dict[str, Path]:
    """Files by the name of the set."""
    data = Path(os.environ.get("THINRANK_DATA", ""))
    others = (data / "yeast_spls.npz", data / "mice_eqtl_spls.npz")
    paths = [*sorted((data / "real").glob("*.npz")), *filter(Path.is_file, others)]
    return {path.stem: path for path in paths}


def main() -> None:
    parser = arguments_of(__doc__, json=True)
    parser.add_argument("--sets", nargs="+", help="names of the files, without .npz")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[100, 101, 102])
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    given = parser.parse_args()
    paths, stored, records = find_sets(), StoredRecords(given.json), []
    if not paths:
        parser.error("no .npz files: set THINRANK_DATA to the folder of the data")
    if unknown := sorted(set(given.sets or ()) - set(paths)):
        parser.error(f"no set is called {', '.join(unknown)}; there are {', '.join(paths)}")
    methods = [method for method in METHODS if method in given.methods]
    folds = [(seed, fold) for seed in given.seeds for fold in range(FOLDS)]
    for name, method in product(given.sets or paths, methods):
        work = partial(_measure_fold, paths[name], method)
        records += stored.run(f"{name} {method}", work, folds, given.jobs)
    means = Means(records)
    lines = [*error_table(means, methods), "", "Mean squared error; in brackets, predictors kept."]
    lines += ["", *summary(means, methods), "", *cost_table(means, methods), ""]
    seeds = ", ".join(map(str, given.seeds))
    publish([*lines, f"Outer folds of the seeds {seeds}.", *how()], given.markdown)


def _measure_fold(path: Path, method: str, place: tuple[int, int]) -> Record:
    return measure(path, *place, method)


if __name__ == "__main__":
    main()
