"""The group of commands: errors of all kinds in one line or as JSON, never a traceback."""

from __future__ import annotations

import difflib
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from thinrank.cli.exit_codes import FAILURE, Output, fail
from thinrank.cli.interruption import Interruption, interruptible, received_signal


class CommandGroup(TyperGroup):
    """Commands whose errors are one line on standard error, or JSON with ``--json``."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command; see typer."""

        def run() -> Any:
            return super(CommandGroup, self).main(
                args, prog_name, complete_var, False, windows_expand_args, **extra
            )

        if not standalone_mode:
            return run()
        given = list(sys.argv[1:] if args is None else args)
        try:
            with interruptible():
                code = _exit_code(run, given)
        except Interruption as error:  # a second one, while the first was reported
            code = 128 + error.number
        flushed = _flush()
        sys.exit(code or flushed)


def _exit_code(run: Callable[[], Any], given: list[str]) -> int:
    """Run a command and return its exit code; what it did not report itself is reported here."""
    try:
        code = run()
    except typer.Abort as error:
        if isinstance(error.__cause__, (KeyboardInterrupt, Interruption)) or received_signal():
            return fail(error.__cause__ or error, _output(given), "thinrank")
        print("thinrank: aborted", file=sys.stderr)
        return FAILURE
    except (Exception, Interruption, KeyboardInterrupt) as error:
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):
            return _report(error, given)
        return fail(error, _output(given), "thinrank")
    return code if isinstance(code, int) else 0


def _output(given: list[str]) -> Output:
    return Output(json="--json" in given, debug="--debug" in given)


def _flush() -> int:
    """Write what is buffered, and return 1 if that fails: a full disk, or a pipe that was closed.

    Otherwise the interpreter would fail to write it at its end, with a traceback.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        # what is left in the buffer must go somewhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"thinrank: standard output: {error.strerror}", file=sys.stderr)
        return FAILURE
    return 0


def _message(error: Any) -> str:
    """The text of an error, with the options that are most like an unknown one first."""
    given, known = getattr(error, "option_name", None), getattr(error, "possibilities", None)
    if not given or not known:
        return str(error.format_message())
    close = difflib.get_close_matches(given, known, n=3)
    return f"No such option: {given}" + (f" (did you mean {' or '.join(close)}?)" if close else "")


def _report(error: Any, given: list[str]) -> int:
    """Write a usage error and return the exit code."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return int(error.exit_code)
    line = " ".join(_message(error).split())
    command = "thinrank" if context is None else str(context.command_path)
    if "--json" in given:
        print(json.dumps({"error": line, "exit_code": error.exit_code}, ensure_ascii=False))
    else:
        print(f"{command}: {line} (see {command} --help)", file=sys.stderr)
    return int(error.exit_code)
