"""Tables of the records of benchmarks/inference_discoveries.py."""

from __future__ import annotations

from collections import defaultdict

import discoveries_problems as problems
import numpy as np
from output import table

LEVELS = (0.1, 0.2)
NAMES = {
    "auto": "auto",
    "equal": "auto, equal variance",
    "all": "row tests given all",
    "fixed": "fixed-X knockoffs",
    "model_x": "model-X knockoffs",
    "manova": "MANOVA + BH",
    "hidimstat": "hidimstat + BH",
    "one": "one response, best",
}


def lines_of(records: list[dict]) -> list[str]:
    """The whole page."""
    cells = merged(records)
    fewest = min(sum("auto" in r for r in part) for part in cells.values())
    sizes = problems.SIZES
    lines = [
        f"n = {sizes['n']}, p = {sizes['p']}, k = {sizes['k']}, {sizes['rows']} predictors with "
        f"effects, rank {sizes['rank']} unless noted; at least {fewest} runs per cell, "
        "baselines fewer, as given in parentheses. In rows with factors instead of ρ, predictors "
        "share factors, and there are 200 rows. Method that auto used, if not row tests: "
        f"{_other_methods(cells)}.",
    ]
    for q in LEVELS:
        lines += ["", f"### q = {q}: false discovery rate ± standard error", ""]
        lines += _block(cells, f"fdp {q}", True)
        lines += ["", f"Above {q} + 2 standard errors: {_too_large(cells, q)}."]
        lines += ["", f"### q = {q}: power", ""]
        lines += _block(cells, f"power {q}", False)
    lines += ["", "### The same data sets: auto and hidimstat, q = 0.1", "", *_pairs(cells)]
    lines += ["", "Seconds of processor time per data set, mean: " + _seconds(records) + "."]
    return lines


def merged(records: list[dict]) -> dict[int, list[dict]]:
    """For each cell one record per run, with the methods of all parts."""
    runs: dict[tuple[int, int], dict] = defaultdict(dict)
    for r in records:
        runs[r["cell"], r["run"]] |= r
    cells = defaultdict(list)
    for (cell, _), r in sorted(runs.items()):
        cells[cell].append(r)
    return cells


def values_of(part: list[dict], name: str, key: str) -> np.ndarray:
    return np.array([r[name][key] for r in part if name in r])


def _words(number: int) -> list:
    cell = problems.CELLS[number]
    signal = cell["signal"] + (f", rank {cell['rank']}" if "rank" in cell else "")
    return [
        cell["noise"],
        f"{cell['factors']} factors" if "factors" in cell else cell["rho"],
        signal,
    ]


def _other_methods(cells: dict) -> str:
    """Cells in which auto did not use row tests, and how often."""
    found = []
    for number, part in sorted(cells.items()):
        used = [r["auto"]["method"] for r in part if "auto" in r]
        others = [method for method in used if method != "row_tests"]
        if others:
            found.append(f"{others[0]} with {_words(number)[1]} in {len(others)} of {len(used)}")
    return "; ".join(found) or "none"


def _block(cells: dict, key: str, errors: bool) -> list[str]:
    rows = []
    for number, part in sorted(cells.items()):
        if errors or problems.CELLS[number]["signal"] != "none":
            rows.append([*_words(number), *_row(part, key, errors)])
    pooled = [r for number in range(problems.MAIN) for r in cells[number]]
    rows.append([f"all of the first {problems.MAIN}", "", "", *_row(pooled, key, errors)])
    return table(["noise", "ρ", "signal", "runs", *NAMES.values()], rows, text=3)


def _row(part: list[dict], key: str, errors: bool) -> list:
    runs = sum("auto" in r for r in part)
    return [runs, *(_shown(values_of(part, name, key), runs, errors) for name in NAMES)]


def _shown(values: np.ndarray, runs: int, errors: bool) -> str:
    if len(values) == 0:
        return "–"
    text = f"{values.mean():.3f}"
    if errors and len(values) > 1:
        text += f" ± {_error(values):.3f}"
    return text + (f" ({len(values)})" if len(values) != runs else "")


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _too_large(cells: dict, q: float) -> str:
    """Cells whose rate is above the nominal one by more than two standard errors."""
    found = []
    for name in NAMES:
        for number, part in sorted(cells.items()):
            values = values_of(part, name, f"fdp {q}")
            if len(values) > 1 and values.mean() > q + 2 * _error(values):
                noise, rho, signal = _words(number)
                found.append(f"{NAMES[name]} ({noise}, {rho}, {signal}: {values.mean():.3f})")
    return "; ".join(found) or "none"


def _pairs(cells: dict) -> list[str]:
    """Both methods where both were run; last, power of the best list with at most 10 % false."""
    rows = []
    for number, part in sorted(cells.items()):
        both = [r for r in part if "auto" in r and "hidimstat" in r]
        if len(both) < 2 or problems.CELLS[number]["signal"] == "none":
            continue
        row = [*_words(number), len(both)]
        for key in ("fdp 0.1", "power 0.1", "hindsight"):
            pair = [values_of(both, name, key) for name in ("auto", "hidimstat")]
            row += [f"{values.mean():.3f}" for values in pair]
            row.append(f"{np.mean(pair[0] - pair[1]):+.3f} ± {_error(pair[0] - pair[1]):.3f}")
        rows.append(row)
    headings = ["noise", "ρ", "signal", "runs"]
    for what in ("rate", "power", "power, 10 % false in hindsight"):
        headings += [f"{what}: auto", "hidimstat", "difference"]
    return table(headings, rows, text=3)


def _seconds(records: list[dict]) -> str:
    means = {name: values_of(records, name, "seconds") for name in NAMES}
    return ", ".join(f"{NAMES[n]} {v.mean():.2f}" for n, v in means.items() if len(v))
