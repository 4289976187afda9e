"""Fits that are complete or leave the estimator as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from thinrank.core.memory import explained
from thinrank.estimators.checkpoints import recorded

__all__ = ["whole_fit"]


@contextmanager
def whole_fit(estimator: Any, **arguments: Any) -> Iterator[None]:
    """Undo what a fit changed in an estimator if it ends by an error or by Ctrl-C.

    If the memory did not suffice, the error says how much was needed and what to do. In the block
    of a checkpoint the fit is stored.

    Parameters
    ----------
    estimator : estimator
        Its attributes are those before the block if the block raises anything.
    **arguments
        The arguments of ``fit``, by name.
    """
    before = dict(vars(estimator))
    try:
        with recorded(estimator, arguments):
            yield
    except BaseException as error:  # also on Ctrl-C
        vars(estimator).clear()
        vars(estimator).update(before)
        if isinstance(error, MemoryError):
            raise explained(error) from error
        raise
