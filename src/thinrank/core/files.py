"""Files and folders that are complete or as they were before, whatever happens meanwhile.

They are written under a hidden name and then renamed. A process that is killed cannot clean up: the
hidden names have the machine and the process in them, so that the next process that writes to the
same place can remove what is left.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

UNFINISHED = "partial"  # what is being written
FORMER = "replaced"  # what was there before, until the new one has its name

SUMMARY = "summary.json"
"""Name of the file that describes the results and lists all files; it is written last."""

# Process numbers mean nothing on another machine, which may share the folder.
_MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:6]


@contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """A temporary file, renamed to the given name when the block ends without an error."""
    path = Path(path)
    clear_unfinished(path.absolute())
    new = hidden_path(path, UNFINISHED)
    try:
        new.touch(exist_ok=False)
        yield new
        _sync(new)
        os.replace(new, path)
    except BaseException:  # also on Ctrl-C
        remove(new)
        raise
    _sync(path.absolute().parent)


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8 to a file that is complete or absent; folders are created."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as place, open(place, "w", encoding="utf-8", newline="") as file:
        file.write(text)


@contextmanager
def atomic_folder(
    path: Path, adopt: Callable[[Path, Path], object] | None = None
) -> Iterator[Path]:
    """A new folder, which takes the place of ``path`` when the block ends without an error.

    Folders above it are created. ``adopt(former, new)`` may move things from a folder that is
    replaced to the new one. Between the two renames of a replacement there is nothing at ``path``:
    :func:`current_folder` says where to read then.
    """
    path = path.absolute()  # the current folder has no name otherwise
    clear_unfinished(path)
    missing = [parent for parent in path.parents if not parent.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    new = hidden_path(path, UNFINISHED)
    try:
        new.mkdir()
        yield new
        for place in (*new.rglob("*"), new):
            _sync(place)
        _put(new, path, adopt)
    except BaseException:  # also on Ctrl-C
        remove(new)
        for parent in missing:  # innermost first
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise


def _put(new: Path, path: Path, adopt: Callable[[Path, Path], object] | None) -> None:
    """Rename the folder ``new`` to ``path``, then delete what was there; the last process wins."""
    moved: list[Path] = []
    try:
        while True:
            former = hidden_path(path, FORMER)
            with contextlib.suppress(FileNotFoundError):
                os.rename(path, former)
                moved.append(former)
                if adopt is not None:
                    adopt(former, new)
            try:
                os.rename(new, path)
                break
            except OSError:
                if not path.exists():
                    raise
                # another process put its folder there after ours had moved the former one away
    except BaseException:
        if moved and not path.exists():
            os.rename(moved.pop(), path)
        raise
    finally:
        for former in moved:
            doomed = hidden_path(path, UNFINISHED)  # nobody reads it while its files go
            with contextlib.suppress(OSError):
                os.rename(former, doomed)
            remove(doomed)
    _sync(path.parent)


def current_folder(path: Path) -> Path:
    """Where to read the folder ``path``: there, or what it replaces, if there is nothing yet."""
    if path.exists():
        return path
    former = [place for place, _, _, kind in _hidden_paths(path) if kind == FORMER]
    try:
        return max(former, key=lambda place: place.stat().st_mtime_ns, default=path)
    except OSError:  # the replacement has just been completed
        return path


def hidden_path(target: Path, kind: str) -> Path:
    """A new path next to ``target``: on the same file system, so that it can be renamed."""
    process = f"{_MACHINE}-{os.getpid()}-{secrets.token_hex(4)}"
    return target.with_name(f".{target.name}.{process}.{kind}{target.suffix}")


def clear_unfinished(target: Path) -> None:
    """Remove what processes of this machine that are gone left while they wrote to ``target``.

    If one of them was killed between the two renames of a replacement, the former contents get
    their name back.
    """
    for place, machine, process, kind in _hidden_paths(target):
        if machine != _MACHINE or _is_running(int(process)):
            continue
        if kind == FORMER and not os.path.lexists(target):
            with contextlib.suppress(OSError):
                os.rename(place, target)
        else:
            remove(place)


def _hidden_paths(target: Path) -> Iterator[tuple[Path, str, str, str]]:
    """What :func:`hidden_path` named, with the machine, the number of the process, and the kind."""
    process = rf"\.([0-9a-f]{{6}})-(\d+)-[0-9a-f]{{8}}\.({UNFINISHED}|{FORMER})"
    name = re.compile(re.escape(f".{target.name}") + process + re.escape(target.suffix))
    try:
        there = os.listdir(target.parent)
    except OSError:
        return  # what is wrong with the folder shows when it is written to
    for found in filter(None, map(name.fullmatch, there)):
        yield target.with_name(found[0]), found[1], found[2], found[3]


def remove(place: Path) -> None:
    """Remove a file or a folder, if it is there and may be removed."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        place.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    """Whether a process of this machine is there; True where that cannot be asked."""
    if os.name != "posix":
        return True  # on Windows a signal of number 0 would end the process
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # the process of another user
    return True


def _sync(path: Path) -> None:
    """Wait until a file is on the disk, or the entries of a folder where systems can do that."""
    if path.is_dir() and os.name != "posix":
        return
    # a file must be open for writing on Windows, a folder cannot be
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# --------------------------------------------------------------------------- folders of results


def read_json(path: Path) -> Any:
    """What is in a JSON file; a ValueError that names it if it is something else."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON, or nested too deeply ({error})") from error


@contextmanager
def result_folder(target: Path | str, overwrite: bool = False) -> Iterator[Path]:
    """:func:`atomic_folder`, after :func:`check_result_folder`."""
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
