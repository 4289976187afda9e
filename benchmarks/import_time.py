"""Time of importing thinrank and its regressor relative to ``import sklearn.linear_model``.

Run:  python benchmarks/import_time.py [--repetitions 21] [--markdown F]

Every import runs in a new process. The imports alternate, so that a change in the load of the
machine affects all of them, and the ratio of the medians counts. The regressor is imported on first
use, hence it is measured too. Exits with 1 if a ratio exceeds the limit.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

from output import arguments_of, publish, table

OURS = ("import thinrank", "from thinrank import SparseReducedRankRegressor")
THEIRS = "import sklearn.linear_model"
LIMIT = 1.15  # what an import may cost; scikit-learn alone is almost all of it


def seconds(statement: str) -> float:
    """Run an import in a new process and return its seconds."""
    code = (
        f"import time; began = time.perf_counter(); {statement}; print(time.perf_counter() - began)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def measure(repetitions: int) -> dict[str, list[float]]:
    """Return the seconds of each statement; the first run of each only fills the file cache."""
    statements = (*OURS, THEIRS)
    for statement in statements:
        seconds(statement)
    found: dict[str, list[float]] = {statement: [] for statement in statements}
    for _ in range(repetitions):
        for statement in statements:
            found[statement].append(seconds(statement))
    return found


def report(found: dict[str, list[float]], repetitions: int) -> list[str]:
    """Return the table, with the command below it."""
    rows = [
        [
            f"`{statement}`",
            f"{statistics.median(times):.3f}",
            f"{min(times):.3f}",
            f"{ratio(found, statement):.2f}",
        ]
        for statement, times in found.items()
    ]
    return [
        *table(["statement", "median seconds", "fastest", "ratio of medians"], rows),
        "",
        f"The limit of the ratio is {LIMIT}.",
        "",
        f"Command: `python benchmarks/import_time.py --repetitions {repetitions}`",
    ]


def ratio(found: dict[str, list[float]], statement: str) -> float:
    """Return the median of a statement relative to that of scikit-learn."""
    return statistics.median(found[statement]) / statistics.median(found[THEIRS])


def main() -> int:
    parser = arguments_of(__doc__, repetitions=21)
    options = parser.parse_args()
    found = measure(options.repetitions)
    publish(report(found, options.repetitions), options.markdown)
    return 0 if all(ratio(found, statement) <= LIMIT for statement in OURS) else 1


if __name__ == "__main__":
    sys.exit(main())
