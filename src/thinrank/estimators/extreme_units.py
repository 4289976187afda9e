"""Data in units so large, so small or so different that fits would lose digits, or overflow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs import Dense, Operator, Sparse
from thinrank.minimize import as_solver, as_start
from thinrank.starts import Given

# Magnitudes between these powers of two and one over them are ordinary: their squares, summed over
# the rows, and the squares of deviations of a relative size of 10 times the rounding error, are far
# from overflow and underflow. They are half of the exponents of the dtypes, 1023 and 126, less what
# these sums need.
_ORDINARY = {8: 440, 4: 40}
# Columns are in similar units if their magnitudes differ by at most this power of two. A rotation
# of the factors in the user's units has rounding errors relative to the largest coefficient; with
# more than this hardly a quarter of the digits of the smallest would be left.
_SIMILAR = {8: 40, 4: 16}

# Columns whose values are larger than their range by this factor are centred in double precision:
# single precision has 24 binary digits, of which 8 would be those of the mean.
_OFFSET = 256


@dataclass(frozen=True, eq=False)
class Units:
    """Powers of two that the columns of X and Y were divided by, before a fit.

    Such a division has no rounding errors, so that a fit that does not depend on units is the same.
    """

    rows: np.ndarray  # (n_features,) exponents for the columns of X
    columns: np.ndarray  # (n_targets,) exponents for the columns of Y

    def design(self, design: Design) -> Design:
        """X with its columns divided, a copy; X itself if nothing is to be divided."""
        if not np.any(self.rows):
            return design
        if isinstance(design, Sparse):
            matrix = design.matrix.tocsc(copy=True)
            places = np.repeat(self.rows, np.diff(matrix.indptr))
            matrix.data = np.ldexp(matrix.data, -places)
            return Sparse(matrix.asformat(design.matrix.format))
        assert isinstance(design, Dense)  # the exponents of others are 0
        return Dense(_scaled(design.array, -self.rows))

    def responses(self, Y: Array) -> Array:
        """Y with its columns divided; a copy."""
        return _scaled(Y, -self.columns)

    def factors(self, factors: Factors) -> Factors:
        """Coefficients of the divided data in the units of the data."""
        U = _scaled(factors.U.T, -self.rows).T
        V = _scaled(factors.V.T, self.columns).T
        rows, columns = factors.row_support, factors.column_support
        few = Factors(arrays.take_rows(U, rows), arrays.take_rows(V, columns))
        self._check(few.theta)
        return Factors(U, V)

    def kept(self, coefficients: Array, kept: np.ndarray) -> Array:
        """Coefficients of kept predictors, of shape (n_targets, n_kept), in the units of the data.

        ``kept`` holds the indices of these predictors.
        """
        known = _scaled(_scaled(coefficients, -self.rows[kept]).T, self.columns).T
        self._check(arrays.take_rows(known, arrays.nonzero_rows(coefficients)))
        return known

    def intercept(self, intercept: Array) -> Array:
        """Intercepts of the responses in the units of the data."""
        return _scaled(intercept, self.columns)

    def _check(self, coefficients: Array) -> None:
        numbers = arrays.to_numpy(coefficients)
        if np.all(np.isfinite(numbers)) and np.all(np.any(numbers != 0, axis=1)):
            return
        low, high = self.columns.min() - self.rows.max(), self.columns.max() - self.rows.min()
        raise ValueError(
            "the coefficients would be too large or too small for numbers of the dtype "
            f"{numbers.dtype}: the units of X and Y differ by factors from about "
            f"10^{low * np.log10(2):.0f} to 10^{high * np.log10(2):.0f}; divide X or Y by a number "
            "that makes the units more similar"
        )


def own_units(estimator: Any, design: Design, Y: Array | None) -> Units | None:
    """Powers of two that bring columns of X and Y to magnitudes whose squares can be computed.

    ``Y``: None if they are not divided. None if all magnitudes are ordinary.
    """
    if isinstance(design, Operator):
        _check_product(design)
    of_x = _exponents(_magnitudes(design), design.prototype)
    of_y = np.zeros(1, np.int64) if Y is None else _exponents(_column_magnitudes(Y), Y)
    if not (np.any(of_x) or np.any(of_y)):
        return None
    solver = as_solver(estimator.solver, estimator.max_iter, estimator.tol)
    start = as_start(estimator.start, solver.exchanges_rows)
    if estimator.standardize and solver.adapts_to_units and not isinstance(start, Given):
        return Units(of_x, of_y)
    remedy = (
        "divide them by a number, or use standardize=True, without coefficients as start and with "
        "a solver whose steps have no fixed size"
    )
    check_magnitudes("X", design, remedy)
    if Y is not None:
        check_magnitudes("Y", Dense(Y), remedy)
    return None


def check_magnitudes(name: str, data: Design, remedy: str) -> None:
    """Raise a ValueError if squares of the data overflow, or all of them underflow."""
    largest = float(np.max(_magnitudes(data), initial=0.0))
    _check_magnitude(f"{name} has entries", largest, data.prototype, remedy)


def _check_product(X: Operator) -> None:
    """Raise a ValueError if squares of a product of an operator overflow or underflow.

    The product is that of Xᵀ with random signs, whose entries are about as large as the norms of
    the columns.
    """
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(X.shape[0], 1))
    with np.errstate(over="ignore", invalid="ignore"):
        product = X.transposed_product(signs.astype(X.prototype.dtype))
    largest = float(np.max(np.abs(product), initial=0.0))
    remedy = "scale the operator, as its entries are not known"
    _check_magnitude("X is an operator with products", largest, X.prototype, remedy)


def _check_magnitude(what: str, largest: float, like: Array, remedy: str) -> None:
    if not np.isinf(largest) and not _exponents(np.array([largest]), like)[0]:
        return
    size = "so small that their squares are 0" if largest < 1 else "too large to be squared"
    raise ValueError(
        f"{what} of magnitude {largest:.2g}, {size} as numbers of the dtype "
        f"{np.dtype(f'f{arrays.itemsize(like)}')}; {remedy}"
    )


def comparable(Y: np.ndarray, predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Responses and predictions as matrices, divided by powers of two if squares may overflow."""
    Y, predicted = (part[:, None] if part.ndim == 1 else part for part in (Y, predicted))
    if Y.shape != predicted.shape:
        raise ValueError(f"y must have shape {predicted.shape}, got {Y.shape}")
    powers = _exponents(_column_magnitudes(Y), Y)
    return np.ldexp(Y, -powers), np.ldexp(predicted, -powers)


def needs_double(matrix: np.ndarray) -> bool:
    """Whether float32 cannot hold a column, or its mean takes many digits of what varies."""
    if 0 in matrix.shape or matrix.dtype.kind not in "fiu":
        return False
    high, low = (f.reduce(matrix, axis=0).astype(np.float64) for f in (np.fmax, np.fmin))
    half, largest, single = high / 2 - low / 2, np.maximum(high, -low), np.finfo(np.float32)
    beyond = (largest > single.max) | ((largest > 0) & (largest < single.tiny))
    return bool(np.any(beyond | ((half > 0) & (largest > 2 * _OFFSET * half))))


def _magnitudes(design: Design) -> np.ndarray:
    """Largest absolute value of every column; 1 for designs whose entries are not known."""
    if isinstance(design, Dense):
        return _column_magnitudes(design.array)
    if isinstance(design, Sparse) and min(design.shape) > 0:
        high, low = design.matrix.max(axis=0), design.matrix.min(axis=0)
        return np.maximum(high.toarray().ravel(), -low.toarray().ravel()).astype(np.float64)
    return np.ones(design.shape[1])


def _column_magnitudes(matrix: Array) -> np.ndarray:
    if 0 in matrix.shape:
        return np.ones(matrix.shape[1])
    if isinstance(matrix, np.ndarray):
        # without a copy of the matrix; NaN is left out
        high, low = np.fmax.reduce(matrix, axis=0), np.fmin.reduce(matrix, axis=0)
    else:
        xp = arrays.namespace(matrix)
        high = arrays.to_numpy(xp.linalg.vector_norm(matrix, axis=0, ord=math.inf))
        if np.any(np.isnan(high)):
            known = xp.where(xp.isnan(matrix), arrays.zeros((1,), matrix), matrix)
            high = arrays.to_numpy(xp.linalg.vector_norm(known, axis=0, ord=math.inf))
        low = -high
    return np.nan_to_num(np.maximum(high, -low).astype(np.float64))


def _exponents(magnitudes: np.ndarray, like: Array) -> np.ndarray:
    """Exponents of two of the magnitudes; all 0 if the magnitudes are ordinary and similar."""
    exponents = np.frexp(magnitudes)[1].astype(np.int64)
    live, size = exponents[magnitudes > 0], arrays.itemsize(like)
    ordinary = live.size == 0 or (
        np.max(np.abs(live)) <= _ORDINARY[size] and np.ptp(live) <= _SIMILAR[size]
    )
    return exponents * 0 if ordinary else exponents


def _scaled(matrix: Array, exponents: np.ndarray) -> Array:
    """Columns times powers of two, without rounding errors unless they overflow or underflow."""
    with np.errstate(over="ignore", under="ignore"):
        numbers: Any = np.ldexp(arrays.to_numpy(matrix), exponents)
    return arrays.from_numpy(numbers, matrix)
