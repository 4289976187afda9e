"""Reproduce tables and figures of the paper, and compare them with the printed ones.

    python -m paper table1 noise --quick --out results      # in a clone; or make reproduce

Finished jobs are kept in the folder: after an interruption the same command continues. If a study
fails, the others run nevertheless.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from paper import STUDIES
from paper.pages import write_index, write_study
from paper.study import StudyError, run_study
from thinrank.core.imports import import_optional


def main(words: list[str] | None = None) -> int:
    """Run studies, all if none is named, and write their pages; 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="study", help=", ".join(STUDIES))
    parser.add_argument("--quick", action="store_true", help="a small version of each study")
    parser.add_argument(
        "--jobs", type=int, default=-1, help="processes, one per core if -1; table5 uses one"
    )
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of the results")
    options = parser.parse_args(words)
    unknown = set(options.names) - set(STUDIES)
    if unknown:
        parser.error(f"there is no study {', '.join(unknown)}; choose from {', '.join(STUDIES)}")
    import_optional("matplotlib")  # which the pages need, after hours of computation
    failed = False
    for name in options.names or STUDIES:
        try:
            run_study(STUDIES[name], options.out, options.jobs, options.quick, progress=True)
            write_study(STUDIES[name], options.out)
        except StudyError as error:
            print(f"{name}: {error}")
            failed = True
    write_index(STUDIES, options.out)
    print(f"Results are in {options.out}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
