"""Running a command: exit codes, errors in one line or as JSON, signals and notes."""

from __future__ import annotations

import errno
import functools
import inspect
import json
import os
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Annotated, Any, NoReturn, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

from thinrank.cli.options import in_options, message_option

# Exit codes. A failure is neither of options nor of data: a full disk, a missing library, an error
# of ours. Usage has the code of typer and most programs; a closed pipe 128 plus SIGPIPE.
FAILURE, USAGE, BAD_DATA, CLOSED_PIPE = 1, 2, 3, 141


class UnusableArgumentError(Exception):
    """Arguments that cannot be used, such as a file that does not exist."""


@dataclass
class Output:
    """Where a command writes: results to standard output, everything else to standard error."""

    json: bool = False
    quiet: bool = False
    debug: Annotated[bool, message_option("--debug", help="Show where an error occurred.")] = False
    command: str = "thinrank"  # the command that writes
    kept: str = "nothing was written"  # what is there after an interruption
    notes: list[str] = field(default_factory=list)  # the notes so far
    signal: int = 0  # the last signal that asked to end

    def note(self, text: str) -> None:
        """Tell the user what was decided, or what to look at."""
        if text not in self.notes:
            self.notes.append(text)
            self.remark(f"note: {text}")

    def show(self, text: str) -> None:
        """Write a result that people read."""
        if not self.quiet and not self.json:
            try:
                print(text)
            except BrokenPipeError:
                self.quiet = True  # what reads the output, such as head, has seen enough

    @property
    def progress(self) -> bool:
        """Whether to draw progress bars."""
        return not self.quiet and not self.json and sys.stderr.isatty()

    def remark(self, text: str) -> None:
        """Tell the user how far the work is; not kept among the notes."""
        if not self.quiet and not self.json:
            print(text, file=sys.stderr, flush=True)


@dataclass
class JsonOutput(Output):
    """The output of a command that prints people's text or one JSON object."""

    json: Annotated[
        bool, message_option("--json", help="Print one JSON object, also for errors.")
    ] = False
    quiet: Annotated[bool, message_option("--quiet", "-q", help="Print errors only.")] = False


def with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """A command in which the options of a dataclass take the place of a parameter of that type."""
    hints = get_type_hints(function, include_extras=True)
    start = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [start.replace(annotation=typer.Context)]
    groups: dict[str, tuple[Any, list[str]]] = {}
    for each in inspect.signature(function).parameters.values():
        kind: Any = hints[each.name]
        own = [each.replace(annotation=kind)]
        if is_dataclass(kind):
            kinds = get_type_hints(kind, include_extras=True)
            own = [
                each.replace(name=f.name, annotation=kinds[f.name], default=f.default)
                for f in fields(kind)
                if get_origin(kinds[f.name]) is Annotated
            ]
            groups[each.name] = kind, [option.name for option in own]
        parameters += own

    @functools.wraps(function)
    def run(context: typer.Context, **given: Any) -> Any:
        for name, (kind, own) in groups.items():
            values = {each: given.pop(each) for each in own}
            if issubclass(kind, Output):
                given[name] = context.obj
                vars(context.obj).update(values, command=context.command_path)
            else:
                given[name] = kind(**values)
        return function(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


@contextmanager
def _warnings_as_notes(output: Output) -> Iterator[None]:
    """Write the warnings of fits as notes; those for programmers are not shown."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        output.note(in_options(str(message), output.command))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        # a report passes matrices, without names
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        warnings.showwarning = show
        yield


class CommandGroup(TyperGroup):
    """Commands that return JSON, and whose errors are one line on standard error, or JSON."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> NoReturn:
        """Run a command and exit; see typer."""
        given = list(sys.argv[1:] if args is None else args)
        output = Output(json="--json" in given, debug="--debug" in given)
        options |= {"standalone_mode": False, "obj": output}
        run = functools.partial(super().main, args, *rest, **options)
        try:
            with _interruptible(output), _warnings_as_notes(output):
                code = _exit_code(run, output)
        except _Interruption:  # a second one, while the first was reported
            code = 128 + output.signal
        flushed = _flush()
        sys.exit(code or flushed)


def _exit_code(run: Callable[[], Any], output: Output) -> int:
    """Run a command, report its errors in one line, and return the exit code."""
    try:
        result = run()
        if output.json and isinstance(result, dict):
            result = {**result, "notes": output.notes}
            print(json.dumps(result, ensure_ascii=False, allow_nan=False))
    except SystemExit as end:  # of Typer, also if what reads the help, such as head, has ended
        return 0 if isinstance(end.__context__, BrokenPipeError) else int(end.code or 0)
    except (Exception, _Interruption) as error:
        return _fail(error, output)
    return result if isinstance(result, int) else 0


def _fail(error: BaseException, output: Output) -> int:
    """Write an error in one line and return the exit code."""
    if isinstance(error, BrokenPipeError):
        return CLOSED_PIPE
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]
        return USAGE
    code, message = _outcome(error, output)
    if output.debug:
        traceback.print_exception(error, file=sys.stderr)
    line = " ".join(message.split())
    if output.json:
        places = {name: getattr(error, name, None) for name in ("file", "row", "column")}
        about = {name: place for name, place in places.items() if place is not None}
        print(json.dumps({"error": line, "exit_code": code, **about}, ensure_ascii=False))
        return code
    context = getattr(error, "ctx", None)
    if context is not None:
        output.command, line = context.command_path, f"{line} (see {context.command_path} --help)"
    print(f"{output.command}: {line}", file=sys.stderr)
    return code


def _outcome(error: BaseException, output: Output) -> tuple[int, str]:
    """The exit code and the message for an error."""
    if output.signal:  # whatever the error is: an import in C code raises one of its own
        name = signal.Signals(output.signal).name
        what = "interrupted" if name == "SIGINT" else f"ended by {name}"
        return 128 + output.signal, f"{what}; {output.kept}"
    if hasattr(error, "format_message"):
        told = str(error.format_message()).replace("Value error, ", "")  # of the newest Typer
        return USAGE, re.sub(r"Input should be ([^,]*).*", r"must be \1", told)
    match error:
        case UnusableArgumentError():
            return USAGE, str(error)
        case MemoryError():
            return FAILURE, memory_failure(error)
        case OSError():
            code = USAGE if isinstance(error, FileNotFoundError) else FAILURE
            return code, system_failure(error)
        case ImportError():
            return FAILURE, str(error) or "ImportError"
        case ValueError():
            told = in_options(str(error), output.command)
            return USAGE if re.match(r"--[\w-]+(:| must) ", told) else BAD_DATA, told
    where = "" if output.debug else "; --debug shows where"
    return FAILURE, f"{type(error).__name__}: {error}{where}"


def _flush() -> int:
    """Write what is buffered, and return a code if that fails: a full disk, or a closed pipe.

    Otherwise the interpreter would fail to write it at its end, with a traceback.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        # what is left in the buffer must go somewhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return CLOSED_PIPE
        print(f"thinrank: standard output: {error.strerror}", file=sys.stderr)
        return FAILURE
    return 0


# SIGHUP: the terminal was closed. Windows does not have it.
_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class _Interruption(BaseException):
    """A request to end; no KeyboardInterrupt, after which a search goes on with its best model."""


@contextmanager
def _interruptible(output: Output) -> Iterator[None]:
    """Let Ctrl-C and requests to end raise an interruption, so that clean-up happens.

    Signals that are ignored, as after ``nohup`` or in the background of a script, still are.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread
        return

    def stop(number: int, frame: Any) -> NoReturn:
        output.signal = number
        raise _Interruption

    former = {each: signal.getsignal(each) for each in _SIGNALS}
    try:
        for each, handler in former.items():
            if handler is not signal.SIG_IGN:
                signal.signal(each, stop)
        yield
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)


_REMEDIES = {
    errno.ENOSPC: "free some space, or write to another disk",
    errno.EDQUOT: "free some space, or write to another disk",
    errno.EFBIG: "the limit on the size of files is too low (ulimit -f)",
    errno.EROFS: "write to another folder",
    errno.EACCES: "write to another folder, or change the permissions",
}


def system_failure(error: OSError) -> str:
    """The message for a file or a device that cannot be used."""
    if error.errno == errno.ENOMEM:
        return memory_failure(error)
    if error.strerror is None:
        return str(error) or type(error).__name__
    about = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    remedy = _REMEDIES.get(error.errno or 0)
    return about + str(error.strerror) + ("" if remedy is None else f"; {remedy}")


def memory_failure(error: BaseException) -> str:
    """The message for too little memory: how much was needed, and what to do instead."""
    said = str(error)
    if "THINRANK_MEMORY_GIB" in said:
        return said  # an error of thinrank, which has a remedy
    asked = said if said.startswith("Unable to allocate") else "more was refused"
    return (
        f"not enough memory: {asked}; use less data or smaller sizes, fewer --jobs, or a smaller "
        "THINRANK_MEMORY_GIB in the environment (GiB for arrays that save time, 4 if it is not set)"
    )
