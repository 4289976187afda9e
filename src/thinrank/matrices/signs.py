"""Signs of singular vectors."""

from __future__ import annotations

from thinrank import arrays
from thinrank.arrays import Array


def positive_largest(left: Array, right: Array) -> tuple[Array, Array]:
    """Change the signs of pairs of vectors so that the largest entry on the right is positive.

    Shapes: ``left``, ``right`` (n_rows, rank).
    """
    xp = arrays.namespace(right)
    if not right.shape[1]:
        return left, right
    size = arrays.half_the_digits(xp.abs(right))
    position = xp.argmax(size, axis=0)
    largest = xp.stack([right[int(i), j] for j, i in enumerate(position.tolist())])
    sign = xp.where(largest < 0, -1 * xp.ones_like(largest), xp.ones_like(largest))
    return left * sign, right * sign
