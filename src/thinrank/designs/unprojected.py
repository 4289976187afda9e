"""A design with the part that kept predictors explain."""

from __future__ import annotations

from thinrank.core.contracts import Design
from thinrank.designs.projected import Projected
from thinrank.designs.subsets import ColumnSubset
from thinrank.designs.transformed import Transformed


def unprojected(design: Design) -> Design:
    """The same columns in the same units, with nothing projected out of them.

    Held-out rows must not have parts subtracted that were fitted with their own values.
    """
    if isinstance(design, Projected):
        return unprojected(design.base)
    if isinstance(design, ColumnSubset):
        return ColumnSubset(unprojected(design.base), design.index)
    if isinstance(design, Transformed):
        return Transformed(
            unprojected(design.base), design.row_scale, design.center, design.column_scale
        )
    return design
