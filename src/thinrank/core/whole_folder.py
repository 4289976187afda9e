"""Folders that are complete or as they were before, whatever happens while they are written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from thinrank.core.unfinished import FORMER, UNFINISHED, clear_unfinished, hidden_path, remove
from thinrank.core.whole_file import sync_folder


@contextmanager
def replaced_folder(path: Path) -> Iterator[Path]:
    """A new folder, which takes the place of ``path`` when the block ends without an error.

    After an error or an interruption, what was at ``path`` is there as before. After a process was
    killed, the next call for the same path restores it.
    """
    path = path.absolute()  # the current folder has no name otherwise
    clear_unfinished(path)
    new = hidden_path(path, UNFINISHED)
    try:
        new.mkdir()
        yield new
        sync_folder(new)
        _put(new, path)
    except BaseException:  # also on Ctrl-C
        remove(new)
        raise


def _put(new: Path, path: Path) -> None:
    """Rename ``new`` to ``path``, and only then delete what was there."""
    if not path.exists():
        os.rename(new, path)
        sync_folder(path.parent)
        return
    former = hidden_path(path, FORMER)
    try:
        os.rename(path, former)
        os.rename(new, path)
    except BaseException:
        if former.exists() and not path.exists():
            os.rename(former, path)
        raise
    sync_folder(path.parent)
    remove(former)
