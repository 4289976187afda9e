"""Values from JSON and named arrays: the inverse of the encoder, which trusts nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from thinrank.persistence.array_file import ArrayFile
from thinrank.persistence.encode import MARK, MOST_NESTED, SCALAR_KINDS, SPARSE_FORMATS
from thinrank.persistence.errors import ModelFileError, as_model_file_error
from thinrank.persistence.registry import Storable, find_class, is_fitted_attribute

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_DTYPE = re.compile(r"[<|][A-Za-z]\d*(\[\d*[A-Za-z]+\])?")


class Decoder:
    """Decodes values."""

    def __init__(self, arrays: ArrayFile) -> None:
        self._arrays = arrays
        self._forms: dict[str, Callable[[dict[str, Any], str, int], Any]] = {
            "float": self._float,
            "tuple": lambda value, path, depth: tuple(self._items(value, path, depth)),
            "dict": self._dict,
            "range": self._range,
            "array": lambda value, path, depth: self._array(value, path),
            "object_array": self._object_array,
            "masked_array": self._masked_array,
            "scalar": self._scalar,
            "sparse": self._sparse,
            "object": self._object,
            "estimator": lambda value, path, depth: self.estimator(value, path, depth),
        }

    def model(self, document: dict[str, Any]) -> Any:
        """The model of a document."""
        storable = find_class(document["class"])
        if not storable.is_model:
            raise ModelFileError(f"the class {storable.name!r} is not that of a model")
        if storable.is_estimator:
            return self.estimator(document)
        return self._built(storable, document, storable.name, 0)

    def value(self, value: Any, path: str, depth: int = 0) -> Any:
        """One value."""
        if depth > MOST_NESTED:
            raise ModelFileError(f"{path} is nested too deeply")
        if isinstance(value, float) and not math.isfinite(value):
            raise ModelFileError(f"{path} is a number that is too large")
        if isinstance(value, list):
            return [self.value(each, f"{path}.{i}", depth + 1) for i, each in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if MARK not in value:
            return {key: self.value(v, f"{path}.{key}", depth + 1) for key, v in value.items()}
        form = value[MARK]
        if not isinstance(form, str) or form not in self._forms:
            raise ModelFileError(f"{path} has the unknown type {str(form)[:80]!r}")
        with as_model_file_error(f"{path} is not a valid {form}"):
            return self._forms[form](value, path, depth + 1)

    def estimator(self, value: dict[str, Any], path: str = "", depth: int = 0) -> Any:
        """An estimator with its parameters and fitted attributes."""
        storable = find_class(_entry(value, "class", str))
        cls: Any = storable.cls
        prefix = f"{path}." if path else ""
        if not storable.is_estimator:
            raise ModelFileError(f"{storable.name!r} is not an estimator")
        parameters = _entry(value, "parameters", dict)
        unknown = set(parameters) - set(cls._get_param_names())
        if unknown:
            raise ModelFileError(f"{storable.name} has no parameter {min(unknown)[:80]!r}")
        given = {
            name: self.value(each, f"{prefix}{name}", depth + 1)
            for name, each in parameters.items()
        }
        with as_model_file_error(f"{storable.name} cannot be created"):
            estimator = cls(**given)
        for name, each in _entry(value, "fitted", dict).items():
            if not is_fitted_attribute(cls, name):
                raise ModelFileError(f"{name[:80]!r} is not an attribute that a fit sets")
            setattr(estimator, name, self.value(each, f"{prefix}{name}", depth + 1))
        return estimator

    def _items(self, value: dict[str, Any], path: str, depth: int) -> list[Any]:
        return self.value(_entry(value, "items", list), path, depth)

    def _float(self, value: dict[str, Any], path: str, depth: int) -> float:
        return _NOT_FINITE[value["value"]]

    def _dict(self, value: dict[str, Any], path: str, depth: int) -> dict[Any, Any]:
        pairs = self._items(value, path, depth)
        answer = {key: each for key, each in pairs}  # noqa: C416 (raises unless they are pairs)
        if len(answer) != len(pairs):
            raise ModelFileError("a key occurs twice")
        return answer

    def _range(self, value: dict[str, Any], path: str, depth: int) -> range:
        start, stop, step = self._items(value, path, depth)
        return range(start, stop, step)

    def _array(self, value: dict[str, Any], path: str) -> np.ndarray:
        return self._arrays[_entry(value, "name", str)]

    def _object_array(self, value: dict[str, Any], path: str, depth: int) -> np.ndarray:
        items = self._items(value, path, depth)
        shape = _shape(value)
        if math.prod(shape) != len(items):
            raise ModelFileError(f"it declares the shape {shape}, but has {len(items)} entries")
        flat = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):  # an assignment of the list would look into its items
            flat[i] = item
        return flat.reshape(shape)

    def _masked_array(self, value: dict[str, Any], path: str, depth: int) -> Any:
        data, mask = (self.value(value[key], path, depth) for key in ("data", "mask"))
        valid = isinstance(data, np.ndarray) and isinstance(mask, np.ndarray)
        if not valid or mask.dtype != np.bool_ or data.shape != mask.shape:
            raise ModelFileError("data and mask must be arrays of one shape")
        return np.ma.MaskedArray(data, mask)

    def _scalar(self, value: dict[str, Any], path: str, depth: int) -> Any:
        name = _entry(value, "dtype", str)
        if not _DTYPE.fullmatch(name) or name[1] not in SCALAR_KINDS:
            raise ModelFileError(f"the type {name[:80]!r} is not supported")
        dtype = np.dtype(name).newbyteorder("=")
        item = value["value"]
        if dtype.kind == "U":
            return np.str_(_entry(value, "value", str))
        if dtype.kind == "f":
            item = _NOT_FINITE[item] if isinstance(item, str) else float(item)
            return dtype.type(item)
        if type(item) is not (bool if dtype.kind == "b" else int):
            raise ModelFileError(f"{item!r} is not a value of the type {name!r}")
        if dtype.kind in "Mm":
            return np.asarray(item, dtype=np.int64).view(dtype)[()]
        return dtype.type(item)

    def _sparse(self, value: dict[str, Any], path: str, depth: int) -> Any:
        kind = _entry(value, "format", str)
        if kind not in SPARSE_FORMATS:
            raise ModelFileError(f"the format {kind[:80]!r} is not supported")
        suffix = "matrix" if _entry(value, "is_matrix", bool) else "array"
        parts = [
            self.value(value[key], path, depth).copy() for key in ("data", "indices", "indptr")
        ]
        matrix = getattr(scipy.sparse, f"{kind}_{suffix}")(tuple(parts), shape=_shape(value))
        matrix.check_format(full_check=True)
        return matrix

    def _object(self, value: dict[str, Any], path: str, depth: int) -> Any:
        storable = find_class(_entry(value, "class", str))
        if storable.is_estimator:
            raise ModelFileError(f"{storable.name!r} is an estimator")
        if storable.is_list:
            return storable.cls(self._items(value, path, depth))
        if storable.is_enum:
            return storable.cls(value["value"])
        return self._built(storable, value, path, depth)

    def _built(self, storable: Storable, value: dict[str, Any], path: str, depth: int) -> Any:
        fields = _entry(value, "fields", dict)
        unknown = set(fields) - {*storable.arguments, *storable.state}
        if unknown:
            raise ModelFileError(f"{storable.name} has no field {min(unknown)[:80]!r}")
        decoded = {
            name: self.value(each, f"{path}.{name}", depth + 1) for name, each in fields.items()
        }
        with as_model_file_error(f"{path} is not a valid {storable.name}"):
            return storable.build(decoded)


def _entry(value: dict[str, Any], key: str, kind: type) -> Any:
    """The entry of a JSON object, which must have a type."""
    entry = value.get(key)
    if type(entry) is not kind:
        raise ModelFileError(f"{key!r} is missing or is not of the type {kind.__name__}")
    return entry


def _shape(value: dict[str, Any]) -> tuple[int, ...]:
    shape = _entry(value, "shape", list)
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ModelFileError(f"the shape {str(shape)[:80]} is not valid")
    return tuple(shape)
