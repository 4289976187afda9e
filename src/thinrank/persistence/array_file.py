"""The file of arrays: an uncompressed zip archive of NPY files, written and read without pickle.

:func:`numpy.load` reads the same files. It is not used here, since it allocates memory for what a
header declares before it knows how much data there are.
"""

from __future__ import annotations

import hashlib
import math
import re
import warnings
import zipfile
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from thinrank.persistence.errors import ModelFileError, NotStorableError, as_model_file_error

# Kinds of entries: Booleans, integers, floats, complex numbers, bytes, strings, dates, durations.
_KINDS = "biufcSUMm"
# Bytes of an entry beyond which numbers have a format that depends on the machine.
_LARGEST_FLOAT, _LARGEST_COMPLEX = 8, 16
_MEMBER = re.compile(r"[A-Za-z0-9_.-]{1,1000}\.npy")
# Largest dimension of an array without entries, which needs no data to declare.
_LARGEST_EMPTY = 10**8
# An NPY file of version 1 or 2; others have structured entries.
_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_LARGEST_CHARACTER = 0x10FFFF
_BLOCK = 1 << 20


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


def sha256_of(file: IO[bytes]) -> str:
    """The SHA-256 checksum of a file from its beginning, in hexadecimal digits."""
    file.seek(0)
    digest = hashlib.sha256()
    while block := file.read(_BLOCK):
        digest.update(block)
    return digest.hexdigest()


class ArrayFile:
    """The arrays of an open file, each read when it is asked for."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._read: dict[str, np.ndarray] = {}
        with as_model_file_error("arrays.npz is not a valid archive"):
            self._archive = zipfile.ZipFile(file)
            members = self._archive.infolist()
        for member in members:
            _check_member(member)
        self._members = {member.filename: member for member in members}
        if len(self._members) != len(members):
            raise ModelFileError("arrays.npz has two members of the same name")
        if sum(member.file_size for member in members) > size:
            raise ModelFileError("arrays.npz declares more data than it has")

    @property
    def unread(self) -> list[str]:
        """Names of the arrays that were not asked for."""
        return [name for each in self._members if (name := each[:-4]) not in self._read]

    def __getitem__(self, name: Any) -> np.ndarray:
        if not isinstance(name, str) or f"{name}.npy" not in self._members:
            raise ModelFileError(f"arrays.npz has no array {str(name)[:80]!r}")
        if name not in self._read:
            member = self._members[f"{name}.npy"]
            where = f"the array {name!r} in arrays.npz cannot be read"
            with as_model_file_error(where), self._archive.open(member) as file:
                self._read[name] = _read_array(file, member.file_size)
        return self._read[name]


def _check_member(member: zipfile.ZipInfo) -> None:
    if not _MEMBER.fullmatch(member.filename):
        raise ModelFileError(f"arrays.npz has a member {member.filename[:80]!r}, an unsafe name")
    stored = member.compress_type == zipfile.ZIP_STORED
    if not stored or member.compress_size != member.file_size:
        raise ModelFileError(f"arrays.npz has a compressed member {member.filename!r}")
    if member.flag_bits & 1:
        raise ModelFileError(f"arrays.npz has an encrypted member {member.filename!r}")


def _read_array(file: IO[bytes], size: int) -> np.ndarray:
    """Read an NPY file of ``size`` bytes; memory is allocated for the data it has, and no more."""
    version = np.lib.format.read_magic(file)
    if version not in _READERS:
        raise ModelFileError(f"the version {version} of the NPY format is not supported")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # about headers that write_arrays does not write
        shape, is_fortran, dtype = _READERS[version](file)
    if dtype.hasobject:
        raise ModelFileError("it contains pickled Python objects, which are never loaded")
    if not _is_portable(dtype):
        raise ModelFileError(f"its type {dtype} is not supported")
    if any(length < 0 for length in shape):
        raise ModelFileError(f"its shape {shape} is not valid")
    count = math.prod(shape)
    if count == 0 and max(shape) > _LARGEST_EMPTY:
        raise ModelFileError(f"its shape {shape} is too large")
    left = size - file.tell()
    if count * dtype.itemsize != left:
        raise ModelFileError(
            f"it declares the shape {shape} of {dtype}, {count * dtype.itemsize} bytes, "
            f"but has {left}"
        )
    data = file.read()
    if len(data) != left:
        raise ModelFileError("it is truncated")
    array = np.frombuffer(bytearray(data), dtype=dtype, count=count)
    _check_entries(array)
    array = array.reshape(shape, order="F" if is_fortran else "C")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _check_entries(array: np.ndarray) -> None:
    """Refuse bytes that are no entries of the type."""
    if array.dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
        raise ModelFileError("it has Booleans other than 0 and 1")
    if array.dtype.kind == "U" and array.dtype.itemsize:
        codes = array.view(array.dtype.str[0].replace("|", "=") + "u4")
        if codes.max(initial=0) > _LARGEST_CHARACTER:
            raise ModelFileError("it has characters that do not exist")


def _is_portable(dtype: np.dtype[Any]) -> bool:
    largest = {"f": _LARGEST_FLOAT, "c": _LARGEST_COMPLEX}.get(dtype.kind, math.inf)
    return dtype.kind in _KINDS and dtype.itemsize <= largest
