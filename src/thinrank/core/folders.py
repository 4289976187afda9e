"""Output folders that are either complete or not created at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from thinrank.core.files import atomic_folder, clear_unfinished

SUMMARY = "summary.json"
"""Name of the file that describes the results and lists all files; it is written last."""


def read_json(path: Path) -> Any:
    """What is in a JSON file; a ValueError that names it if it is something else."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON, or nested too deeply ({error})") from error


@contextmanager
def result_folder(target: Path | str, overwrite: bool = False) -> Iterator[Path]:
    """A temporary folder, renamed to the target when the block ends without an error.

    After an error or Ctrl-C, the target is unchanged; see :mod:`thinrank.core.files`.
    """
    check_result_folder(target, overwrite)
    with atomic_folder(Path(target).resolve()) as place:
        yield place


def check_result_folder(target: Path | str, overwrite: bool = False) -> None:
    """Raise an OSError, usually a FileExistsError, unless a folder can be created or replaced.

    Only a folder that this package wrote is replaced, and only if no file was added to it since:
    its ``summary.json`` must list every file in it.
    """
    target = Path(target)
    clear_unfinished(target.absolute())
    above = target.absolute().parents  # the root has none
    parent = next((parent for parent in above if parent.exists()), target.absolute())
    if not parent.is_dir():
        raise NotADirectoryError(f"{target} cannot be created: {parent} is a file, not a folder")
    if not os.access(parent, os.W_OK):
        raise PermissionError(f"{target} cannot be created: no permission to write to {parent}")
    if not target.exists():
        return
    if not target.is_dir():
        raise FileExistsError(f"{target} is a file, not a folder")
    there = sorted(path.name for path in target.iterdir())
    if there and not overwrite:
        raise FileExistsError(
            f"{target} exists and is not empty; choose another folder, or overwrite it "
            "(overwrite=True; --overwrite on the command line)"
        )
    written = _written_here(target)
    ours = {name.partition("/")[0] for name in written}
    # folders are searched only if they are ours: the target may be the root of a disk
    foreign = [name for name in there if name not in ours] or [
        name for name in _files(target) if name not in written
    ]
    if foreign:
        names = ", ".join([*foreign[:3], *["…"] * (len(foreign) > 3)])
        raise FileExistsError(
            f"{target} will not be overwritten: it holds {names}, which was not written by thinrank"
        )


def write_summary(folder: Path, about: dict[str, Any]) -> None:
    """Write ``summary.json``: a description of the results, and the names of all files."""
    files = sorted({SUMMARY, *_files(folder)})
    text = json.dumps({**about, "files": files}, indent=2, ensure_ascii=False, allow_nan=False)
    (folder / SUMMARY).write_text(text + "\n", encoding="utf-8")


def _files(folder: Path) -> list[str]:
    """Sorted paths of all files below a folder, and of empty folders, relative to it."""
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir() or not any(path.iterdir())
    )


def _written_here(folder: Path) -> set[str]:
    try:
        return set(map(str, read_json(folder / SUMMARY)["files"]))
    except (OSError, ValueError, KeyError, TypeError):
        return set()
