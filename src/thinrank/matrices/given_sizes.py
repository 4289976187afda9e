"""The nearest matrix of given rank with given numbers of non-zero rows and columns."""

from __future__ import annotations

from collections.abc import Iterator

from thinrank import arrays, linalg
from thinrank.arrays import Array, top_rows
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs import Dense, take_rows
from thinrank.designs.dense import ColumnSubset
from thinrank.matrices.decomposition import BLOCK_ENTRIES

# Relative increase of the norm that is captured below which the alternation ends. Rows and columns
# of noise could be exchanged for longer, for a gain of this size.
_LEAST_GAIN = 1e-5


def nearest(A: Design, rank: int, rows: int, columns: int, *, seed: int = 0) -> Factors:
    """Minimise ‖A − Θ‖²_F over Θ of rank at most ``rank`` with few non-zero rows and columns.

    Alternating projections from several starting points find rows and columns: for a given space of
    right vectors the best rows are those with the largest scores, and likewise for the columns.
    """
    if rows >= A.shape[0] and columns >= A.shape[1]:
        return Factors.from_svd(*singular_triplets(A, rank, seed))
    most, in_rows, in_columns, *_ = max(
        (
            alternate(A, *loadings(A, A @ V, rows), rows, columns)
            for V in _starts(A, rank, rows, columns, seed)
        ),
        key=lambda found: found[0],
    )
    if most == 0:
        return Factors.zero(A.shape, A.prototype)
    return block_svd(A, in_rows, in_columns, rank)


def few_columns(A: Design) -> int:
    """Number of columns that may be held as a dense array."""
    return max(BLOCK_ENTRIES // A.shape[0], 1)


def singular_triplets(
    A: Design, rank: int, seed: int = 0, *, quick: bool = False
) -> tuple[Array, Array, Array]:
    """Leading singular vectors and values; ``quick``: vectors that nearly span them."""
    if hasattr(A, "array") and not quick:
        return linalg.truncated_svd(A.array, rank, seed=seed)
    products, tol = (A.__matmul__, A.transposed_product), 0.1 if quick else 1e-5
    return linalg.truncated_svd(products, rank, shape=A.shape, like=A.prototype, seed=seed, tol=tol)


def submatrix(A: Design, rows: Array, columns: Array) -> Design:
    """Some rows and columns: a copy, unless A is no array and the copy would be large."""
    if hasattr(A, "array"):
        return Dense(arrays.submatrix(A.array, rows, columns))
    if columns.shape[0] <= few_columns(A):
        return Dense(arrays.take_rows(A.columns(columns), rows))
    return ColumnSubset(take_rows(A, rows), columns)


def block_svd(A: Design, rows: Array, columns: Array, rank: int) -> Factors:
    """Leading singular vectors of the block of A in ``rows`` and ``columns``, zero outside it."""
    small = Factors.from_svd(*singular_triplets(submatrix(A, rows, columns), rank))
    return Factors(
        arrays.scatter_rows(small.U, rows, A.shape[0]),
        arrays.scatter_rows(small.V, columns, A.shape[1]),
    )


def _starts(A: Design, rank: int, rows: int, columns: int, seed: int) -> Iterator[Array]:
    """Right vectors to start from: of the whole matrix, and of large columns."""
    yield singular_triplets(A, rank, seed, quick=True)[2]
    # a block that hides in the noise of the whole matrix shows in the columns with large entries
    norms = A.column_norms()
    largest = top_rows(norms[:, None], min(columns, few_columns(A)))
    block = A.columns(largest)
    in_rows = top_rows(block, rows)
    right = linalg.truncated_svd(arrays.take_rows(block, in_rows), rank)[2]
    yield arrays.scatter_rows(right, largest, A.shape[1])


def loadings(A: Design, left: Array, rows: int) -> tuple[Array, Array]:
    """The rows with the largest scores, and the products of all columns with a basis of these."""
    in_rows = top_rows(left, rows)
    every = in_rows.shape[0] == A.shape[0]  # all rows are not copied
    U, _ = arrays.namespace(left).linalg.qr(left if every else arrays.take_rows(left, in_rows))
    return in_rows, (A if every else take_rows(A, in_rows)).transposed_product(U)


def alternate(
    A: Design, in_rows: Array, right: Array, rows: int, columns: int
) -> tuple[float, Array, Array, Array, Array]:
    """Improve rows and columns by turns, from :func:`loadings`, until they capture no more.

    Returns the norm of what they capture of A, the rows, the columns, an orthonormal basis in the
    columns, and the loadings of all columns.
    """
    captured, supports = 0.0, None
    while True:
        in_columns = top_rows(right, columns)
        chosen = arrays.take_rows(right, in_columns)
        before, captured = captured, arrays.norm(chosen)
        V, _ = arrays.namespace(right).linalg.qr(chosen)
        latest = in_rows.tolist(), in_columns.tolist()
        if latest == supports or captured <= (1 + _LEAST_GAIN) * before:
            return captured, in_rows, in_columns, V, right
        supports = latest
        if in_columns.shape[0] <= few_columns(A):
            left = A.columns(in_columns) @ V
        else:
            left = A @ arrays.scatter_rows(V, in_columns, A.shape[1])
        in_rows, right = loadings(A, left, rows)
