"""Fits to several samples, whose held-out errors are computed together.

On small data a product of two small matrices takes less time than the function call, so that the
tables of five samples take little longer than those of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.selection.held_out_sample import PERFECT, HeldOutSample
from thinrank.selection.tables import RowFit, directions, error_table

__all__ = ["Stack", "stacked"]


class Stack:
    """One fit per sample, with predictions for the held-out rows.

    Parameters
    ----------
    samples : sequence of HeldOutSample
        The samples.
    fits : sequence of (RowFit or None)
        The fits; None, or a fit without rows, is the zero matrix.
    """

    def __init__(self, samples: Sequence[HeldOutSample], fits: Sequence[RowFit | None]) -> None:
        self._live: list[bool] = []
        self._samples: list[HeldOutSample] = []
        self._fits: list[RowFit] = []
        self._empty: list[HeldOutSample] = []
        for sample, fit in zip(samples, fits, strict=True):
            if fit is None or fit.rows.shape[0] == 0:
                self._live.append(False)
                self._empty.append(sample)
            else:
                self._live.append(True)
                self._samples.append(sample)
                self._fits.append(fit)
        if not self._fits:
            return
        self._root = stacked([fit.root for fit in self._fits])
        self._whitened = stacked([fit.whitened for fit in self._fits])
        self._keep_held_out()

    def _keep_held_out(self) -> None:
        """Keep the held-out rows of the samples that have a fit."""
        pairs = list(zip(self._samples, self._fits, strict=True))
        self._predictors = stacked([sample.predictors(fit.rows) for sample, fit in pairs])
        views = [sample.view(fit) for sample, fit in pairs]
        self._targets = stacked([view.targets for view in views])
        self._bases = np.array([view.base for view in views])[:, None, None]
        self._offsets = None
        if any(view.offsets is not None for view in views):
            none = np.zeros(self._whitened.shape[-1])
            offsets = [none if view.offsets is None else view.offsets for view in views]
            self._offsets = np.stack(offsets)[:, None, :]

    def tables(self, most: int, *, of_all: bool = False) -> list[np.ndarray]:
        """Mean squared errors of all ranks up to ``most`` and all numbers of columns.

        Entry (r − 1, s − 1) of a table is for rank r and s columns. Ranks above the rank of the
        fits are left out; without a fit the table has one row, for the zero matrix. Every entry is
        the lower error of two models, one with the directions of the columns in use and one with
        those of all columns.

        Parameters
        ----------
        most : int
            Largest rank.
        of_all : bool, default=False
            Whether to use only the directions of all columns.

        Returns
        -------
        list of ndarray of shape (q, n_targets)
            One table per sample.
        """
        known = iter(self._live_tables(most, of_all) if self._fits else ())
        nothing = (np.full((1, s.form.shape[1]), s.null()) for s in self._empty)
        return [next(known) if alive else next(nothing) for alive in self._live]

    def _live_tables(self, most: int, of_all: bool) -> np.ndarray:
        if of_all or all(self._all_in_use(fit) for fit in self._fits):
            return self._errors(most, None)
        in_use = self._columns_in_use
        xp = arrays.namespace(in_use)
        return np.min(self._errors(most, xp.stack([xp.ones_like(in_use), in_use])), axis=0)

    def response_errors(self) -> list[np.ndarray]:
        """Squared errors of the fits of full rank, summed over the held-out rows of a sample.

        Returns
        -------
        list of ndarray of shape (n_targets,)
            One array per sample.
        """
        known = iter(self._live_response_errors() if self._fits else ())
        nothing = (sample.null_errors() for sample in self._empty)
        return [next(known) if alive else next(nothing) for alive in self._live]

    def _live_response_errors(self) -> np.ndarray:
        xp = arrays.namespace(self._targets)
        fitted = self._predictors @ (xp.matrix_transpose(self._root) @ self._whitened)
        squares = xp.sum((self._targets - fitted) ** 2, axis=1)
        return arrays.to_numpy(squares).astype(np.float64)

    def _errors(self, most: int, columns: Array | None) -> np.ndarray:
        known = directions(self._root, self._whitened, most, columns)
        xp = arrays.namespace(known.weights)
        products, inner = (xp.astype(x, xp.float64, copy=False) for x in self._products(known.map))
        null = np.array([sample.null() for sample in self._samples])[:, None, None]
        entries = np.array([sample.entries for sample in self._samples])[:, None, None]
        errors = self._bases + error_table(known, products, inner, self._offsets) / entries
        # errors below this are rounding errors
        return np.maximum(errors, PERFECT * null)

    def _products(self, coefficients: Array) -> tuple[Array, Array]:
        """Inner products of predictions with the held-out responses, and with one another."""
        xp = arrays.namespace(self._targets)
        image = self._predictors @ coefficients
        transposed = xp.matrix_transpose(image)
        return transposed @ self._targets, transposed @ image

    def _all_in_use(self, fit: RowFit) -> bool:
        return fit.columns.shape[0] in (0, self._whitened.shape[-1])

    @cached_property
    def _columns_in_use(self) -> Array:
        """1 for the columns in use, 0 for the others, of shape (n_fits, n_targets)."""
        k = self._whitened.shape[-1]
        masks = np.zeros((len(self._fits), k))
        for mask, fit in zip(masks, self._fits, strict=True):
            mask[slice(None) if self._all_in_use(fit) else arrays.to_numpy(fit.columns)] = 1.0
        return arrays.from_numpy(masks, self._whitened)


def stacked(blocks: Sequence[Array]) -> Array:
    """Matrices along a new first axis, padded with zeros to the shape of the largest."""
    xp = arrays.namespace(blocks[0])
    if len(blocks) == 1:
        return blocks[0][None, ...]
    shape = tuple(max(block.shape[i] for block in blocks) for i in (0, 1))
    return xp.stack([_padded(block, shape) for block in blocks])


def _padded(block: Array, shape: tuple[int, int]) -> Array:
    for axis in (0, 1):
        missing = shape[axis] - block.shape[axis]
        if missing:
            size = (missing, block.shape[1]) if axis == 0 else (block.shape[0], missing)
            parts = [block, arrays.zeros(size, like=block)]
            block = arrays.namespace(block).concat(parts, axis=axis)
    return block
