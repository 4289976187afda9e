"""Where row blocks are read from: arrays, NPY files, stored arrays, Parquet files, iterables."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thinrank.core.imports import import_optional

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
# The name that pandas gives to columns that hold row names.
_ROW_NAMES = "__index_level_"


@dataclass
class Source:
    """Rows that can be read again and again, in order."""

    label: str  # what messages call the data
    shape: tuple[int, int]  # number of rows and of columns
    dtype: np.dtype  # the dtype in which blocks are returned, float32 or float64
    # all rows, in new arrays of at most so many rows (or as the data define it)
    read: Callable[[int], Iterator[np.ndarray]]
    names: np.ndarray | None = None  # names of the columns
    scans: int = 0  # number of passes that were needed to find the shape
    chunk_rows: int | None = None  # number of rows that are stored together


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
        return _mapped(data, str(data.filename))
    if hasattr(data, "shape") and hasattr(data, "dtype") and hasattr(data, "__getitem__"):
        return _stored(data, f"a {type(data).__name__}")
    if isinstance(data, Iterable):
        return _iterated(data)
    raise TypeError(
        "data must be a path, an array (NumPy, Zarr, HDF5) or an iterable of two-dimensional "
        f"blocks, got a {type(data).__name__}"
    )


def _from_path(path: Path, dataset: str | None) -> Source:
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}")
    kind = path.suffix.lower()
    if kind in (".h5", ".hdf5", ".hdf", ".nwb"):
        return _hdf5(path, dataset)
    if dataset is not None:
        raise ValueError(f"dataset is used for HDF5 files (.h5, .hdf5) only, got it with {path}")
    if kind == ".npy":
        try:
            data = np.lib.format.open_memmap(path, mode="r")
        except (ValueError, EOFError) as error:
            raise ValueError(f"{path} cannot be read as an NPY file: {error}") from error
        return _mapped(data, str(path))
    if path.is_dir() and any((path / name).exists() for name in ("zarr.json", ".zarray")):
        zarr = import_optional("zarr")
        return _stored(zarr.open_array(str(path), mode="r"), f"the Zarr array {path}")
    if kind == ".parquet" or (path.is_dir() and any(path.glob("*.parquet"))):
        return _parquet(path)
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


def _stored(data: Any, label: str) -> Source:
    """An array whose rows can be sliced: NumPy, Zarr, an open HDF5 data set."""
    shape, dtype = check_matrix(data.shape, label), read_dtype(np.dtype(data.dtype), label)
    chunks = getattr(data, "chunks", None)

    def read(height: int) -> Iterator[np.ndarray]:
        for first in range(0, shape[0], height):
            rows = data[first : min(first + height, shape[0])]
            yield np.array(rows, dtype=dtype, order="C")

    rows = int(chunks[0]) if isinstance(chunks, tuple) and chunks else None
    return Source(label, shape, dtype, read, chunk_rows=rows)


def _mapped(data: np.memmap, label: str) -> Source:
    """A matrix in a file, read with ordinary reads: mapped pages count as memory of a process."""
    source = _stored(data, label)
    if not data.flags.c_contiguous:  # slices of columns read only what they need
        return source
    (n, p), path, stored, offset = source.shape, str(data.filename), data.dtype, data.offset

    def read(height: int) -> Iterator[np.ndarray]:
        with open(path, "rb") as file:
            file.seek(offset)
            for first in range(0, n, height):
                block = np.fromfile(file, stored, min(height, n - first) * p)
                if len(block) < min(height, n - first) * p:
                    raise ValueError(f"{path} ends early, in the rows from {first} on")
                yield block.reshape(-1, p).astype(source.dtype, copy=False)

    source.read = read  # and the map is closed
    return source


def _hdf5(path: Path, dataset: str | None) -> Source:
    """A data set in an HDF5 file, which is open only while it is read."""
    h5py, label = import_optional("h5py"), f"{path} ({dataset})"
    if dataset is None:
        raise ValueError(f"{path} is an HDF5 file: pass the name of the data set as dataset=")
    try:
        with h5py.File(path, "r") as file:
            known: list[str] = []
            file.visititems(lambda name, x: known.append(name) if hasattr(x, "dtype") else None)
            if dataset.strip("/") in known:
                source = _stored(file[dataset], label)
    except OSError as error:
        raise ValueError(f"{path} cannot be read as an HDF5 file: {error}") from error
    if dataset.strip("/") not in known:
        raise ValueError(
            f"{path} has no data set {dataset!r}; it has: {', '.join(known) or 'none'}"
        )

    def read(height: int) -> Iterator[np.ndarray]:
        with h5py.File(path, "r") as file:
            yield from _stored(file[dataset], label).read(height)

    source.read = read
    return source


def _parquet(path: Path) -> Source:
    """One Parquet file, or all in a folder in the order of their names; missing numbers are NaN."""
    parquet = import_optional("pyarrow.parquet")
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    rows, heights, first = 0, [], None
    for file in files:
        try:
            with parquet.ParquetFile(file) as reader:
                about, schema = reader.metadata, reader.schema_arrow
        except (OSError, ValueError) as error:  # includes errors of pyarrow
            raise ValueError(f"{file} cannot be read as a Parquet file: {error}") from error
        kept = [field for field in schema if not field.name.startswith(_ROW_NAMES)]
        columns = [(field.name, str(field.type)) for field in kept]
        first = columns if first is None else first
        if columns != first:
            raise ValueError(f"{file} has other columns than {files[0]}: {_other(first, columns)}")
        rows += about.num_rows
        heights += [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    assert first is not None
    if not first or not rows:
        raise ValueError(f"{path} has {rows} rows and {len(first)} columns of data")
    numbers = ("int", "uint", "float", "double", "halffloat", "bool")  # the first two of any size
    bad = [f"{name!r} ({kind})" for name, kind in first if kind.rstrip("0123456789") not in numbers]
    if bad:
        raise ValueError(f"{path} must hold numbers only; other columns: {', '.join(bad[:5])}")
    names = [name for name, _ in first]
    dtype = np.dtype(np.float32 if all(kind == "float" for _, kind in first) else np.float64)

    def read(height: int) -> Iterator[np.ndarray]:
        for file in files:
            with parquet.ParquetFile(file) as reader:
                for batch in reader.iter_batches(batch_size=height, columns=names):
                    block = np.empty((batch.num_rows, len(names)), dtype=dtype)
                    for j, name in enumerate(names):
                        block[:, j] = batch.column(name).to_numpy(zero_copy_only=False)
                    yield block

    known = np.array(names, dtype=object)
    return Source(str(path), (rows, len(names)), dtype, read, known, chunk_rows=max(heights))


def _other(one: list[tuple[str, str]], other: list[tuple[str, str]]) -> str:
    """What differs between two lists of names and types, in words."""
    if len(one) != len(other):
        return f"{len(other)} instead of {len(one)}"
    (name, kind), (new, now) = next((a, b) for a, b in zip(one, other, strict=True) if a != b)
    return f"{new!r} ({now}) in the place of {name!r} ({kind})"


def _iterated(data: Iterable[Any]) -> Source:
    """Blocks from an object that can be iterated over again and again.

    For a list or tuple the shape is known from the blocks; anything else is read once to find it.
    """
    label = f"the blocks of a {type(data).__name__}"
    if iter(data) is data:
        raise TypeError(
            f"data is a {type(data).__name__}, which cannot be read twice; pass a list of "
            "blocks, or an object whose __iter__ begins anew"
        )

    def checked() -> Iterator[np.ndarray]:
        first: np.ndarray | None = None
        for i, item in enumerate(data):
            block = np.asarray(item)
            check_matrix(block.shape, f"block {i}")
            first = block[:0] if first is None else first
            for kind, own, other in (
                (f"{block.shape[1]} columns", block.shape[1], first.shape[1]),
                (f"the dtype {block.dtype}", block.dtype, first.dtype),
            ):
                if own != other:
                    raise ValueError(f"block {i} has {kind}, and block 0 has {other}")
            yield block

    def read(height: int) -> Iterator[np.ndarray]:
        rows = 0
        for block in checked():
            rows += len(block)
            if rows <= source.shape[0]:
                for start in range(0, len(block), height):
                    yield np.array(block[start : start + height], source.dtype, order="C")
        if rows != source.shape[0]:
            early = "end early: they " if rows < source.shape[0] else ""
            raise ValueError(
                f"{label} {early}had {source.shape[0]} rows when they were first read, and now "
                f"{rows}"
            )

    found = [(len(block), block.shape[1], block.dtype) for block in checked()]
    if not found:
        raise ValueError(f"{label} are empty: there must be at least one block")
    shape = sum(rows for rows, _, _ in found), found[0][1]
    scans = 0 if isinstance(data, (list, tuple)) else 1
    source = Source(label, shape, read_dtype(found[0][2], label), read, scans=scans)
    return source
