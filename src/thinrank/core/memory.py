"""The memory budget for arrays that speed up computations but are not necessary."""

from __future__ import annotations

import os

__all__ = ["budget_bytes", "check_fits", "fits"]

# Rule of thumb; the environment variable THINRANK_MEMORY_GIB states another budget.
_DEFAULT_GIB = 4.0


def budget_bytes() -> float:
    """Largest size of an optional array in bytes.

    It is given in GiB by the environment variable THINRANK_MEMORY_GIB and 4 GiB by default.
    """
    stated = os.environ.get("THINRANK_MEMORY_GIB", "")
    try:
        gib = float(stated) if stated else _DEFAULT_GIB
    except ValueError:
        gib = -1.0
    if not gib > 0:
        raise ValueError(f"THINRANK_MEMORY_GIB must be a positive number of GiB, got {stated!r}")
    return gib * 2**30


def fits(entries: int, itemsize: int) -> bool:
    """Whether an array with this number of entries is within the budget."""
    return entries * itemsize <= budget_bytes()


def check_fits(shape: tuple[int, int], itemsize: int, purpose: str, instead: str) -> None:
    """Raise a MemoryError if a matrix is over the budget; ``instead`` says what to do."""
    if fits(shape[0] * shape[1], itemsize):
        return
    need = shape[0] * shape[1] * itemsize / 2**30
    raise MemoryError(
        f"{purpose} would hold a dense {shape[0]}×{shape[1]} matrix of {need:.1f} GiB, over the "
        f"budget of {budget_bytes() / 2**30:.1f} GiB; {instead}, or raise the environment "
        "variable THINRANK_MEMORY_GIB"
    )
