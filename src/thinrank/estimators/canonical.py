"""Factors with a fixed meaning: orthogonal scores, ordered by variance, with signs by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors

if TYPE_CHECKING:
    from thinrank.forms.block_moments import BlockForm


class Canonical(NamedTuple):
    """Canonical factors of a coefficient matrix."""

    factors: Factors  # U and V
    means: Array  # (rank,) means of XU over the training rows; zeros without centring
    scores: Array | None  # (n_samples, rank) XU minus the means, if X is in memory
    # (rank,) variances of the scores, decreasing. They are those of the part of the fit that
    # belongs to each factor, summed over the scaled responses
    variances: np.ndarray


def canonical(
    factors: Factors,
    design: Design,
    weight: Array | None,
    scale: Array,
    *,
    center: bool,
    known: tuple[Array, Array] | None = None,
) -> Canonical:
    """Rotate the factors of Θ = UVᵀ, so that they do not depend on how Θ was computed.

    The columns of XU (centred) become orthogonal and ordered by decreasing variance, and those of
    V, with rows divided by ``scale``, orthonormal. In each of the latter the entry of largest
    absolute value is positive. This is the singular value decomposition of the scaled fit
    XΘ·diag(1/scale), so it does not change with the units of X. Zero rows stay zero.

    Shapes: ``scale`` (n_targets,), ``known`` (n_samples, rank).
    """
    if factors.rank == 0:
        nothing = arrays.zeros((0,), factors.V)
        scores = arrays.zeros((design.shape[0], 0), factors.V)
        return Canonical(factors, nothing, scores, np.zeros(0))
    xp = arrays.namespace(factors.V)
    if known is not None:
        scores, means = known
    else:
        scores = _scores(design, factors, factors.row_support)
        scores, means = _centred(scores, weight) if center else (scores, scores[0, :] * 0)
    total = float(design.shape[0]) if weight is None else float(xp.sum(weight))
    root = scores if weight is None else scores * xp.sqrt(weight)[:, None]
    root = linalg.tall_qr(_tall(root))[1]
    found, turn, squares = turned(factors, root, scale)
    return Canonical(found, means @ turn, scores @ turn, squares / total)


def canonical_by_moments(
    factors: Factors, moments: BlockForm, scale: Array
) -> tuple[Canonical, np.ndarray]:
    """Canonical factors without the rows of X, and inner products of the scores with responses."""
    U = np.asarray(factors.rows_in_use, dtype=np.float64)
    inner, products, means = moments.of_scores(factors.row_support, U)
    if factors.rank == 0:
        return Canonical(factors, means, None, np.zeros(0)), products
    values, vectors = np.linalg.eigh(inner)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    found, turn, squares = turned(factors, root.astype(factors.U.dtype), scale)
    means = (means @ turn).astype(factors.U.dtype)
    return Canonical(found, means, None, squares / moments.samples), products @ turn


def turned(factors: Factors, root: Array, scale: Array) -> tuple[Factors, Array, np.ndarray]:
    """The canonical factors, from the inner products of the scores.

    Shapes: ``root`` (q, rank), ``scale`` (n_targets,), ``turn`` (rank, rank), ``squares``
    (rank,).
    """
    rows, columns = factors.row_support, factors.column_support
    every = columns.shape[0] == factors.shape[1]
    own = arrays.from_numpy(scale, factors.V)
    own = own[:, None] if every else arrays.take_rows(own, columns)[:, None]
    vectors, values, turn = _right_vectors(root, factors.columns_in_use / own)
    signs = _signs(vectors)
    turn, V = turn * signs, vectors * signs * own
    V = V if every else arrays.scatter_rows(V, columns, factors.shape[1])
    U = factors.rows_in_use @ turn
    return Factors.on_rows(U, rows, factors.shape[0], V), turn, values**2


def _right_vectors(root: Array, block: Array) -> tuple[Array, np.ndarray, Array]:
    """Right singular vectors and singular values of root @ block.T, and blockᵀ @ vectors."""
    basis, triangle = linalg.tall_qr(block)
    _, values, right = linalg.svd(root @ triangle.T)
    numbers = arrays.to_numpy(values).astype(np.float64)
    return basis @ right.T, numbers, triangle.T @ right.T


def _scores(design: Design, factors: Factors, rows: Array) -> Array:
    """XU, from the columns in use if they are few."""
    if 2 * rows.shape[0] > factors.shape[0]:
        return design @ factors.U
    return design.columns(rows) @ factors.rows_in_use


def _centred(scores: Array, weight: Array | None) -> tuple[Array, Array]:
    xp = arrays.namespace(scores)
    means = xp.mean(scores, axis=0) if weight is None else weight @ scores / xp.sum(weight)
    return scores - means, means


def _tall(scores: Array) -> Array:
    """The scores, with rows of zeros added if there are fewer rows than columns."""
    missing = scores.shape[1] - scores.shape[0]
    if missing <= 0:
        return scores
    zeros = arrays.zeros((missing, scores.shape[1]), scores)
    return arrays.namespace(scores).concat([scores, zeros], axis=0)


def _signs(columns: Array) -> Array:
    """For each column the sign of its entry of largest absolute value.

    Of entries that are equal up to rounding the first one counts.
    """
    numbers = arrays.to_numpy(columns)
    peaks = np.argmax(arrays.half_the_digits(np.abs(numbers)), axis=0)
    signs = np.sign(numbers[peaks, np.arange(numbers.shape[1])])
    return arrays.from_numpy(np.where(signs < 0, -1.0, 1.0), columns)
