"""What to tell about failures of the system: files, disks and memory."""

from __future__ import annotations

import errno
import os
import sys

_REMEDIES = {
    errno.ENOSPC: "free some space, or write to another disk",
    errno.EDQUOT: "free some space, or write to another disk",
    errno.EFBIG: "the limit on the size of files is too low (ulimit -f)",
    errno.EROFS: "write to another folder",
    errno.EACCES: "write to another folder, or change the permissions",
}


def system_failure(error: OSError) -> str:
    """The message for a file or a device that cannot be used."""
    if error.errno == errno.ENOMEM:
        return memory_failure(error)
    if error.strerror is None:
        return str(error) or type(error).__name__
    about = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    remedy = _REMEDIES.get(error.errno or 0)
    return about + str(error.strerror) + ("" if remedy is None else f"; {remedy}")


def memory_failure(error: BaseException) -> str:
    """The message for too little memory: how much was needed, and what to do instead."""
    said = str(error)
    if "THINRANK_MEMORY_GIB" in said:
        return said  # an error of thinrank, which has a remedy
    used = _most_memory_gib()
    so_far = "" if used is None else f", after {used:.1f} GiB were in use"
    asked = said if said.startswith("Unable to allocate") else "more was refused"
    return (
        f"not enough memory: {asked}{so_far}; use less data or smaller sizes, fewer --jobs, or a "
        "smaller THINRANK_MEMORY_GIB in the environment (GiB for arrays that save time, 4 if it is "
        "not set)"
    )


def _most_memory_gib() -> float | None:
    """The largest amount of memory that this process has used; None where it is not known."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024  # bytes or KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30
