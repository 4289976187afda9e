"""A file of the results of a long computation, in order, from which it can be resumed."""

from __future__ import annotations

import base64
import dataclasses
import enum
import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

ValueT = TypeVar("ValueT")
ClassT = TypeVar("ClassT", bound=type)

_FORMAT = "thinrank checkpoint 4"


class Journal:
    """Results of computations, one per line of a file, in the order in which they were computed.

    A result is used again only if all results before it are those of the same computations, so that
    it depends on the same input. A line that was not written to its end is left out.
    """

    def __init__(self, path: str | Path, identity: dict[str, str]) -> None:
        self._path = Path(path)
        self._entries: list[tuple[int, dict[str, Any], int]] = []  # begin, contents and end
        self._place = 0
        if not self._path.exists() or self._path.stat().st_size == 0:
            self._end = 0
            self._write({"format": _FORMAT, "identity": identity})
            return
        found = list(_lines(self._path))
        if not found or found[0][1].get("format") != _FORMAT:
            raise ValueError(
                f"{str(path)!r} is not a checkpoint of this version of thinrank; choose another "
                "file, or delete it"
            )
        stored = found[0][1]["identity"]
        names = dict.fromkeys([*identity, *stored])
        other = [name for name in names if stored.get(name) != identity.get(name)]
        if other:
            raise ValueError(
                f"{str(path)!r} is the checkpoint of another fit, which differs in "
                f"{', '.join(other)}; choose another file, or delete it"
            )
        self._entries = found[1:]
        self._end = found[-1][2]
        os.truncate(self._path, self._end)

    def recall(
        self, key: str, compute: Callable[[], ValueT], keep: Callable[[ValueT], bool]
    ) -> ValueT:
        """The stored result of a computation, or a new one, which is then stored."""
        if self._place < len(self._entries):
            begin, entry, _ = self._entries[self._place]
            if entry["key"] == key:
                self._place += 1
                return decoded(entry["value"])
            self._end = begin  # another computation: what follows is of no use
            del self._entries[self._place :]
            os.truncate(self._path, self._end)
        token = _CURRENT.set(None)  # what is computed within is part of this result
        try:
            value = compute()
        finally:
            _CURRENT.reset(token)
        if keep(value):
            self._write({"key": key, "value": encoded(value)})
        return value

    def _write(self, entry: dict[str, Any]) -> None:
        line = f"{json.dumps(entry)}\n".encode()
        try:
            with open(self._path, "r+b" if self._end else "wb") as file:
                file.seek(self._end)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:  # also on Ctrl-C: no half of a line stays
            if self._path.exists():
                os.truncate(self._path, self._end)
            raise
        self._end += len(line)


PATH: ContextVar[Path | None] = ContextVar("checkpoint", default=None)
_CURRENT: ContextVar[Journal | None] = ContextVar("journal", default=None)


@contextmanager
def checkpoint(path: str | Path) -> Iterator[None]:
    """A block in which a fit stores its progress, and continues from what is stored.

    Models of a search for sizes and iterations of a fit are written to a file when they have been
    computed. If the process ends before the fit, by Ctrl-C, for lack of memory or because the
    machine was switched off, the same fit with the same file continues where it ended. The result
    is the same, to the last bit, as that of a fit without interruption on the same machine with the
    same number of threads.

    Parameters
    ----------
    path : path
        The file, in an existing folder. It belongs to one fit: data and parameters other than
        ``verbose`` and ``callback`` are compared with those of the file, and an error says which of
        them differ. Delete it when the fit is done.

    Raises
    ------
    ValueError
        By the fit, if the file belongs to another fit or is no checkpoint.

    Notes
    -----
    All estimators and baselines can be used, with NumPy arrays, sparse matrices, data frames and
    operators. The file is a text file in JSON, without pickled objects; its size is that of the
    models that were compared. Callbacks are called again for models that are read from the file,
    not for iterations of a fit.

    Examples
    --------
    >>> import os, tempfile, thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(30, 10, 5, 1, 2, 2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with tr.checkpoint(os.path.join(folder, "fit.checkpoint")):
    ...         est = tr.SparseReducedRankRegressor().fit(X, Y)  # this may take hours
    >>> est.rank_
    1
    """
    token = PATH.set(Path(path))
    try:
        yield
    finally:
        PATH.reset(token)


@contextmanager
def recording(journal: Journal) -> Iterator[None]:
    """A block whose computations are stored in a journal, or recalled from it."""
    token = _CURRENT.set(journal)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def is_recording() -> bool:
    """Whether there is a journal."""
    return _CURRENT.get() is not None


def recalled(
    key: str, compute: Callable[[], ValueT], keep: Callable[[ValueT], bool] = lambda _: True
) -> ValueT:
    """The result of a computation: from the journal, if there is one that contains it."""
    journal = _CURRENT.get()
    return compute() if journal is None else journal.recall(key, compute, keep)


def stop_recording() -> None:
    """Store nothing more in this block, since what follows depends on an interruption."""
    _CURRENT.set(None)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any], int]]:
    """Begin, contents and end of the lines that are complete."""
    begin = 0
    with open(path, "rb") as file:
        for line in file:
            end = begin + len(line)
            try:
                entry = json.loads(line)
            except ValueError:
                return
            if not line.endswith(b"\n") or not isinstance(entry, dict):
                return
            yield begin, entry, end
            begin = end


# Results as JSON, with every bit and the memory layout of arrays.

_CLASSES: dict[str, type] = {}


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
        array = np.load(io.BytesIO(base64.b64decode(value["array"])), allow_pickle=False)
        return array[()] if value["scalar"] else array
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
    # the last bit of products depends on the order in memory, which the format keeps
    transposed = array.ndim == 2 and abs(array.strides[0]) < abs(array.strides[1])
    file = io.BytesIO()
    np.save(file, np.asarray(array, order="F" if transposed else "C"))
    return {"array": base64.b64encode(file.getvalue()).decode("ascii"), "scalar": scalar}
