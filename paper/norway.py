"""The Norwegian paper quality data: errors on random splits, and the discarded predictors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold

from paper.figures import dots
from paper.methods import METHODS, RegressionTask, fit_methods
from paper.statistics import means, number, percent, pm, printed
from paper.study import Finding, Job, Record, Study, replicated
from thinrank.datasets import load_norwegian_paper
from thinrank.estimators import SparseReducedRankRegressor
from thinrank.report.document import Block, Picture, Section, Table, Text

_TRAINING_PART = 0.7
_FOLDS = 5
_RANKS = (1, 2, 3, 4)
# The selection of the paper: rank 3, six predictors, all responses.
_RANK, _ROWS = 3, 6
_METHODS = tuple(name for name in METHODS if name != "oracle")
_PRINTED = printed()["norway"]["discarded"]


def jobs(quick: bool) -> list[Job]:
    splits = replicated(65_000, full=50, small=3)(lambda quick: [{"kind": "error"}])
    return [*splits(quick), Job({"kind": "selection"}, 0)]


def run(job: Job) -> list[Record]:
    """Compute the errors on one split, or select predictors on the full data."""
    paper = load_norwegian_paper(as_frame=False)
    if job.cell["kind"] == "selection":
        return _selection(paper.data, paper.target, paper.feature_names)
    return _errors(paper.data, paper.target, job.seed)


def _errors(X: np.ndarray, Y: np.ndarray, seed: int) -> list[Record]:
    """Return test errors; all choices are made by cross-validation on the training part."""
    order = np.random.default_rng(seed).permutation(len(X))
    count = round(_TRAINING_PART * len(X))
    train, test = order[:count], order[count:]
    folds = KFold(_FOLDS, shuffle=True, random_state=seed)
    task = RegressionTask(
        X=X[train],
        Y=Y[train],
        pooled=(X[train], Y[train]),
        splits=list(folds.split(X[train])),
        ranks=_RANKS,
        row_sizes=tuple(range(1, X.shape[1] + 1)),
        column_sizes=(None,),
        intercept=True,
    )
    records = []
    for name, answer in fit_methods(task, _METHODS).items():
        residual = Y[test] - X[test] @ answer.theta - answer.intercept
        records.append(
            {
                "method": name,
                "rmse": np.sqrt(np.mean(residual**2)),
                "rows": answer.theta.any(axis=1).sum(),
                "rank": np.linalg.matrix_rank(answer.theta),
                "seconds": answer.seconds,
            }
        )
    return records


def _selection(X: np.ndarray, Y: np.ndarray, names: list[str]) -> list[Record]:
    """Select six predictors with rank 3 on all rows, also by exhaustive search over 84 sets."""
    gdt: dict[str, Any] = {"solver": "gdt", "start": "lasso", "ridge": 0.0}
    solvers = {"GDT": gdt, "GDT, spectral start": gdt | {"start": "spectral"}, "pursuit": {}}
    found: dict[str, Any] = {
        name: SparseReducedRankRegressor(_RANK, _ROWS, None, standardize=False, **options)
        .fit(X, Y)
        .row_support_
        for name, options in solvers.items()
    }
    centred = X - X.mean(axis=0), Y - Y.mean(axis=0)
    sets = combinations(range(X.shape[1]), _ROWS)
    found["exhaustive search"] = min(sets, key=lambda rows: _residual(*centred, rows))
    return [
        {
            "method": name,
            "kept": [names[i] for i in rows],
            "discarded": [x for i, x in enumerate(names) if i not in set(rows)],
            "rss": _residual(*centred, rows),
        }
        for name, rows in found.items()
    ]


def _residual(X: np.ndarray, Y: np.ndarray, rows: Sequence[int]) -> float:
    """Return the smallest residual sum of squares of rank 3 on a set of predictors."""
    projected = np.linalg.qr(X[:, list(rows)])[0].T @ Y
    values = np.linalg.svd(projected, compute_uv=False)
    return float(np.sum(Y**2) - np.sum(values[:_RANK] ** 2))


def page(records: pd.DataFrame) -> list[Block]:
    old, errors = printed()["norway"]["rmse"], means(_of(records, "error"), "method", "rmse")
    best = errors["mean"].drop("null").min()
    rows = [
        (
            method,
            pm(row["mean"], row["sd"], 3),
            number(old.get(method), 3),
            percent(row["mean"] / old[method]) if method in old else "",
            percent(row["mean"] / best),
            f"{row['count']:.0f}",
        )
        for method, row in errors.iterrows()
    ]
    header = ("method", "here", "printed", "from printed", "from the best here", "splits")
    discarded = [
        (
            r["method"],
            _terms(r["discarded"]),
            "yes" if set(r["discarded"]) == set(_PRINTED) else "no",
            number(r["rss"], 3),
        )
        for _, r in _of(records, "selection").iterrows()
    ]
    return [
        Text(
            "Thirteen measures of paper quality are predicted from three control variables, their "
            "squares and products. Random splits into 70 % training data, on which all choices are "
            "made by cross-validation, and 30 % test data. The null model predicts the training "
            "means."
        ),
        Section("Root mean squared error on the test data"),
        Table(header, list(rows)),
        Text("The paper prints no standard deviations here, so differences are in per cent."),
        Picture(
            "rmse",
            dots(errors, old, "root mean squared error on the test data"),
            "Root mean squared error on the test data. Dots: means over the splits, plus and minus "
            "one standard deviation; open circles: printed means.",
        ),
        Section("Predictors discarded on the full data"),
        Table(
            ("method", "discarded", "as printed", "residual sum of squares"),
            list(discarded),
            left=3,
        ),
        Text(f"The paper's GDT keeps six of nine predictors and discards {_terms(_PRINTED)}."),
    ]


def _of(records: pd.DataFrame, kind: str) -> pd.DataFrame:
    return records[records["kind"] == kind]


def _terms(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def competitive(records: pd.DataFrame) -> Finding:
    """On the Norwegian paper data GDT is competitive: test error within 2 % of the best of the
    paper's methods."""
    every = means(_of(records, "error"), "method", "rmse")["mean"]
    errors = every.drop(["pursuit", "null"])
    best = errors.idxmin()
    told = f"GDT {errors['GDT']:.3f}, best {best} {errors[best]:.3f}"
    told += "".join(f", {method} {every[method]:.3f}" for method in ("pursuit", "null"))
    return bool(errors["GDT"] <= 1.02 * errors[best]), told


def discards_as_printed(records: pd.DataFrame) -> Finding:
    """On the Norwegian paper data GDT discards exactly `X1^2`, `X1*X2`, `X2*X3`."""
    found = _of(records, "selection").set_index("method")["discarded"]
    others = [name for name, terms in found.drop("GDT").items() if set(terms) == set(_PRINTED)]
    told = f"GDT discards {_terms(found['GDT'])}"
    told += f"; exactly these three: {'; '.join(others)}" if others else ""
    return set(found["GDT"]) == set(_PRINTED), told


_CLAIMS = (competitive, discards_as_printed)

STUDIES = (Study("norway", "Norwegian paper data", jobs, run, page, _CLAIMS),)
