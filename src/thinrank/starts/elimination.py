"""Backward elimination of the rows of a ridge fit that cost least, and the default start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from thinrank import arrays, linalg
from thinrank.arrays import Array, top_positions
from thinrank.core.contracts import QuadraticForm, Start, require
from thinrank.core.factors import Factors
from thinrank.core.resources import budget_bytes, fits
from thinrank.forms.moments import ProductForm, dual_fits
from thinrank.losses.quadratic import FormLoss
from thinrank.solvers.row_fit import fit_rows
from thinrank.starts.convex import Lasso
from thinrank.starts.spectral import Screening, Spectral

# A matrix with this number of rows and columns is factorized in about a second.
MOST_ROWS = 2000
# Screening is not used if two of the predictors that it selects have a larger correlation.
_MAX_CORRELATION = 0.75
# Gradient descent does not start from the lasso if a proximal step takes more multiplications than
# this, some milliseconds, since the lasso takes up to 1000 steps.
_SLOW_STEP = 5_000_000
# Backward elimination is used without a look at the correlations if it takes at most this number of
# multiplications, some tenths of a second.
_QUICK_ELIMINATION = 100_000_000


class Stage(NamedTuple):
    """Fits on the rows S that are left, one for each of m forms, without a limit on the rank."""

    rows: Array  # (m, s) S, sorted
    coefficients: Array  # (m, s, k) H_SS⁻¹C_S; of shape (m, s, r) for given row spaces
    # (m, s, s) H_SS⁻¹; None with more rows than samples, where it is not computed
    inverse: Array | None
    costs: Array  # (m, s) twice the increase of the objective if a row is removed


def numbers_of_rows(most: int, samples: float) -> list[int]:
    """Numbers of rows of the stages, from ``most`` down to 1, three quarters each time."""
    sizes, limit = [most], int(20 * samples)  # one fit is made before so many are left
    while sizes[-1] > 1:
        sizes.append(max(1, min(int(0.75 * sizes[-1]), sizes[-1] - 1, limit)))
    return sizes


def first_rows(form: QuadraticForm) -> Array:
    """The rows that elimination begins with: all that are not constant, if they are not too many.

    If both rows and samples are above 2000, they are the rows of largest covariance with the
    responses, at most 2000.
    """
    diagonal = form.with_ridge(0.0).diagonal()
    live = arrays.true_positions(diagonal > 0)
    if min(live.shape[0], form.samples) > MOST_ROWS:
        by_row = arrays.divide_or_zero(form.cross_norms()[0], diagonal)
        live = top_positions(by_row, most_at_once(form))
    return live


def most_at_once(form: QuadraticForm) -> int:
    """Number of rows whose columns of X take at most a fiftieth of the memory budget."""
    itemsize = arrays.itemsize(form.prototype)
    return int(min(max(budget_bytes() / (50 * itemsize * form.samples), 1), MOST_ROWS))


def eliminate(
    forms: Sequence[QuadraticForm],
    rows: Array,
    sizes: Sequence[int],
    bases: Sequence[Array] | None = None,
) -> Iterator[Stage]:
    """Stages of backward elimination, one for each of the decreasing ``sizes``.

    The first stage has all ``rows``, of shape (m, s), whatever the first size. The cost of row j is
    ‖B_j‖²/(H⁻¹)_jj, exact for one row. With the inverse P and the rows D to remove,
    P_SS − P_SD P_DD⁻¹ P_DS is the next inverse. With bases Q of row spaces, of shape (k, r), CQ
    takes the place of C. Several small problems take little longer than one.
    """
    stage = _fit(forms, rows, bases)
    yield stage
    xp = arrays.namespace(rows)
    for size in sizes[1:]:
        count = stage.rows.shape[1]
        if size >= count:
            yield stage
            continue
        order = xp.argsort(arrays.half_the_digits(stage.costs), axis=1)
        kept = xp.sort(order[:, count - size :], axis=1)
        left = xp.take_along_axis(stage.rows, kept, axis=1)
        if stage.inverse is None or 2 * size < count:
            stage = _fit(forms, left, bases)
        else:
            stage = _without(stage, left, kept, order[:, : count - size])
        yield stage


def eliminated(form: QuadraticForm, count: int) -> Array:
    """The ``count`` rows that elimination from a ridge fit leaves, or all if fewer."""
    rows = first_rows(form)
    sizes = numbers_of_rows(rows.shape[0], form.samples) if rows.shape[0] else []
    sizes = [size for size in sizes if size > count]
    if not sizes:
        return rows
    # A local form states the ridge of its H, in which columns are scaled: set anew, it is larger.
    # With half of the entries missing the error is .11; without that, .20 (six draws).
    shrunk = form.with_ridge(form.ridge or default_ridge(form))
    *_, last = eliminate([shrunk], rows[None, :], sizes)
    return rows_of_stage(last.rows[0, :], last.costs[0, :], count)


def rows_of_stage(rows: Array, costs: Array, count: int) -> Array:
    """The ``count`` rows of largest cost, sorted."""
    xp = arrays.namespace(rows)
    order = xp.argsort(arrays.half_the_digits(costs))
    return arrays.take_rows(rows, xp.sort(order[max(rows.shape[0] - count, 0) :]))


def _fit(forms: Sequence[QuadraticForm], rows: Array, bases: Sequence[Array] | None) -> Stage:
    xp = arrays.namespace(rows)
    every = range(len(forms))
    dual = [form for form in forms if isinstance(form, ProductForm)]
    if len(dual) == len(forms) and all(form.has_dual(rows[0, :]) for form in dual):
        B, diagonal = dual_fits(dual, rows)
        B = B if bases is None else B @ xp.stack(list(bases))
        return Stage(rows, B, None, xp.sum(B * B, axis=2) / diagonal)
    # by Cholesky factors, which takes less than half as long as a general inverse
    roots = [linalg.inverse_cholesky(forms[i].gram(rows[i, :]))[0] for i in every]
    inverse = xp.stack([root.T @ root for root in roots])
    cross = [forms[i].cross_rows(rows[i, :]) for i in every]
    cross = cross if bases is None else [cross[i] @ bases[i] for i in every]
    return _stage(rows, inverse @ xp.stack(cross), inverse)


def _stage(rows: Array, coefficients: Array, inverse: Array) -> Stage:
    xp = arrays.namespace(inverse)
    squares = xp.sum(coefficients * coefficients, axis=2)
    return Stage(rows, coefficients, inverse, squares / xp.linalg.diagonal(inverse))


def _without(stage: Stage, left: Array, kept: Array, dropped: Array) -> Stage:
    """The fits without the rows at the positions ``dropped``."""
    P, B, xp = stage.inverse, stage.coefficients, arrays.namespace(kept)
    assert P is not None
    between = arrays.submatrices(P, kept, dropped)
    step = between @ xp.linalg.inv(arrays.submatrices(P, dropped, dropped))
    everything = arrays.indices(range(B.shape[2]), kept)[None, :]
    change = step @ arrays.submatrices(B, dropped, everything)
    P = arrays.submatrices(P, kept, kept) - step @ xp.matrix_transpose(between)
    return _stage(left, arrays.submatrices(B, kept, everything) - change, P)


@dataclass(frozen=True)
class Backward:
    """Fit all rows with a ridge, remove those that cost least, and repeat until few are left.

    A predictor is assessed together with all others, so that among correlated predictors those are
    kept that predict best together. The ridge is that of the loss, or else the mean curvature.
    """

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Factors of rank at most ``rank`` of the fit on the rows that are left."""
        require(loss, "quadratic", 'start="backward"')
        form = loss.quadratic()
        return on_rows(form, eliminated(form, rows), rank)


def eliminates_quickly(loss: Any) -> bool:
    """Whether backward elimination takes little time."""
    m1 = loss.shape[0]
    return loss.samples * m1 * min(loss.samples, m1) <= _QUICK_ELIMINATION


def default_ridge(form: QuadraticForm) -> float:
    """The ridge of elimination from a loss without ridge: the mean curvature.

    A hundredth to ten times of it made no difference on eight real data sets; less is worse for
    weak signals and strongly correlated predictors.
    """
    diagonal = form.with_ridge(0.0).diagonal()
    live = arrays.true_positions(diagonal > 0)
    return float(arrays.namespace(diagonal).sum(diagonal)) / max(live.shape[0], 1)


def on_rows(form: QuadraticForm, rows: Array, rank: int) -> Factors:
    """The best fit Φ of rank ``rank`` on given rows, in closed form and in units of the form."""
    every = arrays.indices(range(form.shape[1]), form.prototype)
    guess = arrays.zeros((form.shape[1], 0), like=form.prototype)
    fit = fit_rows(form, rows, every, guess, rank, form.shape[1])
    return Factors(fit.factors.U, fit.Q)


def eliminated_around(form: Any, count: int, rank: int, known: Any = None) -> Factors:
    """The best fit of an approximation of a loss on the rows that elimination leaves.

    ``known``: rows and costs of a stage with at least ``count`` rows.
    """
    rows = eliminated(form, count) if known is None else rows_of_stage(known[0], known[1], count)
    return _in_units_of_loss(form, on_rows(form, rows, rank))


def _in_units_of_loss(form: Any, found: Factors) -> Factors:
    """Θ from the Φ of a form."""
    if form.column_scale is None:
        return found
    return Factors(found.U, found.V / form.column_scale[:, None])


def penalized_fit(loss: Any) -> Factors:
    """A ridge fit of a loss that is not quadratic, with no limit on the rank.

    It minimizes quadratic approximations of the loss, around zero and then around the last minimum.
    """
    point = Factors.zero(loss.shape, loss.prototype, rank=1)
    form = loss.majorizer(point)
    rows = first_rows(form)
    loss = loss.with_ridge(default_ridge(form))
    if loss.nearly_quadratic:
        return _minimum_of(loss, loss.majorizer(point), rows)
    value, before, count = loss.value(point), point, 0
    for _ in range(10):
        around = point if count == 0 else _extrapolated(before, point, count / (count + 3))
        trial, lower = _minimum(loss, around, rows, value)
        if not lower < value:
            if count == 0:
                break
            count = 0  # once more without extrapolation
            continue
        decrease, value, before, point, count = value - lower, lower, point, trial, count + 1
        if decrease <= 1e-2 * max(value, 0.0):  # the fit only serves to compare rows
            break
    return point


def _minimum(loss: Any, around: Factors, rows: Array, value: float) -> tuple[Factors, float]:
    """The minimum of the approximation around a point, damped if the loss is not lower."""
    damping = 1.0
    for _ in range(5):
        trial = _minimum_of(loss, loss.majorizer(around, rows, damping), rows)
        lower = loss.value(trial)
        if lower < value:
            break
        damping *= 4.0
    return trial, lower


def _minimum_of(loss: Any, form: Any, rows: Array) -> Factors:
    """The minimum of an approximation, in the units of the loss."""
    root, _ = linalg.inverse_cholesky(form.gram(rows))
    phi = root.T @ (root @ form.cross_rows(rows))
    V = arrays.identity(loss.shape[1], like=phi) / form.column_scale[:, None]
    return Factors(arrays.scatter_rows(phi, rows, loss.shape[0]), V)


def _extrapolated(before: Factors, here: Factors, momentum: float) -> Factors:
    """Θ + momentum·(Θ − Θ before), as accelerated gradient methods do."""
    change = (1 + momentum) * here.theta - momentum * before.theta
    return Factors(change, arrays.identity(here.shape[1], like=here.V))


@dataclass(frozen=True)
class Auto:
    """A start that suits the solver and the predictors.

    Pursuit, which exchanges rows, starts from backward elimination. If that takes long, it starts
    from screening, which only needs XᵀY, unless two of the predictors that screening selects have
    a correlation above 0.75. Such predictors may have been selected only because they are
    correlated with relevant ones, so backward elimination is used then, too. For a loss that is
    not quadratic, fits of the loss itself are used if backward elimination is quick, else its
    majorizer at zero.

    Gradient descent, which rarely changes the rows of its start, starts from the lasso; if that is
    slow, it starts like pursuit. If the loss is not quadratic or a dense Θ does not fit into the
    memory budget, it starts from the spectral start.

    Parameters
    ----------
    exchanges_rows : bool, default=False
        Whether the solver exchanges rows, as pursuit does.
    """

    exchanges_rows: bool = False

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Factors of rank at most ``rank``."""
        if not self.exchanges_rows or "quadratic" in loss.capabilities:
            return self.suited(loss, rows)(loss, rank, rows, columns, seed)
        if "gauss_newton" in loss.capabilities and eliminates_quickly(loss):
            return eliminated_around(loss.majorizer(penalized_fit(loss)), rows, rank)
        form = loss.majorizer(Factors.zero(loss.shape, loss.prototype, rank=1))
        return _in_units_of_loss(form, self(FormLoss(form), rank, rows, columns, seed))

    def suited(self, loss: Any, rows: int) -> Start:
        """The start to use for a fit with ``rows`` rows."""
        m1, m2 = loss.shape
        dense_fits = fits(m1 * m2, arrays.itemsize(loss.prototype))
        if not self.exchanges_rows:
            if "quadratic" not in loss.capabilities or not dense_fits:
                return Spectral()
            if m1 * m2 * min(loss.samples, m1) <= _SLOW_STEP:
                return Lasso()
        if eliminates_quickly(loss):
            return Backward()
        form, screening = loss.quadratic(), Screening(fit=not self.exchanges_rows)
        if rows >= m1:  # nothing to choose
            return screening
        picked = screening.picked_rows(form, min(rows, MOST_ROWS))
        return Backward() if _correlated(form, picked) else screening


def _correlated(form: QuadraticForm, rows: Array) -> bool:
    """Whether two of the predictors are correlated."""
    if rows.shape[0] < 2:
        return False
    gram = form.gram(rows)
    xp = arrays.namespace(gram)
    inverse = xp.sqrt(arrays.divide_or_zero(1.0, xp.linalg.diagonal(gram)))
    gram *= inverse
    gram *= inverse[:, None]
    return float(arrays.max_abs(arrays.add_to_diagonal(gram, -1.0))) > _MAX_CORRELATION
