"""Counts, presences, mixed outcomes and missing entries in real data, beside separate regressions.

    OMP_NUM_THREADS=1 THINRANK_DATA=... python benchmarks/families_real.py \
        --json families_real.json --markdown docs/benchmarks/families_real.md

Counts are fitted as Poisson and as negative binomial, and whether they are positive as Bernoulli,
each with default arguments; lsoa has 41 binary responses and 3 with several levels, 20 % of the
entries missing; cellcycle has 18 Gaussian responses with 626 missing entries. The measure is the
deviance of a held-out observed entry (of the binary responses in lsoa; of the negative binomial
family with the dispersions that the intercepts leave in the training rows, for all methods).

*separate ridges* are scikit-learn's PoissonRegressor, LogisticRegression or Ridge, one per
response, with a penalty per response or one for all (*pooled*), chosen by five folds of the
training rows. The offset of american_gut is the row mean of log(counts + 1), for all methods.
Predictors are standardized with the training rows; those that are constant there are zero. Records
are kept in the file that --json names, and fits that are in it are not repeated.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from output import JUDGED, StoredRecords, arguments_of, judged, machine, publish, table
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.model_selection import KFold

import thinrank as tr
from thinrank.losses.families import Bernoulli, Family, Gaussian, NegativeBinomial, Poisson

SEED = 100
PENALTIES = np.geomspace(1e4, 1e-2, 13)
OWN, POOLED, PER_RESPONSE, NULL = (
    "thinrank", "separate ridges, pooled", "separate ridges", "intercepts",
)  # fmt: skip
METHODS = (OWN, POOLED, PER_RESPONSE, NULL)
Record = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A set with a family, the number of folds, and the seconds that a fit may take."""

    file: str
    family: str
    folds: int
    seconds: float


COUNTS = {"beetle": ("counts/beetle", 5, 60.0), "mite": ("counts/mite", 5, 60.0),
          "bci": ("counts/bci", 5, 60.0), "gut": ("american_gut", 3, 180.0)}  # fmt: skip
CASES = {
    f"{name}, {family}": Case(file, family, folds, seconds)
    for name, (file, folds, seconds) in COUNTS.items()
    for family in ("poisson", "negative_binomial", "bernoulli")
}
CASES["lsoa, mixed"] = Case("lsoa", "mixed", 3, 180.0)
CASES["cellcycle, gaussian"] = Case("cellcycle_secure", "gaussian", 5, 60.0)


@dataclass(frozen=True)
class Data:
    """Training and test rows of a set; the offset is zero where a set has none."""

    X: np.ndarray
    Y: np.ndarray
    offset: np.ndarray
    X_new: np.ndarray
    Y_new: np.ndarray
    offset_new: np.ndarray


def read(case: Case, fold: int) -> Data:
    with np.load(Path(os.environ["THINRANK_DATA"]) / f"{case.file}.npz") as content:
        X, Y = content["X"].astype(float), content["Y"].astype(float)
    offset = np.zeros(len(X))
    if case.file == "american_gut" and case.family != "bernoulli":
        offset = np.log1p(Y).mean(axis=1)
    if case.family == "bernoulli":
        Y = (Y > 0).astype(float)
    train, test = list(KFold(case.folds, shuffle=True, random_state=SEED).split(X))[fold]
    deviation = X[train].std(axis=0)
    X = (X - X[train].mean(axis=0)) / np.where(deviation > 1e-12, deviation, np.inf)
    return Data(X[train], Y[train], offset[train], X[test], Y[test], offset[test])


# ---------------------------------------------------------------- methods: linear predictors


def fitted(case: Case, data: Data) -> tuple[np.ndarray, Record]:
    """Linear predictors of the test rows by thinrank with default arguments, and its sizes."""
    if case.family == "gaussian":
        est: Any = tr.SparseReducedRankRegressor().fit(data.X, data.Y)
        linear = est.predict(data.X_new)
    elif case.family == "mixed":
        families = ["bernoulli" if binary else "multinomial" for binary in is_binary(data.Y)]
        est = tr.SparseReducedRankGLM(families).fit(data.X, data.Y)
        places = [j for j, name in enumerate(est.target_columns_) if "=" not in name]
        linear = est.predict_linear(data.X_new)[:, places]
    else:
        est = tr.SparseReducedRankGLM(case.family).fit(data.X, data.Y, offset=data.offset)
        linear = est.predict_linear(data.X_new, data.offset_new)
    sizes = f"{est.rank_}/{len(est.row_support_)}/{len(est.column_support_)}"
    share = len(est.row_support_) / data.X.shape[1]
    return linear, {"sizes": sizes, "share": share, "converged": bool(est.status_.converged)}


def intercepts(family: Family, Y: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Linear predictors without predictors; half an event where a response has none."""
    count = np.isfinite(Y).sum(axis=0)
    if isinstance(family, Gaussian):
        return np.nanmean(Y, axis=0)
    if isinstance(family, Bernoulli):
        share = np.clip(np.nansum(Y, axis=0), 0.5, count - 0.5) / count
        return np.log(share / (1 - share))
    return np.log(np.maximum(Y.sum(axis=0), 0.5) / np.exp(offset).sum())


def ridges(family: Family, data: Data) -> dict[str, np.ndarray]:
    """Linear predictors of the test rows by one regression per response."""
    responses = range(data.Y.shape[1])
    losses = np.array([_held_out(family, data, j) for j in responses])
    pooled = int(np.argmin(losses.sum(axis=0)))
    linear = {m: np.empty((len(data.X_new), len(losses))) for m in (POOLED, PER_RESPONSE)}
    for j in responses:
        seen = np.isfinite(data.Y[:, j])
        best = {POOLED: pooled, PER_RESPONSE: int(np.argmin(losses[j]))}
        path = _path(family, data.X[seen], data.Y[seen, j], data.offset[seen])
        for i, (coefficients, own) in zip(range(max(best.values()) + 1), path, strict=False):
            for method in (m for m in best if best[m] == i):
                linear[method][:, j] = data.X_new @ coefficients + own + data.offset_new
    return linear


def _held_out(family: Family, data: Data, response: int) -> np.ndarray:
    """Deviances of one response in five folds of the training rows, for all penalties."""
    seen = np.flatnonzero(np.isfinite(data.Y[:, response]))
    losses = np.zeros(len(PENALTIES))
    for a, b in KFold(5, shuffle=True, random_state=0).split(seen):
        inside, outside = seen[a], seen[b]
        y = data.Y[outside, response]
        steps = _path(family, data.X[inside], data.Y[inside, response], data.offset[inside])
        for i, (coefficients, own) in enumerate(steps):
            linear = data.X[outside] @ coefficients + own + data.offset[outside]
            losses[i] += family.value(y[:, None], linear[:, None]).sum()
    return losses


def _path(
    family: Family, X: np.ndarray, y: np.ndarray, offset: np.ndarray
) -> Iterator[tuple[np.ndarray, float]]:
    """Coefficients and intercept for decreasing penalties, each fit started from the last."""
    null = float(intercepts(family, y[:, None], offset)[0])
    if len(np.unique(y)) == 1:
        for _ in PENALTIES:
            yield np.zeros(X.shape[1]), null
        return
    exposure = np.exp(offset)
    model: Any = None
    for penalty in PENALTIES:
        if isinstance(family, Gaussian):
            model = Ridge(penalty).fit(X, y)
        elif isinstance(family, Bernoulli):
            model = model or LogisticRegression(solver="newton-cholesky", warm_start=True)
            model.set_params(C=1 / penalty).fit(X, y)
        else:  # rates, weighted by exposures: the same likelihood as counts with an offset
            model = model or PoissonRegressor(solver="newton-cholesky", warm_start=True)
            model.set_params(alpha=penalty / len(y)).fit(X, y / exposure, sample_weight=exposure)
        yield np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])


def is_binary(Y: np.ndarray) -> np.ndarray:
    return np.array([set(np.unique(y[np.isfinite(y)])) <= {0.0, 1.0} for y in Y.T])


def measured(case: Case, own: bool, fold: int) -> dict[str, Record]:
    """Deviances and seconds in one fold: of thinrank with its sizes, or of the other methods."""
    data = read(case, fold)
    begun = time.perf_counter()
    facts: Record = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if own:
            found, facts = fitted(case, data)
            linear = {OWN: found}
        binary = is_binary(data.Y) if case.family == "mixed" else slice(None)
        Y, Y_new = data.Y[:, binary], data.Y_new[:, binary]
        data = Data(data.X, Y, data.offset, data.X_new, Y_new, data.offset_new)
        kinds = {"poisson": Poisson, "negative_binomial": Poisson, "gaussian": Gaussian}
        family = kinds.get(case.family, Bernoulli)()
        null = intercepts(family, Y, data.offset)
        if not own:
            linear = {**ridges(family, data), NULL: null + data.offset_new[:, None]}
    facts["seconds"] = time.perf_counter() - begun
    if case.family == "negative_binomial":
        rows = null + data.offset[:, None]
        family = NegativeBinomial().fitted_to(Y, rows, None, float(len(Y)))
    seen = np.isfinite(Y_new)
    filled = np.where(seen, Y_new, 0.0)
    return {
        method: {"deviance": float(family.deviance(filled, each)[seen].mean()), **facts}
        for method, each in linear.items()
    }


# ---------------------------------------------------------------- the table


def row_of(name: str, case: Case, found: dict[str, list[Record]]) -> tuple[list[object], Record]:
    """A row of the table, and what the limits are of."""
    means = {m: float(np.mean([r["deviance"] for r in records])) for m, records in found.items()}
    seconds = {m: float(np.mean([r["seconds"] for r in records])) for m, records in found.items()}
    own = found[OWN]
    facts = {
        "null": means[OWN] / means[NULL],
        "ridge": means[OWN] / min(means[POOLED], means[PER_RESPONSE]),
        "share": float(np.mean([record["share"] for record in own])),
        "late": max(record["seconds"] for record in own) / case.seconds,
        "converged": sum(record["converged"] for record in own) / len(own),
    }
    cells = [name, *(f"{means[m]:.4g}" for m in METHODS)]
    cells += [f"{seconds[OWN]:.1f}", f"{seconds[NULL]:.1f}", f"{facts['share']:.2f}"]
    return [*cells, ", ".join(record["sizes"] for record in own)], facts


def limits(facts: list[Record]) -> list[list[object]]:
    """What must hold, with the worst case of each."""
    mean = float(np.exp(np.mean([np.log(each["ridge"]) for each in facts])))
    share = float(np.mean([each["share"] for each in facts]))
    rows: list[tuple[str, float, float]] = [
        ("over intercepts, largest", max(each["null"] for each in facts), 1.01),
        ("over the better ridges, geometric mean", mean, 1.03),
        ("share of the predictors, mean", share, 0.5),
        ("longest fit over its limit", max(each["late"] for each in facts), 1.0),
        ("fits that did not converge", sum(each["converged"] < 1 for each in facts), 0),
    ]
    return [judged(name, value=value, limit=most, form=".3g") for name, value, most in rows]


def main() -> None:
    parser = arguments_of(__doc__, json=True)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--folds", nargs="+", type=int, help="a part of the folds")
    arguments = parser.parse_args()
    if "THINRANK_DATA" not in os.environ:
        parser.error("set THINRANK_DATA to the folder of the data")
    records, rows, facts = StoredRecords(arguments.json), [], []
    for name in arguments.cases:
        case = CASES[name]
        folds = [i for i in arguments.folds or range(case.folds) if i < case.folds]
        both = [
            records.run(
                f"{name}, {OWN if own else 'others'}, fold", partial(measured, case, own), folds
            )
            for own in (True, False)
        ]
        found = {m: [each[m] for each in both[m != OWN]] for m in METHODS}
        row, own = row_of(name, case, found)
        rows.append(row)
        facts.append(own)
    headings = ["deviance of a held-out entry", *METHODS, "seconds", "of ridges", "share",
                "rank/predictors/responses of the folds"]  # fmt: skip
    lines = [*table(headings, rows), "", *table(("", *JUDGED), limits(facts))]
    publish([*lines, "", f"Outer folds of the seed {SEED}. Machine: {machine()}."],
            arguments.markdown)  # fmt: skip


if __name__ == "__main__":
    main()
