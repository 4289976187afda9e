"""thinrank against other packages for row-sparse multi-response regression.

Run:  OMP_NUM_THREADS=1 python benchmarks/rivals/run.py [--seeds 5] [--json F] [--markdown F]

The paper's strong and weak two-way sparse settings; the adaptors are in adaptors.py, the
measures in judge.py, the packages in requirements.txt. A contestant that is not installed, or
fails, is left out and the reason is printed. The first fit of each, which may compile, is not
counted.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import os
import platform
import shlex
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import judge
import numpy as np
from adaptors import CONTESTANTS, Contestant
from rich.console import Console
from rich.table import Table

PACKAGES = (
    "thinrank",
    "numpy",
    "scipy",
    "scikit-learn",
    "celer",
    "skglm",
    "numba",
    "abess",
    "adelie",
)
WARM_UP = "strong", 10_000


def attempt(contestant: Contestant, setting: str, seed: int) -> dict:
    """Fit one problem; the record says what it warned of."""
    X, Y, truth = judge.problem(setting, seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        theta = contestant.fit(X, Y)
        seconds = time.perf_counter() - began
    return {
        "setting": setting,
        "seed": seed,
        "contestant": contestant.name,
        **judge.measures(np.asarray(theta), truth, seed),
        "seconds": seconds,
        "warnings": sorted({w.category.__name__ for w in caught}),
    }


def entry(contestant: Contestant, seeds: int) -> list[dict]:
    """Every problem, after one fit that is not recorded."""
    importlib.import_module(contestant.package)
    attempt(contestant, *WARM_UP)
    return [attempt(contestant, setting, s) for setting in judge.SETTINGS for s in range(seeds)]


def excuse(contestant: Contestant, error: Exception) -> str:
    """One line."""
    first = (str(error).splitlines() or [""])[0]
    note = f" ({contestant.note})" if contestant.note else ""
    return f"{type(error).__name__}: {first}{note}"


def versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, str | int | None]:
    return {
        "platform": platform.platform(),
        "architecture": platform.machine(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
    }


def command() -> str:
    threads = os.environ.get("OMP_NUM_THREADS")
    prefix = f"OMP_NUM_THREADS={threads} " if threads else ""
    return prefix + shlex.join(["python", *sys.argv])


def means(records: list[dict]) -> list[list[str]]:
    """One row a setting and contestant: averages over the seeds."""
    rows = []
    names = dict.fromkeys(r["contestant"] for r in records)
    for setting, name in itertools.product(judge.SETTINGS, names):
        part = [r for r in records if (r["setting"], r["contestant"]) == (setting, name)]
        average = {metric: float(np.mean([r[metric] for r in part])) for metric in judge.METRICS}
        shown = [
            f"{average[m]:.1f}" if m in ("rows", "columns", "rank") else f"{average[m]:.3f}"
            for m in judge.METRICS
        ]
        rows.append([setting, name, *shown])
    return rows


def markdown(report: dict, headings: list[str], rows: list[list[str]]) -> str:
    sizes = judge.SIZES
    lines = [
        f"Means over {report['seeds']} seeds. n = {sizes['n_samples']}, p = {sizes['n_features']}, "
        f"k = {sizes['n_targets']}; the true Θ has rank {sizes['rank']}, "
        f"{sizes['row_sparsity']} non-zero rows and {sizes['column_sparsity']} non-zero columns; "
        f"signal {', '.join(f'{v} ({k})' for k, v in judge.SETTINGS.items())}. The RMSE is on "
        f"{judge.FRESH_ROWS} fresh rows with noise of standard deviation {judge.NOISE}, below "
        "which nobody gets. Seconds include each contestant's own tuning, not compilation; "
        "thinrank has none to do, being told its sizes.",
        "",
        f"| {' | '.join(headings)} |",
        f"| --- | --- |{' ---: |' * len(judge.METRICS)}",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        *(f"Left out: {name}: {reason}\n" for name, reason in report["left_out"].items()),
        "Machine: " + ", ".join(f"{key} {value}" for key, value in report["machine"].items()),
        "",
        "Versions: " + ", ".join(f"{key} {value}" for key, value in report["versions"].items()),
        "",
        f"Command: `{report['command']}`",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    console = Console(width=140)

    records, left_out = [], {}
    for contestant in CONTESTANTS:
        try:
            records += entry(contestant, options.seeds)
        except Exception as error:
            left_out[contestant.name] = reason = excuse(contestant, error)
            console.print(f"left out: {contestant.name}: {reason}", soft_wrap=True, markup=False)
    if not records:
        raise SystemExit("nobody took part")

    report = {
        "machine": machine(),
        "versions": versions(),
        "command": command(),
        "seeds": options.seeds,
        "sizes": judge.SIZES,
        "left_out": left_out,
        "records": records,
    }
    headings = ["setting", "contestant", *judge.METRICS.values()]
    rows = means(records)
    table = Table(title=f"means over {options.seeds} seeds")
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index < 2 else "right")
    for row, following in zip(rows, [*rows[1:], rows[-1]], strict=True):
        table.add_row(*row, end_section=row[0] != following[0])
    console.print(table)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(markdown(report, headings, rows))


if __name__ == "__main__":
    main()
