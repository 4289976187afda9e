"""Where row blocks are read from: arrays, NPY files, stored arrays, Parquet files, iterables."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from thinrank.core.imports import import_optional

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


class Source(Protocol):
    """Rows that can be read again and again, in order."""

    shape: tuple[int, int]  # number of rows and of columns
    dtype: np.dtype  # the dtype in which blocks are returned, float32 or float64
    names: np.ndarray | None  # names of the columns
    scans: int  # number of passes that were needed to find the shape
    chunk_rows: int | None  # number of rows that are stored together
    label: str  # what messages call the data

    def blocks(self, height: int) -> Iterator[np.ndarray]:
        """All rows, in new arrays of at most ``height`` rows (or as the data define it)."""
        ...


def as_source(data: Any, dataset: str | None) -> Source:
    """The source for anything that :class:`thinrank.designs.Blocks` accepts."""
    if isinstance(data, (str, Path)):
        return _from_path(Path(data), dataset)
    if dataset is not None:
        raise ValueError(
            f"dataset is the name of a data set in an HDF5 file, but data is no path; got "
            f"dataset={dataset!r} with a {type(data).__name__}"
        )
    if isinstance(data, np.memmap) and isinstance(data.base, mmap.mmap) and data.filename:
        if data.ndim == 2 and data.flags.c_contiguous:
            return RawFile(Path(data.filename), data.shape, data.dtype, data.offset)
        return StoredArray(data, "a memory-mapped array")
    if hasattr(data, "shape") and hasattr(data, "dtype") and hasattr(data, "__getitem__"):
        return StoredArray(data, f"a {type(data).__name__}")
    if isinstance(data, Iterable):
        return Iterated(data)
    raise TypeError(
        "data must be a path, an array (NumPy, Zarr, HDF5) or an iterable of two-dimensional "
        f"blocks, got a {type(data).__name__}"
    )


def _from_path(path: Path, dataset: str | None) -> Source:
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}")
    kind = path.suffix.lower()
    if kind in (".h5", ".hdf5", ".hdf", ".nwb"):
        return Hdf5Data(path, dataset)
    if dataset is not None:
        raise ValueError(f"dataset is used for HDF5 files (.h5, .hdf5) only, got it with {path}")
    if kind == ".npy":
        return npy_file(path)
    if path.is_dir() and any((path / name).exists() for name in ("zarr.json", ".zarray")):
        zarr = import_optional("zarr")
        return StoredArray(zarr.open_array(str(path), mode="r"), f"the Zarr array {path}")
    if kind == ".parquet" or (path.is_dir() and any(path.glob("*.parquet"))):
        from thinrank.designs.parquet_source import ParquetRows  # imports pyarrow

        return ParquetRows(path)
    raise ValueError(
        f"{path} is not one of: an NPY file (.npy), an HDF5 file (.h5, .hdf5), a Parquet file "
        "(.parquet) or a folder of them, a Zarr array"
    )


def read_dtype(dtype: np.dtype, label: str) -> np.dtype:
    """float32 for float32, float64 for other real numbers."""
    if dtype.kind not in "biuf":
        raise ValueError(f"{label} must hold real numbers, got the dtype {dtype}")
    native = dtype.newbyteorder("=")
    return native if native in _FLOATS else np.dtype(np.float64)


def check_matrix(shape: tuple[int, ...], label: str) -> tuple[int, int]:
    """The shape; raise a ValueError unless it is that of a matrix with rows."""
    if len(shape) != 2 or 0 in shape:
        raise ValueError(
            f"{label} must have two dimensions, rows and columns, of at least 1, got shape "
            f"{tuple(shape)}"
        )
    return int(shape[0]), int(shape[1])


class StoredArray:
    """An array whose rows can be sliced: NumPy, Zarr, an open HDF5 data set."""

    names: np.ndarray | None = None
    scans = 0

    def __init__(self, data: Any, label: str) -> None:
        self.label = label
        self.shape = check_matrix(data.shape, label)
        self.dtype = read_dtype(np.dtype(data.dtype), label)
        chunks = getattr(data, "chunks", None)
        self.chunk_rows = int(chunks[0]) if isinstance(chunks, tuple) and chunks else None
        self._data = data

    def blocks(self, height: int) -> Iterator[np.ndarray]:
        """Slices of rows, as new arrays."""
        for first in range(0, self.shape[0], height):
            rows = self._data[first : min(first + height, self.shape[0])]
            yield np.array(rows, dtype=self.dtype, order="C")


class RawFile:
    """Numbers one after the other in a file, rows first.

    They are read with ordinary reads and not mapped, because mapped pages count as memory of this
    process.
    """

    names: np.ndarray | None = None
    scans = 0
    chunk_rows: int | None = None

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: np.dtype, offset: int) -> None:
        self.label = str(path)
        self.shape = check_matrix(shape, self.label)
        self.dtype = read_dtype(dtype, self.label)
        self._path, self._stored, self._offset = path, dtype, offset
        needed = offset + dtype.itemsize * self.shape[0] * self.shape[1]
        if path.stat().st_size < needed:
            raise ValueError(
                f"{path} ends early: {self.shape[0]} rows of {self.shape[1]} columns of {dtype} "
                f"need {needed} bytes, the file has {path.stat().st_size}"
            )

    def blocks(self, height: int) -> Iterator[np.ndarray]:
        """Blocks of rows, each read at once."""
        n, p = self.shape
        with self._path.open("rb", buffering=0) as file:
            file.seek(self._offset)
            for first in range(0, n, height):
                block = np.empty((min(height, n - first), p), dtype=self._stored)
                _fill(file, block, f"{self._path} ends early, in the rows from {first} on")
                yield block.astype(self.dtype, copy=False)


def _fill(file: Any, block: np.ndarray, message: str) -> None:
    """Read the bytes of an array; one read returns at most 2 GiB on some systems."""
    view = memoryview(block.reshape(-1).view(np.uint8).data)
    done = 0
    while done < len(view):
        count = file.readinto(view[done:])
        if not count:
            raise ValueError(message)
        done += count


def npy_file(path: Path) -> Source:
    """The matrix in an NPY file."""
    with path.open("rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }.get(version)
            if read is None:
                raise ValueError(f"version {version} of the format is not known")
            shape, columns_first, dtype = read(file)
        except ValueError as error:
            raise ValueError(f"{path} is no NPY file: {error}") from error
        offset = file.tell()
    if dtype.hasobject:
        raise ValueError(f"{path} must hold real numbers, got the dtype {dtype}")
    source = RawFile(path, shape, dtype, offset)
    if columns_first:
        # rows are scattered over the file: slices of a map read only what they need
        return StoredArray(np.load(path, mmap_mode="r"), str(path))
    return source


class Hdf5Data:
    """A data set in an HDF5 file, which is open only while it is read."""

    names: np.ndarray | None = None
    scans = 0

    def __init__(self, path: Path, dataset: str | None) -> None:
        self._h5py = import_optional("h5py")
        self.label = f"{path} ({dataset})"
        if dataset is None:
            raise ValueError(f"{path} is an HDF5 file: pass the name of the data set as dataset=")
        self._path, self._name = path, dataset
        with self._open() as file:
            if dataset not in file or not hasattr(file[dataset], "dtype"):
                known: list[str] = []
                file.visititems(
                    lambda name, item: known.append(name) if hasattr(item, "dtype") else None
                )
                raise ValueError(
                    f"{path} has no data set {dataset!r}; it has: {', '.join(known) or 'none'}"
                )
            inner = StoredArray(file[dataset], self.label)
            self.shape, self.dtype, self.chunk_rows = inner.shape, inner.dtype, inner.chunk_rows

    def _open(self) -> Any:
        try:
            return self._h5py.File(self._path, "r")
        except OSError as error:
            raise ValueError(f"{self._path} cannot be read as an HDF5 file: {error}") from error

    def blocks(self, height: int) -> Iterator[np.ndarray]:
        """Slices of rows."""
        with self._open() as file:
            yield from StoredArray(file[self._name], self.label).blocks(height)


class Iterated:
    """Blocks from an object that can be iterated over again and again.

    For a list or tuple the shape is known from the blocks; anything else is read once to find it.
    """

    names: np.ndarray | None = None
    chunk_rows: int | None = None
    shape: tuple[int, int]
    dtype: np.dtype

    def __init__(self, data: Iterable[Any]) -> None:
        self.label = f"the blocks of a {type(data).__name__}"
        if iter(data) is data:
            raise TypeError(
                f"data is a {type(data).__name__}, which cannot be read twice; pass a list of "
                "blocks, or an object whose __iter__ begins anew"
            )
        self._data = data
        self._first: tuple[int, np.dtype] | None = None
        rows = 0
        for i, block in enumerate(data):
            rows += self._checked(block, i).shape[0]
        if self._first is None:
            raise ValueError(f"{self.label} are empty: there must be at least one block")
        width, dtype = self._first
        self.shape = rows, width
        self.dtype = read_dtype(dtype, self.label)
        self.scans = 0 if isinstance(data, (list, tuple)) else 1

    def blocks(self, height: int) -> Iterator[np.ndarray]:
        """The blocks, divided where they have more than ``height`` rows."""
        rows = 0
        for i, item in enumerate(self._data):
            block = self._checked(item, i)
            rows += len(block)
            if rows > self.shape[0]:
                raise ValueError(
                    f"{self.label} had {self.shape[0]} rows when they were first read, and now "
                    f"have at least {rows}"
                )
            for first in range(0, len(block), height):
                yield np.array(block[first : first + height], dtype=self.dtype, order="C")
        if rows < self.shape[0]:
            raise ValueError(
                f"{self.label} end early: they had {self.shape[0]} rows when they were first "
                f"read, and now {rows}"
            )

    def _checked(self, item: Any, number: int) -> np.ndarray:
        block = np.asarray(item)
        check_matrix(block.shape, f"block {number}")
        if self._first is None:
            self._first = block.shape[1], block.dtype
        width, dtype = self._first
        if block.shape[1] != width:
            raise ValueError(
                f"block {number} has {block.shape[1]} columns, and block 0 has {width}"
            )
        if block.dtype != dtype:
            raise ValueError(f"block {number} has the dtype {block.dtype}, and block 0 has {dtype}")
        return block
