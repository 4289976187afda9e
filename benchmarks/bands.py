"""Accuracy and speed of the package against limits: the check before and after a refactoring.

    make bands                                     # exit status 1 outside of the limits
    python benchmarks/bands.py --only noise times  # a part

Limits are in bands.toml. Data and methods are those of the long benchmarks, with other seeds. Times
are ratios of times in one run. Without THINRANK_DATA the rows of real data are not run, and the
exit status is 2. All rows take about six minutes on two cores.
"""

from __future__ import annotations

import itertools
import sys
import time
import tomllib
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import families
import inference_problems
import numpy as np
import real_data
import robustness
import speed
from joblib import Parallel, delayed
from output import JUDGED, arguments_of, judged, machine, publish, quiet, table
from rich.console import Console
from sklearn.linear_model import MultiTaskLassoCV
from threadpoolctl import threadpool_limits

import selection
import thinrank as tr

LIMITS = Path(__file__).with_name("bands.toml")
JOBS = 2
# Of data that no published table and no choice of a constant has seen.
SEED = 810_000
Rows = dict[str, float]


def parallel(work: Callable[..., Any], arguments: Iterable[Sequence[Any]]) -> list[Any]:
    """Results of calls in processes with one thread each."""
    return Parallel(JOBS)(delayed(_one_thread)(work, *each) for each in arguments)


def _one_thread(work: Callable[..., Any], *arguments: Any) -> Any:
    with threadpool_limits(1):
        return quiet(work, *arguments)


# ---------------------------------------------------------------- accuracy


def rows_of_real_data() -> Rows:
    """One partition into five outer folds; empty without the data."""
    paths = real_data.find_sets()
    methods = ("mean", "ridge", "default", "thinnest")
    keys = [
        (path, 200, fold, method)
        for path in paths.values()
        for fold in range(real_data.FOLDS)
        for method in methods
    ]
    means = real_data.Means(parallel(real_data.measure, keys))
    names = [name for name, (n, *_) in means.sizes.items() if n >= real_data.FEWEST_ROWS]
    many = [name for name in names if means.sizes[name][1] >= real_data.FEWEST_PREDICTORS]
    rows = {}
    for method in ("default", "thinnest") if names else ():
        over_ridge = [means(name, method) / means(name, "ridge") for name in names]
        rivals = [min(means(name, "ridge"), means(name, "mean")) for name in names]
        worst = max(means(name, method) / rival for name, rival in zip(names, rivals, strict=True))
        shares = [means(name, method, "kept") / means.sizes[name][1] for name in many]
        rows[f"{method} over RidgeCV, geometric mean"] = float(np.exp(np.mean(np.log(over_ridge))))
        rows[f"{method} over the better of RidgeCV and means, worst set"] = worst
        rows[f"{method}, share of predictors where p ≥ 100"] = float(np.mean(shares))
    return rows


def rows_of_robustness() -> Rows:
    """Draws that behave like real data: the error over that of the training means."""
    records = parallel(robustness.random_setting, [(SEED + i,) for i in range(120)])
    ratios = np.array([record["ratio"] for record in records])
    return {
        "median over the means": float(np.median(ratios)),
        "mean over the means": float(ratios.mean()),
        "worst draw over the means": float(ratios.max()),
        "share of draws above 1.1": float(np.mean(ratios > 1.1)),
    }


def rows_of_paper() -> Rows:
    """The paper's four settings: spectral errors over those of the oracle, 20 seeds."""
    jobs = [(name, SEED + i) for name in selection.SETTINGS for i in range(20)]
    records = parallel(_in_paper_setting, jobs)
    rows = {}
    for name in selection.SETTINGS:
        mine = [record for setting, record in records if setting == name]
        mean = {key: np.mean([record[key] for record in mine]) for key in mine[0]}
        for method in ("validation", "auto"):
            rows[f"{name}, {method} over oracle"] = float(mean[method] / mean["oracle"])
        if "strong" in name:
            rows[f"{name}, exact supports"] = float(mean["exact"])
    return rows


def _in_paper_setting(name: str, seed: int) -> tuple[str, Rows]:
    signal, columns, _ = selection.SETTINGS[name]
    data = selection.draw(signal, columns, seed)
    auto = selection.automatic(data, {})
    fits = {"validation": selection.validated(data, {}), "auto": auto}
    judge = partial(selection.judge, truth=data.truth)
    errors = {key: judge(est.factors_.theta, est.intercept_)[0] for key, est in fits.items()}
    exact = np.array_equal(auto.row_support_, data.truth.row_support) and np.array_equal(
        auto.column_support_, data.truth.column_support
    )
    return name, {"oracle": judge(selection.oracle(data), 0.0)[0], **errors, "exact": float(exact)}


def rows_of_losses() -> Rows:
    """Missing entries, labels and counts: relative Frobenius errors with the default sizes."""
    jobs = [(kind, SEED + i) for kind in ("0.15", "0.5", "bernoulli", "poisson") for i in range(6)]
    records = parallel(_error_of_loss, jobs)
    titles = {"0.15": "15 % missing", "0.5": "50 % missing"}
    return {
        f"{titles.get(kind, kind)}, error": float(np.mean([e for k, e in records if k == kind]))
        for kind in dict(records)
    }


def _error_of_loss(kind: str, seed: int) -> tuple[str, float]:
    if kind in ("bernoulli", "poisson"):
        truth, Y = families.one_family(kind, seed)
        est = tr.SparseReducedRankGLM(kind).fit(truth.X, Y)
        return kind, truth.error(est.factors_.theta)
    X, Y, factors = tr.datasets.make_two_way_sparse(random_state=seed)
    holes = np.random.default_rng([seed, 1]).random(Y.shape) < float(kind)
    est = tr.SparseReducedRankRegressor().fit(X, np.where(holes, np.nan, Y))
    return kind, families.Signal(X, factors.theta).error(est.factors_.theta)


def rows_of_noise() -> Rows:
    """How often the default finds nothing where there is nothing."""
    shapes = ((50, 100, 50), (100, 30, 20), (30, 200, 10), (200, 20, 5))
    jobs = [(kind, *shape, SEED + i) for kind in (0.0, 0.8) for shape in shapes for i in range(15)]
    empty = parallel(_is_empty, jobs)
    half = len(jobs) // 2
    return {
        "rank 0, independent noise": float(np.mean(empty[:half])),
        "rank 0, equicorrelated noise": float(np.mean(empty[half:])),
    }


def _is_empty(correlation: float, n: int, p: int, k: int, seed: int) -> bool:
    rng = np.random.default_rng([seed, n, p, k])
    common = np.sqrt(correlation) * rng.standard_normal((n, 1))
    Y = common + np.sqrt(1 - correlation) * rng.standard_normal((n, k))
    return tr.SparseReducedRankRegressor().fit(rng.standard_normal((n, p)), Y).rank_ == 0


def rows_of_discoveries() -> Rows:
    """False discovery rate and power of select_predictors at q = .1, 100 runs."""
    cells = [
        {"rho": 0.5, "signal": "medium", "noise": noise}
        for noise in ("independent", "common factor")
    ]
    rows = {}
    for cell in cells:
        found = parallel(_discoveries, [(SEED + i, cell) for i in range(100)])
        rates, power = np.mean(found, axis=0)
        rows[f"{cell['noise']} noise, false discovery rate"] = float(rates)
        rows[f"{cell['noise']} noise, power"] = float(power)
    return rows


def _discoveries(seed: int, cell: dict) -> tuple[float, float]:
    X, Y, true = inference_problems.discoveries(seed, cell)
    chosen = tr.inference.select_predictors(X, Y, fdr=0.1).selected
    right = np.isin(chosen, true).sum()
    return 1 - right / max(len(chosen), 1) if len(chosen) else 0.0, right / len(true)


# ---------------------------------------------------------------- speed


def rows_of_times() -> Rows:
    """Ratios of times that are measured in turn, so that other load affects both."""
    default, ratios = tr.SparseReducedRankRegressor(), []
    for seed, signal in itertools.product(range(SEED, SEED + 4), (1.0, 0.2)):
        X, Y, _ = tr.datasets.make_two_way_sparse(signal=signal, random_state=seed)
        fit, lasso = partial(default.fit, X, Y), partial(MultiTaskLassoCV(cv=5).fit, X, Y)
        ratios.append(ratio(fit, lasso, 2))
    rows = {"n = 50, default over MultiTaskLassoCV": float(np.median(ratios))}
    A, B, _, sizes = speed.problem(10)
    rows["ζ = 10, default over XᵀY"] = ratio(lambda: default.fit(A, B), lambda: A.T @ B, 3)
    A, B, _, sizes = speed.problem(100)
    given = tr.SparseReducedRankRegressor(**sizes)
    rows["ζ = 100, given sizes over XᵀY"] = ratio(lambda: given.fit(A, B), lambda: A.T @ B, 5)
    given = tr.SparseReducedRankRegressor(3, 10, 10)
    A, B, _ = speed.wide_problem((3, 10, 10))
    name = "n = 200, p = 200,000, given sizes over XᵀY"
    rows[name] = ratio(lambda: given.fit(A, B), lambda: A.T @ B, 5)
    return rows


def ratio(work: Callable[[], Any], reference: Callable[[], Any], repetitions: int) -> float:
    """Shortest time of one over the shortest time of the other, after a call of both."""
    times = []
    for _ in range(repetitions + 1):
        began = time.perf_counter()
        work()
        middle = time.perf_counter()
        repeated = 0
        while not repeated or time.perf_counter() - middle < 0.02:  # short products are repeated
            reference()
            repeated += 1
        times.append((middle - began, (time.perf_counter() - middle) / repeated))
    return float(np.divide(*np.min(times[1:], axis=0)))


SECTIONS: dict[str, Callable[[], Rows]] = {
    "times": rows_of_times,
    "real_data": rows_of_real_data,
    "robustness": rows_of_robustness,
    "paper": rows_of_paper,
    "losses": rows_of_losses,
    "noise": rows_of_noise,
    "discoveries": rows_of_discoveries,
}


def judged_rows(section: str, rows: Rows, limits: dict[str, dict[str, float]]) -> list[list[Any]]:
    """Cells of the table: the value, the limit, and whether it holds."""
    cells = []
    for name, limit in limits.items():
        ((kind, bound),) = limit.items()
        value, least = rows.get(name), kind == "least"
        cells.append(judged(section, name, value=value, limit=bound, least=least, form=".4g"))
    return cells


def main() -> int:
    parser = arguments_of(__doc__)
    parser.add_argument("--only", nargs="+", default=list(SECTIONS), choices=list(SECTIONS))
    options = parser.parse_args()
    limits = tomllib.loads(LIMITS.read_text("utf-8"))
    console, cells = Console(stderr=True), []
    began = time.perf_counter()
    warnings.simplefilter("ignore")
    for section in options.only:
        start = time.perf_counter()
        with console.status(section):
            rows = SECTIONS[section]()
        console.print(f"{section}: {time.perf_counter() - start:.0f} s")
        if unknown := set(rows) - set(limits[section]):
            parser.error(f"bands.toml has no limits for {sorted(unknown)}")
        cells += judged_rows(section, rows, limits[section])
    minutes = (time.perf_counter() - began) / 60
    verdicts = [row[-1] for row in cells]
    lines = [*table(("", "", *JUDGED), cells, text=2), ""]
    lines.append(f"{minutes:.1f} minutes. Machine: {machine()}.")
    publish(lines, options.markdown)
    if "**no**" in verdicts:
        return 1
    return 2 if "not run" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
