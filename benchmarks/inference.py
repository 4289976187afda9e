"""What fits can be trusted for: rates of false discoveries, coverage of intervals, test errors.

Run:  OMP_NUM_THREADS=1 python benchmarks/inference.py PART [OPTIONS]

PART is "discoveries", "intervals" or "generalization"; each is a script of its own,
inference_PART.py, whose options --help lists.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def parts() -> list[str]:
    here = Path(__file__).parent
    return sorted(path.stem.removeprefix("inference_") for path in here.glob("inference_*.py"))


def main() -> None:
    known = parts()
    if len(sys.argv) < 2 or sys.argv[1] not in known:
        raise SystemExit(f"{__doc__}\nParts: {', '.join(known)}")
    part = sys.argv.pop(1)
    importlib.import_module(f"inference_{part}").main()


if __name__ == "__main__":
    main()
