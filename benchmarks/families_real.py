"""Counts, mixed outcomes and missing entries in real data, compared with scikit-learn.

    THINRANK_DATA=... python benchmarks/families_real.py --json families_real.json \
        --markdown docs/benchmarks/families_real.md

gut        american_gut.npz, 39 counts: the deviance of held-out rows per entry. The offset is the
           row mean of log(counts + 1) for all methods. Negative binomial deviances use dispersions
           estimated on the training rows, for the means of each method.
outcomes   lsoa.npz, 41 binary responses and 3 with several levels, 20 % missing: the log-loss of
           held-out observed entries of the binary responses
cellcycle  cellcycle_secure.npz, 18 responses with 626 missing entries: the squared error of
           held-out observed entries

All tuning uses the training rows only. Predictors are standardised with the training rows; those
that are constant there are set to zero. Records are kept in the file that --json names, and fits
that are in it are not repeated.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from output import machine, publish, table
from scipy.stats import nbinom
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV, PoissonRegressor, RidgeCV
from sklearn.model_selection import KFold
from stored import StoredRecords

import thinrank as tr
from thinrank.core.warnings import SelectionWarning
from thinrank.losses.families import Bernoulli, NegativeBinomial, Poisson

SEED = 100
ALPHAS = np.geomspace(1e-2, 1e5, 25)
Record = dict[str, Any]


@dataclass(frozen=True)
class Data:
    """Training and test rows of a set; the offset is zero where a set has none."""

    X: np.ndarray
    Y: np.ndarray
    offset: np.ndarray
    X_new: np.ndarray
    Y_new: np.ndarray
    offset_new: np.ndarray


@dataclass(frozen=True)
class Fitted:
    """Linear predictors or predictions of the training and test rows, and facts about the fit."""

    train: np.ndarray
    test: np.ndarray
    facts: Record


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(Path(os.environ["THINRANK_DATA"]) / f"{name}.npz") as content:
        return content["X"].astype(float), content["Y"].astype(float)


def split(name: str, folds: int, fold: int) -> Data:
    X, Y = read(name)
    train, test = list(KFold(folds, shuffle=True, random_state=SEED).split(X))[fold]
    deviation = X[train].std(axis=0)
    X = (X - X[train].mean(axis=0)) / np.where(deviation > 1e-12, deviation, np.inf)
    offset = np.zeros(len(X))
    if name == "american_gut":
        offset = np.log1p(Y).mean(axis=1)
    return Data(X[train], Y[train], offset[train], X[test], Y[test], offset[test])


def of_thinrank(est: Any) -> Record:
    return {
        "rank": int(est.rank_),
        "rows": len(est.row_support_),
        "columns": len(est.column_support_),
        "ridge": float(est.best_params_["ridge"]),
        "converged": bool(est.status_.converged),
    }


# ---------------------------------------------------------------- counts


def gut_glm(family: str) -> Callable[[Data], Fitted]:
    def fit(data: Data) -> Fitted:
        est = tr.SparseReducedRankGLM(family).fit(data.X, data.Y, offset=data.offset)
        linear = est.predict_linear(data.X, data.offset)
        return Fitted(linear, est.predict_linear(data.X_new, data.offset_new), of_thinrank(est))

    return fit


def gut_ridges(data: Data) -> Fitted:
    """PoissonRegressor of the rates, weighted by the exposures, one per response.

    The ridge is chosen by the deviance of the counts of held-out folds.
    """
    exposure = np.exp(data.offset)
    grid = np.geomspace(1e3, 1e-2, 11)
    train, test = np.empty(data.Y.shape), np.empty(data.Y_new.shape)
    for j, y in enumerate(data.Y.T):
        held_out = np.zeros(len(grid))
        for a, b in KFold(5, shuffle=True, random_state=0).split(data.X):
            for i, model in enumerate(poisson_path(data.X[a], y[a], exposure[a], grid)):
                linear = data.X[b] @ model.coef_ + model.intercept_
                held_out[i] += np.sum(exposure[b] * np.exp(linear) - y[b] * linear)
        best = int(np.argmin(held_out)) + 1
        *_, model = poisson_path(data.X, y, exposure, grid[:best])
        train[:, j] = data.X @ model.coef_ + model.intercept_
        test[:, j] = data.X_new @ model.coef_ + model.intercept_
    return Fitted(train + data.offset[:, None], test + data.offset_new[:, None], {})


def poisson_path(
    X: np.ndarray, y: np.ndarray, exposure: np.ndarray, grid: np.ndarray
) -> Iterator[PoissonRegressor]:
    """The same regressor after fits with decreasing ridges, each started from the last."""
    model = PoissonRegressor(max_iter=1000, warm_start=True)
    for alpha in grid:
        yield model.set_params(alpha=alpha).fit(X, y / exposure, sample_weight=exposure)


def gut_null(data: Data) -> Fitted:
    intercept = np.log(data.Y.sum(axis=0) / np.exp(data.offset).sum())
    train, test = (offset[:, None] + intercept for offset in (data.offset, data.offset_new))
    return Fitted(train, test, {})


def gut_measures(data: Data, fitted: Fitted) -> Record:
    """Deviances of negative binomial families differ in dispersion, log-likelihoods compare."""
    family = NegativeBinomial().fitted_to(data.Y, fitted.train, None, float(len(data.Y)))
    size = 1.0 / family.dispersion_of(data.Y.shape[1])
    likelihood = nbinom.logpmf(data.Y_new, size, size / (size + np.exp(fitted.test)))
    return {
        "negative binomial deviance": float(family.deviance(data.Y_new, fitted.test).mean()),
        "negative log-likelihood": float(-likelihood.mean()),
        "Poisson deviance": float(Poisson().deviance(data.Y_new, fitted.test).mean()),
    }


# ---------------------------------------------------------------- mixed outcomes


def outcomes_glm(data: Data) -> Fitted:
    binary = is_binary(data.Y)
    families = ["bernoulli" if b else "multinomial" for b in binary]
    est = tr.SparseReducedRankGLM(families).fit(data.X, data.Y)
    places = [j for j, name in enumerate(est.target_columns_) if "=" not in name]
    train, test = (est.predict_linear(X)[:, places] for X in (data.X, data.X_new))
    return Fitted(train, test, of_thinrank(est))


def outcomes_ridges(data: Data) -> Fitted:
    """LogisticRegressionCV with the ridge penalty, on the observed rows of each response."""
    train, test = [], []
    for y in data.Y[:, is_binary(data.Y)].T:
        seen = np.isfinite(y)
        model = LogisticRegressionCV(
            Cs=10,
            cv=5,
            l1_ratios=(0.0,),
            scoring="neg_log_loss",
            max_iter=1000,
            use_legacy_attributes=False,
        )
        model.fit(data.X[seen], y[seen])
        train.append(model.decision_function(data.X))
        test.append(model.decision_function(data.X_new))
    return Fitted(np.stack(train, 1), np.stack(test, 1), {})


def outcomes_null(data: Data) -> Fitted:
    share = np.nanmean(data.Y[:, is_binary(data.Y)], axis=0)
    linear = np.log(share / (1 - share))
    return Fitted(*(np.tile(linear, (len(X), 1)) for X in (data.X, data.X_new)), {})


def is_binary(Y: np.ndarray) -> np.ndarray:
    return np.array([set(np.unique(y[np.isfinite(y)])) <= {0.0, 1.0} for y in Y.T])


def outcomes_measures(data: Data, fitted: Fitted) -> Record:
    Y = data.Y_new[:, is_binary(data.Y)]
    seen = np.isfinite(Y)
    loss = Bernoulli().value(np.where(seen, Y, 0.0), fitted.test)
    return {"log-loss": float(loss[seen].mean())}


# ---------------------------------------------------------------- squared errors


def cellcycle_glm(make: Callable[[], Any]) -> Callable[[Data], Fitted]:
    def fit(data: Data) -> Fitted:
        est = make().fit(data.X, data.Y)
        return Fitted(est.predict(data.X), est.predict(data.X_new), of_thinrank(est))

    return fit


def cellcycle_ridges(data: Data) -> Fitted:
    """RidgeCV on the observed rows of each response."""
    train, test = [], []
    for y in data.Y.T:
        seen = np.isfinite(y)
        model = RidgeCV(ALPHAS).fit(data.X[seen], y[seen])
        train.append(model.predict(data.X))
        test.append(model.predict(data.X_new))
    return Fitted(np.stack(train, 1), np.stack(test, 1), {})


def cellcycle_null(data: Data) -> Fitted:
    means = np.nanmean(data.Y, axis=0)
    return Fitted(*(np.tile(means, (len(X), 1)) for X in (data.X, data.X_new)), {})


def cellcycle_measures(data: Data, fitted: Fitted) -> Record:
    return {"squared error": float(np.nanmean((data.Y_new - fitted.test) ** 2))}


# ---------------------------------------------------------------- all sets


@dataclass(frozen=True)
class Check:
    """A set, the number of folds, the methods, the measures, and whose errors are the limit."""

    title: str
    file: str
    folds: int
    methods: dict[str, Callable[[Data], Fitted]]
    measures: Callable[[Data, Fitted], Record]
    limit: str
    seconds: float | None = None


CHECKS = {
    "gut": Check(
        "American Gut, 627 × 350 → 39 counts: deviance per held-out entry",
        "american_gut",
        5,
        {
            "thinrank, negative binomial": gut_glm("negative_binomial"),
            "PoissonRegressor, ridge": gut_ridges,
            "intercepts": gut_null,
        },
        gut_measures,
        "PoissonRegressor, ridge",
        120.0,
    ),
    "outcomes": Check(
        "Mixed outcomes, 3988 × 294 → 44, 20 % missing: log-loss of binary responses",
        "lsoa",
        3,
        {
            "thinrank": outcomes_glm,
            "LogisticRegressionCV, ridge": outcomes_ridges,
            "intercepts": outcomes_null,
        },
        outcomes_measures,
        "LogisticRegressionCV, ridge",
    ),
    "cellcycle": Check(
        "Cell cycle, 1790 × 113 → 18, 626 entries missing: squared error",
        "cellcycle_secure",
        5,
        {
            "thinrank": cellcycle_glm(tr.SparseReducedRankRegressor),
            "thinrank, CV class": cellcycle_glm(tr.SparseReducedRankRegressorCV),
            "RidgeCV": cellcycle_ridges,
            "means": cellcycle_null,
        },
        cellcycle_measures,
        "RidgeCV",
    ),
}


def measure(check: Check, method: str, fold: int) -> Record:
    data = split(check.file, check.folds, fold)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SelectionWarning)
        began = time.perf_counter()
        fitted = check.methods[method](data)
        seconds = time.perf_counter() - began
    return {**check.measures(data, fitted), **fitted.facts, "seconds": seconds}


def lines_of(check: Check, found: dict[str, list[Record]]) -> list[str]:
    own = next(iter(check.methods))
    facts = ("rank", "rows", "columns", "ridge", "converged", "seconds")
    measures = [field for field in found[own][0] if field not in facts]
    rows, means = [], {}
    for method, records in found.items():
        means[method] = {m: float(np.mean([r[m] for r in records])) for m in measures}
        sizes = "–"
        if "rank" in records[0]:
            sizes = ", ".join(
                "/".join(str(r[field]) for field in ("rank", "rows", "columns")) for r in records
            )
        seconds = f"{np.mean([r['seconds'] for r in records]):.1f}"
        rows.append([method, *(f"{means[method][m]:.4f}" for m in measures), seconds, sizes])
    headings = ["", *measures, "seconds", "rank/rows/columns of the folds"]
    limits = []
    for m in measures if check.limit in found else ():
        limit = means[check.limit][m]
        holds = "yes" if means[own][m] <= limit else "**no**"
        limits.append([f"{m}, {own}", f"{means[own][m]:.4f}", f"≤ {limit:.4f}", holds])
    if check.seconds is not None:
        longest = max(record["seconds"] for record in found[own])
        holds = "yes" if longest <= check.seconds else "**no**"
        limits.append(["longest fit, seconds", f"{longest:.1f}", f"≤ {check.seconds:g}", holds])
    converged = [record["converged"] for record in found[own]]
    holds = "yes" if all(converged) else "**no**"
    limits.append(["fits that converged", sum(converged), f"≥ {len(converged)}", holds])
    return [*table(headings, rows), "", *table(["", "value", "limit", "holds"], limits)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checks", nargs="+", default=list(CHECKS), choices=list(CHECKS))
    parser.add_argument("--methods", nargs="+", help="a part of the methods")
    parser.add_argument("--folds", nargs="+", type=int, help="a part of the folds")
    parser.add_argument("--json", type=Path, help="file of the records, read and written")
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    if "THINRANK_DATA" not in os.environ:
        parser.error("set THINRANK_DATA to the folder of the data")
    records, lines = StoredRecords(arguments.json), []
    for name in arguments.checks:
        check = CHECKS[name]
        folds = arguments.folds or range(check.folds)
        found = {
            method: records.run(f"{name}, {method}, fold", partial(measure, check, method), folds)
            for method in check.methods
            if not arguments.methods or method in arguments.methods
        }
        title = f"{check.title}, folds {', '.join(map(str, folds))} of {check.folds}"
        lines += [f"**{title}**", "", *lines_of(check, found), ""]
    lines.append(f"Outer folds of the seed {SEED}. Machine: {machine()}.")
    publish(lines, arguments.markdown)


if __name__ == "__main__":
    main()
