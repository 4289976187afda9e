"""False discovery rates and power of tr.inference.select_predictors.

Run:  OMP_NUM_THREADS=1 python benchmarks/inference.py discoveries [--runs 200] [--minutes 40]
          [--jobs 16] [--records F] [--first-seed 600000] [--parts methods baselines]
          [--markdown docs/benchmarks/inference_discoveries.md]

One data set per run and cell; problems and baselines are in discoveries_problems.py, the tables in
discoveries_tables.py. Runs go over all cells one after another, so that a limit of minutes leaves
the same number in all cells. The part "methods" has row tests (robust, and for equal variance),
knockoffs and the MANOVA-type tests. The part "baselines" has what takes longer, for the first
--baseline-runs runs: the multi-task method of hidimstat and one-response knockoffs. ``--records``
names a file of records in JSON, one per line, which a later run continues; the two parts may run at
the same time and write to the same file.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import discoveries_problems as problems
import numpy as np
from discoveries_tables import LEVELS, lines_of
from joblib import Parallel, delayed
from output import machine, publish
from scipy.stats import false_discovery_control

import thinrank as tr
from thinrank.inference.knockoffs import sign_threshold

PARTS = ("methods", "baselines")


def from_p_values(p_values: np.ndarray, true: np.ndarray) -> dict:
    return measures(
        {q: np.flatnonzero(false_discovery_control(p_values) <= q) for q in LEVELS}, true
    ) | {"hindsight": hindsight(-p_values, true)}


def from_signs(W: np.ndarray) -> dict[float, np.ndarray]:
    return {q: np.flatnonzero(sign_threshold(W, q)[0] <= W) for q in LEVELS}


def from_auto(found: tr.inference.Discoveries, true: np.ndarray) -> dict:
    """One call serves all levels, since statistics do not depend on the level."""
    if found.adjusted_p_values is None:
        chosen = from_signs(found.statistics)
    else:
        chosen = {q: np.flatnonzero(found.adjusted_p_values <= q) for q in LEVELS}
    return measures(chosen, true) | {
        "hindsight": hindsight(found.statistics, true),
        "method": found.method,
    }


def methods_of(X: np.ndarray, Y: np.ndarray, true: np.ndarray, part: str) -> dict[str, Callable]:
    """Functions that return the measures of each method."""
    select = tr.inference.select_predictors

    def signs(method: str) -> Callable:
        return lambda: measures(from_signs(select(X, Y, method=method).statistics), true)

    n, p = X.shape
    if part == "methods":
        found = {
            "auto": lambda: from_auto(select(X, Y), true),
            "equal": lambda: from_auto(select(X, Y, robust=False), true),
            "all": lambda: from_auto(select(X, Y, method="row_tests", adjust_for="all"), true),
            "model_x": signs("model_x_knockoffs"),
            "manova": lambda: from_p_values(problems.manova(X, Y), true),
        }
        return found | ({"fixed": signs("fixed_knockoffs")} if n > 2 * p else {})
    found = {
        "hidimstat": lambda: from_p_values(problems.hidimstat_p_values(X, Y), true),
    }
    return found | ({"one": lambda: measures(best_response(X, Y, true), true)} if n > 2 * p else {})


def best_response(X: np.ndarray, Y: np.ndarray, true: np.ndarray) -> dict[float, np.ndarray]:
    """The selection of the response that finds the most true predictors, known in hindsight."""
    found = [from_signs(W) for W in problems.one_response_knockoffs(X, Y)]
    return {q: max((s[q] for s in found), key=lambda s: np.isin(s, true).sum()) for q in LEVELS}


def record(part: str, run: int, number: int, options: argparse.Namespace) -> dict:
    seed = options.first_seed + 1000 * number + run
    X, Y, true = problems.problem(seed, problems.CELLS[number])
    found: dict = {"part": part, "run": run, "cell": number}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, method in methods_of(X, Y, true, part).items():
            if name == "hidimstat" and options.without_hidimstat:
                continue
            began = time.process_time()
            found[name] = method()
            found[name]["seconds"] = time.process_time() - began
    return found


def measures(chosen: dict[float, np.ndarray], true: np.ndarray) -> dict:
    """Proportion of false discoveries and power for each level."""
    found = {}
    for q, selected in chosen.items():
        right = int(np.isin(selected, true).sum())
        found[f"fdp {q}"] = (len(selected) - right) / max(len(selected), 1)
        found[f"power {q}"] = right / len(true) if len(true) else np.nan
    return found


def hindsight(statistics: np.ndarray, true: np.ndarray) -> float:
    """Power of the longest list, from the top of the ranking, with a proportion of at most 0.1."""
    right = np.cumsum(np.isin(np.argsort(-statistics, kind="stable"), true))
    good = np.flatnonzero(right >= 0.9 * np.arange(1, len(right) + 1))
    return float(right[good[-1]] / max(len(true), 1)) if len(good) else 0.0


def run_all(options: argparse.Namespace) -> list[dict]:
    records = []
    if options.records and options.records.exists():
        records = [json.loads(line) for line in options.records.read_text().splitlines()]
    done = {(r["part"], r["run"], r["cell"]) for r in records}
    until = time.monotonic() + 60 * options.minutes
    sizes = {"methods": options.runs, "baselines": min(options.baseline_runs, options.runs)}
    left = (
        task
        for part in options.parts
        for run in range(sizes[part])
        for task in ((part, run, number) for number in range(len(problems.CELLS)))
        if task not in done and time.monotonic() < until
    )
    found = Parallel(options.jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")(
        delayed(record)(*task, options) for task in left
    )
    for one in found:
        records.append(one)
        if options.records:
            with options.records.open("a") as file:
                file.write(json.dumps(one) + "\n")
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=np.inf)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--baseline-runs", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=600_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--without-hidimstat", action="store_true")
    parser.add_argument("--records", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    records = run_all(options)
    lines = [*lines_of(records), "", f"Machine: {machine()}"]
    publish(lines, options.markdown)


if __name__ == "__main__":
    main()
