"""Results of computations as JSON, with every bit and the memory layout of arrays."""

from __future__ import annotations

import base64
import dataclasses
import enum
from typing import Any, TypeVar

import numpy as np

_CLASSES: dict[str, type] = {}

ClassT = TypeVar("ClassT", bound=type)


def storable(cls: ClassT) -> ClassT:
    """Decorator: objects of a dataclass, named tuple, enumeration or list class can be stored."""
    _CLASSES[cls.__name__] = cls
    return cls


def encoded(value: Any) -> Any:
    """A value as objects that JSON knows."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return _encoded_array(np.asarray(value), scalar=isinstance(value, np.generic))
    cls = type(value)
    if cls is list:
        return [encoded(item) for item in value]
    if cls is tuple:
        return {"tuple": [encoded(item) for item in value]}
    if _CLASSES.get(cls.__name__) is not cls:
        raise TypeError(f"a checkpoint holds NumPy arrays, but there is a {cls.__name__}")
    if isinstance(value, enum.Enum):
        return {"class": cls.__name__, "member": value.name}
    if isinstance(value, list):
        return {"class": cls.__name__, "items": [encoded(item) for item in value]}
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    else:
        fields = value._asdict()
    return {"class": cls.__name__, "fields": {key: encoded(x) for key, x in fields.items()}}


def decoded(value: Any) -> Any:
    """The value that :func:`encoded` made JSON of."""
    if isinstance(value, list):
        return [decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return _decoded_array(value)
    if "tuple" in value:
        return tuple(decoded(item) for item in value["tuple"])
    cls: Any = _CLASSES[value["class"]]
    if "member" in value:
        return cls[value["member"]]
    if "items" in value:
        return cls(decoded(item) for item in value["items"])
    return cls(**{key: decoded(item) for key, item in value["fields"].items()})


def _encoded_array(array: np.ndarray, *, scalar: bool) -> dict[str, Any]:
    if array.dtype.kind not in "biuf":
        raise TypeError(f"a checkpoint holds arrays of numbers, not of dtype {array.dtype}")
    return {
        "array": base64.b64encode(array.tobytes()).decode("ascii"),
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        # products of the same numbers in another layout may differ in the last bit
        "strides": list(array.strides),
        "scalar": scalar,
    }


def _decoded_array(value: dict[str, Any]) -> Any:
    dtype, shape = np.dtype(value["dtype"]), tuple(value["shape"])
    numbers = np.frombuffer(base64.b64decode(value["array"]), dtype).reshape(shape)
    if value["scalar"]:
        return numbers[()]
    strides = tuple(value["strides"])
    if min(strides, default=1) <= 0 or 0 in shape:
        return numbers.copy()
    span = sum((count - 1) * stride for count, stride in zip(shape, strides, strict=True))
    room = np.empty(span // dtype.itemsize + 1, dtype)
    array = np.lib.stride_tricks.as_strided(room, shape, strides)
    array[...] = numbers
    return array
