"""Splits of the rows into training and held-out parts, for any family."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.designs import kept_basis, standardize
from thinrank.designs.unprojected import unprojected
from thinrank.losses.generalized_linear import GeneralizedLinear
from thinrank.selection.deviance_sample import DevianceSample, HeldOutEntries
from thinrank.selection.splits import checked_splits, copied_if_small

__all__ = ["deviance_samples"]


def deviance_samples(
    loss: GeneralizedLinear,
    splits: Iterable[tuple[np.ndarray, np.ndarray]],
    *,
    center: bool,
    scale: bool,
    kept: Array | None = None,
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
    kept : array of shape (n_samples, n_kept), default=None
        Predictors that are always kept, if they are projected out of ``loss``. They are projected
        out of each training part separately.
    **options
        ``start`` and ``seed`` of :class:`DevianceSample`.

    Returns
    -------
    list of DevianceSample
    """
    return [
        _sample(loss, train, test, center=center, scale=scale, kept=kept, **options)
        for train, test in checked_splits(splits, loss.X.shape[0])
    ]


def _sample(
    loss: GeneralizedLinear,
    train: np.ndarray,
    test: np.ndarray,
    *,
    center: bool,
    scale: bool,
    kept: Array | None,
    **options: Any,
) -> DevianceSample:
    inside, outside = (arrays.indices(rows.tolist(), loss.prototype) for rows in (train, test))
    training, held_out = loss.of_rows(inside), loss.of_rows(outside)
    weight = training.sample_weight
    basis, inner, outer = None, training.free, held_out.free
    if kept is not None:
        rows = arrays.take_rows(kept, inside)
        basis = kept_basis(rows, like=loss.prototype, sample_weight=weight, center=center)
        ones = int(center)  # the first free predictor is the intercept
        outer = basis.of_rows(arrays.take_rows(kept, outside))
        inner, outer = (
            _beside(free, ones, own)
            for free, own in ((training.free, basis.basis), (held_out.free, outer))
        )
    X = unprojected(training.X)
    moved = standardize(X, sample_weight=weight, center=center, scale=scale, kept=basis)
    training = training.with_predictors(copied_if_small(moved.design), inner)
    own = None if outer is None else outer[:, int(center) :]
    X = moved.applied_to(unprojected(held_out.X), own)
    entries = HeldOutEntries(
        test,
        copied_if_small(X),
        held_out.Y,
        held_out.weights(),
        held_out.offset,
        outer,
        int(center),
    )
    if not float(arrays.namespace(entries.weight).sum(entries.weight)) > 0:
        raise ValueError("cv leaves no held-out entries of positive weight in a split")
    return DevianceSample(training, entries, **options)


def _beside(free: Array, ones: int, basis: Array) -> Array:
    """The intercept, if there is one, and a basis of the kept predictors."""
    return arrays.namespace(basis).concat([free[:, :ones], basis], axis=1)
