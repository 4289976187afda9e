"""Checks of where the numbers of an HDF5 dataset are: in its file, not anywhere on the machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from thinrank.calcium.errors import MovieError
from thinrank.core.imports import import_optional

# Virtual datasets whose sources are virtual in turn, and so on: more levels than this are a loop.
_LEVELS = 8


def check_storage(dataset: Any, path: Path) -> None:
    """Raise a MovieError unless the numbers of a dataset are in its file or in virtual sources.

    HDF5 can take the numbers from any file of the machine, byte by byte, which a movie from
    somebody else must not do. Where a source of a virtual dataset is missing, HDF5 returns zeros
    instead of an error.
    """
    _check(dataset, path, str(path), _LEVELS)


def _check(dataset: Any, path: Path, name: str, levels: int) -> None:
    if not os.path.samefile(dataset.file.filename, path):
        raise MovieError(
            name,
            f"{dataset.name} is a link to another file; open that file: {dataset.file.filename}",
        )
    if dataset.external is not None:
        others = ", ".join(sorted({str(each[0]) for each in dataset.external}))
        raise MovieError(
            name,
            f"the numbers of {dataset.name} are stored outside of the file (external storage in "
            f"{others}), which is not read; copy them into one file, for example with h5repack",
        )
    if not dataset.is_virtual:
        return
    if levels == 0:
        raise MovieError(name, f"the virtual dataset {dataset.name} has too many levels of sources")
    for source in dataset.virtual_sources():
        _check_source(dataset, source, path, name, levels)


def _check_source(dataset: Any, source: Any, path: Path, name: str, levels: int) -> None:
    """Raise a MovieError unless a source of a virtual dataset is there and large enough."""
    h5py = import_optional("h5py")
    if "%b" in source.file_name or "%b" in source.dset_name:
        raise MovieError(
            name, f"the virtual dataset {dataset.name} has sources with numbered names (%b)"
        )
    own = source.file_name == "."
    other = path if own else path.parent / source.file_name  # which may be absolute
    fault = f"the source {source.dset_name} in {other} of the virtual dataset {dataset.name}"
    try:
        file = dataset.file if own else h5py.File(other, "r")
    except OSError as error:
        raise MovieError(name, f"{fault} cannot be read: {error}") from error
    try:
        found = file.get(source.dset_name)
        if not isinstance(found, h5py.Dataset):
            raise MovieError(name, f"{fault} is missing")
        if not _covers(found, source, h5py.h5s.SEL_ALL):
            raise MovieError(name, f"{fault} is too small, its shape is {found.shape}")
        _check(found, other, name, levels - 1)
    finally:
        if not own:
            file.close()


def _covers(found: Any, source: Any, everything: int) -> bool:
    """Whether a dataset has all entries that a virtual dataset takes from it."""
    if source.src_space.get_select_type() == everything:
        return bool(found.size >= source.vspace.get_select_npoints())
    _, last = source.src_space.get_select_bounds()
    return len(last) == found.ndim and all(i < n for i, n in zip(last, found.shape, strict=True))
