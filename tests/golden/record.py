"""Solve the golden problems, show what changed, and store the outcomes.

    python tests/golden/record.py             # show, then ask
    python tests/golden/record.py --write     # show, then store
    python tests/golden/record.py "blocks"    # only the problems whose names contain this

A commit that stores other outcomes says which, with old and new values.
"""

from __future__ import annotations

import argparse
import sys

import outcomes
from golden_problems import PROBLEMS, solve
from joblib import Parallel, delayed
from rich.progress import track


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", default="", help="of the names of problems")
    parser.add_argument("--write", action="store_true", help="store without asking")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    stored = outcomes.read() if outcomes.FILE.exists() else {}
    names = [name for name in PROBLEMS if options.part in name]
    solved = Parallel(options.jobs, return_as="generator")(delayed(solve)(name) for name in names)
    found = dict(zip(names, track(solved, "problems", len(names)), strict=True))
    same = True
    for name, new in found.items():
        old = stored.get(name)
        lines = ["new"] if old is None else every_change(new, old)
        if lines:
            same = False
            print(name, *lines, sep="\n    ")
    for name in set(stored) - set(PROBLEMS):
        same = False
        print(name, "no longer a problem", sep="\n    ")
    if same:
        print("nothing changed")
        return 0
    if options.write or input("store these outcomes? [y/N] ").strip().lower() == "y":
        outcomes.write({name: found.get(name, stored.get(name)) for name in PROBLEMS})
    return 0


def every_change(new: dict, old: dict) -> list[str]:
    """All differences, also those that a test allows, and whether it allows them."""
    lines = outcomes.changes(new, {**old, "clear": True})
    if new["clear"] != old["clear"]:
        lines.append(f"clear: {new['clear']}, stored {old['clear']}")
    if lines and not outcomes.changes(new, old):
        lines.append("(within what the test allows)")
    return lines


if __name__ == "__main__":
    sys.exit(main())
