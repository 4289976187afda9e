"""One layer: a block of rows and columns with a common pattern, found in the noise around it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array, top_rows
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs import Deflated, Sparse, take_rows
from thinrank.matrices.cell_squares import CellSquares, cell_squares
from thinrank.matrices.given_sizes import few_columns, range_finder
from thinrank.matrices.outliers import ERROR_RATE, limit, outliers

# Singular vectors of the whole matrix from which the search starts. Dense factors, which real
# noise has, take the first ones.
_STARTS = 10
_MAX_ITERATIONS = 30
# In the first iterations the limit is multiplied by this: scores are still weak because the vector
# on the other side contains noise.
_LENIENT = 0.7
_LENIENT_ITERATIONS = 5
# Single columns of a layer from which a smaller layer inside it is looked for.
_PARTS = 3
# Products use only the rows or columns that are not zero if they are at most this part of all.
_FEW = 0.3
# Part of the entries of a column that is left out at the start of that search.
_PART = 0.6


class Side(NamedTuple):
    """Which rows (or columns) belong to a layer."""

    # number of scores of largest absolute value to keep; None for those that stand out
    size: int | None = None
    everything: bool = False  # whether to keep all

    @property
    def automatic(self) -> bool:
        """Whether the number is chosen by what stands out."""
        return self.size is None and not self.everything

    def enough(self, vector: np.ndarray) -> bool:
        """Whether a vector has the entries that a layer needs.

        A single row that stands out cannot be confirmed by rows that are left out.
        """
        return bool(np.count_nonzero(vector) >= (2 if self.automatic else 1))

    def chosen(
        self, scores: np.ndarray, factor: float, rate: float, known_scale: float
    ) -> tuple[np.ndarray, float]:
        """Flags of the scores to keep, and the scale of the noise."""
        flags, scale = outliers(scores, rate, known_scale)
        if self.everything:
            return np.ones(len(scores), dtype=bool), scale
        if self.size is not None:
            flags = np.zeros(len(scores), dtype=bool)
            flags[np.argsort(-np.abs(scores), kind="stable")[: self.size]] = True
            return flags & (scores != 0), scale
        if factor < 1:
            flags = np.abs(scores) > factor * limit(len(scores), rate) * scale
        return flags, scale


class Layer(NamedTuple):
    """A matrix d·uvᵀ of rank one with few non-zero rows and columns."""

    left: np.ndarray  # (n_rows,) u, of length 1
    value: float  # d
    right: np.ndarray  # (n_columns,) v, of length 1
    noise: float  # scale of the noise of the scores of rows, times that of columns
    # what the rows and columns of the layer would contribute to d² if they were noise at the limit,
    # in units of the noise
    penalty: float

    def gain(self, noise: float | None = None) -> float:
        """d² in units of the noise, less the penalty. Layers are compared by it.

        Parts of the same layer are compared with one estimate of the ``noise``.
        """
        return self.value**2 / (self.noise if noise is None else noise) - self.penalty

    def factors(self, like: Array) -> Factors:
        """The layer as balanced factors."""
        root = self.value**0.5
        U, V = root * self.left[:, None], root * self.right[:, None]
        return Factors(arrays.from_numpy(U, like), arrays.from_numpy(V, like))


def find_layer(
    A: Design,
    rows: Side,
    columns: Side,
    *,
    rate: float = ERROR_RATE,
    seed: int = 0,
    parts: bool = True,
) -> Layer | None:
    """The layer of largest gain that alternating thresholding reaches from several starting points.

    Shapes: ``A`` (n_rows, n_columns). None if nothing stands out.
    """
    search = _Search(A, rows, columns, rate, cell_squares(A))
    best = search.best_from(_starts(A, seed))
    if best is not None and parts:
        inside = search.best_from(_inside(A, best))
        if inside is not None and inside.gain(best.noise) > best.gain():
            return inside
    return best


class _Search(NamedTuple):
    A: Design
    rows: Side
    columns: Side
    rate: float
    squares: CellSquares

    def best_from(self, right: np.ndarray) -> Layer | None:
        """The layer of largest gain that is reached from one of several right vectors.

        All are improved at the same time, because a product with many vectors takes little longer
        than one with a single vector. Those that meet on the way continue as one.
        """
        best: Layer | None = None
        seen: set[tuple[bytes, bytes]] = set()
        for iteration in range(_MAX_ITERATIONS):
            lenient = iteration < _LENIENT_ITERATIONS
            factor = _LENIENT if lenient else 1.0
            left, row_noise = self._chosen(
                _times(self.A, right), self.rows, factor, self.squares.row_scales(right)
            )
            scores = _transposed_times(self.A, left)
            new, column_noise = self._chosen(
                scores, self.columns, factor, self.squares.column_scales(left)
            )
            going = []
            supports = set()
            for j in range(new.shape[1]):
                if not (self.rows.enough(left[:, j]) and self.columns.enough(new[:, j])):
                    continue
                support = ((left[:, j] != 0).tobytes(), (new[:, j] != 0).tobytes())
                if support in supports:
                    continue
                supports.add(support)
                if (support in seen and not lenient) or iteration == _MAX_ITERATIONS - 1:
                    value = float(scores[:, j] @ new[:, j])
                    noise = row_noise[j] * column_noise[j]
                    best = _better(best, self._layer(left[:, j], value, new[:, j], noise))
                else:
                    going.append(j)
            # a support that comes back, at once or in a cycle, is where the search ends
            seen = supports if lenient else seen | supports
            right = new[:, going]
            if not going:
                break
        return best

    def _chosen(
        self, scores: np.ndarray, side: Side, factor: float, scales: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Scores that a side keeps, of length 1 in each column, and the scale of the others."""
        vectors = np.ascontiguousarray(scores.T)  # one vector after the other in memory
        kept = np.zeros_like(vectors)
        noise = np.zeros(len(vectors))
        for j, vector in enumerate(vectors):
            flags, noise[j] = side.chosen(vector, factor, self.rate, float(scales[j]))
            length = np.linalg.norm(vector[flags])
            if length > 0:
                kept[j, flags] = vector[flags] / length
        return kept.T, noise

    def _layer(self, left: np.ndarray, value: float, right: np.ndarray, noise: float) -> Layer:
        # several starting points lead to a layer, with either sign
        sign = 1.0 if right[np.argmax(np.abs(right))] > 0 else -1.0
        left, right = sign * left, sign * right
        penalty = 0.0
        for side, vector in ((self.rows, left), (self.columns, right)):
            if side.automatic:
                penalty += limit(len(vector), self.rate) ** 2 * np.count_nonzero(vector)
        return Layer(left, value, right, max(noise, np.finfo(float).tiny), penalty)


def _starts(A: Design, seed: int) -> np.ndarray:
    """Leading right singular vectors of the matrix, and of its rows and columns of large norm."""
    V = range_finder(A, _STARTS, seed)
    _, _, right = np.linalg.svd(arrays.to_numpy(A @ V), full_matrices=False)
    leading = arrays.to_numpy(V) @ right[:_STARTS].T
    # a small block that hides in the noise of the whole matrix shows in the norms
    few = min(max(A.shape[1] // 10, 1), few_columns(A))
    largest = top_rows(A.column_norms()[:, None], few)
    block = A.columns(largest)
    chosen = top_rows(block, max(A.shape[0] // 10, 1))
    vectors = linalg.truncated_svd(arrays.take_rows(block, chosen), 1)[2]
    hidden = arrays.to_numpy(arrays.scatter_rows(vectors, largest, A.shape[1]))
    return np.hstack([leading, hidden]).astype(float)


def _inside(A: Design, layer: Layer) -> np.ndarray:
    """Right vectors supported on part of a layer: what its largest columns have in common."""
    rows, columns = np.flatnonzero(layer.left), np.flatnonzero(layer.right)
    some = take_rows(A, arrays.indices(rows.tolist(), A.prototype))
    largest = columns[np.argsort(-np.abs(layer.right[columns]), kind="stable")[:_PARTS]]
    single = arrays.to_numpy(some.columns(arrays.indices(largest.tolist(), A.prototype)))
    left = np.apply_along_axis(_largest_part, 0, single)
    similar = arrays.to_numpy(some.transposed_product(arrays.from_numpy(left, A.prototype)))
    right = np.zeros((A.shape[1], len(largest)))
    right[columns] = np.apply_along_axis(_largest_part, 0, similar[columns])
    return right


def _largest_part(x: np.ndarray) -> np.ndarray:
    size = np.abs(x)
    return np.where(size >= np.quantile(size, _PART), x, 0.0)


def _better(one: Layer | None, other: Layer) -> Layer:
    return other if one is None or other.gain() > one.gain() else one


def _times(A: Design, right: np.ndarray) -> np.ndarray:
    """A @ right, from the columns that are in use if they are few."""
    used = np.flatnonzero(right.any(axis=1))
    if _sparse(A) or len(used) > min(_FEW * A.shape[1], few_columns(A)):
        return arrays.to_numpy(A @ arrays.from_numpy(right, A.prototype)).astype(float)
    block = A.columns(arrays.indices(used.tolist(), A.prototype))
    return arrays.to_numpy(block @ arrays.from_numpy(right[used], A.prototype)).astype(float)


def _transposed_times(A: Design, left: np.ndarray) -> np.ndarray:
    """A.T @ left, from the rows that are in use if they are few."""
    used = np.flatnonzero(left.any(axis=1))
    if not _sparse(A) and len(used) <= _FEW * A.shape[0]:
        A = take_rows(A, arrays.indices(used.tolist(), A.prototype))
        left = left[used]
    product = A.transposed_product(arrays.from_numpy(left, A.prototype))
    return arrays.to_numpy(product).astype(float)


def _sparse(A: Design) -> bool:
    """Whether products take no longer with all rows and columns: only non-zero cells count."""
    while isinstance(A, Deflated):
        A = A.base
    return isinstance(A, Sparse)
