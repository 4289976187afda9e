"""Machine and software that produced a record."""

from __future__ import annotations

import datetime
import os
import platform
from importlib.metadata import version
from typing import Any

from threadpoolctl import threadpool_info, threadpool_limits

_PACKAGES = ("thinrank", "numpy", "scipy", "scikit-learn")


def versions() -> str:
    """Return the versions of Python and of the numerical packages, as one line."""
    parts = [f"Python {platform.python_version()}"]
    return ", ".join(parts + [f"{name} {version(name)}" for name in _PACKAGES])


def now() -> str:
    """Return the current time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def stamp(started: str) -> dict[str, str]:
    """Return the fields that are added to every record."""
    return {"host": platform.node(), "versions": versions(), "started": started}


def describe_machine(threads: int | None = None) -> dict[str, Any]:
    """Describe system, processor and BLAS libraries, the latter limited to ``threads`` threads."""
    with threadpool_limits(threads):
        pools = threadpool_info()
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "libraries": sorted(
            f"{pool.get('internal_api', pool['user_api'])} {pool.get('version') or ''}".strip()
            + f", {pool['num_threads']} threads"
            for pool in pools
        ),
    }
