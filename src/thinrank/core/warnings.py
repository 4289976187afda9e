"""Warnings that users may want to filter, and one that users should not see."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from thinrank.core.shared_state import SharedChange

_FILTER = SharedChange()


class SelectionWarning(UserWarning):
    """The result of an automatic choice of sizes should be checked."""


def quiet_coordinate_descent() -> AbstractContextManager[None]:
    """A context in which scikit-learn's coordinate descent does not warn that it did not converge.

    With nearly dependent columns its gap may stay above a small tolerance; the solution is usable.
    """
    return _FILTER.made_by(_ignored)


@contextmanager
def _ignored() -> Iterator[None]:
    from sklearn.exceptions import ConvergenceWarning  # imported on first use: it takes long

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=ConvergenceWarning, module=r"sklearn\.")
        yield
