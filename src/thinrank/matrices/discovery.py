"""Layers found one after the other, until data that were left out show no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from thinrank import arrays
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs import Deflated
from thinrank.matrices.cell_squares import mostly_zero
from thinrank.matrices.given_sizes import block_svd, nearest
from thinrank.matrices.held_out import Evidence, evidence
from thinrank.matrices.layer import Layer, Side, find_layer
from thinrank.matrices.outliers import joint_outliers

# Rounds in which each layer is fitted to what the others leave.
_REFITS = 10
_REFIT_TOL = 1e-8
_JOINT_ROUNDS = 10
# Most dense components that are removed: means, and a few factors of the noise.
_MOST_DENSE = 5
_ALL = Side(everything=True)


class Discovery(NamedTuple):
    """Layers that were found, and what was removed to find them."""

    layers: list[Layer]  # the layers, in the order in which they were found
    background: Factors  # the sum of components to which most rows and columns contribute
    # singular value of every layer that was looked at, the rejected ones included, with the
    # evidence for it. None if it was not tested
    tried: list[tuple[float, Evidence | None]]


def discover(
    A: Design,
    rows: Side,
    columns: Side,
    *,
    rank: int | None = None,
    most: int = 50,
    background: int | None = None,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Discovery:
    """Find layers, each in what the earlier ones leave of the matrix.

    If no further layer is found, a component to which most rows and columns contribute may hide
    it, such as the means of the columns or a common factor of the noise. Such components are
    removed, as long as cells that were left out show that they are there. Matrices in which most
    cells are zero have no such components.

    Shapes: ``A`` (n_rows, n_columns). ``rank``: None if data that were left out decide.
    ``background``: None if data that were left out decide.
    """
    layers: list[Layer] = []
    tried: list[tuple[float, Evidence | None]] = []
    removed = leading(A, background or 0, seed)
    automatic = background is None and (rows.automatic or columns.automatic)
    if mostly_zero(A):  # no component is dense there, and the leading one may be that of a block
        automatic = False
    limit = min(*A.shape, most if rank is None else rank)
    # what remains of an exact sum of layers is rounding error
    floor = 10 * arrays.eps(A.prototype) ** 0.5 * arrays.norm(A.column_norms())
    while len(layers) < limit:
        rest = without(_minus(A, removed), layers)
        if arrays.norm(rest.column_norms()) <= floor:
            break
        found = find_layer(rest, rows, columns, seed=seed)
        if found is not None:
            tested = evidence(rest, rows, columns, seed) if rank is None else None
            tried.append((found.value, tested))
            if tested is None or tested.accepted:
                layers.append(found)
                if progress is not None:
                    progress(len(layers))
                continue
        if not automatic or removed.rank >= _MOST_DENSE:
            break
        if not evidence(rest, _ALL, _ALL, seed).accepted:
            break
        # with the component gone, more rows and columns of the same layers may stand out
        removed = leading(without(A, layers), removed.rank + 1, seed)
        layers, tried = [], []
    if automatic and layers:
        removed = _background(A, layers, removed.rank, seed)
    return Discovery(layers, removed, tried)


def _background(A: Design, layers: Sequence[Layer], most: int, seed: int) -> Factors:
    """The dense components that are there beside the layers.

    Those removed to find the layers may have contained a part of them.
    """
    rest = without(A, layers)
    for rank in range(most):
        removed = leading(rest, rank, seed)
        if not evidence(_minus(rest, removed), _ALL, _ALL, seed).accepted:
            return removed
    return leading(rest, most, seed)


def _minus(A: Design, removed: Factors) -> Design:
    return Deflated(A, removed) if removed.rank else A


def leading(A: Design, rank: int, seed: int) -> Factors:
    """The best approximation of A of a rank, without limits on its rows and columns."""
    return nearest(A, rank, *A.shape, seed=seed) if rank else Factors.zero(A.shape, A.prototype)


def without(A: Design, layers: Sequence[Layer]) -> Design:
    """The matrix minus the layers."""
    if not layers:
        return A
    parts = [layer.factors(A.prototype) for layer in layers]
    xp = arrays.namespace(A.prototype)
    joined = Factors(
        xp.concat([p.U for p in parts], axis=1), xp.concat([p.V for p in parts], axis=1)
    )
    return Deflated(A, joined)


def refitted(A: Design, layers: Sequence[Layer]) -> list[Layer]:
    """Layers with the same rows and columns, fitted by least squares all together."""
    fitted = list(layers)
    for _ in range(_REFITS if len(fitted) > 1 else 1):
        change = 0.0
        for position, layer in enumerate(fitted):
            others = fitted[:position] + fitted[position + 1 :]
            new = _fit_on_support(without(A, others), layer)
            change = max(change, abs(new.value - layer.value) / max(layer.value, 1e-300))
            fitted[position] = new
        if change <= _REFIT_TOL:
            break
    return sorted(fitted, key=lambda layer: -layer.value)


def _fit_on_support(A: Design, layer: Layer) -> Layer:
    rows, columns = (
        arrays.indices(np.flatnonzero(x).tolist(), A.prototype) for x in (layer.left, layer.right)
    )
    factors = block_svd(A, rows, columns, 1)
    left, right = (arrays.to_numpy(x)[:, 0].astype(float) for x in (factors.U, factors.V))
    value = float(np.linalg.norm(left) * np.linalg.norm(right))
    return layer._replace(
        left=left / np.linalg.norm(left), value=value, right=right / np.linalg.norm(right)
    )


def joint_supports(
    A: Design, layers: Sequence[Layer], rows: Side, columns: Side
) -> tuple[np.ndarray, np.ndarray]:
    """Flags of the rows and columns that stand out in the space of all layers together.

    A row may have a small score on each layer and still stand out from the noise. Where most cells
    are zero scores are far from normal, and the rows and columns are those of the single layers.
    """
    in_rows = np.any([layer.left != 0 for layer in layers], axis=0)
    in_columns = np.any([layer.right != 0 for layer in layers], axis=0)
    if mostly_zero(A):
        return in_rows, in_columns
    rank = len(layers)
    for _ in range(_JOINT_ROUNDS):
        U, V = _spaces(A, in_rows, in_columns, rank)
        new_rows, new_columns = in_rows, in_columns
        if rows.automatic:
            new_rows = joint_outliers(arrays.to_numpy(A @ V).astype(float), in_rows)
        if columns.automatic:
            scores = arrays.to_numpy(A.transposed_product(U)).astype(float)
            new_columns = joint_outliers(scores, in_columns)
        same = np.array_equal(new_rows, in_rows) and np.array_equal(new_columns, in_columns)
        if same or np.count_nonzero(new_rows) < rank or np.count_nonzero(new_columns) < rank:
            break
        in_rows, in_columns = new_rows, new_columns
    return in_rows, in_columns


def _spaces(
    A: Design, rows: np.ndarray, columns: np.ndarray, rank: int
) -> tuple[arrays.Array, arrays.Array]:
    """Orthonormal left and right vectors of the block of flagged rows and columns."""
    in_rows, in_columns = (
        arrays.indices(np.flatnonzero(x).tolist(), A.prototype) for x in (rows, columns)
    )
    factors = block_svd(A, in_rows, in_columns, rank)
    xp = arrays.namespace(A.prototype)
    norms = xp.sqrt(arrays.column_norms_squared(factors.U))  # the same for U and V: balanced
    return factors.U / norms, factors.V / norms
