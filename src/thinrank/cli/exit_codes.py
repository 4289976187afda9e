"""Exit codes and one-line errors of all commands."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import typer

from thinrank.cli.failures import memory_failure, system_failure
from thinrank.cli.interruption import Interruption, received_signal
from thinrank.cli.option_names import in_options, is_about_option

FAILURE = 1
"""Something other than options and data: a full disk, a missing library, an error of ours."""
USAGE = 2
"""Options or arguments that cannot be used; the code of typer and most other programs."""
BAD_DATA = 3
"""Data that cannot be used."""
INTERRUPTED = 130
"""The code of shells after Ctrl-C: 128 plus the number of the signal, as for other signals."""

TRACEBACK = "THINRANK_TRACEBACK"
"""Environment variable: if it is set, errors have a traceback, like those with ``--debug``."""


class UnusableArgumentError(Exception):
    """Arguments that cannot be used, such as a file that does not exist."""


@dataclass
class Output:
    """Where a command writes: results to standard output, everything else to standard error."""

    json: bool = False  # whether standard output is one JSON object
    quiet: bool = False  # whether only errors and JSON are written
    debug: bool = False  # whether errors have a traceback
    kept: str = "nothing was written"  # what is there after an interruption
    notes: list[str] = field(default_factory=list)  # the notes so far

    def note(self, text: str) -> None:
        """Tell the user what was decided, or what to look at."""
        if text in self.notes:
            return
        self.notes.append(text)
        if not self.quiet and not self.json:
            print(f"note: {text}", file=sys.stderr)

    def show(self, text: str) -> None:
        """Write a result that people read."""
        if not self.quiet and not self.json:
            print(text)

    @property
    def progress(self) -> bool:
        """Whether to draw progress bars."""
        return not self.quiet and not self.json and sys.stderr.isatty()

    def remark(self, text: str) -> None:
        """Tell the user how far the work is; not kept among the notes."""
        if not self.quiet and not self.json:
            print(text, file=sys.stderr, flush=True)


def carry_out(name: str, output: Output, work: Callable[[], dict[str, Any] | int | None]) -> int:
    """Run a command, report its errors in one line, and return the exit code."""
    try:
        with _warnings_as_notes(output):
            result = work()
    except (Exception, Interruption, KeyboardInterrupt) as error:
        return fail(error, output, f"thinrank {name}")
    if output.json and isinstance(result, dict):
        print(json.dumps({**result, "notes": output.notes}, ensure_ascii=False, allow_nan=False))
    return result if isinstance(result, int) else 0


def fail(error: BaseException, output: Output, command: str) -> int:
    """Write an error in one line and return the exit code."""
    code, message = _outcome(error, output)
    if output.debug or os.environ.get(TRACEBACK):
        traceback.print_exception(error, file=sys.stderr)
    line = " ".join(message.split())
    if output.json:
        about: dict[str, Any] = {"error": line, "exit_code": code}
        for place in ("file", "row", "column"):
            if getattr(error, place, None) is not None:
                about[place] = getattr(error, place)
        print(json.dumps(about, ensure_ascii=False))
    else:
        print(f"{command}: {line}", file=sys.stderr)
    return code


def _outcome(error: BaseException, output: Output) -> tuple[int, str]:
    """The exit code and the message for an error."""
    number = received_signal(error)
    if number is not None:
        what = (
            "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
        )
        return 128 + number, f"{what}; {output.kept}"
    match error:
        case UnusableArgumentError():
            return USAGE, str(error)
        case typer.BadParameter():
            return USAGE, error.format_message()
        case MemoryError():
            return FAILURE, memory_failure(error)
        case OSError():
            return FAILURE, system_failure(error)
        case ImportError():
            return FAILURE, str(error) or "ImportError"
        case ValueError():
            code = USAGE if is_about_option(str(error)) else BAD_DATA
            return code, in_options(str(error))
    where = "" if output.debug else f"; {TRACEBACK}=1 in the environment shows where"
    return FAILURE, f"{type(error).__name__}: {error}{where}"


@contextmanager
def _warnings_as_notes(output: Output) -> Iterator[None]:
    """Write the warnings of fits as notes; those for programmers are not shown."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        output.note(in_options(str(message)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        # the matrices have no names, since data frames need an optional library
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        warnings.showwarning = show
        yield
