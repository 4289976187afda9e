"""The files that a fit with default arguments goes through, in the order in which they are entered.

Run ``python benchmarks/path_of_fit.py``. The architecture page of the documentation shows the
output, and a test compares the two.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import thinrank as tr

SOURCE = Path(tr.__file__).parent


def files_entered() -> list[str]:
    """Files of the package whose functions are called by a default fit and ``coef_``."""
    X, Y, _ = tr.datasets.make_two_way_sparse(random_state=0)
    est = tr.SparseReducedRankRegressor()  # before the trace: this imports the files
    entered: dict[str, None] = {}
    seen = set()  # paths are compared once per file, not once per call

    def note(frame: FrameType, event: str, argument: Any) -> None:
        file = frame.f_code.co_filename
        if event != "call" or file in seen or frame.f_code.co_name == "<module>":
            return
        seen.add(file)
        path = Path(file)
        if path.is_relative_to(SOURCE):
            entered.setdefault(path.relative_to(SOURCE).as_posix())

    sys.setprofile(note)
    try:
        est.fit(X, Y).coef_  # noqa: B018
    finally:
        sys.setprofile(None)
    return list(entered)


if __name__ == "__main__":
    for place, name in enumerate(files_entered(), 1):
        print(f"{place:2d}  {name}")
