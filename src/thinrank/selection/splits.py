"""Splits of the rows into training and held-out parts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core import memory
from thinrank.core.contracts import Design, QuadraticForm
from thinrank.designs import (
    Dense,
    KeptBasis,
    Standardization,
    Transformed,
    kept_basis,
    standardize,
    take_rows,
)
from thinrank.designs.row_subset import view_rows
from thinrank.designs.unprojected import unprojected
from thinrank.forms import GramForm
from thinrank.forms.training_rows import TrainingRows, without_rows
from thinrank.losses import LeastSquares
from thinrank.losses.block_least_squares import BlockLeastSquares
from thinrank.losses.noise import noise_scale
from thinrank.selection.block_samples import block_samples
from thinrank.selection.held_out_sample import HeldOut, HeldOutSample, KeptHeldOut

__all__ = ["checked_splits", "copied_if_small", "held_out_samples"]

# Held-out rows are copied, for faster predictions, if X fits this number of times into the memory
# budget.
_PART_OF_BUDGET = 64


def held_out_samples(
    loss: LeastSquares | BlockLeastSquares,
    splits: Iterable[tuple[np.ndarray, np.ndarray]],
    *,
    center: bool,
    scale: bool,
    kept: Array | None = None,
    **options: Any,
) -> list[Any]:
    """One sample per split; XᵀY and the Gram matrix of all rows are shared.

    Parameters
    ----------
    loss : LeastSquares or BlockLeastSquares
        The loss of all rows, centred if ``center``, without ridge.
    splits : iterable of (ndarray, ndarray)
        Training and held-out rows, as indices or masks.
    center, scale : bool
        Whether to centre each training part, and to scale its columns to unit root mean square.
    kept : array of shape (n_samples, n_kept), default=None
        Predictors that are always kept, if they are projected out of ``loss``. They are projected
        out of every training part separately.
    **options
        ``start`` and ``seed`` of :class:`thinrank.selection.samples.Sample`.

    Returns
    -------
    list of HeldOutSample or BlockSample
    """
    if isinstance(loss, BlockLeastSquares):
        return block_samples(loss, checked_splits(splits, loss.X.shape[0]), **options)
    loss.quadratic()  # decides whether XᵀX is kept
    make = _from_the_whole if loss.moments.gram_is_held else _from_its_rows
    if kept is not None:
        make = functools.partial(_from_its_rows, kept=kept, hold=loss.moments.gram_is_held)
        loss = LeastSquares(
            unprojected(loss.X), unprojected(loss.Y), sample_weight=loss.sample_weight
        )
    parts = [
        make(loss, train, test, center=center, scale=scale)
        for train, test in checked_splits(splits, loss.X.shape[0])
    ]
    return [HeldOutSample(*part, **options) for part in parts]


def checked_splits(
    splits: Iterable[tuple[np.ndarray, np.ndarray]], rows: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sorted positions of training and held-out rows; raise a ValueError if a split is invalid."""
    checked = [(_as_index(train, rows), _as_index(test, rows)) for train, test in splits]
    for train, test in checked:
        _check_split(train, test)
    return [(np.sort(train), np.sort(test)) for train, test in checked]


_Part = tuple[QuadraticForm, Callable[[], float], HeldOut]


def _from_the_whole(
    loss: LeastSquares, train: np.ndarray, test: np.ndarray, *, center: bool, scale: bool
) -> _Part:
    """A split whose XᵀX and XᵀY are those of all rows minus those of the other rows."""
    removed = np.setdiff1d(np.arange(loss.X.shape[0]), train)
    X, Y, roots = _rows(loss, removed)
    if not float(arrays.norm(roots)) ** 2 < loss.samples * (1 - 1e-9):
        raise ValueError("cv leaves no training rows of positive weight in a split")
    whole = cast(GramForm, loss.quadratic())
    training = without_rows(whole, X, Y, roots, center=center, scale=scale)
    if not np.array_equal(removed, test):
        X, Y, roots = _rows(loss, test)
    held_out = HeldOut(
        test, X, Y, roots, training.center_x, training.inverse_scale, training.center_y
    )
    _check_weight(held_out)
    noise = functools.partial(_training_noise, loss, train, training)
    return training.form, noise, held_out


def _from_its_rows(
    loss: LeastSquares,
    train: np.ndarray,
    test: np.ndarray,
    *,
    center: bool,
    scale: bool,
    kept: Array | None = None,
    hold: bool = False,
) -> _Part:
    """A split with a regression of its own, for XᵀX too large to be kept or kept predictors."""
    index = arrays.indices(train.tolist(), loss.prototype)
    weight = None if loss.sample_weight is None else arrays.take_rows(loss.sample_weight, index)
    xp = arrays.namespace(loss.prototype)
    if weight is not None and not bool(xp.any(weight > 0)):
        raise ValueError("cv leaves no training rows of positive weight in a split")
    basis = None
    if kept is not None:
        rows = arrays.take_rows(kept, index)
        basis = kept_basis(rows, like=loss.prototype, sample_weight=weight, center=center)
    units: dict[str, Any] = {"sample_weight": weight, "center": center, "kept": basis}
    # a copy of the training rows of every split would take four times the memory of X
    X = standardize(view_rows(loss.X, index), scale=scale, **units)
    rows_Y = take_rows(loss.Y, index)
    Y = standardize(rows_Y, scale=False, **units)
    targets = Transformed(rows_Y, center=Y.center) if basis is None else Y.design
    training = LeastSquares(X.design, targets, sample_weight=weight)
    if hold:
        training.hold_for_search()
    p, k = loss.shape
    none, ones = (arrays.zeros((p,), loss.prototype) + value for value in (0.0, 1.0))
    rows_X, rows_Y, roots = _rows(loss, test)
    held_out = HeldOut(
        test,
        rows_X,
        rows_Y,
        roots,
        none if X.center is None else X.center,
        ones if X.inverse_scale is None else X.inverse_scale,
        arrays.zeros((k,), loss.prototype) if Y.center is None else Y.center,
        _kept_held_out(kept, basis, X, Y, test, roots),
    )
    _check_weight(held_out)
    return training.quadratic(), training.noise, held_out


def _kept_held_out(
    kept: Array | None,
    basis: KeptBasis | None,
    X: Standardization,
    Y: Standardization,
    test: np.ndarray,
    roots: Array,
) -> KeptHeldOut | None:
    """The kept predictors of the held-out rows, with the loadings of the training rows."""
    if kept is None or basis is None:
        return None
    rows = arrays.take_rows(kept, arrays.indices(test.tolist(), roots))
    assert X.loadings is not None
    assert Y.loadings is not None
    return KeptHeldOut(roots[:, None] * basis.of_rows(rows), X.loadings, Y.loadings)


def _check_weight(held_out: HeldOut) -> None:
    if not float(arrays.norm(held_out.roots)) > 0:
        raise ValueError("cv leaves no held-out rows of positive weight in a split")


def _training_noise(loss: LeastSquares, train: np.ndarray, training: TrainingRows) -> float:
    """The noise level, estimated from the training rows."""
    _, Y, roots = loss.rows(arrays.indices(train.tolist(), loss.prototype))
    everything = arrays.indices(range(Y.shape[1]), loss.prototype)
    centred = Y.columns(everything) - roots[:, None] * training.center_y
    return noise_scale(Dense(centred), training.form.samples)


def _rows(loss: LeastSquares, index: np.ndarray) -> tuple[Design, Design, Array]:
    """Rows of X and Y, multiplied by the roots of their weights; X is copied if it is small."""
    X, Y, roots = loss.rows(arrays.indices(index.tolist(), loss.prototype))
    return copied_if_small(X, loss.X.shape[0]), Y, roots


def copied_if_small(X: Design, rows: int | None = None) -> Design:
    """The design as a dense array, if one with ``rows`` rows (None for its own) is small."""
    entries = (X.shape[0] if rows is None else rows) * X.shape[1]
    if memory.fits(_PART_OF_BUDGET * entries, arrays.itemsize(X.prototype)):
        return Dense(X.columns(arrays.indices(range(X.shape[1]), X.prototype)))
    return X


def _as_index(rows: np.ndarray, count: int) -> np.ndarray:
    """Positions, from positions or from a mask."""
    rows = np.asarray(rows)
    if rows.dtype == bool:
        rows = np.flatnonzero(rows)
    if len(rows) and not (rows.min() >= 0 and rows.max() < count):
        raise ValueError(f"cv must give rows from 0 to {count - 1}, got {rows.min()}..{rows.max()}")
    return rows


def _check_split(train: np.ndarray, test: np.ndarray) -> None:
    if len(train) == 0 or len(test) == 0:
        raise ValueError(
            f"every split of cv must have training and held-out rows, got one with {len(train)} "
            f"training and {len(test)} held-out rows"
        )
    if len(np.unique(train)) < len(train) or len(np.unique(test)) < len(test):
        raise ValueError("cv must not repeat a row within a split; use sample_weight for that")
