"""Python values as JSON values and named arrays."""

from __future__ import annotations

import inspect
import math
import re
from typing import Any

import numpy as np
import scipy.sparse

from thinrank import arrays
from thinrank.persistence.array_file import storable_array
from thinrank.persistence.errors import NotStorableError
from thinrank.persistence.registry import Storable, find_class, is_fitted_attribute, name_of

# The key that tells an encoded value from a dictionary.
MARK = "$type"
# Values nested deeper than this are refused, in both directions. Models need about ten levels.
MOST_NESTED = 50
# Kinds of NumPy scalars that are stored: Booleans, integers, floats, strings, dates and durations.
SCALAR_KINDS = "biufUMm"
# Formats of sparse arrays that consist of data, indices and indptr.
SPARSE_FORMATS = ("csr", "csc")


class Encoder:
    """Encodes values and collects their arrays.

    Attributes
    ----------
    arrays : dict of ndarray
        The arrays by name. The name is the path to the value, such as ``factors_.U``. An array
        that occurs several times is stored once.
    omitted : list of str
        Parameters that could not be stored.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self.omitted: list[str] = []
        self._seen: dict[int, tuple[Any, str]] = {}  # keeps the objects, so that ids stay unique
        # in lower case: names differ by more than case, for file systems that ignore it
        self._taken: set[str] = set()

    def model(self, model: Any) -> dict[str, Any]:
        """The keys of a model that describe its class and contents."""
        name = name_of(type(model))
        storable = None if name is None else find_class(name)
        if storable is None or not storable.is_model:
            raise NotStorableError(
                f"{_described(model)} cannot be saved; tr.save stores the estimators and "
                "baselines of thinrank, Factors and Solution"
            )
        if storable.is_estimator:
            return self._estimator(storable, model, "", 0)
        return {"class": storable.name, "fields": self._fields(storable, model, "", 0)}

    def value(self, value: Any, path: str, depth: int = 0) -> Any:
        """One value."""
        if depth > MOST_NESTED:
            raise NotStorableError(f"{path} is nested too deeply")
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {MARK: "float", "value": str(value)}
        if kind is list:
            return self._items(value, path, depth)
        if kind is tuple:
            return {MARK: "tuple", "items": self._items(value, path, depth)}
        if kind is dict:
            return self._dict(value, path, depth)
        if kind is range:
            return {MARK: "range", "items": [value.start, value.stop, value.step]}
        name = name_of(kind)
        if name is not None:
            return self._object(find_class(name), value, path, depth)
        return self._numbers(value, path, depth)

    def _items(self, values: Any, path: str, depth: int) -> list[Any]:
        return [self.value(each, f"{path}.{i}", depth + 1) for i, each in enumerate(values)]

    def _dict(self, value: dict[Any, Any], path: str, depth: int) -> dict[str, Any]:
        if all(type(key) is str for key in value) and MARK not in value:
            return {key: self.value(v, _joined(path, key), depth + 1) for key, v in value.items()}
        pairs = [
            [self.value(key, f"{path}.{i}.key", depth + 1), self.value(v, f"{path}.{i}", depth + 1)]
            for i, (key, v) in enumerate(value.items())
        ]
        return {MARK: "dict", "items": pairs}

    def _numbers(self, value: Any, path: str, depth: int) -> dict[str, Any]:
        """Arrays, sparse arrays and NumPy scalars."""
        if scipy.sparse.issparse(value):
            return self._sparse(value, path)
        if isinstance(value, np.ma.MaskedArray):
            return {
                MARK: "masked_array",
                "data": self.value(np.asarray(value.data), path, depth + 1),
                "mask": self.value(np.ma.getmaskarray(value), f"{path}.mask", depth + 1),
            }
        if isinstance(value, np.generic):
            return _scalar(value, path)
        if not arrays.is_array(value):
            raise NotStorableError(f"{path} is {_described(value)}, which cannot be stored")
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
            items = self._items(value.ravel().tolist(), path, depth)
            return {MARK: "object_array", "shape": list(value.shape), "items": items}
        return self._array(value, path)

    def _array(self, value: Any, path: str) -> dict[str, Any]:
        if id(value) not in self._seen:
            name = self._unused(re.sub(r"[^A-Za-z0-9_.-]", "_", path))
            self.arrays[name] = storable_array(arrays.to_numpy(value), path)
            self._seen[id(value)] = value, name
        return {MARK: "array", "name": self._seen[id(value)][1]}

    def _unused(self, name: str) -> str:
        """The name, with a number after it if it is taken."""
        number, tried = 1, name
        while tried.lower() in self._taken:
            number += 1
            tried = f"{name}.{number}"
        self._taken.add(tried.lower())
        return tried

    def _sparse(self, value: Any, path: str) -> dict[str, Any]:
        if value.format not in SPARSE_FORMATS:
            raise NotStorableError(f"{path} is a sparse array of the format {value.format!r}")
        parts = {part: getattr(value, part) for part in ("data", "indices", "indptr")}
        return {
            MARK: "sparse",
            "format": value.format,
            "is_matrix": isinstance(value, scipy.sparse.spmatrix),
            "shape": [int(size) for size in value.shape],
            **{part: self._array(each, f"{path}.{part}") for part, each in parts.items()},
        }

    def _object(self, storable: Storable, value: Any, path: str, depth: int) -> dict[str, Any]:
        if storable.is_estimator:
            return {MARK: "estimator", **self._estimator(storable, value, path, depth + 1)}
        if storable.is_list:
            items = self._items(value, path, depth)
            return {MARK: "object", "class": storable.name, "items": items}
        if storable.is_enum:
            return {MARK: "object", "class": storable.name, "value": value.value}
        fields = self._fields(storable, value, path, depth + 1)
        return {MARK: "object", "class": storable.name, "fields": fields}

    def _fields(self, storable: Storable, value: Any, path: str, depth: int) -> dict[str, Any]:
        return {
            name: self.value(getattr(value, name), _joined(path, name), depth + 1)
            for name in (*storable.arguments, *storable.state)
        }

    def _estimator(self, storable: Storable, value: Any, path: str, depth: int) -> dict[str, Any]:
        given = value.get_params(deep=False)
        parameters, omitted = {}, []
        for name, parameter in given.items():
            before = dict(self.arrays), dict(self._seen)
            try:
                where = _joined(_joined(path, "parameters"), name)
                parameters[name] = self.value(parameter, where, depth + 1)
            except NotStorableError:
                if name in _required(type(value)):
                    raise
                self.arrays, self._seen = before  # without the arrays of the part that was stored
                omitted.append(name)
        self.omitted += [_joined(path, name) for name in omitted]
        fitted = {
            name: self.value(attribute, _joined(path, name), depth + 1)
            for name, attribute in vars(value).items()
            if is_fitted_attribute(type(value), name)
        }
        return {
            "class": storable.name,
            "parameters": parameters,
            "omitted_parameters": omitted,
            "fitted": fitted,
        }


def _scalar(value: np.generic, path: str) -> dict[str, Any]:
    dtype = value.dtype
    if dtype.kind not in SCALAR_KINDS or (dtype.kind == "f" and dtype.itemsize > 8):
        raise NotStorableError(f"{path} is a scalar of the type {dtype}, which cannot be stored")
    item: Any = int(value.astype(np.int64)) if dtype.kind in "Mm" else value.item()
    if isinstance(item, float) and not math.isfinite(item):
        item = str(item)
    return {MARK: "scalar", "dtype": dtype.newbyteorder("<").str, "value": item}


def _required(cls: type) -> set[str]:
    """Parameters of an estimator without a default."""
    parameters = inspect.signature(cls).parameters.items()
    return {name for name, each in parameters if each.default is inspect.Parameter.empty}


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _described(value: Any) -> str:
    cls = type(value)
    return f"an object of the class {cls.__module__}.{cls.__qualname__}"
