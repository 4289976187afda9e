"""Exit codes, one-line errors and interruptions of the commands about models."""

from __future__ import annotations

import json
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import typer

from thinrank.cli.option_names import in_options, is_about_option

__all__ = [
    "BAD_DATA",
    "FAILURE",
    "INTERRUPTED",
    "USAGE",
    "Output",
    "UnusableArgumentError",
    "carry_out",
]

FAILURE = 1
"""Something other than options and data: a full disk, a missing library, an error of ours."""
USAGE = 2
"""Options or arguments that cannot be used; the code of typer and most other programs."""
BAD_DATA = 3
"""Data that cannot be used."""
INTERRUPTED = 130
"""The code of shells after Ctrl-C."""


class UnusableArgumentError(Exception):
    """Arguments that cannot be used, such as a file that does not exist."""


class _Interruption(BaseException):
    """Ctrl-C. Not a KeyboardInterrupt, after which a search goes on with its best model."""


@dataclass
class Output:
    """Where a command writes: results to standard output, everything else to standard error.

    Parameters
    ----------
    json : bool, default=False
        Whether standard output is one JSON object.
    quiet : bool, default=False
        Whether only errors and JSON are written.
    debug : bool, default=False
        Whether errors have a traceback.

    Attributes
    ----------
    notes : list of str
        The notes so far.
    """

    json: bool = False
    quiet: bool = False
    debug: bool = False
    notes: list[str] = field(default_factory=list)

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


def carry_out(name: str, output: Output, work: Callable[[], dict[str, Any]]) -> int:
    """Run a command, report its errors in one line, and return the exit code.

    Parameters
    ----------
    name : str
        Name of the command, for messages.
    output : Output
        Where to write.
    work : callable
        Does the work and returns what ``--json`` prints.

    Returns
    -------
    int
        0, or one of the codes of this module.
    """
    try:
        with _interruptible(), _warnings_as_notes(output):
            result = work()
    except (_Interruption, KeyboardInterrupt):
        return _report(name, output, "interrupted; nothing was written", INTERRUPTED)
    except UnusableArgumentError as error:
        return _report(name, output, str(error), USAGE, error)
    except typer.BadParameter as error:
        return _report(name, output, error.format_message(), USAGE, error)
    except ValueError as error:
        code = USAGE if is_about_option(str(error)) else BAD_DATA
        return _report(name, output, in_options(str(error)), code, error)
    except (OSError, ImportError, MemoryError) as error:
        return _report(name, output, str(error) or type(error).__name__, FAILURE, error)
    except Exception as error:
        hint = "" if output.debug else "; --debug shows where"
        return _report(name, output, f"{type(error).__name__}: {error}{hint}", FAILURE, error)
    if output.json:
        print(json.dumps({**result, "notes": output.notes}, ensure_ascii=False, allow_nan=False))
    return 0


def _report(
    name: str, output: Output, message: str, code: int, error: Exception | None = None
) -> int:
    """Write an error and return the exit code."""
    if output.debug and error is not None:
        traceback.print_exception(error, file=sys.stderr)
    line = " ".join(message.split())
    if output.json:
        about: dict[str, Any] = {"error": line, "exit_code": code}
        for place in ("file", "row", "column"):
            if getattr(error, place, None) is not None:
                about[place] = getattr(error, place)
        print(json.dumps(about, ensure_ascii=False))
    else:
        print(f"thinrank {name}: {line}", file=sys.stderr)
    return code


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C, and a request to end, stop the command at once; clean-up still happens."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread
        return

    def stop(number: int, frame: Any) -> NoReturn:
        raise _Interruption

    former = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)


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
