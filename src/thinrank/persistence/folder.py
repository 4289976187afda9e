"""The folder of a model: written completely or not at all, and read without following links."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from thinrank.core.files import atomic_folder, clear_unfinished
from thinrank.persistence.document import FORMAT
from thinrank.persistence.errors import ModelFileError

DOCUMENT = "model.json"
ARRAYS = "arrays.npz"
# The first bytes of model.json, of which the format is the first key.
_BEGINNING = f'{{\n"format": "{FORMAT}"'.encode()


def check_free(path: Path, overwrite: bool) -> None:
    """Raise an error unless a model may be written to ``path``."""
    clear_unfinished(path.absolute())
    if not os.path.lexists(path):
        return
    if not path.is_dir():
        raise FileExistsError(f"{path} is a file; a model is saved as a folder")
    if not any(path.iterdir()):
        return
    if not _is_model(path):
        raise FileExistsError(
            f"{path} is a folder that is not a model of thinrank, so it is not replaced; choose "
            "another path"
        )
    if not overwrite:
        raise FileExistsError(
            f"{path} contains a model already; use overwrite=True to replace it, or choose "
            "another path"
        )


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """A new folder to write to, which takes the place of ``path`` at the end of the block.

    If the block or the replacement fails, what was at ``path`` is there as before, and the new
    folder is deleted. Files other than those of a model stay in the folder.
    """
    with atomic_folder(path) as new:
        yield new
        if path.exists():
            _keep_others(path, new)


def write_file(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a new file, and wait until it is on the disk."""
    with open(path, "xb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def opened(folder: Path, name: str) -> Iterator[tuple[IO[bytes], int]]:
    """Open a regular file of a model."""
    path = folder / name
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:
        raise ModelFileError(f"{name} is missing") from None
    if not stat.S_ISREG(kind):
        raise ModelFileError(f"{name} is not a regular file")
    # the flags, where the system has them, are for a file that is replaced at this moment
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError(f"{name} is not a regular file")
        yield file, status.st_size


def _is_model(path: Path) -> bool:
    """Whether a folder has a ``model.json`` of this format."""
    try:
        with opened(path, DOCUMENT) as (file, _):
            return file.read(len(_BEGINNING)) == _BEGINNING
    except (ModelFileError, OSError):
        return False


def _keep_others(former: Path, new: Path) -> None:
    """Give the new folder the files that are not those of the model, such as a report."""
    for other in former.iterdir():
        if other.name in (DOCUMENT, ARRAYS):
            continue
        if other.is_dir() and not other.is_symlink():
            shutil.copytree(other, new / other.name, symlinks=True, copy_function=_link)
        else:
            _link(other, new / other.name)


def _link(source: str | Path, target: str | Path) -> None:
    """A second name for a file, or a copy on file systems without hard links."""
    try:
        os.link(source, target, follow_symlinks=False)
    except (OSError, NotImplementedError):
        shutil.copy2(source, target, follow_symlinks=False)
