"""Reproduce tables and figures of the paper, and compare them with the printed ones.

    python -m paper table1 noise --quick --out results      # in a clone; or make reproduce

Finished jobs are kept in the folder: after an interruption the same command continues. If a study
fails, the others run nevertheless. If matplotlib or Jinja2 is missing, only records are written,
and a later run makes the pages from them.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from pathlib import Path

from paper import find_study, study_names, write_index, write_study
from paper.commands import own_command
from paper.studies import EXECUTORS, StudyError, load_records, run_study
from thinrank.core.imports import is_installed

# The libraries that pages and plots need.
_LIBRARIES = ("matplotlib", "jinja2")


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """The parsed command; no name and "all" select all studies."""
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__.splitlines()[0])
    names = [*study_names(), "all"]
    parser.add_argument("names", nargs="*", metavar="study", help=f"of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="a small version of each study")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes; table5 always uses one"
    )
    parser.add_argument("--executor", choices=list(EXECUTORS), default="processes")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of the results")
    parser.add_argument("--limit", type=float, help="seconds for each fit of table5")
    parser.add_argument("--scheduler", help="address of a Dask scheduler")
    found = parser.parse_args(words)
    unknown = [name for name in found.names if name not in names]
    if unknown:
        parser.error(f"there is no study {unknown[0]!r}; choose from {', '.join(names)}")
    if found.jobs < 1:
        parser.error(f"--jobs must be at least 1, got {found.jobs}")
    if any(each.is_file() for each in (found.out, *found.out.parents)):
        parser.error(f"--out: {found.out} is, or is in, a file, not a folder")
    if not found.names or "all" in found.names:
        found.names = list(study_names())
    found.names = list(dict.fromkeys(found.names))
    return found


def main(words: list[str] | None = None) -> int:
    """Run studies and write their pages; 1 if one failed."""
    options = arguments(words)
    typed = shlex.join(["python", "-m", "paper", *(sys.argv[1:] if words is None else words)])
    pages = all(is_installed(library) for library in _LIBRARIES)
    if not pages:
        print(
            "Only records will be written: pages and plots need "
            'python -m pip install ".[report]". The same command then makes them from the records.'
        )
    failed = False
    for name in options.names:
        began = time.perf_counter()
        try:
            records = run_study(
                find_study(name),
                options.out,
                options.jobs,
                options.quick,
                options.executor,
                limit=options.limit,
                address=options.scheduler,
                command=own_command(name, typed),
                progress=True,
            )
        except (StudyError, ConnectionError, ImportError) as error:
            print(f"{name}: {error}")
            failed = True
            records = load_records(options.out, name)
        seconds = time.perf_counter() - began
        if records and pages:
            write_study(name, records, options.out)
        print(f"{name}: {len(records)} records, {seconds:.1f} s")
    if pages:
        write_index(options.out)
    print(f"Results are in {options.out}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
