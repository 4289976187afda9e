"""The loss of a generalized linear model with many responses, missing entries and offsets."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import check_finite, check_number
from thinrank.core.contracts import Design, QuadraticForm
from thinrank.core.factors import Factors
from thinrank.core.resources import BLOCK_ENTRIES
from thinrank.designs import Dense, Transformed, as_design, take_rows
from thinrank.forms import Moments
from thinrank.forms.working import WorkingForm
from thinrank.losses.families import Family
from thinrank.losses.profile import Prepared, is_perfect, profiled

# With at most this fraction of the entries missing, fits on responses that are completed by a fit
# are close to fits of the loss. Rule of thumb: it holds with 15 % in simulations, not with 50 %.
FEW_MISSING = 0.25
# What losses declare that can be approximated by quadratic forms and restricted to supports.
RESTRICTABLE = frozenset(
    {"full_gradient", "majorizer", "restrict", "row_scales", "samples", "with_ridge"}
)
# Lower limit of curvatures relative to the largest, since a scale of zero has no inverse.
_MIN_CURVATURE = 1e-6
# Number of points whose fitted values are kept: the current fit and a trial.
_MAX_POINTS = 3


@dataclass(frozen=True, eq=False)
class Point:
    """The loss at Θ = UVᵀ, with the free coefficients at their best."""

    factors: Factors  # Θ
    free: Array  # (n_free, n_targets) β
    scores: Array  # (n_samples, r) XU
    linear: Array  # (n_samples, n_targets) the linear predictors η
    values: Array  # (n_targets,) the losses of the responses, without ridge
    # (n_samples, n_targets) derivatives of the entries with respect to η, and positive curvatures,
    # times the weights
    derivative: Array
    curvature: Array


class GeneralizedLinear:
    """f(Θ) = min over β of 1/n·Σᵢⱼ wᵢⱼ·v(yᵢⱼ, ηᵢⱼ) + ridge/2·‖Θ‖², η = O + Zβ + XΘ·diag(unit).

    v is the value of a family, half of the deviance of an entry. The coefficients β of the columns
    of Z, such as the intercept, are free: neither limited nor shrunk. They are computed inside the
    loss, so that solvers do not see them.

    Parameters
    ----------
    X : array, scipy sparse matrix, LinearOperator or Design of shape (n_samples, n_features)
        Predictors. They should be orthogonal to the columns of Z (centered, for an intercept);
        otherwise quadratic approximations are less accurate and fits take longer.
    Y : array of shape (n_samples, n_targets)
        Responses; entries of weight 0 may have any value that is not NaN.
    family : Family
        The family, with parameters for every response.
    entry_weight : array of shape (n_samples, n_targets), default=None
        Weights of the entries, 0 for those that are missing; None for ones.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the rows; None for ones.
    offset : array of shape (n_samples, n_targets), default=None
        O; None for zeros.
    free : array of shape (n_samples, n_free), default=None
        Z; None for no free coefficients.
    unit : array of shape (n_targets,), default=None
        Units of the columns of Θ; None for ones.
    ridge : float, default=0.0
        Weight of ½‖Θ‖².
    least_ridge : float, default=0.0
        Least value of the ridge, also in :meth:`with_ridge`. A tiny one makes the minimum finite
        where responses can be predicted perfectly, as separated classes can.

    Examples
    --------
    Counts of three responses, of which two depend on the second predictor:

    >>> import numpy as np, thinrank as tr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 4))
    >>> Y = rng.poisson(np.exp(np.outer(X[:, 1], [1.0, -0.5, 0.0])))
    >>> loss = tr.losses.GeneralizedLinear(X, Y, tr.losses.families.Poisson())
    >>> answer = tr.minimize(loss, rank=1, row_sparsity=1, column_sparsity=2, solver="pursuit")
    >>> answer.factors.theta.round(1)
    array([[ 0. ,  0. ,  0. ],
           [ 1. , -0.5,  0. ],
           [ 0. ,  0. ,  0. ],
           [ 0. ,  0. ,  0. ]])
    """

    capabilities = RESTRICTABLE | {"gauss_newton"}

    def __init__(
        self,
        X: Any,
        Y: Any,
        family: Any,
        *,
        entry_weight: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        free: Any = None,
        unit: Any = None,
        ridge: float = 0.0,
        least_ridge: float = 0.0,
    ) -> None:
        self.X: Design = as_design(X)
        self.prototype = self.X.prototype
        self.family = family
        if not isinstance(family, Family):
            raise TypeError(f"family must be an object of tr.losses.families, got {family!r}")
        n, p = self.X.shape
        like = self.prototype
        xp = arrays.namespace(like)
        self.Y = as_array("Y", Y, (n, None), like)
        k = self.Y.shape[1]
        self.shape = (p, k)
        self.offset, self.free, self.entry_weight, self.sample_weight = (
            None if given is None else as_array(name, given, shape, like)
            for name, given, shape in (
                ("offset", offset, (n, k)),
                ("free", free, (n, None)),
                ("entry_weight", entry_weight, (n, k)),
                ("sample_weight", sample_weight, (n,)),
            )
        )
        for name in ("entry_weight", "sample_weight"):
            weight = getattr(self, name)
            if weight is not None and not bool(xp.all(weight >= 0)):
                raise ValueError(f"{name} must not be negative")
        ones = arrays.zeros((k,), like) + 1
        self.unit = ones if unit is None else as_array("unit", unit, (k,), like)
        for name, value in (("ridge", ridge), ("least_ridge", least_ridge)):
            check_number(name, value)
        self.least_ridge = float(least_ridge)
        self.ridge = max(float(ridge), self.least_ridge)
        self.samples = float(n if self.sample_weight is None else xp.sum(self.sample_weight))
        # products of the weights of entries and of rows, which broadcast to the shape of Y
        self._weight = self.entry_weight
        if self.sample_weight is not None:
            weight = self.sample_weight[:, None]
            self._weight = weight if self.entry_weight is None else self.entry_weight * weight
        self.observations = float(n * k)
        if self._weight is not None:
            known = float(xp.count_nonzero(self._weight))
            self.observations = known * k / self._weight.shape[1]  # weights of rows are one column
        self.targets = arrays.indices(range(k), self.prototype)
        self.fixed: Array | None = None
        self._share: dict[str, Any] = {}  # what does not depend on the ridge, shared by copies
        self._constant = 0.0

    # ------------------------------------------------------------------ values

    @cached_property
    def magnitude(self) -> float:
        """The loss at Θ = 0."""
        return max(self._total(self.null), arrays.eps(self.prototype))

    @cached_property
    def null(self) -> Point:
        """The loss at Θ = 0."""
        return self._computed(Factors.zero(self.shape, self.prototype, rank=1))

    @property
    def responses(self) -> Array:
        """Y, with half an event where a response has none, if there are free predictors."""
        if "responses" not in self._share:
            offset = self.Y * 0 if self.offset is None else self.offset
            y = self.Y
            if self.free is not None:
                y = self.family.with_events(y, self._weight, offset)
            self._share["responses"] = y
        return self._share["responses"]

    @cached_property
    def fitted_at_zero(self) -> bool:
        """Whether free predictors alone fit perfectly, as they can if classes are separable."""
        return is_perfect(self.family, self._total(self.null), self.shape[1])  # per sample

    def at(self, factors: Factors) -> Point:
        """The loss at Θ, computed once for the last few points."""
        points = self._share.setdefault("points", [])
        for point in points:
            if point.factors is factors:
                return point
        point = self._computed(factors)
        self._share["points"] = [point, *points[: _MAX_POINTS - 1]]
        return point

    def _computed(self, factors: Factors) -> Point:
        scores = self._scores(factors)
        linear = scores @ (factors.V * self.unit[:, None]).T
        if self.offset is not None:
            linear = linear + self.offset
        y = self.responses
        if "prepared" not in self._share:
            self._share["prepared"] = Prepared(self.family, y, self._weight, self.free)
        free, linear, values, derivative, curvature = profiled(
            self.family, y, self._weight, linear, self.free, self._share["prepared"]
        )
        return Point(factors, free, scores, linear, values / self.samples, derivative, curvature)

    def _scores(self, factors: Factors) -> Array:
        """XU, from the columns in use if they are few."""
        rows = factors.row_support
        if 2 * rows.shape[0] > self.shape[0]:
            return self.X @ factors.U
        return self.columns(rows) @ arrays.take_rows(factors.U, rows)

    def columns(self, rows: Array) -> Array:
        """Columns of X; those of the last call are kept."""
        last = self._share.get("columns")
        if last is None or not (
            last[0].shape == rows.shape and bool(arrays.namespace(rows).all(last[0] == rows))
        ):
            last = self._share["columns"] = rows, self.X.columns(rows)
        return last[1]

    def value_and_gradient(self, factors: Factors) -> tuple[float, Array, Array]:
        """f(UVᵀ), ∇f·V and ∇fᵀ·U."""
        point = self.at(factors)
        U, V = factors.U, factors.V
        slope = point.derivative * (self.unit / self.samples)
        gradient_u = self.X.transposed_product(slope @ V)
        gradient_v = slope.T @ point.scores
        if self.ridge:
            gradient_u = gradient_u + self.ridge * (U @ (V.T @ V))
            gradient_v += self.ridge * (V @ (U.T @ U))
        return self.value(factors), gradient_u, gradient_v

    def value(self, factors: Factors) -> float:
        """f(UVᵀ)."""
        value = self._total(self.at(factors))
        if self.ridge:
            U, V = factors.U, factors.V
            value += 0.5 * self.ridge * arrays.inner(U.T @ U, V.T @ V)
        return value

    def _total(self, point: Point) -> float:
        return float(arrays.namespace(point.values).sum(point.values)) + self._constant

    def full_gradient(self, theta: Array) -> tuple[float, Array]:
        """Value and gradient of f at a dense Θ."""
        factors = Factors(theta, arrays.identity(self.shape[1], like=theta))
        value, gradient, _ = self.value_and_gradient(factors)
        return value, gradient

    # ------------------------------------------------------------------ quadratic approximations

    def majorizer(
        self, factors: Factors, rows: Array | None = None, damping: float = 1.0
    ) -> WorkingForm:
        """The quadratic form around UVᵀ, with the mean curvature of every response.

        Its curvature is that of f on average over the samples, times ``damping``. It is not an
        upper bound of f: where a fit of it does not decrease f, a larger damping does.
        """
        point = self.at(factors)
        relative = self.unit**2 * self.mean_curvatures(point) * damping
        xp = arrays.namespace(relative)
        relative = xp.clip(relative, min=_MIN_CURVATURE * max(float(xp.max(relative)), 1e-300))
        scale = xp.sqrt(relative)
        residual = point.derivative * (self.unit / scale)
        fitted = point.scores @ (factors.V * scale[:, None]).T
        slope = xp.sum(residual * fitted, axis=0)
        if self.sample_weight is not None:
            root = xp.sqrt(self.sample_weight)[:, None]
            fitted = fitted * root
            residual = residual * arrays.divide_or_zero(1.0, root)
        norms = arrays.column_norms_squared(fitted)
        return WorkingForm(
            self._curvature(),
            self._weighted(),
            factors,
            fitted - residual,
            scale,
            self.ridge,
            constants=2 * (point.values - slope / self.samples) + norms / self.samples,
            samples=self.samples,
            observations=self.observations,
        )

    @cached_property
    def nearly_quadratic(self) -> bool:
        """Whether the form around a fit is close to the loss: squared errors, few of them missing.

        With more than half of the weight of every response, a form with the mean curvature can be
        minimized again and again, around the last minimum, and the minima converge.
        """
        if not self.family.quadratic or self.entry_weight is None:
            return self.family.quadratic
        xp = arrays.namespace(self.prototype)
        share = xp.sum(self.weights(), axis=0) / self.samples
        share = arrays.divide_or_zero(share, xp.max(self.entry_weight, axis=0))
        return float(xp.mean(share)) >= 1 - FEW_MISSING and float(xp.min(share)) > 0.5

    def mean_curvatures(self, point: Point) -> Array:
        """Mean over the samples of the curvatures of every response."""
        return arrays.namespace(point.curvature).sum(point.curvature, axis=0) / self.samples

    def _weighted(self) -> Design:
        """X, multiplied by the roots of the sample weights."""
        if self.sample_weight is None:
            return self.X
        root = arrays.namespace(self.prototype).sqrt(self.sample_weight)
        return Transformed(self.X, row_scale=root)

    def _curvature(self) -> QuadraticForm:
        """XᵀX/n."""
        if "curvature" not in self._share:
            nothing = Dense(arrays.zeros((self.X.shape[0], 1), self.prototype))
            # "direct": products with XᵀX are not what takes time here
            moments = Moments(self._weighted(), nothing, self.samples, "direct")
            self._share["curvature"] = moments.form()
        return self._share["curvature"]

    def restrict(self, rows: Array, columns: Array) -> GeneralizedLinear:
        """f over the Θ that vanish outside ``rows`` and ``columns``; values equal those of f.

        Columns that share a categorical response with ``columns`` are in the result, too. Its
        attribute ``targets`` has the positions of its columns, and ``fixed`` is 0 for columns that
        must stay zero.
        """
        wanted = columns
        columns = arrays.indices(self.family.whole(columns, self.shape[1]), self.prototype)
        names = ("Y", "offset", "entry_weight")
        parts = {name: arrays.take_columns(x, columns) for name, x in self._given(names).items()}
        other = self._with(
            X=Dense(self.columns(rows)),
            family=self.family.take(columns),
            unit=arrays.take_rows(self.unit, columns),
            **parts,
        )
        other.targets, other.observations = columns, self.observations
        if columns.shape[0] > wanted.shape[0]:
            ones = arrays.zeros((wanted.shape[0],), self.prototype) + 1
            mask = arrays.scatter_rows(ones, wanted, self.shape[1])
            other.fixed = arrays.take_rows(mask, columns)
        total = self.null.values
        xp = arrays.namespace(total)
        left_out = xp.sum(total) - xp.sum(arrays.take_rows(total, columns))
        other._constant = self._constant + float(left_out)
        other.__dict__["magnitude"] = self.magnitude
        return other

    def everything(self) -> Array:
        """X as an array; for restricted losses."""
        if isinstance(self.X, Dense):
            return self.X.array
        return self.X.columns(arrays.indices(range(self.shape[0]), self.prototype))

    def gram(self, ridge: float) -> Array:
        """XᵀX/n + ridge·I."""
        if "gram" not in self._share:
            self._share["gram"] = self._weighted().gram() / self.samples
        return arrays.add_to_diagonal(self._share["gram"] + 0.0, ridge)

    # ------------------------------------------------------------------ the rest

    def row_scales(self) -> Array:
        """Root mean squares of the columns of X."""
        return self._weighted().column_norms() / self.samples**0.5

    def hessian_product(self, point: Point, change: Array) -> Array:
        """The derivatives of the entries after a change of the linear predictors, minus before."""
        if self.family.separable:
            return point.curvature * change
        product = self.family.hessian_product(self.responses, point.linear, change)
        return product if self._weight is None else product * self._weight

    def column_steps(self, factors: Factors) -> tuple[Array, Array] | None:
        """V with Newton steps from zero of the responses that Θ does not predict, and all gains.

        An approximation with the mean curvature of a response knows nothing of which entries are
        missing, so that it finds a response much worse than it is before that is fitted. Here every
        entry has its own curvature. For squared errors the steps are exact; for others, None.
        """
        if not self.family.quadratic:
            return None
        xp = arrays.namespace(factors.V)
        point, null, n = self.at(factors), self.null, self.samples
        inside = arrays.row_norms_squared(factors.V) > 0
        outside = arrays.true_positions(~inside)
        unit = arrays.take_rows(self.unit, outside)
        derivative, curvature = (
            arrays.take_columns(block, outside) / n for block in (null.derivative, null.curvature)
        )
        design = point.scores
        if self.free is not None:
            design = xp.concat([design, self.free], axis=1)
        rank, width, count = point.scores.shape[1], design.shape[1], outside.shape[0]
        hessian = xp.reshape(_weighted_products(design, curvature), (count, width, width))
        # the ridge shrinks V, the steps are those of V·unit and of the free coefficients
        padding = arrays.zeros((factors.U.shape[0], width - rank), like=design)
        padded = xp.concat([factors.U, padding], axis=1)
        overlap = self.ridge * (padded.T @ padded)
        hessian = hessian + overlap / (unit**2)[:, None, None]
        trace = xp.sum(hessian * arrays.identity(width, like=design), axis=(1, 2)) / width
        # keeps the matrices regular if the entries of a response are too few
        floor = 1e3 * arrays.eps(design) * trace + 1e-300
        hessian = hessian + floor[:, None, None] * arrays.identity(width, like=design)
        slope = derivative.T @ design
        step = -xp.linalg.solve(hessian, slope[:, :, None])[:, :, 0]
        expected = -0.5 * xp.sum(slope * step, axis=1)
        V = arrays.put_rows(factors.V + 0.0, outside, step[:, :rank] / unit[:, None])
        penalty = 0.5 * xp.sum((factors.V @ overlap[:rank, :rank]) * factors.V, axis=1)
        gains = null.values - point.values - penalty
        return V, arrays.put_rows(gains, outside, expected)

    def with_ridge(self, ridge: float) -> GeneralizedLinear:
        """The same loss with another ridge; results that do not depend on it are shared."""
        other = copy.copy(self)
        other.ridge = max(float(ridge), self.least_ridge)
        return other

    def with_family(self, family: Any, unit: Any) -> GeneralizedLinear:
        """The same loss with another family and other units of the columns of Θ."""
        return self._with(family=family, unit=unit)

    def with_predictors(self, X: Any, free: Any) -> GeneralizedLinear:
        """The same loss with other predictors and free predictors."""
        return self._with(X=X, free=free)

    def of_rows(self, index: Array) -> GeneralizedLinear:
        """The loss of some of the samples."""
        names = ("Y", "entry_weight", "sample_weight", "offset", "free")
        parts = {name: arrays.take_rows(x, index) for name, x in self._given(names).items()}
        return self._with(X=take_rows(self.X, index), **parts)

    def weights(self) -> Array:
        """Weights of all entries, of shape (n_samples, n_targets)."""
        return self.Y * 0 + (1.0 if self._weight is None else self._weight)

    def _with(self, **changes: Any) -> GeneralizedLinear:
        names = ("X", "Y", "family", "entry_weight", "sample_weight", "offset", "free", "unit")
        return GeneralizedLinear(**self._given((*names, "ridge", "least_ridge")) | changes)

    def _given(self, names: Sequence[str]) -> dict[str, Any]:
        """The arguments of some names that are not None."""
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


def as_array(name: str, x: Any, shape: tuple[int | None, ...], like: Array) -> Array:
    """A finite array of a shape, in which None is any number; raise a ValueError otherwise."""
    x = arrays.from_numpy(arrays.as_float_array(x), like)
    if x.ndim != len(shape) or any(b not in (None, a) for a, b in zip(x.shape, shape, strict=True)):
        rows, *columns = shape
        expected = f"contain {rows} numbers"
        if columns:
            expected = f"be a matrix with {rows} rows"
            expected += "" if columns[0] is None else f" and {columns[0]} columns"
        raise ValueError(f"{name} must {expected}, got shape {tuple(x.shape)}")
    check_finite(name, x)
    return x


def _weighted_products(design: Array, weight: Array) -> Array:
    """Σᵢ wᵢⱼ·dᵢdᵢᵀ for every response j, of shape (n_targets, width²), in blocks of rows."""
    n, width = design.shape
    size = max(BLOCK_ENTRIES // width**2, 1)
    total = arrays.zeros((weight.shape[1], width**2), like=design)
    xp = arrays.namespace(design)
    for first in range(0, n, size):
        last = min(first + size, n)
        some = design[first:last, :]
        products = xp.reshape(some[:, :, None] * some[:, None, :], (some.shape[0], width**2))
        total = total + weight[first:last, :].T @ products
    return total
