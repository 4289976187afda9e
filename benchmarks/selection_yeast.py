"""Automatic sizes on the yeast cell-cycle data: prediction, and confirmed factors.

THINRANK_DATA=... python benchmarks/selection_yeast.py --markdown docs/benchmarks/selection_yeast.md
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from rich.progress import track
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import thinrank as tr

METHODS = {
    "means only": DummyRegressor(),
    "ridge, all predictors": make_pipeline(StandardScaler(), RidgeCV(np.geomspace(1, 1e4, 30))),
    "auto": tr.SparseReducedRankRegressor(),
    'auto, ridge="auto"': tr.SparseReducedRankRegressor(ridge="auto"),
    "5-fold cv": tr.SparseReducedRankRegressorCV(cv=5),
    '5-fold cv, refit_rule="one_se"': tr.SparseReducedRankRegressorCV(cv=5, refit_rule="one_se"),
}


def nested_error(est: BaseEstimator, X: np.ndarray, Y: np.ndarray) -> float:
    predicted = np.empty_like(Y)
    for train, test in KFold(10, shuffle=True, random_state=0).split(X):
        predicted[test] = clone(est).fit(X[train], Y[train]).predict(X[test])
    return float(np.mean((predicted - Y) ** 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    folder = os.environ.get("THINRANK_DATA")
    if folder is None:
        parser.error("set THINRANK_DATA to the folder that holds yeast_spls.npz")
    data = np.load(Path(folder) / "yeast_spls.npz")
    X, Y = data["X"].astype(float), data["Y"].astype(float)
    factors = np.array([name.split("_")[0] for name in data["X_names"]])
    lines = ["| method | error | rank | predictors | confirmed |", "|---|---|---|---|---|"]
    for name, est in track(METHODS.items(), "methods"):
        fitted = clone(est).fit(X, Y)
        kept = getattr(fitted, "row_support_", None)
        counts = ["", "", ""]
        if kept is not None:
            confirmed = int(np.isin(factors[kept], data["confirmed_TFs"]).sum())
            counts = [str(fitted.rank_), str(len(kept)), str(confirmed)]
        lines.append(f"| {name} | {nested_error(est, X, Y):.4f} | " + " | ".join(counts) + " |")
    text = "\n".join(lines) + "\n"
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text)


if __name__ == "__main__":
    main()
