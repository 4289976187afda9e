"""Readers for movies in TIFF, NumPy, HDF5, Zarr and NWB files."""

from __future__ import annotations

import errno
import logging
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from thinrank.calcium.errors import MovieError
from thinrank.calcium.hdf5_storage import check_storage
from thinrank.calcium.zarr_movie import ZarrFrames, is_zarr, zarr_arrays
from thinrank.core import resources
from thinrank.core.imports import import_optional

# Messages in tifffile's log about an incomplete file. tifffile reads the rest without an error.
_BROKEN_TIFF = ("invalid page offset", "corrupted tag list", "failed to read", "missing")
# Exceptions of NumPy, which parses the header of an array as Python, for damaged files.
_BROKEN_NPY = (
    ValueError,
    TypeError,
    OSError,
    EOFError,
    OverflowError,
    SyntaxError,
    tokenize.TokenError,
)
# The same for NPZ files, which are archives of arrays.
_BROKEN_NPZ = (
    *_BROKEN_NPY,
    KeyError,
    RuntimeError,  # includes NotImplementedError
    zipfile.BadZipFile,
    zlib.error,
)


@contextmanager
def opened(path: Path, dataset: str | None = None) -> Iterator[Any]:
    """Open the array in a file: memory-mapped if its layout allows that, otherwise read.

    Shapes: result (n_frames, height, width).
    """
    name = str(path)
    if not path.exists():
        raise FileNotFoundError(f"{name}: no such file")
    if is_zarr(path):
        with _zarr(path, dataset) as frames:
            yield frames
        return
    if not path.is_file():
        raise MovieError(name, "is not a file")
    if path.stat().st_size == 0:
        raise MovieError(name, "the file is empty (0 bytes)")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        known = ", ".join((*_READERS, "Zarr folders"))
        raise MovieError(name, f"unknown file type {path.suffix!r}; supported types are {known}")
    with reader(path, dataset) as frames:
        yield frames


# --------------------------------------------------------------------------- TIFF


@contextmanager
def _tiff(path: Path, dataset: str | None) -> Iterator[Any]:
    """The first series of a TIFF or BigTIFF; memory-mapped if contiguous and uncompressed."""
    tifffile = import_optional("tifffile")
    name = str(path)
    if dataset is not None:
        raise MovieError(name, "a TIFF file has no named datasets; dataset must be None")
    with collected_log("tifffile") as messages:
        try:
            frames = _tiff_frames(tifffile, path, name)
        finally:  # if a page is missing, tifffile continues and may fail for another reason
            broken = [line for line in messages if any(sign in line for sign in _BROKEN_TIFF)]
            if broken:
                raise MovieError(name, f"is corrupt, truncated or incomplete ({broken[0]})")
        yield frames


def _tiff_frames(tifffile: Any, path: Path, name: str) -> Any:
    try:
        with tifffile.TiffFile(path) as tiff:
            if not tiff.series:
                raise MovieError(name, "contains no image")
            series = tiff.series[0]
            _check_tiff(tiff.series, name)
            if len(tiff.series) > 1:  # pages of equal shape, written one by one
                frames = tiff.asarray(key=slice(None))
            elif series.dataoffset is not None:
                missing = series.dataoffset + series.nbytes - path.stat().st_size
                if missing > 0:
                    raise MovieError(name, f"is truncated: {missing} bytes are missing")
                order = tiff.byteorder + series.dtype.char
                frames = np.memmap(path, order, "r", series.dataoffset, series.shape)
            else:
                frames = series.asarray()
    except MovieError:
        raise
    except Exception as error:  # tifffile raises many kinds, down to struct.error
        if "imagecodecs" in str(error):
            fault = f"its compression needs another library ({error})"
        else:
            fault = f"is corrupt, truncated or not a TIFF file ({error})"
        raise MovieError(name, fault) from error
    extra = [side for side in frames.shape if side != 1]
    if frames.ndim > 3 and len(extra) == 3:  # axes of length 1, as ImageJ writes them
        frames = frames.reshape(extra)
    return frames


def _check_tiff(all_series: Any, name: str) -> None:
    samples = max(series.keyframe.samplesperpixel for series in all_series)
    if samples > 1:
        raise MovieError(name, f"color (RGB) frames, {samples} samples per pixel; expected one")
    if len({(tuple(series.keyframe.shape), series.dtype) for series in all_series}) > 1:
        raise MovieError(name, f"its pages differ in shape or dtype: {len(all_series)} kinds")


@contextmanager
def collected_log(logger: str) -> Iterator[list[str]]:
    """Collect the log messages of a library instead of showing them on standard error."""
    messages: list[str] = []

    def keep(record: logging.LogRecord) -> bool:
        messages.append(record.getMessage())
        return False

    log = logging.getLogger(logger)
    log.addFilter(keep)
    try:
        yield messages
    finally:
        log.removeFilter(keep)


# --------------------------------------------------------------------------- NumPy


@contextmanager
def _npy(path: Path, dataset: str | None) -> Iterator[Any]:
    name = str(path)
    if dataset is not None:
        raise MovieError(name, "an NPY file contains one array; dataset must be None")
    try:
        frames = np.lib.format.open_memmap(path, mode="r")
    except _BROKEN_NPY as error:
        if getattr(error, "errno", None) == errno.ENOMEM:  # the address space is limited
            raise
        raise MovieError(name, f"is corrupt, truncated or not an NPY file ({error})") from error
    yield frames


@contextmanager
def _npz(path: Path, dataset: str | None) -> Iterator[Any]:
    """One array of an NPZ file: the named one, or the only one with three axes."""
    name = str(path)
    if not zipfile.is_zipfile(path):
        raise MovieError(name, "is corrupt, truncated or not an NPZ file: it is not a ZIP archive")
    try:
        # np.load does not close a file that it opened itself if the file is not an archive
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            chosen = dataset if dataset is not None else _only_movie(_npz_shapes(path), name)
            if chosen not in stored.files:
                raise MovieError(name, _no_such(chosen, stored.files))
            frames = stored[chosen]
    except MovieError:
        raise
    except _BROKEN_NPZ as error:
        raise MovieError(name, f"is corrupt, truncated or not an NPZ file ({error})") from error
    yield frames


def _npz_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Shapes of all arrays, read from their headers only."""
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            with archive.open(member) as stream:
                version = np.lib.format.read_magic(stream)
                read = (
                    np.lib.format.read_array_header_1_0
                    if version == (1, 0)
                    else np.lib.format.read_array_header_2_0
                )
                shapes[member.removesuffix(".npy")] = read(stream)[0]
    return shapes


# --------------------------------------------------------------------------- HDF5 and NWB


@contextmanager
def _hdf5(path: Path, dataset: str | None) -> Iterator[Any]:
    """One dataset of an HDF5 file: the named one, or the only one with three axes."""
    name = str(path)
    with _hdf5_file(path) as file:
        shapes: dict[str, tuple[int, ...]] = {}
        h5py = import_optional("h5py")

        def visit(place: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset) and item.shape is not None:
                shapes[place] = tuple(item.shape)

        with _readable(name):
            file.visititems(visit)
            chosen = dataset.strip("/") if dataset is not None else _only_movie(shapes, name)
            found = file.get(chosen)  # follows links, which visititems does not
        if not isinstance(found, h5py.Dataset) or found.shape is None:
            raise MovieError(name, _no_such(chosen, list(shapes)))
        with _readable(name):
            check_storage(found, path)
        yield _in_memory_if_small(found, name)


@contextmanager
def _nwb(path: Path, dataset: str | None) -> Iterator[Any]:
    """The data of a TwoPhotonSeries, in the order of its axes in the file."""
    name = str(path)
    with _hdf5_file(path) as file:
        series: dict[str, Any] = {}

        def visit(place: str, item: Any) -> None:
            kind = item.attrs.get("neurodata_type", "")
            kind = kind.decode() if isinstance(kind, bytes) else str(kind)
            if kind == "TwoPhotonSeries":
                series[place] = item

        with _readable(name):
            file.visititems(visit)
        chosen = dataset.strip("/") if dataset is not None else None
        places = [p for p in series if chosen is None or p == chosen or p.endswith("/" + chosen)]
        if not series:
            raise MovieError(name, "contains no TwoPhotonSeries")
        if len(places) != 1:
            fault = "several TwoPhotonSeries" if chosen is None else f"no unique {chosen!r}"
            raise MovieError(name, f"{fault}: choose dataset from {', '.join(series)}")
        with _readable(name):
            data = series[places[0]].get("data")
            empty = data is None or data.size == 0
        if empty:
            raise MovieError(name, f"the frames of {places[0]} are in another file or missing")
        with _readable(name):
            check_storage(data, path)
        yield _in_memory_if_small(data, name)


@contextmanager
def _hdf5_file(path: Path) -> Iterator[Any]:
    h5py = import_optional("h5py")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        fault = f"is corrupt, truncated or not an HDF5 file ({error})"
        raise MovieError(str(path), fault) from error
    with file:
        yield file


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Turn the exceptions of h5py about a damaged file into a MovieError."""
    try:
        yield
    except (OSError, RuntimeError, KeyError) as error:
        raise MovieError(name, f"is corrupt or truncated ({error})") from error


def _in_memory_if_small(dataset: Any, name: str) -> Any:
    """Read a chunked dataset at once if it takes at most half the memory budget.

    Reading it line by line would decompress every chunk many times.
    """
    if dataset.chunks is None or dataset.nbytes > resources.budget_bytes() / 2:
        return dataset
    with _readable(name):
        return dataset[...]


# --------------------------------------------------------------------------- Zarr


@contextmanager
def _zarr(path: Path, dataset: str | None) -> Iterator[Any]:
    """One array of a Zarr folder: the named one, or the only one with three axes."""
    name = str(path)
    arrays = {key: ZarrFrames(array, name) for key, array in zarr_arrays(path).items()}
    if dataset is not None and list(arrays) == [""]:
        raise MovieError(name, "is a single Zarr array; dataset must be None")
    shapes = {key: array.shape for key, array in arrays.items()}
    chosen = dataset.strip("/") if dataset is not None else _only_movie(shapes, name)
    if chosen not in arrays:
        raise MovieError(name, _no_such(chosen, list(arrays)))
    arrays[chosen].check_chunks()
    yield _in_memory_if_small(arrays[chosen], name)


# --------------------------------------------------------------------------- choosing


def _only_movie(shapes: dict[str, tuple[int, ...]], name: str) -> str:
    """The one array with three axes; the one called "movie" or "data" if there are several."""
    movies = [key for key, shape in shapes.items() if len(shape) == 3]
    if len(movies) == 1:
        return movies[0]
    for usual in ("movie", "data"):
        if usual in movies:
            return usual
    if not movies:
        if len(shapes) == 1:
            return next(iter(shapes))  # Movie raises an error about its shape
        raise MovieError(
            name, f"contains no array of shape (n_frames, height, width); it has {_listed(shapes)}"
        )
    raise MovieError(name, f"contains several movies: choose dataset from {', '.join(movies)}")


def _no_such(chosen: str, names: list[str]) -> str:
    return f"has no dataset {chosen!r}; it has {', '.join(names) or 'none'}"


def _listed(shapes: dict[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{key} {shape}" for key, shape in shapes.items()) or "no array"


_READERS: dict[str, Callable[[Path, str | None], AbstractContextManager[Any]]] = {
    ".tif": _tiff,
    ".tiff": _tiff,
    ".npy": _npy,
    ".npz": _npz,
    ".h5": _hdf5,
    ".hdf5": _hdf5,
    ".hdf": _hdf5,
    ".nwb": _nwb,
}
