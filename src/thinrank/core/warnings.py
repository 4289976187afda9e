"""Warnings that users may want to filter, and one that users should not see."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


class SelectionWarning(UserWarning):
    """The result of an automatic choice of sizes should be checked."""


class _SharedFilter:
    """Filters belong to the process: the first thread sets one, the last thread removes it."""

    lock = threading.Lock()
    users = 0
    undo = ExitStack()


@contextmanager
def quiet_coordinate_descent() -> Iterator[None]:
    """A context in which scikit-learn's coordinate descent does not warn that it did not converge.

    With nearly dependent columns its gap may stay above a small tolerance; the solution is usable.
    """
    from sklearn.exceptions import ConvergenceWarning  # imported on first use: it takes long

    shared = _SharedFilter
    with shared.lock:
        if shared.users == 0:
            shared.undo.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("ignore", category=ConvergenceWarning, module=r"sklearn\.")
        shared.users += 1
    try:
        yield
    finally:
        with shared.lock:
            shared.users -= 1
            if shared.users == 0:
                shared.undo.close()
