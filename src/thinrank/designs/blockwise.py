"""Quantities computed from all columns of a design, a block of columns at a time."""

from __future__ import annotations

from collections.abc import Iterator

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.designs.dense import Dense

# Columns formed at a time. A rule of thumb: enough for fast products, in little memory.
_BLOCK_COLUMNS = 256
SLICE_COLUMNS = 64


def column_blocks(design: Design) -> Iterator[Array]:
    """Indices of all columns, in blocks."""
    for few in slices(design.shape[1], _BLOCK_COLUMNS):
        yield arrays.indices(range(few.start, few.stop), design.prototype)


def blockwise_column_norms(design: Design, row_scale: Array | None, center: Array | None) -> Array:
    """Norms of the columns of diag(row_scale)(X − 1·centerᵀ), a block of columns at a time."""
    xp = arrays.namespace(design.prototype)
    norms = []
    for index in column_blocks(design):
        block = design.columns(index)
        if center is not None:
            block = block - arrays.take_rows(center, index)
        if row_scale is not None:
            block = block * row_scale[:, None]
        norms.append(xp.linalg.vector_norm(block, axis=0))
    return xp.concat(norms)


def blockwise_gram(design: Design) -> Array:
    """XᵀX, as Xᵀ times one block of columns after another."""
    xp = arrays.namespace(design.prototype)
    products = [design.transposed_product(design.columns(index)) for index in column_blocks(design)]
    return xp.concat(products, axis=1)


def column_means(design: Design, weight: Array | None) -> Array:
    """Means of the columns, with weights if they are given.

    In single precision the sum of many numbers far from zero is inaccurate. An array is summed in
    double precision; for others the mean of the centred columns is added as a correction.
    """
    xp = arrays.namespace(design.prototype)
    if weight is None:
        if isinstance(design, Dense):
            return design.column_means()
        weight = arrays.zeros((design.shape[0],), like=design.prototype) + 1
    share = weight / xp.sum(weight)
    mean = design.transposed_product(share)
    if arrays.itemsize(design.prototype) >= 8:
        return mean
    left_over = [
        share @ (design.columns(i) - arrays.take_rows(mean, i)) for i in column_blocks(design)
    ]
    return mean + xp.concat(left_over)


def slices(size: int, width: int) -> Iterator[slice]:
    """Slices of some columns at a time, for products that would take much memory at once."""
    for first in range(0, size, width):
        yield slice(first, min(first + width, size))
