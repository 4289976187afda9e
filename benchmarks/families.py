"""Missing entries, outliers and responses that are not Gaussian, on simulated data.

    python benchmarks/families.py --json families.json --markdown docs/benchmarks/families.md
    python benchmarks/families.py --checks missing huber --seeds 5 --first-seed 700000

Errors are relative Frobenius errors of the coefficients, and sizes are chosen by the default of the
estimators unless the table says that they are known. Development uses other seeds than the default.

missing    the paper's two-way strong setting (n = 50, p = 100, k = 50, rank 8) with entries of Y
           missing at random; the oracle is least squares on the true supports with the true rank
huber      the same with n = 100, and 20 noise standard deviations added to or subtracted from
           every entry of 5 rows: the error over that of least squares on clean data
bernoulli, n = 400, p = 200, k = 40, rank 3, 10 rows and 10 columns: the error over that of separate
poisson    regressions with the lasso (or ridge) penalty, tuned by cross-validation
mixed      a third of the responses each Gaussian, Bernoulli and Poisson: the error over the mean of
           those of the three families alone, with the same coefficients
speed      n = 2000, p = 2000, k = 100, Bernoulli, rank 5, 20 rows: the time of a fit of known sizes
           over that of XᵀY

The separate regressions are slow and are fitted for the first --rival-seeds seeds only. Records are
kept in the file that --json names, and runs that are in it are not repeated.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from families_settings import (
    Signal,
    masked_oracle,
    responses,
    separate_logistic_lassos,
    separate_poisson_lassos,
    separate_poisson_ridges,
    signal,
)
from output import JUDGED, StoredRecords, arguments_of, judged, machine, publish, table
from sklearn.exceptions import ConvergenceWarning

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

Record = dict[str, Any]
MISSING = (0.15, 0.5)
FAMILIES = ("gaussian", "bernoulli", "poisson")
# Standard deviations of the linear predictors; None for the coefficients as they are drawn.
SPREADS = {"moderate probabilities": 1.0, "extreme probabilities": None}


def timed_fit(est: Any, X: np.ndarray, Y: np.ndarray) -> tuple[Any, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SelectionWarning)
        began = time.perf_counter()
        est.fit(X, Y)
        return est, time.perf_counter() - began


def facts(est: Any, truth: Signal, seconds: float) -> Record:
    exact = np.array_equal(est.row_support_, truth.rows)
    both = exact and np.array_equal(est.column_support_, truth.columns)
    return {
        "error": truth.error(est.factors_.theta),
        "seconds": seconds,
        "exact": bool(both),
        "rank": int(est.rank_),
        "rows": len(est.row_support_),
        "columns": len(est.column_support_),
    }


# ---------------------------------------------------------------- one run of each check


def missing(seed: int) -> Record:
    X, Y, factors = tr.datasets.make_two_way_sparse(random_state=seed)
    truth = Signal(X, factors.theta)
    rng = np.random.default_rng([seed, 1])
    record: Record = {}
    for share in (0.0, *MISSING):
        holed = np.where(rng.random(Y.shape) < share, np.nan, Y)
        automatic = timed_fit(tr.SparseReducedRankRegressor(), X, holed)
        known = timed_fit(tr.SparseReducedRankRegressor(8, 10, 10), X, holed)
        oracle = masked_oracle(X, holed, truth.rows, truth.columns, 8)
        record[f"{share:g}"] = {
            "automatic": facts(automatic[0], truth, automatic[1]),
            "known": facts(known[0], truth, known[1]),
            "oracle": truth.error(oracle),
        }
    return record


def huber(seed: int) -> Record:
    X, Y, factors = tr.datasets.make_two_way_sparse(100, random_state=seed)
    truth = Signal(X, factors.theta)
    rng = np.random.default_rng([seed, 2])
    rows = rng.choice(len(Y), 5, replace=False)
    dirty = Y.copy()
    dirty[rows] += 20.0 * rng.choice([-1.0, 1.0], (5, Y.shape[1]))
    clean = np.delete(np.arange(len(Y)), rows)
    fits = {
        "clean": (tr.SparseReducedRankRegressor(), X, Y),
        "huber": (tr.SparseReducedRankRegressor(loss="huber"), X, dirty),
        "squared": (tr.SparseReducedRankRegressor(), X, dirty),
        "without": (tr.SparseReducedRankRegressor(), X[clean], Y[clean]),
    }
    record = {}
    for name, (est, predictors, targets) in fits.items():
        fitted, seconds = timed_fit(est, predictors, targets)
        record[name] = facts(fitted, truth, seconds)
    return record


def one_family(family: str, seed: int) -> tuple[Signal, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = signal(rng)
    if family == "poisson":
        truth = truth.for_counts()
    return truth, responses(rng, family, truth.linear)


def ours(family: str, seed: int) -> Record:
    truth, Y = one_family(family, seed)
    est, seconds = timed_fit(tr.SparseReducedRankGLM(family), truth.X, Y)
    known = timed_fit(tr.SparseReducedRankGLM(family, 3, 10, 10), truth.X, Y)
    return {"automatic": facts(est, truth, seconds), "known": facts(known[0], truth, known[1])}


RIVALS: dict[str, dict[str, Callable[..., np.ndarray]]] = {
    "bernoulli": {"LogisticRegressionCV, lasso": separate_logistic_lassos},
    "poisson": {
        "Poisson lasso": separate_poisson_lassos,
        "PoissonRegressor, ridge": separate_poisson_ridges,
    },
}


def rivals(family: str, seed: int) -> Record:
    truth, Y = one_family(family, seed)
    record = {}
    for name, method in RIVALS[family].items():
        began = time.perf_counter()
        theta = method(truth.X, Y)
        seconds = time.perf_counter() - began
        record[name] = {"error": truth.error(theta), "seconds": seconds}
    return record


def mixed(seed: int) -> Record:
    rng = np.random.default_rng(seed)
    truth = signal(rng).for_counts()
    by_family = {family: responses(rng, family, truth.linear) for family in FAMILIES}
    columns = [FAMILIES[j % 3] for j in range(truth.theta.shape[1])]
    Y = np.stack([by_family[family][:, j] for j, family in enumerate(columns)], 1)
    est, seconds = timed_fit(tr.SparseReducedRankGLM(columns), truth.X, Y)
    record = {"mixed": facts(est, truth, seconds)}
    for family, targets in by_family.items():
        est, seconds = timed_fit(tr.SparseReducedRankGLM(family), truth.X, targets)
        record[family] = facts(est, truth, seconds)
    return record


def speed(seed: int) -> Record:
    """Seconds of a fit of known sizes, and of XᵀY, for two sizes of the coefficients."""
    rng = np.random.default_rng(seed)
    record = {}
    drawn = signal(rng, 2000, 2000, 100, rank=5, rows=20, columns=100)
    for name, spread in SPREADS.items():
        truth = Signal(drawn.X, drawn.theta * (spread / drawn.linear.std() if spread else 1))
        Y = responses(rng, "bernoulli", truth.linear)
        model = tr.SparseReducedRankGLM("bernoulli", 5, 20, None)
        fits = [timed_fit(model, truth.X, Y) for _ in range(3)]
        products = []
        for _ in range(21):
            began = time.perf_counter()
            truth.X.T @ Y
            products.append(time.perf_counter() - began)
        record[name] = {
            "product": float(np.median(products)),
            "seconds": float(np.median([seconds for _, seconds in fits])),
            "error": truth.error(model.factors_.theta),
            "exact": bool(np.array_equal(model.row_support_, truth.rows)),
        }
    return record


# ---------------------------------------------------------------- tables


def mean(records: Sequence[Record], *path: str) -> float:
    return float(np.mean([_at(record, path) for record in records]))


def _at(record: Record, path: Sequence[str]) -> Any:
    for name in path:
        record = record[name]
    return record


def limits(*rows: list[object]) -> list[str]:
    """A table of what must hold."""
    return ["", *table(("", *JUDGED), rows)]


def missing_table(records: Sequence[Record]) -> list[str]:
    rows = []
    for share in ("0", *(f"{x:g}" for x in MISSING)):
        errors = [f"{mean(records, share, kind, 'error'):.4f}" for kind in ("automatic", "known")]
        oracle = f"{mean(records, share, 'oracle'):.4f}"
        exact = f"{100 * mean(records, share, 'automatic', 'exact'):.0f} %"
        times = [f"{mean(records, share, kind, 'seconds'):.3f}" for kind in ("automatic", "known")]
        rows.append([f"{100 * float(share):g} %", *errors, oracle, exact, *times])
    bounds = [
        judged(
            f"error, {100 * float(share):g} % missing",
            value=mean(records, share, "automatic", "error"),
            limit=most,
            form=".4f",
        )
        for share, most in (("0.15", 0.075), ("0.5", 0.13))
    ]
    for kind, title in (("automatic", "sizes chosen"), ("known", "sizes known")):
        ratio = mean(records, "0.15", kind, "seconds") / mean(records, "0", kind, "seconds")
        name = f"time at 15 % over that of complete data, {title}"
        bounds.append(judged(name, value=ratio, limit=10, form=".1f"))
    headings = ["missing", "sizes chosen", "sizes known", "oracle", "exact supports"]
    return [*table([*headings, "s, chosen", "s, known"], rows), *limits(*bounds)]


def huber_table(records: Sequence[Record]) -> list[str]:
    titles = {
        "clean": "least squares, clean data",
        "huber": 'loss="huber", outliers',
        "squared": 'loss="squared", outliers',
        "without": "least squares, without the outlying rows",
    }
    clean = mean(records, "clean", "error")
    rows = []
    for name, title in titles.items():
        error = mean(records, name, "error")
        exact = f"{100 * mean(records, name, 'exact'):.0f} %"
        seconds = f"{mean(records, name, 'seconds'):.2f}"
        rows.append([title, f"{error:.4f}", f"{error / clean:.2f}", exact, seconds])
    ratio = mean(records, "huber", "error") / clean
    headings = ["", "error", "over clean", "exact supports", "seconds"]
    return [*table(headings, rows), *limits(judged("error over clean", value=ratio, limit=1.3))]


def family_table(family: str, records: Sequence[Record], others: Sequence[Record]) -> list[str]:
    same = records[: len(others)]
    rows = []
    for kind, title in (("automatic", "thinrank"), ("known", "thinrank, sizes known")):
        exact = 100 * mean(records, kind, "exact")
        on_same = f"{mean(same, kind, 'error'):.4f}" if others else "–"
        error, seconds = mean(records, kind, "error"), mean(records, kind, "seconds")
        rows.append([title, f"{error:.4f}", on_same, f"{exact:.0f} %", f"{seconds:.2f}"])
    bounds = []
    if others:
        best = min(mean(others, name, "error") for name in RIVALS[family])
        for name in RIVALS[family]:
            cells = (
                f"{mean(others, name, 'error'):.4f}",
                "–",
                f"{mean(others, name, 'seconds'):.1f}",
            )
            rows.append([name, "–", *cells])
        ratio = mean(same, "automatic", "error") / best
        name = "error over that of the best separate regressions"
        bounds.append(judged(name, value=ratio, limit=0.5))
    share = 100 * mean(records, "automatic", "exact")
    bounds.append(
        judged("runs with exact supports, %", value=share, limit=80, least=True, form=".0f")
    )
    headings = ["", f"error, {len(records)} runs", f"error, first {len(others)} runs"]
    return [*table([*headings, "exact supports", "seconds"], rows), *limits(*bounds)]


def mixed_table(records: Sequence[Record]) -> list[str]:
    rows = []
    for name in ("mixed", *FAMILIES):
        exact = f"{100 * mean(records, name, 'exact'):.0f} %"
        error, seconds = mean(records, name, "error"), mean(records, name, "seconds")
        rows.append([name, f"{error:.4f}", exact, f"{seconds:.2f}"])
    alone = np.mean([mean(records, family, "error") for family in FAMILIES])
    ratio = float(mean(records, "mixed", "error") / alone)
    bound = judged("error over the mean of the three families alone", value=ratio, limit=1.2)
    headings = ["responses", "error", "exact supports", "seconds"]
    return [*table(headings, rows), *limits(bound)]


def speed_table(records: Sequence[Record]) -> list[str]:
    rows = []
    for name in SPREADS:
        ratio = float(np.median([r[name]["seconds"] / r[name]["product"] for r in records]))
        error, exact = (mean(records, name, field) for field in ("error", "exact"))
        about = f"{name}: error {error:.4f}, exact rows in {100 * exact:.0f} %; time over XᵀY"
        rows.append(judged(about, value=ratio, limit=30, form=".1f"))
    return limits(*rows)[1:]


@dataclass(frozen=True)
class Check:
    """Its title, its usual number of seeds, one run for a seed, and the table.

    The table is None for the families that :func:`family_table` compares with others.
    """

    title: str
    seeds: int
    run: Callable[[int], Record]
    table: Callable[[Sequence[Record]], list[str]] | None


SETTING = "n = 400, p = 200, k = 40, rank 3, 10 rows, 10 columns"
CHECKS = {
    "missing": Check("Missing entries", 20, missing, missing_table),
    "huber": Check("Outliers in 5 of 100 rows", 20, huber, huber_table),
    "bernoulli": Check(f"Bernoulli: {SETTING}", 20, partial(ours, "bernoulli"), None),
    "poisson": Check(f"Poisson: {SETTING}", 20, partial(ours, "poisson"), None),
    "mixed": Check(f"Mixed responses: {SETTING}", 10, mixed, mixed_table),
    "speed": Check("Time: n = 2000, p = 2000, k = 100, rank 5, 20 rows", 3, speed, speed_table),
}


def main() -> None:
    parser = arguments_of(__doc__, json=True)
    parser.add_argument("--checks", nargs="+", default=list(CHECKS), choices=list(CHECKS))
    parser.add_argument("--seeds", type=int, help="number of seeds of each check")
    parser.add_argument("--first-seed", type=int, default=500_000)
    parser.add_argument("--rival-seeds", type=int, default=3, help="of the separate regressions")
    arguments = parser.parse_args()
    records, lines = StoredRecords(arguments.json), []
    for name in arguments.checks:
        check = CHECKS[name]
        count, first = arguments.seeds or check.seeds, arguments.first_seed
        seeds = range(first, first + count)
        found = records.run(name, check.run, seeds)
        if name in RIVALS:
            few = seeds[: arguments.rival_seeds]
            others = records.run(f"{name} rivals", partial(rivals, name), few)
            written = family_table(name, found, others)
        else:
            written = check.table(found)
        lines += [f"**{check.title}** ({count} runs)", "", *written, ""]
    lines.append(f"Seeds from {arguments.first_seed}. Machine: {machine()}.")
    publish(lines, arguments.markdown)


if __name__ == "__main__":
    main()
