"""The memory budget for arrays that speed up computations but are not necessary."""

from __future__ import annotations

import os

# States another budget than the default.
_VARIABLE = "THINRANK_MEMORY_GIB"
# Rule of thumb.
_DEFAULT_GIB = 4.0


def budget_bytes() -> float:
    """Largest size of an optional array in bytes.

    It is given in GiB by the environment variable THINRANK_MEMORY_GIB and 4 GiB by default.
    """
    stated = os.environ.get(_VARIABLE, "")
    try:
        gib = float(stated) if stated else _DEFAULT_GIB
    except ValueError:
        gib = -1.0
    if not gib > 0:
        raise ValueError(f"{_VARIABLE} must be a positive number of GiB, got {stated!r}")
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
        f"variable {_VARIABLE}"
    )


def explained(error: MemoryError) -> MemoryError:
    """A MemoryError that says what was needed and what to do, from any other."""
    text = str(error)
    if _VARIABLE in text:
        return error
    reason = text[:1].lower() + text[1:] if text else "the size is not known"
    return MemoryError(
        f"there is not enough memory for the fit ({reason.rstrip('.')}). Pass X and Y as float32, "
        "which takes half of it; a scipy sparse matrix or a LinearOperator as X, which is not made "
        "dense; fewer jobs (n_jobs); or set the environment variable "
        f"{_VARIABLE} to less than {budget_bytes() / 2**30:g}, so that fewer intermediate results "
        "are held in memory"
    )
