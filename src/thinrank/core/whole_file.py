"""Files that are complete or absent, whatever happens while they are written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thinrank.core.unfinished import UNFINISHED, clear_unfinished, hidden_path, remove


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A temporary file, renamed to the given name when the block ends without an error.

    After an error or an interruption the path is as it was before. The file is on the disk when
    the block ends. What a killed process left is removed; see :mod:`thinrank.core.unfinished`.
    """
    path = Path(path)
    clear_unfinished(path.absolute())
    place = hidden_path(path, UNFINISHED)
    try:
        place.touch(exist_ok=False)
        yield place
        _sync(place)
        os.replace(place, path)
    except BaseException:  # also on Ctrl-C
        remove(place)
        raise
    sync_folder(path.absolute().parent)


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8 to a file that is complete or absent; folders are created."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as place, open(place, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def sync_folder(folder: Path) -> None:
    """Wait until the entries of a folder are on the disk, on systems that can do that."""
    if os.name == "posix":
        _sync(folder)


def _sync(path: Path) -> None:
    # a file must be open for writing on Windows, a folder cannot be
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
