"""Seconds and memory of the command line: from two CSV files to a model and its report.

Run:  python benchmarks/command_line.py [--rows 100] [--predictors 20000] [--responses 300]
                                        [--cores 2] [--markdown F]

Writes simulated CSV files, then runs ``thinrank fit X.csv Y.csv`` with automatic sizes,
``thinrank report`` and ``thinrank predict`` in processes of their own, on the given number of
cores. Exits with 1 if fit and report together take longer than the limit, or if a process needs
more memory than that. Processor seconds are those of all threads; on a machine that does other
work at the same time they change less than seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from output import arguments_of, how, publish, table

import thinrank as tr

SECONDS, GIBIBYTES = 60, 2  # limits of fit and report together, on two cores


def write_csv(path: Path, matrix: np.ndarray, letter: str) -> None:
    """Write a matrix with names of columns and rows."""
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(["sample", *(f"{letter}{j}" for j in range(matrix.shape[1]))]) + "\n")
        for i, row in enumerate(matrix.round(5).tolist()):
            file.write(",".join([f"s{i}", *map(repr, row)]) + "\n")


def run(arguments: list[str], folder: Path, cores: int) -> tuple[float, float, float]:
    """Run a command in a new process; seconds, processor seconds, and peak memory in GiB."""
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "thinrank", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(tr.__file__).parents[1])},
        preexec_fn=lambda: os.sched_setaffinity(0, allowed),
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    if status:
        raise SystemExit(f"thinrank {' '.join(arguments)} failed")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20


def measure(sizes: tuple[int, int, int], cores: int) -> dict[str, tuple[float, float, float]]:
    """Seconds and memory of each command."""
    n, p, k = sizes
    X, Y, _ = tr.datasets.make_two_way_sparse(
        n, p, k, rank=3, row_sparsity=15, column_sparsity=40, random_state=0
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_csv(folder / "X.csv", X, "g")
        write_csv(folder / "Y.csv", Y, "y")
        fit = ["fit", "X.csv", "Y.csv", "--no-index", "-o", "model", "--quiet"]
        fit += ["--jobs", str(cores)]
        commands = {
            "thinrank fit X.csv Y.csv": fit,
            "thinrank report model": ["report", "model", "--quiet"],
            "thinrank predict model X.csv": ["predict", "model", "X.csv", "--quiet"],
        }
        return {shown: run(command, folder, cores) for shown, command in commands.items()}


def main() -> int:
    parser = arguments_of(__doc__)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--predictors", type=int, default=20_000)
    parser.add_argument("--responses", type=int, default=300)
    parser.add_argument("--cores", type=int, default=2)
    arguments = parser.parse_args()
    sizes = arguments.rows, arguments.predictors, arguments.responses
    load = os.getloadavg()[0]  # more than 0 means that other work takes part of the cores
    found = measure(sizes, arguments.cores)
    rows = [
        [f"`{command}`", f"{seconds:.1f}", f"{processor:.1f}", f"{memory:.2f}"]
        for command, (seconds, processor, memory) in found.items()
    ]
    fit, report, _ = (each[0] for each in found.values())
    total, peak = fit + report, max(each[2] for each in found.values())
    lines = [
        *table(["command", "seconds", "processor seconds", "peak memory in GiB"], rows),
        "",
        f"{sizes[0]} rows, {sizes[1]:,} predictors, {sizes[2]} responses, {arguments.cores} cores, "
        f"load average of other work {load:.1f}. Fit and report: {total:.1f} seconds; "
        f"the limit is {SECONDS} seconds and {GIBIBYTES} GiB.",
        *how(),
    ]
    publish(lines, arguments.markdown)
    return int(total > SECONDS or peak > GIBIBYTES)


if __name__ == "__main__":
    sys.exit(main())
