"""Transcription factors of the yeast cell cycle that are selected, and how many are confirmed.

Run:  THINRANK_DATA=… OMP_NUM_THREADS=1 python benchmarks/inference.py yeast [--markdown F]

Experiments have confirmed 21 of the 106 factors as regulators of the cell cycle. Others that are
selected are not wrong for that reason: nobody may have looked yet.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import discoveries_problems as problems
import numpy as np
from output import machine, publish, table
from scipy.stats import false_discovery_control

import thinrank as tr

LEVELS = (0.05, 0.1, 0.2)


def rows(X: np.ndarray, Y: np.ndarray, confirmed: np.ndarray) -> list[list[str]]:
    """One row per method: selected and, among them, confirmed, for each level."""
    methods = {
        name: lambda q, method=method, adjust=adjust: (
            tr.inference.select_predictors(X, Y, q, method, adjust_for=adjust).selected
        )
        for name, method, adjust in (
            ("row tests given neighbours (auto)", "auto", "auto"),
            ("row tests given all", "row_tests", "all"),
            ("fixed-X knockoffs", "fixed_knockoffs", "auto"),
            ("model-X knockoffs", "model_x_knockoffs", "auto"),
        )
    }
    p_values = false_discovery_control(problems.manova(X, Y))
    methods["MANOVA + BH"] = lambda q: np.flatnonzero(p_values <= q)
    found = []
    for name, select in methods.items():
        cells = [select(q) for q in LEVELS]
        found.append([name, *(f"{len(s)} ({int(confirmed[s].sum())})" for s in cells)])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    with np.load(Path(os.environ["THINRANK_DATA"]) / "yeast_spls.npz") as stored:
        X, Y = stored["X"], stored["Y"]
        known = {str(name) for name in stored["confirmed_TFs"]}
        confirmed = np.array([str(name).split("_")[0] in known for name in stored["X_names"]])
    lines = [
        f"n = {X.shape[0]} genes, p = {X.shape[1]} factors, {int(confirmed.sum())} of them "
        f"confirmed, k = {Y.shape[1]} times. Selected, in parentheses confirmed among them.",
        "",
        *table(["method", *(f"q = {q}" for q in LEVELS)], rows(X, Y, confirmed)),
        "",
        f"Machine: {machine()}",
    ]
    publish(lines, options.markdown)


if __name__ == "__main__":
    main()
