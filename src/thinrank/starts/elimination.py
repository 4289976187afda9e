"""Backward elimination: the rows of a ridge fit whose removal costs least are removed in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from thinrank import arrays, linalg
from thinrank.arrays import Array, top_rows
from thinrank.core.contracts import QuadraticForm
from thinrank.core.resources import budget_bytes
from thinrank.forms.products import ProductForm, dual_fits

# Numbers of rows are a geometric sequence with this ratio: most rows are removed in groups, and the
# last few one by one. Rule of thumb.
_RATIO = 0.75
# With more rows than this number of times the samples only one fit is made before so many are left.
_ROWS_PER_SAMPLE = 20
# A matrix with this number of rows and columns is factorised in about a second.
MOST_ROWS = 2000
# The columns of X in memory at the same time may take the memory budget divided by this number.
_PARTS = 50


class Stage(NamedTuple):
    """Fits on the rows S that are left, one for each of m forms, without a limit on the rank."""

    rows: Array  # (m, s) S, sorted
    coefficients: Array  # (m, s, k) H_SS⁻¹C_S; of shape (m, s, r) for given row spaces
    # (m, s, s) H_SS⁻¹; None with more rows than samples, where it is not computed
    inverse: Array | None
    costs: Array  # (m, s) twice the increase of the objective if a row is removed


def numbers_of_rows(most: int, samples: float) -> list[int]:
    """Numbers of rows of the stages, from ``most`` down to 1."""
    sizes, limit = [most], int(_ROWS_PER_SAMPLE * samples)
    while sizes[-1] > 1:
        sizes.append(max(1, min(int(_RATIO * sizes[-1]), sizes[-1] - 1, limit)))
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
        root = arrays.namespace(by_row).sqrt(by_row)
        live = top_rows(root[:, None], most_at_once(form))
    return live


def most_at_once(form: QuadraticForm) -> int:
    """Number of rows whose columns of X fit into the allowed part of the memory budget."""
    itemsize = arrays.itemsize(form.prototype)
    return int(min(max(budget_bytes() / (_PARTS * itemsize * form.samples), 1), MOST_ROWS))


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


def eliminated(form: QuadraticForm, count: int, ridge: float) -> Array:
    """The ``count`` rows that elimination from the fit with a ridge leaves, or all if fewer."""
    rows = first_rows(form)
    sizes = numbers_of_rows(rows.shape[0], form.samples) if rows.shape[0] else []
    sizes = [size for size in sizes if size > count]
    if not sizes:
        return rows
    *_, last = eliminate([form.with_ridge(ridge)], rows[None, :], sizes)
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
    B_kept = arrays.submatrices(B, kept, everything) - step @ arrays.submatrices(
        B, dropped, everything
    )
    P = arrays.submatrices(P, kept, kept) - step @ xp.matrix_transpose(between)
    return _stage(left, B_kept, P)
