"""What is computed of the arrays of a fit once, wherever it is needed."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from thinrank.arrays import Array

# By the identity of an array: a weak reference to it, and the results by name. Without a reference
# another array could have the same identity later; one that is not weak would keep it in memory.
_known: ContextVar[dict[int, tuple[weakref.ref[Any], dict[str, Any]]] | None] = ContextVar(
    "known", default=None
)


@contextmanager
def constant_arrays() -> Iterator[None]:
    """A context in which results for arrays that are declared constant are kept."""
    token = _known.set({})
    try:
        yield
    finally:
        _known.reset(token)


def declared_constant(array: Array) -> Array:
    """The array, whose entries do not change up to the end of the context, if there is one."""
    known = _known.get()
    if known is not None and _results(array) is None:
        with suppress(TypeError):  # a library whose arrays have no weak references
            known[id(array)] = weakref.ref(array), {}
    return array


def computed_once(name: str, array: Array, compute: Callable[[], Any]) -> Any:
    """``compute()``, or what it returned before under this name for an array that is constant."""
    results = _results(array)
    if results is None:
        return compute()
    if name not in results:
        results[name] = compute()
    return results[name]


def _results(array: Array) -> dict[str, Any] | None:
    """The results for an array; None if it was not declared constant."""
    reference, results = (_known.get() or {}).get(id(array), (None, None))
    return results if reference is not None and reference() is array else None
