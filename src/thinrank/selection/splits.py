"""Splits of the rows into training and held-out parts."""

from __future__ import annotations

import functools
from collections.abc import Iterable

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core import memory
from thinrank.core.contracts import Design
from thinrank.designs import Dense
from thinrank.losses import LeastSquares
from thinrank.losses.forms import GramForm
from thinrank.losses.noise import noise_scale
from thinrank.losses.remainder import Remainder
from thinrank.selection.samples import HeldOutSample

__all__ = ["held_out_samples"]

# A copy of rows that makes fits faster may take this part of the memory budget.
_PART_OF_BUDGET = 8


def held_out_samples(
    loss: LeastSquares,
    splits: Iterable[tuple[np.ndarray, np.ndarray]],
    *,
    center: bool,
    scale: bool,
) -> list[HeldOutSample]:
    """One sample a split; XᵀY and the Gram matrix of all rows are shared.

    Parameters
    ----------
    loss : LeastSquares
        On all the rows, centred if ``center``, without ridge.
    splits : iterable of (training rows, held-out rows)
        Sets of indices, as scikit-learn's splitters give them.
    center, scale : bool
        Whether each training part is centred and brought to unit columns by itself.
    """
    rows = loss.X.shape[0]
    splits = [(_as_index(train, rows), _as_index(test, rows)) for train, test in splits]
    for train, test in splits:
        _check_split(train, test)
    if loss.shape[1] <= loss.samples and memory.fits(
        loss.shape[0] * loss.shape[1], arrays.itemsize(loss.prototype)
    ):
        loss.cross()  # held by the loss, for every split
    whole = loss.quadratic()
    small = isinstance(whole, GramForm) and _cheap(len(splits) * loss.shape[0] ** 2, loss)
    samples = []
    for train, test in splits:
        removed = np.setdiff1d(np.arange(rows), train)
        X_out, Y_out, roots_out = _rows(loss, removed)
        if not float(arrays.norm(roots_out)) ** 2 < loss.samples * (1 - 1e-9):
            raise ValueError("cv leaves no training rows of positive weight in a split")
        remainder = Remainder(whole, X_out, Y_out, roots_out, center=center, scale=scale)
        same = removed.shape == test.shape and bool(np.all(removed == np.sort(test)))
        held_out = (X_out, Y_out, roots_out) if same else _rows(loss, np.sort(test))
        if not float(arrays.norm(held_out[2])) > 0:
            raise ValueError("cv leaves no held-out rows of positive weight in a split")
        noise = functools.partial(_training_noise, loss, train, remainder)
        samples.append(HeldOutSample(remainder, noise, *held_out, hold=small))
    return samples


def _training_noise(loss: LeastSquares, train: np.ndarray, remainder: Remainder) -> float:
    """The noise level that the training rows alone show."""
    _, Y, roots = loss.rows(arrays.indices(np.sort(train).tolist(), loss.prototype))
    everything = arrays.indices(range(Y.shape[1]), loss.prototype)
    centred = Y.columns(everything) - roots[:, None] * remainder.center_y
    return noise_scale(Dense(centred), remainder.samples)


def _rows(loss: LeastSquares, index: np.ndarray) -> tuple[Design, Design, Array]:
    X, Y, roots = loss.rows(arrays.indices(index.tolist(), loss.prototype))
    if _cheap(loss.X.shape[0] * loss.shape[0], loss):
        X = Dense(X.columns(arrays.indices(range(X.shape[1]), loss.prototype)))
    return X, Y, roots


def _cheap(entries: int, loss: LeastSquares) -> bool:
    return memory.fits(_PART_OF_BUDGET * entries, arrays.itemsize(loss.prototype))


def _as_index(rows: np.ndarray, count: int) -> np.ndarray:
    """Positions, from positions or from a mask."""
    rows = np.asarray(rows)
    if rows.dtype == bool:
        rows = np.flatnonzero(rows)
    if len(rows) and not (rows.min() >= 0 and rows.max() < count):
        raise ValueError(f"cv must name rows from 0 to {count - 1}, got {rows.min()}..{rows.max()}")
    return rows


def _check_split(train: np.ndarray, test: np.ndarray) -> None:
    if len(train) == 0 or len(test) == 0:
        raise ValueError(
            f"cv must leave rows on both sides of every split; one has {len(train)} training "
            f"and {len(test)} held-out rows"
        )
    if len(np.unique(train)) < len(train) or len(np.unique(test)) < len(test):
        raise ValueError("cv must not repeat a row within a split; use sample_weight for that")
