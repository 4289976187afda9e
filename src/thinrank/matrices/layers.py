"""Layers of a matrix: blocks of rows and columns with a common pattern, found one after the other.

Nothing here is random: starting points are singular vectors, and the data are divided by norms.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs import Dense, Sparse, Transformed
from thinrank.estimators.description import as_numbers
from thinrank.matrices.cells import DENSE_SHARE
from thinrank.matrices.decomposition import CLEAR_ERRORS, FOLDS
from thinrank.matrices.given_sizes import block_svd, nearest, singular_triplets, submatrix

# Share of noise among the rows (columns) of a layer (Benjamini and Hochberg).
_FALSE_SHARE = 0.001
# In the first iterations scores above this number of standard deviations are kept instead: they are
# still weak because the vector on the other side contains noise. Many of these iterations find
# weaker layers, and lose those beside factors of noise in a few columns (Jaccard index 0, not .7):
# each start is tried with both numbers.
_LENIENT = 2.0
_LENIENT_ITERATIONS = (1, 5)
# What a row or column of a layer must add to d² to be worth it, in squares of the noise.
_PRICE = _LENIENT**2

# Scores left out stand out beyond the limit that one of all exceeds with the first probability
# under noise; a layer needs a number of them that has at most the second one.
_RATE, LEVEL = 0.05, 0.005
# Most components to which most rows and columns contribute that are removed: means, and a few
# factors of the noise.
_MOST_DENSE = 5
# Singular vectors of the whole matrix from which the search starts. Dense factors, which real
# noise has, take the first ones.
_STARTS = 2 * _MOST_DENSE
# Fourth moment of a singular vector above which few rows or columns contribute; 3 for normal ones.
_LOCAL = 6.0
# Rounds in which each layer is fitted to what the others leave.
_REFITS = 10


# How many rows (or columns) a layer has; None for those that stand out.
Size = int | None


class Evidence(NamedTuple):
    """What data that were left out say about a layer."""

    # probability that noise has as many outlying rows (columns) among those left out. NaN if the
    # side is not tested, because its number of rows (columns) is not automatic
    rows: float
    columns: float
    # how well the layer predicts cells whose row and column were left out, in standard errors
    agreement: float

    @property
    def accepted(self) -> bool:
        """Whether the layer is in the data left out on every side that is tested."""
        sides = [p for p in (self.rows, self.columns) if not np.isnan(p)]
        return all(p < LEVEL for p in sides) and self.agreement > CLEAR_ERRORS


@dataclass
class Discovery:
    """Layers that were found, and what was removed to find them."""

    layers: list[Factors]  # of rank one, in the order in which they were found
    background: Factors  # the sum of components to which most rows and columns contribute
    # singular value of every layer that was looked at, the rejected ones included, with the
    # evidence for it. None if it was not tested
    tried: list[tuple[float, Evidence | None]]


# --------------------------------------------------------------------------- noise


class CellSquares(NamedTuple):
    """Mean squares of the cells of rows and columns; zeros unless most cells are zero.

    The scores A·v of a matrix with few non-zero cells are no normal numbers: most are tiny, and
    some are large because of a single cell. If the cells of each column are in random order, the
    mean square of the scores is Σ_j v_j² m_j, where m_j is the mean square of column j.
    """

    rows: np.ndarray  # (n_rows,)
    columns: np.ndarray  # (n_columns,)

    @classmethod
    def of(cls, A: Design) -> CellSquares:
        """Those of a dense or sparse matrix."""
        nothing = cls(np.zeros(A.shape[0]), np.zeros(A.shape[1]))
        if isinstance(A, Sparse):
            squares = A.matrix.multiply(A.matrix)
            filled = A.matrix.nnz
        elif isinstance(A, Dense) and min(A.shape):
            squares = as_numbers(A.array) ** 2
            filled = np.count_nonzero(squares)
        else:
            return nothing
        if filled >= DENSE_SHARE * A.shape[0] * A.shape[1]:
            return nothing
        return cls(*(np.asarray(squares.mean(axis=axis)).ravel() for axis in (1, 0)))

    @property
    def known(self) -> bool:
        """Whether most cells are zero."""
        return bool(self.columns.any())

    def on(self, rows: np.ndarray, columns: np.ndarray) -> CellSquares:
        """Those of flagged rows and columns."""
        return CellSquares(self.rows[rows], self.columns[columns])


def null_scale(scores: np.ndarray) -> float:
    """Standard deviation of the scores that do not stand out, from their median.

    Up to half of the scores may be outliers. If most scores are exactly zero, as in counts, the
    scale is that of the others.
    """
    size = np.sort(np.abs(scores))
    zeros = int(np.searchsorted(size, 0.0, side="right"))
    if len(size) - zeros < 0.5 * len(size):
        size = size[zeros:]
    if len(size) == 0:
        return 0.0
    scale = np.inf
    while True:
        inner = size[: np.searchsorted(size, CLEAR_ERRORS * scale, side="right")]
        smaller = float(np.median(inner) / ndtri(0.75))
        if len(inner) < 0.5 * len(size) or smaller >= scale:
            return scale
        scale = smaller


def equalized(A: Design) -> tuple[Design, tuple[Array, Array]]:
    """A dense matrix divided by scales of the noise of its rows and columns; and these scales.

    They are median absolute values, as far from 1 as two halves of the matrix agree that they are.
    Components to which most rows and columns contribute are no noise of single ones, but can be
    told only if scales do not make them. The scales are 1 if most cells are zero.

    Shapes: ``A`` (n_rows, n_columns), the scales (n_rows, 1) and (n_columns, 1).
    """
    scales = [np.ones((size, 1)) for size in A.shape]
    if isinstance(A, Dense) and min(A.shape) >= 4:
        values = as_numbers(A.array)
        for components in (0, min(_MOST_DENSE, min(A.shape) // 4)):
            left = values / scales[0] / scales[1].T
            if components:
                u, d, v = linalg.truncated_svd(left, components)
                dense = _spread_out(u, v)
                left -= (u * d)[:, dense] @ v[:, dense].T
            floor = arrays.eps(A.prototype) ** 0.5 * np.abs(values).max(initial=0)
            if any(np.median(np.abs(x), axis=1).min(initial=1) <= floor for x in (left, left.T)):
                break
            scales = [_agreed(x, each) for x, each in zip((left, left.T), scales, strict=True)]
        A = Dense(arrays.from_numpy(values / scales[0] / scales[1].T, A.prototype))
    rows, columns = (arrays.from_numpy(each, A.prototype) for each in scales)
    return A, (rows, columns)


def _spread_out(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Whether most rows and columns contribute to singular vectors, which are columns."""
    moments = [len(x) * (x**4).sum(axis=0) for x in (left, right)]
    return np.maximum(*moments) < _LOCAL


def _agreed(left: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Scales of rows, by a half of the columns and the other, as far as these agree."""
    half = left.shape[1] // 2
    first, second, whole = (
        np.log(np.median(np.abs(part), axis=1, keepdims=True) * before + np.finfo(float).tiny)
        for part in (left[:, :half], left[:, half:], left)
    )
    covariance = np.cov(first[:, 0], second[:, 0])
    product = max(covariance[0, 0] * covariance[1, 1], np.finfo(float).tiny)
    correlation = max(covariance[0, 1], 0.0) / product**0.5
    # the reliability of the whole (Spearman and Brown)
    return np.exp(2 * correlation / (1 + correlation) * (whole - whole.mean()))


# --------------------------------------------------------------------------- one layer


def find_layer(A: Design, rows: Size, columns: Size, squares: CellSquares) -> Factors | None:
    """The layer d·uvᵀ of largest gain that alternating thresholding reaches, from singular vectors.

    The gain is d² less what its rows and columns would contribute to it if they were noise. None if
    nothing stands out.
    """
    price = _PRICE * arrays.norm(A.column_norms()) ** 2 / (A.shape[0] * A.shape[1])
    start = as_numbers(singular_triplets(A, _STARTS, quick=True)[2])
    best, most = None, -np.inf
    for lenient_iterations in _LENIENT_ITERATIONS:
        for left, value, right in _reached(A, rows, columns, squares, start, lenient_iterations):
            sides = (rows, left), (columns, right)
            used = sum(np.count_nonzero(vector) for size, vector in sides if size is None)
            if value**2 - price * used > most:
                most = value**2 - price * used
                best = Factors(*(_like(value**0.5 * x[:, None], A) for x in (left, right)))
    return best


def _reached(
    A: Design,
    rows: Size,
    columns: Size,
    squares: CellSquares,
    right: np.ndarray,
    lenient_iterations: int,
) -> Iterator[tuple[np.ndarray, float, np.ndarray]]:
    """The layers u, d, v that are reached from several right vectors.

    All are improved at the same time, because a product with many vectors takes little longer
    than one with a single vector. Those that meet on the way continue as one.
    """
    seen: set[tuple[bytes, bytes]] = set()
    for iteration in itertools.count():
        lenient = iteration < lenient_iterations
        scales = np.sqrt(squares.columns @ right**2)
        left = _chosen(as_numbers(A @ _like(right, A)), rows, scales, lenient)
        scales = np.sqrt(squares.rows @ left**2)
        scores = as_numbers(A.transposed_product(_like(left, A)))
        right = _chosen(scores, columns, scales, lenient)
        going, supports = [], set()
        for j in range(right.shape[1]):
            if not (_enough(left[:, j], rows) and _enough(right[:, j], columns)):
                continue
            support = ((left[:, j] != 0).tobytes(), (right[:, j] != 0).tobytes())
            if support in supports:
                continue
            supports.add(support)
            if support in seen and not lenient:
                yield left[:, j], float(scores[:, j] @ right[:, j]), right[:, j]
            else:
                going.append(j)
        # a support that comes back, at once or in a cycle, is where the search ends
        seen = supports if lenient else seen | supports
        right = right[:, going]
        if not going:
            break


def _like(vectors: np.ndarray, A: Design) -> Array:
    return arrays.from_numpy(vectors, A.prototype)


def _enough(vector: np.ndarray, size: Size) -> bool:
    """Whether a vector has enough entries: a single row cannot be confirmed by others."""
    return bool(np.count_nonzero(vector) >= (2 if size is None else 1))


def _chosen(scores: np.ndarray, size: Size, scales: np.ndarray, lenient: bool) -> np.ndarray:
    """Scores of the rows of each layer, of length 1 in each column."""
    kept = np.zeros_like(scores)
    for j, vector in enumerate(np.ascontiguousarray(scores.T)):
        if size is None:
            flags = _standing_out(vector, float(scales[j]) or null_scale(vector), lenient)
        else:
            flags = np.argsort(-np.abs(vector), kind="stable")[:size]
        length = np.linalg.norm(vector[flags])
        if length > 0:
            kept[flags, j] = vector[flags] / length
    return kept


def _standing_out(scores: np.ndarray, scale: float, lenient: bool) -> np.ndarray:
    """Flags of the scores that are too large for noise of a scale."""
    size = np.abs(scores)
    if lenient or not scale:
        return size > _LENIENT * scale
    p_values = 2 * ndtr(-size / scale)
    order = np.sort(p_values)
    below = np.flatnonzero(order <= _FALSE_SHARE * np.arange(1, len(order) + 1) / len(order))
    return p_values <= (order[below[-1]] if len(below) else -1.0)


# --------------------------------------------------------------------------- evidence


def evidence(A: Design, rows: Size, columns: Size, squares: CellSquares) -> Evidence:
    """Fit the first layer without some rows and columns, and look for it there.

    Rows that were left out are compared with each other by their scores on the columns of the fit.
    If rows are independent draws, no row of noise stands out, whatever the correlations of the
    columns are; the same holds for columns. Cells of the block left out on both sides are
    independent of the fit if cells are independent, whatever their distribution is. A layer must
    pass all three tests, so that each kind of noise is recognized by one of them.
    """
    folds = min(FOLDS, *A.shape)
    if folds < 2:
        return Evidence(1.0, 1.0, 0.0)
    row_fold, column_fold = _folds(A, folds)
    row_scores, column_scores = (np.zeros(size) for size in A.shape)
    for fold in range(folds):
        out_rows, out_columns = row_fold == fold, column_fold == fold
        near = squares.on(~out_rows, ~out_columns)
        found = find_layer(_flagged(A, ~out_rows, ~out_columns), rows, columns, near)
        if found is None:
            continue
        left, right = (x / arrays.norm(x) for x in (found.U, found.V))
        scores = _flagged(A, out_rows, ~out_columns) @ right
        row_scores[out_rows] = _standardized(scores, near.columns, right)
        scores = _flagged(A, ~out_rows, out_columns).transposed_product(left)
        column_scores[out_columns] = _standardized(scores, near.rows, left)
    # the folds have one scale: a few rows of one fold do not tell theirs
    scales = [1.0 if squares.known else null_scale(x) for x in (row_scores, column_scores)]
    row_scores, column_scores = row_scores / (scales[0] or 1), column_scores / (scales[1] or 1)
    agreement = sum(
        _agreement(
            _flagged(A, row_fold == fold, column_fold == fold),
            row_scores[row_fold == fold],
            column_scores[column_fold == fold],
            squares.on(row_fold == fold, column_fold == fold),
        )
        for fold in range(folds)
    )
    return Evidence(
        _probability(row_scores) if rows is None else float("nan"),
        _probability(column_scores) if columns is None else float("nan"),
        agreement / folds**0.5,
    )


def _folds(A: Design, folds: int) -> tuple[np.ndarray, np.ndarray]:
    """Folds of rows and columns, each with as many large ones: in turn by their leading scores."""
    left, values, right = singular_triplets(A, _STARTS, quick=True)
    result = []
    for scores in (left * values, right * values):
        order = np.argsort(-arrays.to_numpy(arrays.row_norms_squared(scores)), kind="stable")
        fold = np.empty(len(order), dtype=np.intp)
        turn = np.arange(len(order))
        fold[order] = np.where(turn // folds % 2, folds - 1 - turn % folds, turn % folds)
        result.append(fold)
    return result[0], result[1]


def _flagged(A: Design, rows: np.ndarray, columns: np.ndarray) -> Design:
    """The block of flagged rows and columns."""
    places = (
        arrays.indices(np.flatnonzero(flags).tolist(), A.prototype) for flags in (rows, columns)
    )
    return submatrix(A, *places)


def _standardized(scores: Array, squares: np.ndarray, vector: Array) -> np.ndarray:
    """Scores on a vector in units of their noise, where mean squares of cells tell it."""
    variance = float(squares @ as_numbers(vector)[:, 0] ** 2)
    return as_numbers(scores)[:, 0] / (variance**0.5 or 1.0)


def _agreement(block: Design, left: np.ndarray, right: np.ndarray, squares: CellSquares) -> float:
    """Inner product of a block with what is predicted for it, in standard deviations of noise."""
    product = block @ arrays.from_numpy(right[:, None], block.prototype)
    total = float(left @ arrays.to_numpy(product)[:, 0])
    if squares.known:
        mean = float(np.mean(squares.columns))
        variance = float(left**2 @ squares.rows) * float(right**2 @ squares.columns) / mean
    else:
        cells = block.shape[0] * block.shape[1]
        variance = arrays.norm(block.column_norms()) ** 2 / cells * float(left @ left)
        variance *= float(right @ right)
    return total / variance**0.5 if variance else 0.0


def _probability(scores: np.ndarray) -> float:
    """Probability that as many of the scores stand out if all are noise."""
    count = len(scores)
    limit = -ndtri(_RATE / (2 * count))  # the largest of all is above it with probability _RATE
    found = np.count_nonzero(np.abs(scores) > limit)
    return float(binom.sf(found - 1, count, _RATE / count))


# --------------------------------------------------------------------------- all layers


def discover(
    A: Design,
    rows: Size,
    columns: Size,
    *,
    rank: int | None = None,
    background: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Discovery:
    """Find layers, each in what the earlier ones leave of the matrix.

    If a size is None, this happens where all noise has the same scale (:func:`equalized`). With
    ``rank`` or ``background`` None data that were left out decide.

    If no further layer is found, a component to which most rows and columns contribute may hide
    it, such as the means of the columns or a common factor of the noise. Such components are
    removed, as long as data that were left out show that they are there. Matrices in which most
    cells are zero have no such components.
    """
    layers: list[Factors] = []
    tried: list[tuple[float, Evidence | None]] = []
    scales: tuple[Array, Array] = (1.0, 1.0)
    unlimited = rows is None or columns is None
    if unlimited:
        A, scales = equalized(A)
    removed = leading(A, background or 0)
    automatic = background is None and unlimited
    squares = CellSquares.of(A)
    limit = min(A.shape) if rank is None else rank
    # what remains of an exact sum of layers is rounding error
    floor = 10 * arrays.eps(A.prototype) ** 0.5 * arrays.norm(A.column_norms())
    while len(layers) < limit:
        rest = minus(A, removed, *layers)
        if arrays.norm(rest.column_norms()) <= floor:
            break
        found = find_layer(rest, rows, columns, squares)
        if found is not None:
            tested = evidence(rest, rows, columns, squares) if rank is None else None
            tried.append((found.norm(), tested))
            if tested is None or tested.accepted:
                layers.append(found)
                if progress is not None:
                    progress(len(layers))
                continue
        if not automatic or removed.rank >= _MOST_DENSE or not _is_dense(rest, squares):
            break
        # with the component gone, more rows and columns of the same layers may stand out
        removed = leading(minus(A, *layers), removed.rank + 1)
        layers, tried = [], []
    if automatic and layers:
        # those removed to find the layers may have contained a part of them
        removed = leading(minus(A, *layers), removed.rank)
    removed = Factors(removed.U * scales[0], removed.V * scales[1])
    return Discovery(layers, removed, tried)


def _is_dense(A: Design, squares: CellSquares) -> bool:
    """Whether most rows and columns contribute to the leading component."""
    left, _, right = singular_triplets(A, 1, quick=True)
    if squares.known or not _spread_out(as_numbers(left), as_numbers(right))[0]:
        return False
    return evidence(A, *A.shape, squares).agreement > CLEAR_ERRORS


def minus(A: Design, *parts: Factors) -> Design:
    """A without matrices of low rank."""
    removed = total(A, parts)
    return Transformed(A, removed=removed) if removed.rank else A


def leading(A: Design, rank: int) -> Factors:
    """The best approximation of A of a rank, without limits on its rows and columns."""
    return nearest(A, rank, *A.shape) if rank else Factors.zero(A.shape, A.prototype)


def total(A: Design, parts: Sequence[Factors]) -> Factors:
    """The sum of matrices of low rank."""
    xp, parts = arrays.namespace(A.prototype), [Factors.zero(A.shape, A.prototype), *parts]
    return Factors(xp.concat([p.U for p in parts], axis=1), xp.concat([p.V for p in parts], axis=1))


def refitted(A: Design, layers: Sequence[Factors]) -> Factors:
    """Layers with the same rows and columns, fitted by least squares all together."""
    fitted = list(layers)
    for _ in range(_REFITS if len(fitted) > 1 else 1):
        for position, layer in enumerate(fitted):
            rest = minus(A, *fitted[:position], *fitted[position + 1 :])
            fitted[position] = block_svd(rest, layer.row_support, layer.column_support, 1)
    return total(A, sorted(fitted, key=lambda layer: -layer.norm()))


def joined(A: Design, layers: Sequence[Factors], rank: int) -> Factors:
    """The matrix with the rows and columns of all layers: their sum, or a whole block.

    The sum is zero where no layer is, and has fewer parameters. The block is taken where it
    predicts better (Mallows' C_p), or if a larger rank is asked for.
    """
    together = refitted(A, layers)
    in_rows, in_columns = together.row_support, together.column_support
    block = block_svd(A, in_rows, in_columns, rank)
    used = sum(int(np.count_nonzero(arrays.to_numpy(x))) for x in (together.U, together.V))
    sizes = used - rank, rank * (in_rows.shape[0] + in_columns.shape[0] - rank)
    errors = [arrays.norm(minus(A, each).column_norms()) ** 2 for each in (together, block)]
    variance = errors[0] / (A.shape[0] * A.shape[1])
    if rank > len(layers) or errors[1] + 2 * variance * (sizes[1] - sizes[0]) < errors[0]:
        return block
    return together.balanced()
