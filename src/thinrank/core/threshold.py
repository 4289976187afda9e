"""Hard thresholding: keep the rows of largest norm."""

from __future__ import annotations

from thinrank import arrays
from thinrank.arrays import Array, top_rows


def hard_threshold(block: Array, count: int) -> Array:
    """Hard(U, s) of the paper: keep the ``count`` rows of largest ℓ₂ norm, zero the others.

    Among rows of equal norm the first are kept. If ``count`` is at least the number of rows, the
    block itself is returned.
    """
    if count >= block.shape[0]:
        return block
    kept = top_rows(block, count)
    return arrays.scatter_rows(arrays.take_rows(block, kept), kept, block.shape[0])
