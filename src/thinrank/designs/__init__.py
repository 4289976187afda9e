"""Design matrices: every kind of X is wrapped as a Design, which losses and solvers use alike."""

from __future__ import annotations

from typing import Any

from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from thinrank.core.contracts import Design, is_design
from thinrank.designs.block_diagonal import BlockDiagonal
from thinrank.designs.blocks import Blocks
from thinrank.designs.dask_blocks import DaskBlocks
from thinrank.designs.dense import Dense
from thinrank.designs.genotypes import Genotypes
from thinrank.designs.projections import Deflated, KeptBasis, kept_basis
from thinrank.designs.recursive_filter import RecursiveFilter
from thinrank.designs.scipy_matrices import Operator, Sparse
from thinrank.designs.subsets import ColumnSubset, take_rows
from thinrank.designs.transformed import Standardization, Transformed, standardize

__all__ = [
    "BlockDiagonal",
    "Blocks",
    "ColumnSubset",
    "DaskBlocks",
    "Deflated",
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


def as_design(X: Any) -> Design:
    """Wrap a matrix as a Design.

    Parameters
    ----------
    X : array, scipy sparse matrix, LinearOperator or Design of shape (n_samples, n_features)
        A Design is returned as it is.

    Returns
    -------
    Design
    """
    if issparse(X):
        return Sparse(X)
    if isinstance(X, LinearOperator):
        return Operator(X)
    if is_design(X):
        return X
    return Dense(X)
