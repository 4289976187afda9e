"""Splits of the rows into training and held-out parts, for any family."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core import memory
from thinrank.core.contracts import Design
from thinrank.designs import Dense, standardize, take_rows
from thinrank.losses.generalized_linear import GeneralizedLinear
from thinrank.selection.deviance_sample import DevianceSample, HeldOutEntries
from thinrank.selection.splits import checked_splits

__all__ = ["deviance_samples"]

# Rows of X are copied, centred and scaled, if X fits this number of times into the memory budget.
_PART_OF_BUDGET = 64


def deviance_samples(
    loss: GeneralizedLinear,
    splits: Iterable[tuple[np.ndarray, np.ndarray]],
    *,
    center: bool,
    scale: bool,
    **options: Any,
) -> list[DevianceSample]:
    """One sample per split.

    Parameters
    ----------
    loss : GeneralizedLinear
        The loss of all rows, without ridge.
    splits : iterable of (ndarray, ndarray)
        Training and held-out rows, as indices or masks.
    center, scale : bool
        Whether to centre each training part, and to scale its columns to unit root mean square.
    **options
        ``start`` and ``seed`` of :class:`DevianceSample`.

    Returns
    -------
    list of DevianceSample
    """
    return [
        _sample(loss, train, test, center=center, scale=scale, **options)
        for train, test in checked_splits(splits, loss.X.shape[0])
    ]


def _sample(
    loss: GeneralizedLinear,
    train: np.ndarray,
    test: np.ndarray,
    *,
    center: bool,
    scale: bool,
    **options: Any,
) -> DevianceSample:
    inside, outside = (arrays.indices(rows.tolist(), loss.prototype) for rows in (train, test))
    training = loss.of_rows(inside)
    moved = standardize(
        training.X, sample_weight=training.sample_weight, center=center, scale=scale
    )
    training = training.with_predictors(_copied(moved.design))
    held_out = loss.of_rows(outside)
    X: Design = moved.applied_to(held_out.X)
    entries = HeldOutEntries(
        test, _copied(X), held_out.Y, held_out.weights(), held_out.offset, held_out.free
    )
    if not float(arrays.namespace(entries.weight).sum(entries.weight)) > 0:
        raise ValueError("cv leaves no held-out entries of positive weight in a split")
    return DevianceSample(training, entries, **options)


def _copied(X: Design) -> Design:
    """The design as a dense array if that is small."""
    if memory.fits(_PART_OF_BUDGET * X.shape[0] * X.shape[1], arrays.itemsize(X.prototype)):
        return Dense(X.columns(arrays.indices(range(X.shape[1]), X.prototype)))
    return X
