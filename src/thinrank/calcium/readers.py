"""Movies from arrays and from TIFF, NumPy, HDF5, Zarr and NWB files, read a few lines at a time."""

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
from contextlib import AbstractContextManager, contextmanager, suppress
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
_FEWEST_FRAMES = 3  # one before a spike, the spike, and one after it
# Number of entries of a block of lines: 16 MiB in single precision.
_BLOCK_ENTRIES = 4 * resources.BLOCK_ENTRIES


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


class Movie:
    """The frames of a movie, and its name for error messages."""

    def __init__(self, frames: Any, name: str) -> None:
        shape = tuple(int(side) for side in frames.shape)
        if len(shape) == 4 and shape[-1] in (3, 4):
            raise MovieError(name, f"color (RGB) frames of shape {shape}; a movie has one channel")
        self._axes = three_axes(shape)
        shape = tuple(shape[axis] for axis in self._axes)
        if len(shape) == 2:
            raise MovieError(name, f"a single picture of shape {shape}; a movie has (T, H, W)")
        if len(shape) != 3:
            raise MovieError(name, f"shape {shape}; a movie has (T, H, W)")
        if 0 in shape:
            raise MovieError(name, f"is empty: shape {shape}")
        if np.dtype(frames.dtype).kind not in "uifb":
            raise MovieError(name, f"has dtype {frames.dtype}; a movie must contain real numbers")
        if shape[0] < _FEWEST_FRAMES:
            only = "a single frame" if shape[0] == 1 else f"{shape[0]} frames"
            raise MovieError(name, f"has {only}; at least {_FEWEST_FRAMES} are needed")
        self.frames = frames
        self.name = name
        self.shape: tuple[int, int, int] = shape

    def lines(self, first: int, last: int, frames: slice = slice(None)) -> np.ndarray:
        """Lines ``first`` to ``last`` − 1 of all frames or of some, as a new float32 array.

        Pixels of margins that are NaN in one of these frames are zero in all of them.
        """
        key: list[Any] = [0] * len(self.frames.shape)
        for axis, part in zip(self._axes, (frames, slice(first, last), slice(None)), strict=True):
            key[axis] = part
        try:
            with np.errstate(over="ignore"):
                block = np.array(self.frames[tuple(key)], dtype=np.float32, order="C")
        except (OSError, RuntimeError, ValueError) as error:  # h5py or zarr, of a damaged file
            raise MovieError(self.name, f"cannot be read to the end ({error})") from error
        except MemoryError:
            what = f"lines {first} to {last - 1} of {self.shape[0]} frames"
            raise MovieError(
                self.name, f"there is not enough memory for {what}; the file may be damaged"
            ) from None
        if not np.isfinite(block).all():
            _clear_margins(block)
            bad = np.argwhere(~np.isfinite(block))
            if len(bad):
                frame, line, column = (bad[0] + [frames.start or 0, first, 0]).tolist()
                place = f"frame {frame}, row {line}, column {column}"
                raise MovieError(self.name, f"contains NaN or infinity: {place}")
        return block

    def blocks(self, needed: np.ndarray | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Blocks of lines of all frames, each with the number of its first line.

        Blocks are left out where no line is ``needed``, an array of shape (height,).
        """
        frames, height, width = self.shape
        step = max(_BLOCK_ENTRIES // (frames * width), 1)
        starts = [
            first
            for first in range(0, height, step)
            if needed is None or needed[first : first + step].any()
        ]
        return resources.prefetched(
            (first, self.lines(first, min(first + step, height))) for first in starts
        )


def _clear_margins(block: np.ndarray) -> None:
    """Set pixels at the margins of the lines to zero in all frames if they are NaN in any.

    Registration leaves such margins: pixels that are NaN in some frame, as all between them and the
    left or the right edge are. Pixels that never change are not used.
    """
    missing = np.isnan(block).any(axis=0)
    left = np.logical_and.accumulate(missing, axis=1)
    right = np.logical_and.accumulate(missing[:, ::-1], axis=1)[:, ::-1]
    block[:, left | right] = 0


@contextmanager
def open_movie(movie: Any, dataset: str | None = None) -> Iterator[Movie]:
    """Open a movie from an array or a file, memory-mapped if its layout allows that."""
    if isinstance(movie, (str, os.PathLike)):
        path = Path(movie)
        with _reader_of(path)(path, dataset) as frames:
            yield Movie(frames, str(path))
        return
    if dataset is not None:
        raise ValueError("dataset is the name of an array in a file, but this movie is not a file")
    if isinstance(movie, np.ma.MaskedArray):
        raise MovieError("movie", "is a masked array; fill the masked entries first")
    if not hasattr(movie, "shape") or not hasattr(movie, "dtype"):
        movie = np.asarray(movie)
    yield Movie(movie, "movie")


Reader = Callable[[Path, str | None], AbstractContextManager[Any]]
"""Opens the array in a file, given the name of a dataset or None."""


def _reader_of(path: Path) -> Reader:
    """The reader for a file or folder."""
    name, suffix = str(path), path.suffix.lower()
    if not path.exists():
        raise FileNotFoundError(f"{name}: no such file")
    if path.is_dir():
        if not any((path / file).is_file() for file in _ZARR):
            raise MovieError(name, "is a folder without a Zarr array, not a file")
        return _zarr
    if path.stat().st_size == 0:
        raise MovieError(name, "the file is empty (0 bytes)")
    if suffix not in _READERS:
        known = ", ".join((*_READERS, "Zarr folders"))
        raise MovieError(name, f"unknown file type {path.suffix!r}; supported types are {known}")
    return _READERS[suffix]


def three_axes(shape: tuple[int, ...]) -> list[int]:
    """The axes of an array without those of length 1, as ImageJ and OME write, if 3 are left."""
    long = [axis for axis, side in enumerate(shape) if side != 1]
    return long if len(long) == 3 else list(range(len(shape)))


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
        pages = [each.keyframe for each in tiff.series]
        samples = max(page.samplesperpixel for page in pages)
        if samples > 1:
            fault = f"color (RGB) frames, {samples} samples per pixel; expected one"
            raise MovieError(name, fault)
        if len({(tuple(page.shape), page.dtype) for page in pages}) > 1:
            raise MovieError(name, f"its pages differ in shape or dtype: {len(pages)} kinds")
        if len(pages) > 1:  # pages of equal shape, written one by one
            return tiff.asarray(key=slice(None))
        if tiff.series[0].dataoffset is None:
            return tiff.series[0].asarray()
    return tifffile.memmap(path, mode="r")


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
    if _READERS.get(Path(path).suffix.lower()) is not _tiff:
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
        stated = (tiff.scanimage_metadata or {}).get("FrameData") or {}
        lines = [f"{key} = {value}" for key, value in stated.items()]
    # version 3 ends lines with a carriage return
    text = "\n".join([*lines, str(page.software), str(page.description)]).replace("\r", "\n")
    for rate in _RATES:
        for found in re.findall(rf"^\s*{re.escape(rate)}\s*=\s*(\S+)", text, re.M):
            with suppress(ValueError):
                if 0 < float(found) < math.inf:
                    return float(found)
    return None


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
        shapes = {}
        for member in stored.zip.namelist():  # from the headers: arrays may be large
            with stored.zip.open(member) as array:
                old = np.lib.format.read_magic(array) == (1, 0)
                header = "read_array_header_1_0" if old else "read_array_header_2_0"
                shapes[member.removesuffix(".npy")] = getattr(np.lib.format, header)(array)[0]
        frames = stored[_chosen(shapes, dataset, name)]
    yield frames


@contextmanager
def _hdf5(path: Path, dataset: str | None) -> Iterator[Any]:
    """One dataset of an HDF5 file, or the data of a TwoPhotonSeries of an NWB file."""
    h5py, name = import_optional("h5py"), str(path)
    with _readable(name, "is corrupt, truncated or not an HDF5 file", OSError):
        file = h5py.File(path, "r")
    with file:
        with _readable(name, "is corrupt or truncated", OSError, RuntimeError, KeyError):
            arrays: dict[str, Any] = {}
            file.visititems(arrays.__setitem__)
            if path.suffix.lower() == ".nwb":
                arrays = {place: each for place, each in arrays.items() if _is_series(each)}
                if not arrays:
                    raise MovieError(name, "contains no TwoPhotonSeries")
                arrays = {place: each.get("data") for place, each in arrays.items()}
            elif dataset is not None:  # get follows links, which visititems does not
                arrays[dataset.strip("/")] = file.get(dataset.strip("/"))
            shapes = {
                place: tuple(each.shape)
                for place, each in arrays.items()
                if isinstance(each, h5py.Dataset) and each.shape is not None
            }
            chosen = arrays[_chosen(shapes, dataset, name)]
        yield _stored(chosen, path)


def _is_series(item: Any) -> bool:
    kind = item.attrs.get("neurodata_type", "")
    return bool((kind.decode() if isinstance(kind, bytes) else kind) == "TwoPhotonSeries")


def _stored(dataset: Any, path: Path) -> Any:
    """A dataset whose numbers are in its file; in memory if it takes little.

    HDF5 can take numbers from any file of the machine, which a movie from somebody else must not
    do. Where a source of a virtual dataset is missing, it returns zeros.
    """
    others = set()
    if not os.path.samefile(dataset.file.filename, path):
        others = {dataset.file.filename}
    elif dataset.is_virtual:
        others = {each.file_name for each in dataset.virtual_sources()}
    elif dataset.external is not None:
        others = {str(each[0]) for each in dataset.external}
    if others:
        raise MovieError(
            str(path),
            f"the numbers of {dataset.name} are stored in another file, which is not read "
            f"({', '.join(sorted(others))}); open that file, or copy them into one with h5repack",
        )
    return _in_memory_if_small(dataset, str(path))


def _in_memory_if_small(dataset: Any, name: str) -> Any:
    """Read a chunked dataset at once if that takes at most half the memory budget."""
    # line by line, every chunk would be decompressed many times
    if dataset.chunks is None or dataset.nbytes > resources.budget_bytes() / 2:
        return dataset
    with _readable(name, "is corrupt, or cannot be read to the end"):
        return dataset[...]


@contextmanager
def _zarr(path: Path, dataset: str | None) -> Iterator[Any]:
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
        array = arrays[_chosen({key: each.shape for key, each in arrays.items()}, dataset, name)]
        missing = array.nchunks - array.nchunks_initialized
    if missing:
        warnings.warn(
            f"{name}: {missing} of {array.nchunks} chunks are not stored and are read as "
            f"{array.fill_value}; the copy may be incomplete",
            stacklevel=2,
        )
    yield _in_memory_if_small(array, name)


def _chosen(shapes: dict[str, tuple[int, ...]], dataset: str | None, name: str) -> str:
    """The named array, or the one with three axes; "movie" or "data" if there are several."""
    if dataset is not None:
        wanted = "/" + dataset.strip("/")
        found = [key for key in shapes if f"/{key}" == wanted]
        found = found or [key for key in shapes if f"/{key}".endswith(wanted)]
        if len(found) != 1:
            known = ", ".join(shapes) or "none"
            raise MovieError(name, f"has no unique dataset {dataset!r}; it has {known}")
        return found[0]
    movies = [key for key, shape in shapes.items() if len(three_axes(shape)) == 3]
    usual = [key for key in ("movie", "data") if key in movies] or movies
    if len(movies) == 1 or len(usual) < len(movies):
        return usual[0]
    if movies:
        raise MovieError(name, f"contains several movies: choose dataset from {', '.join(movies)}")
    if len(shapes) == 1:
        return next(iter(shapes))  # Movie raises an error about its shape
    has = ", ".join(f"{key} {shape}" for key, shape in shapes.items()) or "no array"
    raise MovieError(name, f"contains no array of shape (n_frames, height, width); it has {has}")


_READERS: dict[str, Reader] = {
    **dict.fromkeys((".tif", ".tiff"), _tiff),
    ".npy": _npy,
    ".npz": _npz,
    **dict.fromkeys((".h5", ".hdf5", ".hdf", ".nwb"), _hdf5),
}
