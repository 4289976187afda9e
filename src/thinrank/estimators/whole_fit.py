"""Fits that are complete or leave the estimator as it was."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from thinrank import arrays
from thinrank.core.memory import explained
from thinrank.core.threads import one_library_with_threads, one_thread_if_small
from thinrank.estimators.checkpoints import recorded


@contextmanager
def whole_fit(estimator: Any, **arguments: Any) -> Iterator[None]:
    """Undo what a fit changed in an estimator if it ends by an error or by Ctrl-C.

    If the memory did not suffice, the error says how much was needed and what to do. In the block
    of a checkpoint the fit is stored. A fit of small data uses one thread, which is faster. Nothing
    is recorded for derivatives. Moments of the responses are computed once.

    Parameters
    ----------
    estimator : estimator
        Its attributes are those before the block if the block raises anything.
    **arguments
        The arguments of ``fit``, by name.
    """
    before = dict(vars(estimator))
    try:
        with (
            recorded(estimator, arguments),
            one_thread_if_small(_multiplications(**arguments)),
            one_library_with_threads(),
            _without_gradients(arguments["X"]),
        ):
            yield
    except BaseException as error:  # also on Ctrl-C
        vars(estimator).clear()
        vars(estimator).update(before)
        if isinstance(error, MemoryError):
            raise explained(error) from error
        raise


def _without_gradients(X: Any) -> AbstractContextManager[Any]:
    """A context in which PyTorch records no operations: it takes time, and memory if X asks for it.

    Arrays of other libraries have no such record.
    """
    return arrays.namespace(X).no_grad() if arrays.is_tensor(X) else nullcontext()


def _multiplications(X: Any, y: Any = None, **others: Any) -> float:
    """Number of multiplications on the host in the larger of XᵀX (or XXᵀ) and XᵀY.

    It is 0 for lists, which are small, and for arrays of an accelerator, of which the host only
    factorises small matrices; it is not finite for lazy data of unknown shape.
    """
    if arrays.is_array(X) and not arrays.on_host(X):
        return 0.0
    rows, columns = (*getattr(X, "shape", ()), 0, 0)[:2]
    targets = (*getattr(y, "shape", ()), 1, 1)[1]
    try:
        return float(rows) * columns * max(min(rows, columns), targets)
    except TypeError:  # a side may be None
        return math.inf
