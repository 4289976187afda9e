"""Given starts, starts from the gradient at zero, and completion of the rank."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from thinrank import arrays, linalg
from thinrank.arrays import Array, top_positions
from thinrank.core.checks import check_finite
from thinrank.core.contracts import QuadraticForm, require
from thinrank.core.factors import Factors


@dataclass(frozen=True)
class Given:
    """A given Θ⁰.

    Parameters
    ----------
    theta : array of shape (n_features, n_targets) or Factors
        Θ⁰.
    """

    theta: Array | Factors

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """The best rank-``rank`` approximation of Θ⁰."""
        theta = self.theta
        if tuple(theta.shape) != tuple(loss.shape):
            raise ValueError(
                f"start must have shape {tuple(loss.shape)}, one row per predictor and one column "
                f"per response; got shape {tuple(theta.shape)}"
            )
        if isinstance(theta, Factors):
            balanced = Factors(_like(theta.U, loss), _like(theta.V, loss)).balanced()
            kept = min(rank, balanced.rank)
            return Factors(balanced.U[:, :kept], balanced.V[:, :kept])
        return Factors.from_theta(_like(theta, loss), rank)


def _like(array: Array, loss: Any) -> Array:
    """The array in the library, dtype and device of the loss, after a check that it is finite."""
    array = arrays.from_numpy(array, loss.prototype)
    check_finite("start", array)
    return array


@dataclass(frozen=True)
class Spectral:
    """Θ⁰ = t·(best rank-r approximation of −∇f(0)), t by line search.

    For regression −∇f(0) = XᵀY/n. Only products of the gradient with thin blocks are needed, so
    that it works for every loss, without a matrix of the size of Θ.
    """

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Balanced factors, of rank 0 if the gradient at zero vanishes."""
        zero = Factors.zero(loss.shape, like=loss.prototype)
        return complete_rank(zero, loss, rank, seed)


def complete_rank(start: Factors, loss: Any, rank: int, seed: int) -> Factors:
    """Increase the rank of a start to ``rank`` with directions of the gradient at zero.

    They are the leading singular pairs of −∇f(0) orthogonal to the row and column space of the
    start. The rank stays lower if there are too few, and is 0 if start and gradient are zero.
    """
    if 0 in (start.row_support.shape[0], start.column_support.shape[0]):
        start = Factors.zero(start.shape, like=start.U)
    missing = rank - start.rank
    if missing <= 0:
        return start
    left, values, right = _deflated_svd(start, loss, missing, seed)
    direction = Factors.from_svd(left, values, right)
    floor = 100 * arrays.eps(loss.prototype) * _gradient_size(start, loss)
    if direction.rank == 0 or float(values[0]) <= floor:
        return start
    return _joined(start, direction, _line_search(start, direction, loss)).balanced()


def _deflated_svd(start: Factors, loss: Any, rank: int, seed: int) -> tuple[Array, Array, Array]:
    xp = arrays.namespace(loss.prototype)
    m1, m2 = loss.shape
    basis_u = xp.linalg.qr(start.U)[0] if start.rank else start.U
    basis_v = xp.linalg.qr(start.V)[0] if start.rank else start.V

    def without(basis: Array, block: Array) -> Array:
        return block - basis @ (basis.T @ block)

    def product(block: Array) -> Array:
        block = without(basis_v, block)
        at_zero = Factors(arrays.zeros((m1, block.shape[1]), loss.prototype), block)
        return -without(basis_u, loss.value_and_gradient(at_zero)[1])

    def transposed(block: Array) -> Array:
        block = without(basis_u, block)
        at_zero = Factors(block, arrays.zeros((m2, block.shape[1]), loss.prototype))
        return -without(basis_v, loss.value_and_gradient(at_zero)[2])

    return linalg.truncated_svd(
        (product, transposed), rank, shape=loss.shape, like=loss.prototype, seed=seed
    )


def _gradient_size(start: Factors, loss: Any) -> float:
    """Norm of ∇f(0) along the start, which determines the rounding errors of the deflation."""
    if start.rank == 0:
        return 0.0
    xp = arrays.namespace(loss.prototype)
    basis = xp.linalg.qr(start.V)[0]
    at_zero = Factors(arrays.zeros((loss.shape[0], start.rank), loss.prototype), basis)
    return arrays.norm(loss.value_and_gradient(at_zero)[1])


def _joined(start: Factors, direction: Factors, length: float) -> Factors:
    """Factors of start + length·direction."""
    xp = arrays.namespace(start.U)
    return Factors(
        xp.concat([start.U, length * direction.U], axis=1),
        xp.concat([start.V, direction.V], axis=1),
    )


def _line_search(start: Factors, direction: Factors, loss: Any) -> float:
    """The t that minimizes f(start + t·direction), exact for quadratic f."""
    value, gradient_u, _ = loss.value_and_gradient(_joined(start, direction, 0.0))
    slope = arrays.inner(gradient_u[:, start.rank :], direction.U)
    if slope >= 0:
        # the objective does not decrease: add the directions with a small factor for the solver
        least = float(start.singular_values()[-1]) if start.rank else 1.0
        return 1e-2 * least / float(direction.singular_values()[0])
    # since f >= 0, the minimum is not beyond this point, where the quadratic term is at least f
    trial = 2 * value / -slope if value > 0 else 1.0
    for _ in range(100):
        curvature = 2 * (loss.value_and_gradient(_joined(start, direction, trial))[0] - value)
        curvature = (curvature / trial - 2 * slope) / trial  # trial² may underflow
        if math.isfinite(curvature) and curvature > 0:
            return -slope / curvature
        trial = trial * 0.1
    return trial


@dataclass(frozen=True)
class Screening:
    """Keep the rows and columns with a large gradient at zero, and fit those.

    For regression the gradient at zero is −XᵀY/n, the covariances of predictors and responses;
    they are divided by the scales of the predictors. Fast, and good for predictors with small
    correlations; with large correlations it may select the wrong rows.

    Parameters
    ----------
    excess : float, default=1.0
        Number of rows and columns kept, as a multiple of the requested numbers.
    fit : bool, default=True
        Whether to compute a fit on the rows and columns. If False, which is enough for pursuit,
        the leading directions of their covariances are approximated.
    """

    excess: float = 1.0
    fit: bool = True

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Factors of the best rank-``rank`` approximation of the fit."""
        require(loss, "quadratic", 'start="screening"')
        form = loss.quadratic()
        kept_rows = self.picked_rows(form, rows)
        kept_columns = top_positions(form.cross_norms()[1], int(self.excess * columns))
        if kept_rows.shape[0] == 0 or kept_columns.shape[0] == 0:
            return Factors.zero(loss.shape, like=loss.prototype)
        every = kept_columns.shape[0] == loss.shape[1]
        cross = form.cross_rows(kept_rows)
        cross = cross if every else arrays.take_columns(cross, kept_columns)
        if self.fit:
            root, _ = linalg.inverse_cholesky(form.gram(kept_rows))
            small = Factors.from_theta(root.T @ (root @ cross), rank)
        else:
            # one step of power iteration
            sketch = cross @ linalg.random_block(cross.shape[1], rank, cross, seed)
            basis, _ = arrays.namespace(cross).linalg.qr(cross.T @ sketch)
            small = Factors(cross @ basis, basis)
        V = small.V if every else arrays.scatter_rows(small.V, kept_columns, loss.shape[1])
        return Factors.on_rows(small.U, kept_rows, loss.shape[0], V)

    def picked_rows(self, form: QuadraticForm, rows: int) -> Array:
        """The rows that are kept, sorted."""
        return top_positions(
            arrays.divide_or_zero(form.cross_norms()[0], form.diagonal()), int(self.excess * rows)
        )
