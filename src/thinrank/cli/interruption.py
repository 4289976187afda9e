"""Ctrl-C and other requests to end a command."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

# SIGHUP: the terminal was closed. Windows does not have it.
_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Interruption(BaseException):
    """A request to end; no KeyboardInterrupt, after which a search goes on with its best model."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _Received:
    """The last signal; an import that is interrupted in C code raises an error of its own."""

    number: int | None = None


def received_signal(error: BaseException | None = None) -> int | None:
    """The signal that ended the work, whatever the error looks like; None if there was none."""
    if isinstance(error, Interruption):
        return error.number
    if isinstance(error, KeyboardInterrupt):
        return int(signal.SIGINT)
    return _Received.number


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C and requests to end raise an Interruption, so that clean-up happens.

    Signals that are ignored, as after ``nohup`` or in the background of a script, still are.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals belong to the main thread
        return

    def stop(number: int, frame: Any) -> NoReturn:
        _Received.number = number
        raise Interruption(number)

    _Received.number = None
    former = {each: signal.getsignal(each) for each in _SIGNALS}
    try:
        for each, handler in former.items():
            if handler is not signal.SIG_IGN:
                signal.signal(each, stop)
        yield
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)
