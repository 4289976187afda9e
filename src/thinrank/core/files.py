"""Files and folders that are complete or as they were before, whatever happens meanwhile.

They are written under a hidden name and then renamed. A process that is killed cannot clean up: the
hidden names have the machine and the process in them, so that the next process that writes to the
same place can remove what is left.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = "partial"  # what is being written
FORMER = "replaced"  # what was there before, until the new one has its name

# Process numbers mean nothing on another machine, which may share the folder.
_MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:6]


@contextmanager
def atomic_file(path: str | Path) -> Iterator[Path]:
    """A temporary file, renamed to the given name when the block ends without an error.

    The file is on the disk when the block ends.
    """
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
    _sync_folder(path.absolute().parent)


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
    :func:`current_folder` says where to read then. If a process was killed there, the next call for
    the same path gives the former folder its name back.
    """
    path = path.absolute()  # the current folder has no name otherwise
    clear_unfinished(path)
    missing = [parent for parent in path.parents if not parent.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    new = hidden_path(path, UNFINISHED)
    try:
        new.mkdir()
        yield new
        _sync_folder(new)
        _put(new, path, adopt)
    except BaseException:  # also on Ctrl-C
        remove(new)
        for parent in missing:  # innermost first
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise


def _put(new: Path, path: Path, adopt: Callable[[Path, Path], object] | None) -> None:
    """Rename the folder ``new`` to ``path``, and only then delete what was there.

    Of several processes that do this at the same time, the last one wins.
    """
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
    _sync_folder(path.parent)


def current_folder(path: Path) -> Path:
    """Where to read the folder ``path``: there, or what it replaces, if there is nothing yet."""
    if path.exists():
        return path
    name = re.compile(
        re.escape(f".{path.name}.")
        + rf"[0-9a-f]{{6}}-\d+-[0-9a-f]{{8}}\.{FORMER}{re.escape(path.suffix)}"
    )
    try:
        former = [entry for entry in os.scandir(path.parent) if name.fullmatch(entry.name)]
        newest = max(former, key=lambda entry: entry.stat().st_mtime_ns, default=None)
    except OSError:  # the folder above is not there, or the replacement has just been completed
        return path
    return path if newest is None else Path(newest.path)


def hidden_path(target: Path, kind: str) -> Path:
    """A new path next to ``target``: on the same file system, so that it can be renamed."""
    process = f"{_MACHINE}-{os.getpid()}-{secrets.token_hex(4)}"
    return target.with_name(f".{target.name}.{process}.{kind}{target.suffix}")


def clear_unfinished(target: Path) -> None:
    """Remove what processes that are gone left while they wrote to ``target``.

    If one of them was killed after it had moved the former contents away and before it had put
    the new ones in their place, the former contents get their name back. What is still written by
    a process of this machine, and everything that other machines wrote, stays.
    """
    name = re.compile(
        re.escape(f".{target.name}.{_MACHINE}-")
        + rf"(\d+)-[0-9a-f]{{8}}\.({UNFINISHED}|{FORMER})"
        + re.escape(target.suffix)
    )
    try:
        there = [entry.name for entry in os.scandir(target.parent)]
    except OSError:
        return  # what is wrong with the folder shows when it is written to
    for found in filter(None, map(name.fullmatch, there)):
        place = target.with_name(found[0])
        if _is_running(int(found[1])):
            continue
        if found[2] == FORMER and not os.path.lexists(target):
            with contextlib.suppress(OSError):
                os.rename(place, target)
        else:
            remove(place)


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


def _sync_folder(folder: Path) -> None:
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
