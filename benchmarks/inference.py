"""What fits can be trusted for: rates of false discoveries, coverage of intervals, test errors.

Run:  OMP_NUM_THREADS=1 python benchmarks/inference.py PART [--runs 200] [--jobs 4] [--markdown F]

PART is "discoveries", "intervals", "generalization" or "yeast" (which needs THINRANK_DATA). Seeds
are odd numbers from 600,001 on; even ones have been used to choose. hidimstat is compared if it is
installed (benchmarks/inference_requirements.txt); it takes minutes per data set.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import inference_problems as problems
import numpy as np
from output import arguments_of, how, publish, runs_of_all, table
from scipy.stats import false_discovery_control
from sklearn.linear_model import Ridge

import thinrank as tr

LEVEL = 0.1
SEED = 600_001


def all_runs(work: Callable[..., Any], cells: Iterable[Any], options: Any) -> list[list[Any]]:
    """The results of ``work(cell, seed)`` for each cell; odd seeds, even ones serve to choose."""
    return runs_of_all(work, cells, range(SEED, SEED + 2 * options.repetitions, 2), options)


def percent(values: Any) -> str:
    """Mean of one value per run, in percent, with its standard error."""
    values = 100 * np.asarray([value for value in values if not np.isnan(value)], dtype=float)
    if len(values) < 2:
        return "–"
    return f"{values.mean():.1f} ± {values.std(ddof=1) / len(values) ** 0.5:.1f}"


# ---------------------------------------------------------------- false discoveries


def discoveries_of(cell: dict, seed: int, others: bool = True) -> dict[str, tuple[float, float]]:
    """Proportion of false discoveries and power at q = 0.1, per method."""
    X, Y, true = problems.discoveries(seed, cell)
    select = tr.inference.select_predictors
    chosen = {
        "auto": select(X, Y).selected,
        "auto, equal variance": select(X, Y, robust=False).selected,
    }
    if others:
        chosen |= _by_other_methods(X, Y)
    found = {}
    for name, selected in chosen.items():
        right = int(np.isin(selected, true).sum())
        power = right / len(true) if len(true) else np.nan
        found[name] = (len(selected) - right) / max(len(selected), 1), power
    return found


def _by_other_methods(X: np.ndarray, Y: np.ndarray) -> dict[str, np.ndarray]:
    select = tr.inference.select_predictors
    chosen = {
        "row tests given all": select(X, Y, method="row_tests", adjust_for="all").selected,
        "model-X knockoffs": select(X, Y, method="model_x_knockoffs").selected,
        "MANOVA + BH": np.flatnonzero(false_discovery_control(problems.manova(X, Y)) <= LEVEL),
    }
    if len(X) > 2 * X.shape[1]:
        chosen["fixed-X knockoffs"] = select(X, Y, method="fixed_knockoffs").selected
    if find_spec("hidimstat"):
        p_values = false_discovery_control(problems.hidimstat_p_values(X, Y))
        chosen["hidimstat + BH"] = np.flatnonzero(p_values <= LEVEL)
    return chosen


def discoveries(options: Any) -> list[str]:
    chosen = [c for c in problems.CELLS if any(t in problems.in_words(c) for t in options.cells)]
    cells = all_runs(partial(discoveries_of, others=not options.auto), chosen, options)
    names = list(cells[0][0])
    lines = [
        f"{problems.DISCOVERIES}; q = {LEVEL}, {len(cells[0])} runs per row.",
    ]
    for place, heading in enumerate(("False discovery rate", "Power")):
        rows = [
            [
                problems.in_words(cell),
                *(percent([run.get(n, (np.nan,) * 2)[place] for run in runs]) for n in names),
            ]
            for cell, runs in zip(chosen, cells, strict=True)
            if place == 0 or cell["signal"] != "none"
        ]
        lines += ["", f"{heading} (percent ± standard error):", ""]
        lines += table(["noise, ρ, signal", *names], rows)
    return lines


# ---------------------------------------------------------------- intervals

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    'adjust="supports"': {"adjust": "supports"},
    'adjust="all", rank=None': {"adjust": "all", "rank": None},
}


def intervals_of(setting: str, seed: int) -> dict[str, float]:
    """Shares of intervals that cover, and their widths, of one fit that chooses its sizes."""
    X, Y, truth = problems.intervals(seed, *problems.SETTINGS[setting])
    est = tr.SparseReducedRankRegressor().fit(X, Y)
    chosen = np.zeros(truth.shape, dtype=bool)
    chosen[np.ix_(est.row_support_, est.column_support_)] = True
    found, masks = {}, {"non-zero": truth != 0, "zero": truth == 0, "chosen": chosen & (truth == 0)}
    for name, given in VARIANTS.items():
        ends = tr.inference.confidence_intervals(est, X, Y, pairs="all", **given)
        low, high = ends.matrix("lower"), ends.matrix("upper")
        for kind, mask in masks.items():
            found[f"{name}, {kind}"] = np.mean(((low <= truth) & (truth <= high))[mask] + 0.0)
        found[f"{name}, width"] = float((high - low)[truth != 0].mean())
    return found


def layers_of(sizes: tuple[int, ...], seed: int) -> dict[str, float]:
    """Shares of intervals for the layers that cover: example 2 of SOFARI."""
    X, Y, U, D = problems.sofari(seed)
    est = tr.SparseReducedRankRegressor(*sizes).fit(X, Y)
    ends = tr.inference.confidence_intervals(est, X, Y, of="layers", predictors="all")
    found = {}
    for layer in range(min(3, ends.rank)):
        own = ends.index[:, 0] == layer
        truth = U[:, layer] * np.sign(ends.estimate[own][1:] @ U[:, layer])
        truth = np.concatenate([[D[layer]], truth])
        hit = (ends.lower[own] <= truth) & (truth <= ends.upper[own])
        found[f"d{layer}"] = float(hit[0])
        found[f"u{layer}"] = float(hit[1:].mean())
    return found


def intervals(options: Any) -> list[str]:
    cells = all_runs(intervals_of, problems.SETTINGS, options)
    kinds = ("non-zero", "zero", "chosen", "width")
    rows = []
    for setting, runs in zip(problems.SETTINGS, cells, strict=True):
        plain = np.mean([run['adjust="all", rank=None, width'] for run in runs])
        for name in VARIANTS:
            values = {kind: [run[f"{name}, {kind}"] for run in runs] for kind in kinds}
            width = f"{np.mean(values.pop('width')) / plain:.2f}"
            rows.append([setting, name, len(runs), *map(percent, values.values()), width])
    headings = ["signal, noise", "intervals", "fits", "non-zero", "zero", "chosen zeros", "width"]
    lines = [
        f"Coverage of 95 % intervals, {problems.INTERVALS}, sizes chosen by the default estimator "
        "(percent ± standard error; width of those for non-zero coefficients over least squares):",
        "",
        *table(headings, rows, text=2),
        "",
        "Layers, example 2 of SOFARI:",
        "",
    ]
    names = [f"{part}{layer}" for layer in range(3) for part in "du"]
    cells = all_runs(layers_of, ((3, 15, 15), ()), options)
    rows = [
        [sizes, len(runs), *(percent([run.get(name, np.nan) for run in runs]) for name in names)]
        for sizes, runs in zip(("sizes 3, 15, 15 given", "sizes chosen"), cells, strict=True)
    ]
    headings = [name[0] + str(int(name[1]) + 1) for name in names]
    return [*lines, *table(["fit", "runs", *headings], rows)]


# ---------------------------------------------------------------- errors on new data

NESTED = {
    "ridge, n = 90, p = 30, 5 folds, n_repeats=10": (90, 30, 5, 10),
    "ridge, n = 90, p = 30, 5 folds, n_repeats=3": (90, 30, 5, 3),
    "ridge, n = 90, p = 30, 10 folds, n_repeats=1": (90, 30, 10, 1),
    "ridge, n = 200, p = 20, 5 folds, n_repeats=2": (200, 20, 5, 2),
    "sparse reduced rank, n = 90, p = 30, 5 folds, n_repeats=2": (90, 30, 5, 2),
}


def generalization_of(name: str, seed: int) -> tuple[float, ...]:
    """Hits of both intervals, the ratio of their widths, and errors of both estimates."""
    n, p, folds, repeats = NESTED[name]
    rng = np.random.default_rng(seed)
    B = np.zeros((p, 3))
    B[:4] = 0.5 * rng.standard_normal((4, 3))
    X = rng.standard_normal((n, p))
    Y = X @ B + rng.standard_normal((n, 3))
    est = Ridge(1.0) if name.startswith("ridge") else tr.SparseReducedRankRegressor(3, 4, None)
    found = tr.inference.generalization(
        est, X, Y, cv=folds, n_repeats=repeats, metric="mse", random_state=seed
    )
    est.fit(X, Y)
    coefficients = np.reshape(est.coef_, (3, p)).T
    # predictors are independent with variance 1, and so is the noise
    own = 1 + np.mean(np.sum((coefficients - B) ** 2, axis=0) + est.intercept_**2)
    return (
        found.lower <= own <= found.upper,
        found.cv_lower <= own <= found.cv_upper,
        (found.upper - found.lower) / (found.cv_upper - found.cv_lower),
        found.estimate - own,
        found.cv_estimate - own,
    )


def generalization(options: Any) -> list[str]:
    rows = []
    for name, runs in zip(NESTED, all_runs(generalization_of, NESTED, options), strict=True):
        columns = np.asarray(runs, dtype=float).T
        means = columns.mean(axis=1)
        shares = [percent(column) for column in columns[:2]]
        rows.append(
            [name, len(runs), *shares, f"{means[2]:.2f}", *(f"{m:+.3f}" for m in means[3:])]
        )
    headings = ["fit", "runs", "nested", "ordinary CV", "width ratio", "bias", "bias of CV"]
    return [
        "Coverage of the mean squared error of this fit by 95 % intervals (percent ± standard "
        "error), 3 responses, 4 of p predictors with effects:",
        "",
        *table(headings, rows),
    ]


# ---------------------------------------------------------------- yeast


def yeast(options: Any) -> list[str]:
    with np.load(Path(os.environ["THINRANK_DATA"]) / "yeast_spls.npz") as stored:
        X, Y = stored["X"], stored["Y"]
        known = {str(name) for name in stored["confirmed_TFs"]}
        confirmed = np.array([str(name).split("_")[0] in known for name in stored["X_names"]])
    select = tr.inference.select_predictors
    p_values = false_discovery_control(problems.manova(X, Y))
    methods: dict[str, Callable[[float], np.ndarray]] = {
        "row tests given neighbors (auto)": lambda q: select(X, Y, q).selected,
        "row tests given all": lambda q: select(X, Y, q, "row_tests", adjust_for="all").selected,
        "fixed-X knockoffs": lambda q: select(X, Y, q, "fixed_knockoffs").selected,
        "model-X knockoffs": lambda q: select(X, Y, q, "model_x_knockoffs").selected,
        "MANOVA + BH": lambda q: np.flatnonzero(p_values <= q),
    }
    levels = 0.05, 0.1, 0.2
    rows = []
    for name, method in methods.items():
        chosen = [method(q) for q in levels]
        rows.append([name, *(f"{len(s)} ({int(confirmed[s].sum())})" for s in chosen)])
    return [
        f"n = {X.shape[0]} genes, p = {X.shape[1]} factors, {int(confirmed.sum())} of them "
        f"confirmed, k = {Y.shape[1]} times. Selected, in parentheses confirmed among them.",
        "",
        *table(["method", *(f"q = {q}" for q in levels)], rows),
    ]


PARTS = {
    "discoveries": discoveries,
    "intervals": intervals,
    "generalization": generalization,
    "yeast": yeast,
}


def main() -> None:
    parser = arguments_of(__doc__, repetitions=200)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument(
        "--cells", nargs="+", default=[""], help="texts: only such rows of discoveries"
    )
    parser.add_argument("--auto", action="store_true", help="no other methods for discoveries")
    options = parser.parse_args()
    publish([*PARTS[options.part](options), *how()], options.markdown)


if __name__ == "__main__":
    main()
