"""Movies in Zarr arrays, which are folders of compressed chunks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from thinrank.calcium.errors import MovieError
from thinrank.core.imports import import_optional

# Files that describe an array or a group, of version 3 and of version 2 of the format.
_METADATA = ("zarr.json", ".zarray", ".zgroup")
# Filters that run code from the file when it is read.
_UNSAFE = ("pickle",)


def is_zarr(path: Path) -> bool:
    """Whether a folder is a Zarr array or group."""
    return path.is_dir() and any((path / name).is_file() for name in _METADATA)


class ZarrFrames:
    """A Zarr array with three axes; axes of length 1 are left out, as those of OME-Zarr are."""

    def __init__(self, array: Any, name: str) -> None:
        self._array, self._name = array, name
        sides = tuple(int(side) for side in array.shape)
        long = [axis for axis, side in enumerate(sides) if side != 1]
        self._kept = long if len(sides) > 3 and len(long) == 3 else list(range(len(sides)))
        self.shape = tuple(sides[axis] for axis in self._kept)
        self.dtype, self.chunks = np.dtype(array.dtype), array.chunks
        self.nbytes = int(np.prod(sides, dtype=np.float64)) * self.dtype.itemsize

    def __getitem__(self, key: Any) -> np.ndarray:
        """A section of the array, from the disk."""
        whole: list[Any] = [0] * len(self._array.shape)
        keys = (slice(None),) * 3 if key is Ellipsis else key
        for axis, part in zip(self._kept, keys, strict=True):
            whole[axis] = part
        try:
            return np.asarray(self._array[tuple(whole)])
        except MemoryError:
            raise
        except Exception as error:  # codecs raise many kinds about damaged chunks
            raise MovieError(self._name, f"cannot be read to the end ({error})") from error

    def check_chunks(self) -> None:
        """Warn about chunks that are not stored: Zarr reads them as a constant."""
        try:
            stored, count = self._array.nchunks_initialized, self._array.nchunks
        except Exception as error:
            raise MovieError(self._name, f"is corrupt or incomplete ({error})") from error
        if stored < count:
            warnings.warn(
                f"{self._name}: {count - stored} of {count} chunks are not stored and are read as "
                f"{self._array.fill_value}; the copy may be incomplete",
                stacklevel=2,
            )


def zarr_arrays(path: Path) -> dict[str, Any]:
    """The arrays of a Zarr folder by name; the only one of an array itself is named ""."""
    zarr = import_optional("zarr")
    try:
        found = zarr.open(str(path), mode="r")
        arrays = {"": found} if isinstance(found, zarr.Array) else dict(_members(found, zarr))
        for array in arrays.values():
            _check_filters(array, str(path))
    except MovieError:
        raise
    except Exception as error:  # metadata of others: any kind of error
        raise MovieError(str(path), f"is corrupt or not a Zarr array ({error})") from error
    return arrays


def _members(group: Any, zarr: Any) -> Iterator[tuple[str, Any]]:
    for name, member in group.members(max_depth=None):
        if isinstance(member, zarr.Array):
            yield name, member


def _check_filters(array: Any, name: str) -> None:
    """Raise a MovieError for an array whose chunks would run code when they are read."""
    codecs = [*(getattr(array, "filters", ()) or ()), *(getattr(array, "compressors", ()) or ())]
    for codec in codecs:
        kind = str(getattr(codec, "codec_id", type(codec).__name__)).lower()
        if any(word in kind for word in _UNSAFE):
            raise MovieError(name, f"has the filter {kind!r}, which could run code; it is not read")
