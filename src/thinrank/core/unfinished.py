"""Hidden names of files and folders that are being written, and what a killed process left.

A process that is killed cannot clean up. Its unfinished files have the machine and the process in
their names, so that the next one that writes to the same place can remove them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import secrets
import shutil
from pathlib import Path

UNFINISHED = "partial"
"""What is being written."""
FORMER = "replaced"
"""What was there before, until the new one has its name."""

# Process numbers mean nothing on another machine, which may share the folder.
_MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:6]


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
