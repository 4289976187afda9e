"""Python values as JSON values and named arrays, and back."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np
import scipy.sparse

from thinrank import arrays
from thinrank.persistence import classes
from thinrank.persistence.files import (
    ModelFileError,
    NotStorableError,
    as_model_file_error,
    storable_array,
)

# The key that tells an encoded value from a dictionary.
_MARK = "$type"
# Kinds of NumPy scalars that are stored: Booleans, integers, floats, strings, dates and durations.
_SCALAR_KINDS = "biufUMm"
_SPARSE_FORMATS = ("csr", "csc")
_SPARSE_PARTS = ("data", "indices", "indptr")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Encoder:
    """Encodes values, and collects their arrays and the parameters that cannot be stored."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}  # by the path to the value, such as factors_.U
        self.omitted: list[str] = []
        self._seen: dict[int, tuple[Any, str]] = {}  # keeps the objects, so that ids stay unique

    def model(self, model: Any) -> dict[str, Any]:
        """The keys of a model that describe its class and contents."""
        if not classes.is_model(type(model)):
            raise NotStorableError(
                f"{_described(model)} cannot be saved; tr.save stores the estimators and "
                "baselines of thinrank, Factors and Solution"
            )
        contents = self._object(model, "")
        del contents[_MARK]  # it is known from the class
        return contents

    def value(self, value: Any, path: str) -> Any:
        """One value."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {_MARK: "float", "value": str(value)}
        if kind is list:
            return self._items(value, path)
        if kind is tuple:
            return {_MARK: "tuple", "items": self._items(value, path)}
        if kind is dict:
            if all(type(key) is str for key in value) and _MARK not in value:
                return self._members(value, path)
            return {_MARK: "dict", "items": self._items(map(list, value.items()), path)}
        if kind is range:
            return {_MARK: "range", "items": [value.start, value.stop, value.step]}
        if classes.name_of(kind) is not None:  # type: ignore[arg-type]
            return self._object(value, path)
        if scipy.sparse.issparse(value):
            return self._sparse(value, path)
        if isinstance(value, np.ma.MaskedArray):
            parts = {"data": np.asarray(value.data), "mask": np.ma.getmaskarray(value)}
            return {_MARK: "masked_array", **self._members(parts, path)}
        if isinstance(value, np.generic):
            return _scalar(value, path)
        if not arrays.is_array(value):
            raise NotStorableError(f"{path} is {_described(value)}, which cannot be stored")
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
            items = self._items(value.ravel().tolist(), path)
            return {_MARK: "object_array", "shape": list(value.shape), "items": items}
        return self._array(value, path)

    def _items(self, values: Any, path: str) -> list[Any]:
        return [self.value(each, f"{path}.{i}") for i, each in enumerate(values)]

    def _members(self, values: dict[str, Any], path: str) -> dict[str, Any]:
        return {key: self.value(v, _joined(path, key)) for key, v in values.items()}

    def _array(self, value: Any, path: str) -> dict[str, Any]:
        if id(value) not in self._seen:
            name = tried = re.sub(r"[^A-Za-z0-9_.-]", "_", path)
            number = 1
            while tried in self.arrays:
                number += 1
                tried = f"{name}.{number}"
            self.arrays[tried] = storable_array(arrays.to_numpy(value), path)
            self._seen[id(value)] = value, tried
        return {_MARK: "array", "name": self._seen[id(value)][1]}

    def _sparse(self, value: Any, path: str) -> dict[str, Any]:
        if value.format not in _SPARSE_FORMATS:
            raise NotStorableError(f"{path} is a sparse array of the format {value.format!r}")
        return {
            _MARK: "sparse",
            "format": value.format,
            "is_matrix": isinstance(value, scipy.sparse.spmatrix),
            "shape": [int(size) for size in value.shape],
            **{part: self._array(getattr(value, part), f"{path}.{part}") for part in _SPARSE_PARTS},
        }

    def _object(self, value: Any, path: str) -> dict[str, Any]:
        if classes.is_estimator(type(value)):
            return {_MARK: "estimator", **self._estimator(value, path)}
        answer: dict[str, Any] = {_MARK: "object", "class": classes.name_of(type(value))}  # type: ignore[arg-type]
        if isinstance(value, list):
            return {**answer, "items": self._items(value, path)}
        if isinstance(value, Enum):
            return {**answer, "value": value.value}
        return {**answer, "fields": self._members(classes.fields_of(value), path)}

    def _estimator(self, value: Any, path: str) -> dict[str, Any]:
        cls = type(value)
        needed = inspect.signature(cls).parameters
        parameters, omitted = {}, []
        for name, parameter in value.get_params(deep=False).items():
            before = dict(self.arrays), dict(self._seen)
            try:
                where = _joined(_joined(path, "parameters"), name)
                parameters[name] = self.value(parameter, where)
            except (NotStorableError, RecursionError):
                if needed[name].default is inspect.Parameter.empty:
                    raise
                self.arrays, self._seen = before  # without the arrays of the part that was stored
                omitted.append(name)
        self.omitted += [_joined(path, name) for name in omitted]
        fitted = {
            name: each
            for name, each in vars(value).items()
            if classes.is_fitted_attribute(cls, name)
        }
        return {
            "class": classes.name_of(cls),  # type: ignore[arg-type]
            "parameters": parameters,
            "omitted_parameters": omitted,
            "fitted": self._members(fitted, path),
        }


def _scalar(value: np.generic, path: str) -> dict[str, Any]:
    dtype = value.dtype
    if dtype.kind not in _SCALAR_KINDS or (dtype.kind == "f" and dtype.itemsize > 8):
        raise NotStorableError(f"{path} is a scalar of the type {dtype}, which cannot be stored")
    item: Any = int(value.astype(np.int64)) if dtype.kind in "Mm" else value.item()
    if isinstance(item, float) and not math.isfinite(item):
        item = str(item)
    return {_MARK: "scalar", "dtype": dtype.newbyteorder("<").str, "value": item}


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _described(value: Any) -> str:
    cls = type(value)
    return f"an object of the class {cls.__module__}.{cls.__qualname__}"


class Decoder:
    """The inverse of the encoder, which trusts nothing."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.used: set[str] = set()  # names of the arrays that occurred
        self._arrays = arrays
        self._forms: dict[str, Callable[[dict[str, Any], str], Any]] = {
            "float": lambda value, path: _NOT_FINITE[value["value"]],
            "tuple": lambda value, path: tuple(self._items(value, path)),
            "dict": lambda value, path: dict(self._items(value, path)),
            "range": lambda value, path: range(*self._items(value, path)),
            "array": self._array,
            "object_array": self._object_array,
            "masked_array": lambda value, path: np.ma.MaskedArray(
                *(self.value(value[key], path) for key in ("data", "mask"))
            ),
            "scalar": lambda value, path: _scalar_of(value),
            "sparse": self._sparse,
            "object": self._object,
            "estimator": self._estimator,
        }

    def model(self, document: dict[str, Any]) -> Any:
        """The model of a document."""
        cls = classes.class_of(document["class"])
        if not classes.is_model(cls):
            raise ModelFileError(f"the class {document['class']!r} is not that of a model")
        read = self._estimator if classes.is_estimator(cls) else self._object
        return read(document, "")

    def value(self, value: Any, path: str) -> Any:
        """One value."""
        if isinstance(value, list):
            return [self.value(each, f"{path}.{i}") for i, each in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if _MARK not in value:
            return self._members(value, path)
        form = value[_MARK]
        if not isinstance(form, str) or form not in self._forms:
            raise ModelFileError(f"{path} has the unknown type {str(form)[:80]!r}")
        with as_model_file_error(f"{path} is not a valid {form}"):
            return self._forms[form](value, path)

    def _items(self, value: dict[str, Any], path: str) -> list[Any]:
        return self.value(_entry(value, "items", list), path)

    def _members(self, values: dict[str, Any], path: str) -> dict[str, Any]:
        return {key: self.value(v, _joined(path, key)) for key, v in values.items()}

    def _array(self, value: dict[str, Any], path: str) -> np.ndarray:
        name = _entry(value, "name", str)
        if name not in self._arrays:
            raise ModelFileError(f"arrays.npz has no array {name[:80]!r}")
        self.used.add(name)
        return self._arrays[name]

    def _object_array(self, value: dict[str, Any], path: str) -> np.ndarray:
        items = self._items(value, path)
        # an array made of the list would look into its items
        return np.fromiter(items, object, len(items)).reshape(_entry(value, "shape", list))

    def _sparse(self, value: dict[str, Any], path: str) -> Any:
        kind = _entry(value, "format", str)
        if kind not in _SPARSE_FORMATS:
            raise ModelFileError(f"the format {kind[:80]!r} is not supported")
        suffix = "matrix" if _entry(value, "is_matrix", bool) else "array"
        parts = tuple(self.value(value[part], path).copy() for part in _SPARSE_PARTS)
        matrix = getattr(scipy.sparse, f"{kind}_{suffix}")(
            parts, shape=_entry(value, "shape", list)
        )
        matrix.check_format(full_check=True)
        return matrix

    def _object(self, value: dict[str, Any], path: str) -> Any:
        cls = classes.class_of(_entry(value, "class", str))
        if classes.is_estimator(cls):
            raise ModelFileError(f"{value['class']!r} is an estimator")
        if issubclass(cls, list):
            return cls(self._items(value, path))
        if issubclass(cls, Enum):
            return cls(value["value"])
        fields = self._members(_entry(value, "fields", dict), path)
        with as_model_file_error(f"{path} is not a valid {cls.__name__}"):
            return classes.from_fields(cls, fields)

    def _estimator(self, value: dict[str, Any], path: str) -> Any:
        cls = classes.class_of(_entry(value, "class", str))
        if not classes.is_estimator(cls):
            raise ModelFileError(f"{value['class']!r} is not an estimator")
        parameters = _entry(value, "parameters", dict)
        unknown = set(parameters) - set(cls._get_param_names())
        if unknown:
            raise ModelFileError(f"{cls.__name__} has no parameter {min(unknown)[:80]!r}")
        given = self._members(parameters, path)
        with as_model_file_error(f"{cls.__name__} cannot be created"):
            estimator = cls(**given)
        fitted = _entry(value, "fitted", dict)
        for name in fitted:
            if not classes.is_fitted_attribute(cls, name):
                raise ModelFileError(f"{name[:80]!r} is not an attribute that a fit sets")
        for name, each in self._members(fitted, path).items():
            setattr(estimator, name, each)
        return estimator


def _scalar_of(value: dict[str, Any]) -> Any:
    dtype, item = np.dtype(_entry(value, "dtype", str)).newbyteorder("="), value["value"]
    if dtype.kind not in _SCALAR_KINDS or type(item) not in (bool, int, float, str):
        raise ModelFileError(f"the type {str(dtype)[:80]} or its value is not supported")
    if dtype.kind in "Mm":
        return np.asarray(item, dtype=np.int64).view(dtype)[()]
    return dtype.type(item)


def _entry(value: dict[str, Any], key: str, kind: type) -> Any:
    """The entry of a JSON object, which must have a type."""
    entry = value.get(key)
    if type(entry) is not kind:
        raise ModelFileError(f"{key!r} is missing or is not of the type {kind.__name__}")
    return entry
