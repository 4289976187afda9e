"""The group of commands, with usage errors in one line or as JSON."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

__all__ = ["CommandGroup"]


class CommandGroup(TyperGroup):
    """Commands whose usage errors are one line on standard error, or JSON with ``--json``."""

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
            code = run()
        except typer.Abort:
            print("thinrank: aborted", file=sys.stderr)
            sys.exit(1)
        except Exception as error:
            if not hasattr(error, "format_message") or not hasattr(error, "exit_code"):
                raise
            sys.exit(_report(error, given))
        sys.exit(code if isinstance(code, int) else 0)


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
