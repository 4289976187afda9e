"""Reproduce tables and figures of the paper, and compare them with the printed ones.

    python -m paper table1 noise --quick --out results      # in a clone; or make reproduce

Finished jobs are kept in the folder: after an interruption the same command continues. If a study
fails, the others run nevertheless.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from paper import STUDIES
from paper.pages import write_index, write_study
from paper.study import StudyError, load_records, run_study
from thinrank.core.imports import import_optional


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """The parsed command; no name and "all" select all studies."""
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__.splitlines()[0])
    choices = [*STUDIES, "all"]
    parser.add_argument("names", nargs="*", metavar="study", help=f"of {', '.join(choices)}")
    parser.add_argument("--quick", action="store_true", help="a small version of each study")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes; table5 always uses one"
    )
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of the results")
    found = parser.parse_args(words)
    unknown = [name for name in found.names if name not in choices]
    if unknown:
        parser.error(f"there is no study {unknown[0]!r}; choose from {', '.join(choices)}")
    if found.jobs < 1:
        parser.error(f"--jobs must be at least 1, got {found.jobs}")
    if any(each.is_file() for each in (found.out, *found.out.parents)):
        parser.error(f"--out: {found.out} is, or is in, a file, not a folder")
    every = not found.names or "all" in found.names
    found.names = list(STUDIES) if every else list(dict.fromkeys(found.names))
    return found


def main(words: list[str] | None = None) -> int:
    """Run studies and write their pages; 1 if one failed."""
    options = arguments(words)
    try:
        import_optional("matplotlib")
    except ImportError as error:
        print(error)
        return 1
    failed = False
    for name in options.names:
        began = time.perf_counter()
        try:
            run_study(STUDIES[name], options.out, options.jobs, options.quick, progress=True)
        except StudyError as error:
            print(f"{name}: {error}")
            failed = True
        count, seconds = len(load_records(options.out, name)), time.perf_counter() - began
        write_study(STUDIES[name], options.out)
        print(f"{name}: {count} records, {seconds:.1f} s")
    write_index(STUDIES, options.out)
    print(f"Results are in {options.out}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
