"""The two files of a model, and its folder.

``model.json`` has a checksum and a version. ``arrays.npz`` is an uncompressed zip archive of NPY
files, as :func:`numpy.load` reads them.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

import numpy as np

from thinrank.core.files import clear_unfinished, current_folder

DOCUMENT = "model.json"
ARRAYS = "arrays.npz"


class ModelFileError(ValueError):
    """A model cannot be loaded: its files are damaged, incomplete, unsafe or too new.

    The message names the file and the reason.
    """

    names_place = False  # whether the message says where in the file the error is


class NotStorableError(TypeError):
    """A value that the format has no form for; the message names it."""


@contextmanager
def as_model_file_error(what: str) -> Iterator[None]:
    """Turn every error in a block, of many kinds if files are damaged, into a ModelFileError."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ModelFileError) and error.names_place:
            raise
        reason = str(error) or type(error).__name__
        placed = ModelFileError(f"{what}: {reason}")
        placed.names_place = True
        raise placed from error


# ------------------------------------------------------------------------------- the folder


def check_free(path: Path, overwrite: bool) -> None:
    """Raise an error unless a model may be written to ``path``."""
    clear_unfinished(path.absolute())
    try:
        mode = path.stat().st_mode  # one look: another process may move it away before the next
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISDIR(mode):
        raise FileExistsError(f"{path} is a file; a model is saved as a folder")
    try:
        if not any(path.iterdir()):
            return
    except FileNotFoundError:  # another process is replacing it
        pass
    # another process may move it away between two looks
    if not any(_is_model(current_folder(path)) for _ in range(3)):
        raise FileExistsError(
            f"{path} is a folder that is not a model of thinrank, so it is not replaced; choose "
            "another path"
        )
    if not overwrite:
        raise FileExistsError(
            f"{path} contains a model already; use overwrite=True to replace it, or choose "
            "another path"
        )


def adopt_others(former: Path, new: Path) -> None:
    """Give a new folder the files of the former one that are not those of the model: a report."""
    own = shutil.ignore_patterns(DOCUMENT, ARRAYS)
    shutil.copytree(former, new, symlinks=True, ignore=own, dirs_exist_ok=True)


@contextmanager
def opened(folder: Path, name: str) -> Iterator[tuple[BufferedReader, int]]:
    """Open a regular file of a model; its size."""
    try:
        status = (folder / name).lstat()
    except FileNotFoundError:
        raise ModelFileError(f"{name} is missing") from None
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait
        raise ModelFileError(f"{name} is not a regular file")
    with open(folder / name, "rb") as file:
        yield file, status.st_size


def _is_model(path: Path) -> bool:
    """Whether a folder has a ``model.json`` of this format, which is its first key."""
    beginning = f'{{\n"format": "{_FORMAT}"'.encode()
    try:
        with opened(path, DOCUMENT) as (file, _):
            return file.read(len(beginning)) == beginning
    except (ModelFileError, OSError):
        return False


# ------------------------------------------------------------------------------- model.json

_FORMAT = "thinrank-model"
# Increased when older versions of thinrank could no longer read the files.
_FORMAT_VERSION = 1
# Largest size of model.json in bytes. Arrays are not in it; a model with 1,000,000 named
# predictors needs about 20 MB.
_MOST_BYTES = 1 << 28
# The checksum is that of the file with these digits in its place.
_NO_CHECKSUM = "0" * 64
_KEYS: dict[str, type] = {
    "thinrank_version": str,
    "checksum": str,
    "arrays": dict,
    "class": str,
    "extra": dict,
}


def write_files(folder: Path, contents: dict[str, Any], arrays: Any, extra: Any) -> None:
    """Write the two files."""
    with open(folder / ARRAYS, "xb") as file:
        write_arrays(file, arrays)
    with opened(folder, ARRAYS) as (written, size):
        about = {"file": ARRAYS, "sha256": _sha256(written), "bytes": size}
    document = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "thinrank_version": version("thinrank"),
        "checksum": _NO_CHECKSUM,
        "arrays": about,
        **contents,
        "extra": extra,
    }
    lines = [f'"{key}": {json.dumps(value, allow_nan=False)}' for key, value in document.items()]
    text = ("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")
    if len(text) > _MOST_BYTES:
        raise ValueError(
            f"the model cannot be saved: model.json would have {len(text)} bytes, and at most "
            f"{_MOST_BYTES} are allowed"
        )
    checksum = hashlib.sha256(text).hexdigest().encode()
    (folder / DOCUMENT).write_bytes(text.replace(_NO_CHECKSUM.encode(), checksum, 1))


def read_document(folder: Path) -> dict[str, Any]:
    """Read and check ``model.json``."""
    with opened(folder, DOCUMENT) as (file, size):
        if size > _MOST_BYTES:
            raise ModelFileError(f"{DOCUMENT} has {size} bytes, more than any model has")
        text = file.read(_MOST_BYTES + 1)
    with as_model_file_error("model.json is not valid JSON"):
        document = json.loads(text.decode("ascii"), parse_float=_finite, parse_constant=_finite)
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise ModelFileError(
            f"model.json is not a model of thinrank: its format is not {_FORMAT!r}"
        )
    _check_version(document)
    for key, kind in _KEYS.items():
        if type(document.get(key)) is not kind:
            raise ModelFileError(f"model.json: {key!r} is missing or is not a {kind.__name__}")
    checksum = document["checksum"]
    plain = text.replace(checksum.encode(), _NO_CHECKSUM.encode(), 1)
    if len(checksum) != 64 or hashlib.sha256(plain).hexdigest() != checksum:
        raise ModelFileError(
            "model.json does not match its checksum: it is damaged or was edited. Save the model "
            "again"
        )
    return document


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError(f"{text[:80]} is not a finite number")
    return float(text)


def _check_version(document: dict[str, Any]) -> None:
    number, maker = document.get("format_version"), document.get("thinrank_version")
    if type(number) is not int or number < 1:
        raise ModelFileError(f"model.json has an invalid format_version, {str(number)[:80]!r}")
    if number > _FORMAT_VERSION:
        raise ModelFileError(
            f"the model was made by thinrank {str(maker)[:80]} (format version {number}); this is "
            f"thinrank {version('thinrank')}, which reads format versions up to {_FORMAT_VERSION}: "
            "upgrade thinrank"
        )


# ------------------------------------------------------------------------------- arrays.npz

# Kinds of entries: Booleans, integers, floats, complex numbers, bytes, strings, dates, durations.
_KINDS = "biufcSUMm"
# Longer numbers have a format that depends on the machine.
_LONGEST = {"f": 8, "c": 16}


def storable_array(array: np.ndarray, name: str) -> np.ndarray:
    """The array in the form in which it is stored: little-endian, and contiguous."""
    if not _is_portable(array.dtype):
        raise NotStorableError(f"{name} is an array of {array.dtype}, which cannot be stored")
    array = np.asarray(array)
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        # the same order of the axes: products then round in the same way after loading
        array = array.copy(order="K")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def write_arrays(file: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays; the bytes depend on the arrays only."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(member, "w", force_zip64=True) as out:
                np.lib.format.write_array(out, array, allow_pickle=False)


def read_arrays(folder: Path, about: dict[str, Any]) -> dict[str, np.ndarray]:
    """All arrays, if they are those that ``model.json`` is about."""
    if about.get("file") != ARRAYS:
        raise ModelFileError(f"model.json names another file than {ARRAYS}")
    with opened(folder, ARRAYS) as (file, size):
        if size != about.get("bytes") or _sha256(file) != about.get("sha256"):
            raise ModelFileError(
                f"{ARRAYS} does not match its checksum: it is damaged, incomplete or belongs "
                "to another model"
            )
        with as_model_file_error("arrays.npz is not a valid archive"):
            archive = zipfile.ZipFile(file)
        members = archive.infolist()
        for member in members:
            if member.compress_type != zipfile.ZIP_STORED:
                raise ModelFileError(f"arrays.npz has a compressed member {member.filename[:80]!r}")
        if sum(member.file_size for member in members) > size:
            raise ModelFileError("arrays.npz declares more data than it has")
        arrays = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            with (
                as_model_file_error(f"the array {name[:80]!r} in arrays.npz cannot be read"),
                archive.open(member) as data,
            ):
                arrays[name] = _read_array(data)
    return arrays


def _read_array(file: IO[bytes]) -> np.ndarray:
    array = np.lib.format.read_array(file, allow_pickle=False)
    if file.read(1):
        raise ModelFileError("it has more data than it declares")
    if not _is_portable(array.dtype):
        raise ModelFileError(f"its type {array.dtype} is not supported")
    if array.dtype.kind == "U" and array.size:
        codes = np.ascontiguousarray(array).view(array.dtype.str[0] + "u4")
        if codes.max() > 0x10FFFF:  # NumPy would make strings that Python cannot hold
            raise ModelFileError("it has characters that do not exist")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _is_portable(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in _KINDS and dtype.itemsize <= _LONGEST.get(dtype.kind, math.inf)


def _sha256(file: BufferedReader) -> str:
    """The checksum of a file from its beginning, in hexadecimal digits."""
    return hashlib.file_digest(file, "sha256").hexdigest()
