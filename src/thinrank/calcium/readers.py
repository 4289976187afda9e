"""Readers for movies in TIFF, NumPy, HDF5, Zarr and NWB files, and the frame rate in TIFF files."""

from __future__ import annotations

import errno
import logging
import math
import os
import re
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from thinrank.core import resources
from thinrank.core.imports import import_optional

# Messages in tifffile's log about an incomplete file. tifffile reads the rest without an error.
_BROKEN_TIFF = ("invalid page offset", "corrupted tag list", "failed to read", "missing")
# Exceptions of NumPy, which parses the header of an array as Python, for damaged files, and of the
# archives in NPZ files.
_BROKEN_NUMPY = (
    *(ValueError, TypeError, OSError, EOFError, OverflowError, SyntaxError, tokenize.TokenError),
    *(KeyError, RuntimeError, zipfile.BadZipFile, zlib.error),
)
# Names of the frame rate in ScanImage: since version 5 (2015), version 4, and version 3.
_RATES = ("SI.hRoiManager.scanFrameRate", "scanimage.SI4.scanFrameRate", "state.acq.frameRate")
# Files that describe a Zarr array or a group, of version 3 and of version 2 of the format.
_ZARR = ("zarr.json", ".zarray", ".zgroup")


class MovieError(ValueError):
    """A movie cannot be used.

    The message begins with the name of the file, or "movie" for an array.
    """

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(f"{name}: {fault}")
        self.name = name
        self.fault = fault

    def __reduce__(self) -> tuple[type[MovieError], tuple[str, str]]:
        return type(self), (self.name, self.fault)  # exceptions are rebuilt from one argument


@contextmanager
def opened(path: Path, dataset: str | None = None) -> Iterator[Any]:
    """Open the array in a file: memory-mapped if its layout allows that, otherwise read.

    Shapes: result (n_frames, height, width).
    """
    name = str(path)
    if not path.exists():
        raise FileNotFoundError(f"{name}: no such file")
    if path.is_dir() and any((path / name).is_file() for name in _ZARR):
        yield _zarr(path, dataset)
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


@contextmanager
def _readable(name: str, fault: str, *kinds: type[Exception]) -> Iterator[None]:
    """Turn exceptions of a library about a damaged file into a MovieError."""
    try:
        yield
    except (MovieError, FileNotFoundError, MemoryError):
        raise
    except Exception as error:
        if kinds and not isinstance(error, kinds):
            raise
        if getattr(error, "errno", None) == errno.ENOMEM:  # the address space is limited
            raise
        if "imagecodecs" in str(error):
            raise MovieError(name, f"its compression needs another library ({error})") from error
        raise MovieError(name, f"{fault} ({error})") from error


# --------------------------------------------------------------------------- TIFF


@contextmanager
def _tiff(path: Path, dataset: str | None) -> Iterator[Any]:
    """The first series of a TIFF or BigTIFF; memory-mapped if contiguous and uncompressed."""
    tifffile = import_optional("tifffile")
    name = str(path)
    if dataset is not None:
        raise MovieError(name, "a TIFF file has no named datasets; dataset must be None")
    with _collected_log("tifffile") as messages:
        try:
            with _readable(name, "is corrupt, truncated or not a TIFF file"):
                frames = _tiff_frames(tifffile, path, name)
        finally:  # if a page is missing, tifffile continues and may fail for another reason
            broken = [line for line in messages if any(sign in line for sign in _BROKEN_TIFF)]
            if broken:
                raise MovieError(name, f"is corrupt, truncated or incomplete ({broken[0]})")
        yield frames


def _tiff_frames(tifffile: Any, path: Path, name: str) -> Any:
    with tifffile.TiffFile(path) as tiff:
        if not tiff.series:
            raise MovieError(name, "contains no image")
        series, pages = tiff.series[0], [each.keyframe for each in tiff.series]
        samples = max(page.samplesperpixel for page in pages)
        if samples > 1:
            fault = f"color (RGB) frames, {samples} samples per pixel; expected one"
            raise MovieError(name, fault)
        if (
            len(
                {
                    (tuple(page.shape), each.dtype)
                    for page, each in zip(pages, tiff.series, strict=True)
                }
            )
            > 1
        ):
            raise MovieError(name, f"its pages differ in shape or dtype: {len(pages)} kinds")
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
    extra = [side for side in frames.shape if side != 1]
    if frames.ndim > 3 and len(extra) == 3:  # axes of length 1, as ImageJ writes them
        frames = frames.reshape(extra)
    return frames


@contextmanager
def _collected_log(logger: str) -> Iterator[list[str]]:
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


def may_have_frame_rate(path: Path | str) -> bool:
    """Whether the kind of a file can have a frame rate that is read: TIFF."""
    return _READERS.get(Path(path).suffix.lower()) is _tiff


def read_frame_rate(path: Path | str) -> float | None:
    """The number of frames per second in the metadata of ScanImage.

    Parameters
    ----------
    path : path
        A TIFF file of ScanImage 3 or later. It is ``SI.hRoiManager.scanFrameRate`` or, in older
        versions, ``state.acq.frameRate``.

    Returns
    -------
    float or None
        None if the file has no such entry, or is no TIFF file.

    Raises
    ------
    MovieError
        If the file cannot be read.
    """
    if not may_have_frame_rate(path):
        return None
    tifffile, name = import_optional("tifffile"), str(path)
    with (
        _readable(name, "is corrupt, truncated or not a TIFF file"),
        _collected_log("tifffile"),
        tifffile.TiffFile(path) as tiff,
    ):
        if not len(tiff.pages):
            raise MovieError(name, "is corrupt or contains no image")
        page = tiff.pages.first
        texts = [str(page.software), str(page.description)]
        for values in (tiff.scanimage_metadata or {}).values():
            if isinstance(values, dict):
                texts.insert(0, "\n".join(f"{key} = {value}" for key, value in values.items()))
    for rate in _RATES:
        for text in texts:
            # version 3 ends lines with a carriage return
            found = re.search(rf"^\s*{re.escape(rate)}\s*=\s*(\S+)", text.replace("\r", "\n"), re.M)
            try:
                value = float(found[1]) if found else math.nan
            except ValueError:
                continue
            if math.isfinite(value) and value > 0:
                return value
    return None


# --------------------------------------------------------------------------- NumPy


@contextmanager
def _npy(path: Path, dataset: str | None) -> Iterator[Any]:
    name = str(path)
    if dataset is not None:
        raise MovieError(name, "an NPY file contains one array; dataset must be None")
    with _readable(name, "is corrupt, truncated or not an NPY file", *_BROKEN_NUMPY):
        frames = np.lib.format.open_memmap(path, mode="r")
    yield frames


@contextmanager
def _npz(path: Path, dataset: str | None) -> Iterator[Any]:
    """One array of an NPZ file: the named one, or the only one with three axes."""
    name = str(path)
    if not zipfile.is_zipfile(path):
        raise MovieError(name, "is corrupt, truncated or not an NPZ file: it is not a ZIP archive")
    # np.load does not close a file that it opened itself if the file is not an archive
    with (
        _readable(name, "is corrupt, truncated or not an NPZ file", *_BROKEN_NUMPY),
        path.open("rb") as stream,
        np.load(stream, allow_pickle=False) as stored,
    ):
        shapes = _npz_shapes(path)
        frames = stored[_chosen(shapes, dataset, name)]
    yield frames


def _npz_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Shapes of all arrays, read from their headers only."""
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            with archive.open(member) as stream:
                old = np.lib.format.read_magic(stream) == (1, 0)
                header = "read_array_header_1_0" if old else "read_array_header_2_0"
                shapes[member.removesuffix(".npy")] = getattr(np.lib.format, header)(stream)[0]
    return shapes


# --------------------------------------------------------------------------- HDF5 and NWB


@contextmanager
def _hdf5(path: Path, dataset: str | None) -> Iterator[Any]:
    """One dataset of an HDF5 file: the named one, or the only one with three axes."""
    name = str(path)
    with _hdf5_items(path) as (file, items):
        h5py = import_optional("h5py")
        shapes = {
            place: tuple(item.shape)
            for place, item in items.items()
            if isinstance(item, h5py.Dataset) and item.shape is not None
        }
        with _readable(name, "is corrupt or truncated", OSError, RuntimeError, KeyError):
            # get follows links, which visititems does not
            wanted = None if dataset is None else file.get(dataset.strip("/"))
            if not isinstance(wanted, h5py.Dataset) or wanted.shape is None:
                wanted = file[_chosen(shapes, dataset, name)]
        yield _stored(wanted, path)


@contextmanager
def _nwb(path: Path, dataset: str | None) -> Iterator[Any]:
    """The data of a TwoPhotonSeries, in the order of its axes in the file."""
    name = str(path)
    with _hdf5_items(path) as (_, items):
        series = {}
        for place, item in items.items():
            kind = item.attrs.get("neurodata_type", "")
            if (kind.decode() if isinstance(kind, bytes) else str(kind)) == "TwoPhotonSeries":
                series[place] = item
        if not series:
            raise MovieError(name, "contains no TwoPhotonSeries")
        chosen = None if dataset is None else "/" + dataset.strip("/")
        places = [p for p in series if chosen is None or f"/{p}".endswith(chosen)]
        if len(places) != 1:
            fault = "several TwoPhotonSeries" if chosen is None else f"no unique {dataset!r}"
            raise MovieError(name, f"{fault}: choose dataset from {', '.join(series)}")
        with _readable(name, "is corrupt or truncated", OSError, RuntimeError, KeyError):
            data = series[places[0]].get("data")
            empty = data is None or data.size == 0
        if empty:
            raise MovieError(name, f"the frames of {places[0]} are in another file or missing")
        yield _stored(data, path)


@contextmanager
def _hdf5_items(path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """An open HDF5 file, and what is in it by place."""
    h5py, name = import_optional("h5py"), str(path)
    with _readable(name, "is corrupt, truncated or not an HDF5 file", OSError):
        file = h5py.File(path, "r")
    with file:
        items: dict[str, Any] = {}
        with _readable(name, "is corrupt or truncated", OSError, RuntimeError, KeyError):
            file.visititems(items.__setitem__)
        yield file, items


def _stored(dataset: Any, path: Path) -> Any:
    """A dataset whose numbers are in its file; in memory if it takes little.

    HDF5 can take numbers from any file of the machine, byte by byte, which a movie from somebody
    else must not do. Where a source of a virtual dataset is missing, it returns zeros.
    """
    name = str(path)
    if not os.path.samefile(dataset.file.filename, path):
        fault = f"{dataset.name} is a link to another file; open that file: {dataset.file.filename}"
        raise MovieError(name, fault)
    if dataset.external is not None or dataset.is_virtual:
        kind, others = "external storage in", {str(each[0]) for each in dataset.external or ()}
        if dataset.is_virtual:
            kind = "a virtual dataset of"
            others = {each.file_name for each in dataset.virtual_sources()}
        raise MovieError(
            name,
            f"the numbers of {dataset.name} are stored outside of the file ({kind} "
            f"{', '.join(sorted(others))}), which is not read; copy them into one file, for "
            "example with h5repack",
        )
    return _in_memory_if_small(dataset, name)


def _in_memory_if_small(dataset: Any, name: str) -> Any:
    """Read a chunked dataset at once if it takes at most half the memory budget.

    Reading it line by line would decompress every chunk many times.
    """
    if dataset.chunks is None or dataset.nbytes > resources.budget_bytes() / 2:
        return dataset
    with _readable(name, "is corrupt or truncated", OSError, RuntimeError, KeyError):
        return dataset[...]


# --------------------------------------------------------------------------- Zarr


class _ZarrFrames:
    """A Zarr array with three axes; axes of length 1 are left out, as those of OME-Zarr are."""

    def __init__(self, array: Any, name: str) -> None:
        self._array, self._name = array, name
        sides = tuple(int(side) for side in array.shape)
        long = [axis for axis, side in enumerate(sides) if side != 1]
        self._kept = long if len(sides) > 3 and len(long) == 3 else list(range(len(sides)))
        self.shape = tuple(sides[axis] for axis in self._kept)
        self.dtype, self.chunks = np.dtype(array.dtype), array.chunks
        self.nbytes = math.prod(sides) * self.dtype.itemsize

    def __getitem__(self, key: Any) -> np.ndarray:
        """A section of the array, from the disk."""
        whole: list[Any] = [0] * len(self._array.shape)
        keys = (slice(None),) * 3 if key is Ellipsis else key
        for axis, part in zip(self._kept, keys, strict=True):
            whole[axis] = part
        with _readable(self._name, "cannot be read to the end"):
            return np.asarray(self._array[tuple(whole)])


def _zarr(path: Path, dataset: str | None) -> Any:
    """One array of a Zarr folder: the named one, or the only one with three axes."""
    zarr, name = import_optional("zarr"), str(path)
    with _readable(name, "is corrupt or not a Zarr array"):
        found = zarr.open(name, mode="r")
        single = isinstance(found, zarr.Array)
        arrays = {"": found} if single else dict(found.members(max_depth=None))
        arrays = {key: each for key, each in arrays.items() if isinstance(each, zarr.Array)}
        for array in arrays.values():
            for codec in (*(getattr(array, "filters", ()) or ()), *(array.compressors or ())):
                kind = str(getattr(codec, "codec_id", type(codec).__name__)).lower()
                if "pickle" in kind:
                    fault = f"has the filter {kind!r}, which could run code; it is not read"
                    raise MovieError(name, fault)
    if dataset is not None and single:
        raise MovieError(name, "is a single Zarr array; dataset must be None")
    frames = {key: _ZarrFrames(array, name) for key, array in arrays.items()}
    chosen = _chosen({key: each.shape for key, each in frames.items()}, dataset, name)
    with _readable(name, "is corrupt or incomplete"):
        stored, count = arrays[chosen].nchunks_initialized, arrays[chosen].nchunks
    if stored < count:
        warnings.warn(
            f"{name}: {count - stored} of {count} chunks are not stored and are read as "
            f"{arrays[chosen].fill_value}; the copy may be incomplete",
            stacklevel=2,
        )
    return _in_memory_if_small(frames[chosen], name)


# --------------------------------------------------------------------------- choosing


def _chosen(shapes: dict[str, tuple[int, ...]], dataset: str | None, name: str) -> str:
    """The named array, or the one with three axes; "movie" or "data" if there are several."""
    if dataset is not None:
        wanted = dataset.strip("/")
        if wanted not in shapes:
            known = ", ".join(shapes) or "none"
            raise MovieError(name, f"has no dataset {wanted!r}; it has {known}")
        return wanted
    movies = [key for key, shape in shapes.items() if len(shape) == 3]
    for usual in ("movie", "data", *movies):
        if usual in movies and (len(movies) == 1 or usual in ("movie", "data")):
            return usual
    if movies:
        raise MovieError(name, f"contains several movies: choose dataset from {', '.join(movies)}")
    if len(shapes) == 1:
        return next(iter(shapes))  # Movie raises an error about its shape
    has = ", ".join(f"{key} {shape}" for key, shape in shapes.items()) or "no array"
    raise MovieError(name, f"contains no array of shape (n_frames, height, width); it has {has}")


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
