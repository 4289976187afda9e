"""The nearest matrix of given rank with given numbers of non-zero rows and columns."""

from __future__ import annotations

from collections.abc import Iterator

from thinrank import arrays, linalg
from thinrank.arrays import Array, top_rows
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs import take_rows
from thinrank.designs.dense import ColumnSubset
from thinrank.losses.quadratic import Denoising
from thinrank.matrices.decomposition import BLOCK_ENTRIES
from thinrank.minimize import solve
from thinrank.solvers.pursuit import Pursuit

# Relative increase of the norm that is captured below which the alternation ends. Rows and columns
# of noise could be exchanged for longer, for a gain of this size.
_LEAST_GAIN = 1e-5
# Pursuit exchanges rows and columns among those with the largest scores, this number times as many
# as are kept: the others gain too little to be exchanged for one that is kept.
_CANDIDATES = 4
# Above this number of entries of the block of candidates there are no exchanges: they would take
# longer than everything else, and blocks of this size rarely leave room for improvement.
_LARGE = 40_000
# Below this number of rows or columns all are candidates.
_FEW = 50
# In matrices of at most this number of entries the largest entries of single columns give further
# starting points, for this number of columns.
_SMALL = 10_000
_SINGLE_COLUMNS = 20


def nearest(A: Design, rank: int, rows: int, columns: int, *, seed: int = 0) -> Factors:
    """Minimise ‖A − Θ‖²_F over Θ of rank at most ``rank`` with few non-zero rows and columns.

    Alternating projections from several starting points find rows and columns: for a given space of
    right vectors the best rows are those with the largest scores, and likewise for the columns.
    In blocks that are not large, exchanges of rows and columns follow
    (:class:`~thinrank.solvers.Pursuit`).

    Shapes: ``A`` (n_rows, n_columns).
    """
    if rows >= A.shape[0] and columns >= A.shape[1]:
        return Factors.from_svd(*singular_triplets(A, rank, seed))
    most, in_rows, in_columns, _ = max(
        (alternate(A, V, rows, columns) for V in _starts(A, rank, rows, columns, seed)),
        key=lambda found: found[0],
    )
    if most == 0:
        return Factors.zero(A.shape, A.prototype)
    best = block_svd(A, in_rows, in_columns, rank)
    entries = min(_CANDIDATES * rows, A.shape[0]) * min(_CANDIDATES * columns, A.shape[1])
    if entries > _LARGE:
        return best
    return _polished(A, best, rank, rows, columns)


def few_columns(A: Design) -> int:
    """Number of columns that may be held as a dense array."""
    return max(BLOCK_ENTRIES // A.shape[0], 1)


def singular_triplets(
    A: Design, rank: int, seed: int = 0, *, quick: bool = False
) -> tuple[Array, Array, Array]:
    """Leading left singular vectors, singular values and right singular vectors.

    ``quick``: vectors that nearly span the leading ones, to start from.
    """
    if hasattr(A, "array") and not quick:
        return linalg.truncated_svd(A.array, rank, seed=seed)
    products, tol = (A.__matmul__, A.transposed_product), 0.1 if quick else 1e-5
    return linalg.truncated_svd(products, rank, shape=A.shape, like=A.prototype, seed=seed, tol=tol)


def block_svd(A: Design, rows: Array, columns: Array, rank: int) -> Factors:
    """Leading singular vectors of the block of A in ``rows`` and ``columns``, zero outside it."""
    if hasattr(A, "array") or columns.shape[0] <= few_columns(A):
        block = arrays.take_rows(A.columns(columns), rows)
        small = Factors.from_svd(*linalg.truncated_svd(block, rank))
    else:
        some = ColumnSubset(take_rows(A, rows), columns)
        small = Factors.from_svd(*singular_triplets(some, rank))
    return Factors(
        arrays.scatter_rows(small.U, rows, A.shape[0]),
        arrays.scatter_rows(small.V, columns, A.shape[1]),
    )


def _starts(A: Design, rank: int, rows: int, columns: int, seed: int) -> Iterator[Array]:
    """Right vectors to start from: of the whole matrix, of large columns, of rows of one column."""
    yield singular_triplets(A, rank, seed, quick=True)[2]
    # a block that hides in the noise of the whole matrix shows in the columns with large entries
    norms = A.column_norms()
    largest = top_rows(norms[:, None], min(columns, few_columns(A)))
    block = A.columns(largest)
    in_rows = top_rows(block, rows)
    right = linalg.truncated_svd(arrays.take_rows(block, in_rows), rank)[2]
    yield arrays.scatter_rows(right, largest, A.shape[1])
    if A.shape[0] * A.shape[1] > _SMALL:
        return
    # small matrices often have no clear block, and further starting points cost little
    for j in top_rows(norms[:, None], _SINGLE_COLUMNS).tolist():
        column = A.columns(arrays.indices([j], A.prototype))
        yield singular_triplets(take_rows(A, top_rows(column, rows)), rank)[2]


def alternate(A: Design, V: Array, rows: int, columns: int) -> tuple[float, Array, Array, Array]:
    """Improve rows and columns by turns until they capture no more.

    Returns the norm of what they capture of A, the rows, the columns, and an orthonormal basis in
    the columns.
    """
    xp = arrays.namespace(A.prototype)
    left, captured, supports = A @ V, 0.0, None
    while True:
        in_rows = top_rows(left, rows)
        U, _ = xp.linalg.qr(arrays.take_rows(left, in_rows))
        # all rows are not copied
        some = A if in_rows.shape[0] == A.shape[0] else take_rows(A, in_rows)
        right = some.transposed_product(U)
        in_columns = top_rows(right, columns)
        chosen = arrays.take_rows(right, in_columns)
        before, captured = captured, arrays.norm(chosen)
        V, _ = xp.linalg.qr(chosen)
        latest = in_rows.tolist(), in_columns.tolist()
        if latest == supports or captured <= (1 + _LEAST_GAIN) * before:
            break
        supports = latest
        if in_columns.shape[0] <= few_columns(A):
            left = A.columns(in_columns) @ V
        else:
            left = A @ arrays.scatter_rows(V, in_columns, A.shape[1])
    return captured, in_rows, in_columns, V


def _polished(A: Design, found: Factors, rank: int, rows: int, columns: int) -> Factors:
    """Exchanges by pursuit on the block of candidate rows and columns."""
    left, right = A @ found.V, A.transposed_product(found.U)
    in_rows = top_rows(left, max(_CANDIDATES * rows, _FEW))
    in_columns = top_rows(right, max(_CANDIDATES * columns, _FEW))
    block = arrays.take_rows(A.columns(in_columns), in_rows)
    inside = Factors(arrays.take_rows(found.U, in_rows), arrays.take_rows(found.V, in_columns))
    solver = Pursuit(exchange_penalty=0.0).sized(rank, rows, columns)
    run = solve(Denoising(block), solver, inside, records=False)
    assert run is not None
    small = run.state.factors.balanced()
    return Factors(
        arrays.scatter_rows(small.U, in_rows, A.shape[0]),
        arrays.scatter_rows(small.V, in_columns, A.shape[1]),
    )
