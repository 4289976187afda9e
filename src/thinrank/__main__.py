"""The command line as ``thinrank`` and as ``python -m thinrank``."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any


def run() -> None:
    """Run the command line; Ctrl-C while libraries are imported ends it without a traceback."""
    former = signal.getsignal(signal.SIGINT)
    if former is signal.default_int_handler:  # not where Ctrl-C is ignored
        signal.signal(signal.SIGINT, _leave)
    from thinrank.cli import app

    app(prog_name="thinrank")


def _leave(number: int, frame: Any) -> None:
    """End at once: an import in C code would turn an exception into an error of its own."""
    print("thinrank: interrupted", file=sys.stderr, flush=True)
    os._exit(128 + number)


if __name__ == "__main__":
    run()
