"""Fingerprints of data and parameters, to recognise a fit."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from thinrank import arrays
from thinrank.core.contracts import is_design
from thinrank.designs import as_design
from thinrank.estimators.kinds_of_data import lazy_rows

# Objects within objects are followed to this depth.
_DEPTH = 8


def fingerprint(name: str, value: Any) -> str:
    """A text that is the same for equal values, in any process, and hardly for others."""
    hasher = hashlib.sha256()
    for part in _parts(name, value, _DEPTH):
        hasher.update(part)
    return hasher.hexdigest()


def _parts(name: str, value: Any, depth: int) -> Iterator[bytes]:
    if depth == 0:
        raise ValueError(f"{name} cannot be compared with that of a checkpoint: it is too deep")
    if isinstance(value, Iterator):
        raise ValueError(
            f"{name} cannot be compared with that of a checkpoint: pass a list instead of an "
            "iterator"
        )
    value = lazy_rows(name, value)
    yield type(value).__qualname__.encode() + b":"
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        yield repr(value).encode()
    elif isinstance(value, np.random.RandomState):
        yield from _parts(name, list(value.get_state()), depth - 1)
    elif isinstance(value, np.random.Generator):
        yield from _parts(name, dict(value.bit_generator.state), depth - 1)
    elif isinstance(value, LinearOperator) or is_design(value):
        yield from _probed(value)
    elif issparse(value):
        for part in (value.tocsr().indptr, value.tocsr().indices, value.tocsr().data):
            yield from _array(part)
        yield repr(value.shape).encode()
    elif arrays.is_array(value) or hasattr(value, "__array__"):
        yield repr([str(column) for column in getattr(value, "columns", [])]).encode()
        yield from _array(arrays.to_numpy(value) if arrays.is_array(value) else np.asarray(value))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield repr(key).encode()
            yield from _parts(name, item, depth - 1)
    elif isinstance(value, (list, tuple, set, frozenset, range)):
        for item in sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value:
            yield from _parts(name, item, depth - 1)
    elif callable(value) and hasattr(value, "__qualname__"):
        yield f"{value.__module__}.{value.__qualname__}".encode()
    elif dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        yield from _parts(name, fields, depth - 1)
    elif hasattr(value, "__dict__"):
        yield from _parts(name, dict(vars(value)), depth - 1)
    else:
        yield repr(value).encode()


def _array(array: np.ndarray) -> Iterator[bytes]:
    yield f"{array.dtype.str} {array.shape} ".encode()
    if array.dtype.kind == "O":
        yield repr(array.tolist()).encode()
    else:
        yield np.ascontiguousarray(array).tobytes()
        if np.ma.isMaskedArray(array):
            yield np.ma.getmaskarray(array).tobytes()


def _probed(value: Any) -> Iterator[bytes]:
    """The products of a design with three vectors, whose entries are not known otherwise."""
    design = as_design(value)
    yield repr(design.shape).encode()
    probes = np.random.default_rng(0).standard_normal((design.shape[1], 3))
    yield from _array(arrays.to_numpy(design @ arrays.from_numpy(probes, design.prototype)))
