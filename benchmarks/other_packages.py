"""thinrank compared with other packages for row-sparse regression with several responses.

Run:  OMP_NUM_THREADS=1 python benchmarks/other_packages.py [--seeds 5] [--json F] [--markdown F]

The paper's strong and weak settings with sparse rows and columns. The adaptors are in
other_packages_adaptors.py, the measures in other_packages_measures.py, the packages in
other_packages_requirements.txt. An estimator that is not installed, or fails, is left out and the
reason is printed. The first fit of each, which may compile code, is not counted.
"""

from __future__ import annotations

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

import numpy as np
import other_packages_measures as measures
from other_packages_adaptors import ADAPTORS, Adaptor
from output import arguments_of, publish, table
from rich.progress import track

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


def attempt(adaptor: Adaptor, setting: str, seed: int) -> dict:
    """The record of one fit: measures, seconds and warnings."""
    X, Y, truth = measures.problem(setting, seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        theta = adaptor.fit(X, Y)
        seconds = time.perf_counter() - began
    return {
        "setting": setting,
        "seed": seed,
        "estimator": adaptor.name,
        **measures.measure(np.asarray(theta), truth, seed),
        "seconds": seconds,
        "warnings": sorted({w.category.__name__ for w in caught}),
    }


def all_fits(adaptor: Adaptor, seeds: int) -> list[dict]:
    """Records of all problems, after one fit that is not recorded."""
    importlib.import_module(adaptor.package)
    attempt(adaptor, *WARM_UP)
    return [attempt(adaptor, setting, s) for setting in measures.SETTINGS for s in range(seeds)]


def reason_of(adaptor: Adaptor, error: Exception) -> str:
    """Why an estimator is left out, in one line."""
    first = (str(error).splitlines() or [""])[0]
    note = f" ({adaptor.note})" if adaptor.note else ""
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
    """One row per setting and estimator: averages over the seeds."""
    rows = []
    names = dict.fromkeys(r["estimator"] for r in records)
    for setting, name in itertools.product(measures.SETTINGS, names):
        part = [r for r in records if (r["setting"], r["estimator"]) == (setting, name)]
        average = {metric: float(np.mean([r[metric] for r in part])) for metric in measures.METRICS}
        shown = [
            f"{average[m]:.1f}" if m in ("rows", "columns", "rank") else f"{average[m]:.3f}"
            for m in measures.METRICS
        ]
        rows.append([setting, name, *shown])
    return rows


def lines_of(report: dict) -> list[str]:
    sizes = measures.SIZES
    headings = ["setting", "estimator", *measures.METRICS.values()]
    return [
        f"Means over {report['seeds']} seeds. n = {sizes['n_samples']}, p = {sizes['n_features']}, "
        f"k = {sizes['n_targets']}; the true Θ has rank {sizes['rank']}, "
        f"{sizes['row_sparsity']} non-zero rows and {sizes['column_sparsity']} non-zero columns; "
        f"signal {', '.join(f'{v} ({k})' for k, v in measures.SETTINGS.items())}. The RMSE is on "
        f"{measures.FRESH_ROWS} fresh rows with noise of standard deviation {measures.NOISE}, the "
        "smallest RMSE to expect. Seconds include the tuning of each estimator, but not "
        "compilation; thinrank is given its sizes and needs no tuning.",
        "",
        *table(headings, means(report["records"]), text=2),
        "",
        *(f"Left out: {name}: {reason}\n" for name, reason in report["left_out"].items()),
        "Machine: " + ", ".join(f"{key} {value}" for key, value in report["machine"].items()),
        "",
        "Versions: " + ", ".join(f"{key} {value}" for key, value in report["versions"].items()),
        "",
        f"Command: `{report['command']}`",
    ]


def main() -> None:
    parser = arguments_of(__doc__, json=True)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()

    records, left_out = [], {}
    for adaptor in track(ADAPTORS, "estimators"):
        try:
            records += all_fits(adaptor, options.seeds)
        except Exception as error:
            left_out[adaptor.name] = reason_of(adaptor, error)
    if not records:
        raise SystemExit(f"no estimator could be fitted: {left_out}")

    report = {
        "machine": machine(),
        "versions": versions(),
        "command": command(),
        "seeds": options.seeds,
        "sizes": measures.SIZES,
        "left_out": left_out,
        "records": records,
    }
    publish(lines_of(report), options.markdown)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
