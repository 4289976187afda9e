"""Design matrices: every kind of X is wrapped as a Design, which losses and solvers use alike."""

from thinrank.designs.blocks import Blocks
from thinrank.designs.dask_blocks import DaskBlocks
from thinrank.designs.dense import ColumnSubset, Dense, take_rows
from thinrank.designs.genotypes import Genotypes
from thinrank.designs.projections import KeptBasis, kept_basis
from thinrank.designs.structured import BlockDiagonal, RecursiveFilter
from thinrank.designs.transformed import (
    Operator,
    Sparse,
    Standardization,
    Transformed,
    as_design,
    standardize,
)

__all__ = [
    "BlockDiagonal",
    "Blocks",
    "ColumnSubset",
    "DaskBlocks",
    "Dense",
    "Genotypes",
    "KeptBasis",
    "Operator",
    "RecursiveFilter",
    "Sparse",
    "Standardization",
    "Transformed",
    "as_design",
    "kept_basis",
    "standardize",
    "take_rows",
]
