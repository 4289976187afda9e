"""A dense design in parts of some neighbouring columns each, which are not copied."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thinrank.core.contracts import Design
from thinrank.designs.column_subset import ColumnSubset
from thinrank.designs.dense import Dense
from thinrank.designs.transformed import Transformed

# Entries of the product with a part, 2 MiB in double precision: it stays in the cache of most
# processors, also if each of their cores has one. With many responses there are more.
_PRODUCT_ENTRIES = 1 << 18
# Least number of columns of a part, since products with fewer are slower.
_LEAST_COLUMNS = 2048


class Part(NamedTuple):
    """Some columns of a design.

    Attributes
    ----------
    columns : slice
        Which ones.
    design : Design
        The design of these columns.
    """

    columns: slice
    design: Design


def column_parts(design: Design, targets: int) -> list[Part]:
    """A design in parts, which are views.

    What is computed from the product with a part need not be kept, and is still in the cache. A
    design that is no NumPy array is one part.

    Parameters
    ----------
    design : Design of shape (n_samples, n_features)
    targets : int
        Number of columns of the block that the parts are multiplied with.

    Returns
    -------
    list of Part
    """
    p = design.shape[1]
    width = max(_PRODUCT_ENTRIES // max(targets, 1), _LEAST_COLUMNS)
    if p <= width or not isinstance(design.prototype, np.ndarray) or not is_dense(design):
        return [Part(slice(0, p), design)]
    slices = [slice(first, min(first + width, p)) for first in range(0, p, width)]
    return [Part(columns, _part(design, columns)) for columns in slices]


def is_dense(design: Design) -> bool:
    """Whether a design is a dense array, perhaps transformed."""
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
