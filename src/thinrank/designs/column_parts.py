"""A dense design in parts of some neighbouring columns each, which are not copied."""

from __future__ import annotations

from collections.abc import Iterator

from thinrank import arrays
from thinrank.core.contracts import Design
from thinrank.designs.column_subset import ColumnSubset
from thinrank.designs.dense import Dense
from thinrank.designs.transformed import Transformed

__all__ = ["column_parts"]

# Entries and columns of a part, at least: products with fewer columns are slower. With few samples
# what is computed from a part is small enough for the cache of a processor.
_PART_ENTRIES, _PART_COLUMNS = 1 << 20, 4096


def column_parts(design: Design) -> Iterator[tuple[slice, Design]]:
    """Parts of a design, each with its columns as a slice.

    What is computed from the product with a part need not be kept, and is still in the cache. A
    design that is not dense, or on an accelerator, which is faster with few large products, is one
    part.

    Parameters
    ----------
    design : Design of shape (n_samples, n_features)

    Yields
    ------
    columns : slice
    part : Design of the same rows
    """
    n, p = design.shape
    width = max(_PART_COLUMNS, _PART_ENTRIES // max(n, 1))
    if p <= width or not arrays.on_host(design.prototype) or not _is_dense(design):
        yield slice(0, p), design
        return
    for first in range(0, p, width):
        columns = slice(first, min(first + width, p))
        yield columns, _part(design, columns)


def _is_dense(design: Design) -> bool:
    while isinstance(design, (Transformed, ColumnSubset)):
        design = design.base
    return isinstance(design, Dense)


def _part(design: Design, columns: slice) -> Design:
    if isinstance(design, ColumnSubset):
        index = design.index[columns]
        first, last = int(index[0]), int(index[-1]) + 1
        return ColumnSubset(_part(design.base, slice(first, last)), index - first)
    if isinstance(design, Transformed):
        center = None if design.center is None else design.center[columns]
        scale = None if design.column_scale is None else design.column_scale[columns]
        return Transformed(_part(design.base, columns), design.row_scale, center, scale)
    assert isinstance(design, Dense)
    return Dense(design.array[:, columns])
