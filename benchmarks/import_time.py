"""Time of ``import thinrank`` relative to ``import sklearn.linear_model``.

Run:  python benchmarks/import_time.py [--repetitions 21] [--markdown F]

Every import runs in a new process. The two imports alternate, so that a change in the load of the
machine affects both, and the ratio of the medians counts. Exits with 1 if it exceeds the limit.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

from output import publish, table

MODULES = ("thinrank", "sklearn.linear_model")
LIMIT = 1.15  # what `import thinrank` may cost; scikit-learn alone is almost all of it


def seconds(module: str) -> float:
    """Import a module in a new process and return the seconds of the import statement."""
    code = (
        "import time; began = time.perf_counter(); "
        f"import {module}; print(time.perf_counter() - began)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def measure(repetitions: int) -> dict[str, list[float]]:
    """Return the seconds of each module; the first import of each only fills the file cache."""
    for module in MODULES:
        seconds(module)
    found: dict[str, list[float]] = {module: [] for module in MODULES}
    for _ in range(repetitions):
        for module in MODULES:
            found[module].append(seconds(module))
    return found


def report(found: dict[str, list[float]], repetitions: int) -> list[str]:
    """Return the table, with the ratio and the command below it."""
    rows = [
        [f"`import {module}`", f"{statistics.median(times):.3f}", f"{min(times):.3f}"]
        for module, times in found.items()
    ]
    return [
        *table(["statement", "median seconds", "fastest"], rows),
        "",
        f"Ratio of the medians: {ratio(found):.2f}; the limit is {LIMIT}.",
        "",
        f"Command: `python benchmarks/import_time.py --repetitions {repetitions}`",
    ]


def ratio(found: dict[str, list[float]]) -> float:
    """Return the ratio of the medians."""
    ours, theirs = (statistics.median(found[module]) for module in MODULES)
    return ours / theirs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=21)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    found = measure(options.repetitions)
    publish(report(found, options.repetitions), options.markdown)
    return 0 if ratio(found) <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
