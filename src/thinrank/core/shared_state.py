"""Changes of the state of the whole process that several threads need at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any


class SharedChange:
    """A change that the first thread to need it makes, and the last one undoes.

    Filters of warnings and limits on threads belong to the process. If each thread changed them and
    then put back what it had found, the change of one thread would remain after all were done.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._undo = ExitStack()

    @contextmanager
    def made_by(self, make: Callable[[], AbstractContextManager[Any]]) -> Iterator[None]:
        """Make the change, unless another thread has made it already."""
        with self._lock:
            if self._users == 0:
                self._undo.enter_context(make())
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._undo.close()
