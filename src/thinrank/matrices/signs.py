"""Signs of singular vectors."""

from __future__ import annotations

from thinrank import arrays
from thinrank.arrays import Array


def positive_largest(left: Array, right: Array) -> tuple[Array, Array]:
    """Change the signs of pairs of vectors so that the largest entry on the right is positive.

    Parameters
    ----------
    left, right : array of shape (n_rows, rank) and (n_columns, rank)
        Pairs of vectors in their columns.

    Returns
    -------
    left, right : array
        The same, up to the sign of each pair. Among entries of right that agree in absolute value
        to half of their digits the first one counts.
    """
    xp = arrays.namespace(right)
    if not right.shape[1]:
        return left, right
    size = arrays.half_the_digits(xp.abs(right))
    position = xp.argmax(size, axis=0)
    largest = xp.stack([right[int(i), j] for j, i in enumerate(position.tolist())])
    sign = xp.where(largest < 0, -1 * xp.ones_like(largest), xp.ones_like(largest))
    return left * sign, right * sign
