"""False discovery rates and power of tr.inference.select_predictors.

Run:  OMP_NUM_THREADS=1 python benchmarks/inference.py discoveries [--runs 200] [--minutes 40]
          [--jobs 16] [--records F] [--first-seed 600000]
          [--markdown docs/benchmarks/inference_discoveries.md]

One data set per run and cell; problems and baselines are in discoveries_problems.py. Runs go
over all cells one after another, so that a limit of minutes leaves the same number in all cells.
Mirror statistics (50 splits) and tests given all other predictors run for the first --mirror-runs
of them, the multi-task method of hidimstat and one-response knockoffs for the first
--baseline-runs, without t₅ noise.
``--records`` names a file of records in JSON, one per line, which a later run continues.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import discoveries_problems as problems
import numpy as np
from joblib import Parallel, delayed
from output import machine, publish, table

import thinrank as tr
from thinrank.inference.checked_data import as_sample
from thinrank.inference.mirror import mirror_statistics
from thinrank.inference.neighbours import find_neighbours
from thinrank.inference.thresholds import adjusted_p_values, rates_cut, sign_threshold

LEVELS = (0.1, 0.2)
CELLS = [
    *(
        {"rho": rho, "signal": signal, "noise": noise}
        for noise in ("independent", "common factor")
        for rho in (0.0, 0.5, 0.8)
        for signal in ("weak", "medium", "strong")
    ),
    *({"rho": rho, "signal": "medium", "noise": "t5"} for rho in (0.0, 0.5, 0.8)),
    *(
        {"rho": 0.5, "signal": "none", "noise": noise}
        for noise in ("independent", "common factor", "t5")
    ),
    {"rho": 0.5, "signal": "medium", "noise": "independent", "rank": 15},
]
MAIN = 18  # cells with Gaussian noise, effects and shared structure
NAMES = {
    "auto": "auto (row tests)",
    "all": "row tests given all",
    "fixed": "fixed-X knockoffs",
    "model_x": "model-X knockoffs",
    "mirror": "mirror",
    "manova": "MANOVA + BH",
    "hidimstat": "hidimstat + BH",
    "one": "one response, best",
}
SPLITS = 50


def from_p_values(p_values: np.ndarray) -> dict[float, np.ndarray]:
    adjusted = adjusted_p_values(p_values)
    return {q: np.flatnonzero(adjusted <= q) for q in LEVELS}


def from_signs(W: np.ndarray) -> dict[float, np.ndarray]:
    return {q: np.flatnonzero(sign_threshold(W, q) <= W) for q in LEVELS}


def from_mirror(X: np.ndarray, Y: np.ndarray) -> dict[float, np.ndarray]:
    """The selection of method="mirror" for both levels, from the same splits."""
    sample = as_sample(X, Y)
    rng = np.random.default_rng(0)
    rates = {q: np.zeros(X.shape[1]) for q in LEVELS}
    half = len(X) // 2
    neighbours = find_neighbours(sample.X, np.arange(X.shape[1]))
    for _ in range(SPLITS):
        order = rng.permutation(len(X))
        W = mirror_statistics(sample.X, sample.Y, order[:half], order[half:], neighbours)
        for q, chosen in from_signs(W).items():
            rates[q][chosen] += 1 / max(len(chosen), 1) / SPLITS
    return {q: np.flatnonzero(rates[q] >= rates_cut(rates[q], q)) for q in LEVELS}


def selections(X: np.ndarray, Y: np.ndarray, which: set[str]) -> Iterator[tuple[str, dict, float]]:
    """Name, selection for each level, and seconds of the methods that are asked for."""
    select = tr.inference.select_predictors
    methods = {
        "auto": lambda: from_p_values(select(X, Y).p_values),
        "all": lambda: from_p_values(select(X, Y, method="row_tests", adjust_for="all").p_values),
        "fixed": lambda: from_signs(select(X, Y, method="fixed_knockoffs").statistics),
        "model_x": lambda: from_signs(select(X, Y, method="model_x_knockoffs").statistics),
        "mirror": lambda: from_mirror(X, Y),
        "manova": lambda: from_p_values(problems.manova(X, Y)),
        "hidimstat": lambda: from_p_values(problems.hidimstat_p_values(X, Y)),
    }
    for name in (name for name in methods if name in which):
        began = time.process_time()
        found = methods[name]()
        yield name, found, time.process_time() - began


def best_response(X: np.ndarray, Y: np.ndarray, true: np.ndarray) -> dict[float, np.ndarray]:
    """The selection of the response that finds the most true predictors, known in hindsight."""
    found = [from_signs(W) for W in problems.one_response_knockoffs(X, Y)]
    return {q: max((s[q] for s in found), key=lambda s: np.isin(s, true).sum()) for q in LEVELS}


def record(run: int, seed: int, number: int, options: argparse.Namespace) -> dict:
    cell = CELLS[number]
    X, Y, true = problems.problem(seed, cell)
    which = {"auto", "fixed", "model_x", "manova"}
    if run < options.mirror_runs:
        which |= {"mirror", "all"}
    baselines = run < options.baseline_runs and cell["noise"] != "t5" and len(true)
    if baselines and not options.without_hidimstat:
        which.add("hidimstat")
    found: dict = {"run": run, "cell": number}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, chosen, seconds in selections(X, Y, which):
            found[name] = {"seconds": seconds, **measures(chosen, true)}
        if baselines:
            found["one"] = {"seconds": np.nan, **measures(best_response(X, Y, true), true)}
    return found


def measures(chosen: dict[float, np.ndarray], true: np.ndarray) -> dict:
    """Proportion of false discoveries and power for each level."""
    found = {}
    for q, selected in chosen.items():
        right = int(np.isin(selected, true).sum())
        found[f"fdp {q}"] = (len(selected) - right) / max(len(selected), 1)
        found[f"power {q}"] = right / len(true) if len(true) else np.nan
    return found


def run_all(options: argparse.Namespace) -> list[dict]:
    records = []
    if options.records and options.records.exists():
        records = [json.loads(line) for line in options.records.read_text().splitlines()]
    done = {(r["run"], r["cell"]) for r in records}
    until = time.monotonic() + 60 * options.minutes
    left = (
        (run, number)
        for run in range(options.runs)
        for number in range(len(CELLS))
        if (run, number) not in done and time.monotonic() < until
    )
    found = Parallel(options.jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")(
        delayed(record)(run, options.first_seed + 1000 * number + run, number, options)
        for run, number in left
    )
    for one in found:
        records.append(one)
        if options.records:
            with options.records.open("a") as file:
                file.write(json.dumps(one) + "\n")
    return records


def lines_of(records: list[dict]) -> list[str]:
    cells = defaultdict(list)
    for r in records:
        cells[r["cell"]].append(r)
    fewest = min(map(len, cells.values()))
    sizes = problems.SIZES
    lines = [
        f"n = {sizes['n']}, p = {sizes['p']}, k = {sizes['k']}, {sizes['rows']} predictors with "
        f"effects, rank {sizes['rank']} unless noted; at least {fewest} runs per cell, mirror and "
        "baselines fewer, as given in parentheses.",
    ]
    for q in LEVELS:
        lines += ["", f"### q = {q}: false discovery rate ± standard error", ""]
        lines += _block(cells, f"fdp {q}", True)
        lines += ["", f"### q = {q}: power", ""]
        lines += _block(cells, f"power {q}", False)
    lines += ["", "Seconds of processor time per data set, mean: " + _seconds(records) + "."]
    return lines


def _block(cells: dict, key: str, errors: bool) -> list[str]:
    rows = []
    for number, part in sorted(cells.items()):
        cell = CELLS[number]
        if not errors and cell["signal"] == "none":
            continue
        signal = cell["signal"] + (f", rank {cell['rank']}" if "rank" in cell else "")
        row = [cell["noise"], cell["rho"], signal, len(part)]
        for name in NAMES:
            values = np.array([r[name][key] for r in part if name in r])
            row.append(_shown(values, len(part), errors))
        rows.append(row)
    pooled = [r for number in range(MAIN) for r in cells[number]]
    rows.append([f"all of the first {MAIN}", "", "", len(pooled)])
    for name in NAMES:
        values = np.array([r[name][key] for r in pooled if name in r])
        rows[-1].append(_shown(values, len(pooled), errors))
    headings = ["noise", "ρ", "signal", "runs", *NAMES.values()]
    return table(headings, rows, text=3)


def _shown(values: np.ndarray, runs: int, errors: bool) -> str:
    if len(values) == 0:
        return "–"
    text = f"{values.mean():.3f}"
    if errors:
        text += f" ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}" if len(values) > 1 else ""
    return text + (f" ({len(values)})" if len(values) != runs else "")


def _seconds(records: list[dict]) -> str:
    means = {
        name: np.mean([r[name]["seconds"] for r in records if name in r])
        for name in NAMES
        if name != "one" and any(name in r for r in records)
    }
    return ", ".join(f"{NAMES[name]} {value:.2f}" for name, value in means.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=np.inf)
    parser.add_argument("--mirror-runs", type=int, default=200)
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
