"""Splits of data in row blocks as samples, with models scored from moments of held-out rows."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from thinrank import arrays
from thinrank.core.sizes import Sizes
from thinrank.forms.block_form import BlockForm
from thinrank.forms.block_moments import BlockMoments, HeldOutRows
from thinrank.losses.block_least_squares import BlockLeastSquares
from thinrank.selection.block_errors import ErrorLedger, Prediction
from thinrank.selection.elimination import (
    Removal,
    RemovalInOrder,
    can_forecast,
    forecasts,
    removal,
    removal_in_order,
)
from thinrank.selection.evaluation import HeldOutErrors
from thinrank.selection.held_out_sample import PERFECT
from thinrank.selection.samples import Sample
from thinrank.selection.stacks import Stack, stacked
from thinrank.selection.tables import RowFit
from thinrank.solvers.pursuit import Fit

__all__ = ["BlockSample", "block_samples", "stack_of"]


class BlockSample(Sample):
    """The training rows of a split, with models scored by the held-out mean squared error.

    The held-out rows themselves are not in memory: errors follow from their inner products.

    Parameters
    ----------
    loss : BlockLeastSquares
        The loss of all rows, in whose units scores are.
    moments : BlockMoments
        The moments of the splits.
    split : int
        Number of the split.
    ledger : ErrorLedger
        Computes standard errors of differences between models.
    **options
        ``start`` and ``seed`` of :class:`thinrank.selection.samples.Sample`.
    """

    def __init__(
        self,
        loss: BlockLeastSquares,
        moments: BlockMoments,
        split: int,
        ledger: ErrorLedger,
        **options: Any,
    ) -> None:
        self._moments = moments
        self._rows: HeldOutRows = moments.held_out[split]
        self._part = moments.training[split]
        self._targets, self._inverse = loss.targets, loss.inverse_scale
        self.ledger = ledger
        form = BlockForm(moments, self._part, self._targets, self._inverse)
        noise = functools.cache(functools.partial(loss.noise_of, moments, self._part))
        super().__init__(form, noise, **options)
        self.index = moments.tests[split]
        self.weight = self._rows.weight
        self.entries = len(self._targets) * self.weight
        self._squares = self._rows.squares_y[self._targets] * self._inverse**2
        self._null = float(self._squares.sum()) / self.entries

    def null(self) -> float:
        """Mean squared error of the training means."""
        return self._null

    def score(self, fit: Fit | None, sizes: Sizes) -> float:
        """Mean squared error, at least 1e-10 times that of the means."""
        return self.score_of(self.errors(fit))

    def score_of(self, errors: HeldOutErrors) -> float:
        """Score of a fit, from its errors."""
        return max(float(np.sum(errors.responses)) / self.entries, PERFECT * self._null)

    def errors(self, fit: Fit | None) -> HeldOutErrors:
        """Squared errors of the responses, and what is needed for those of the rows."""
        if fit is None:
            nothing = np.zeros((0, 0))
            empty = np.zeros(0, dtype=np.int64)
            none = Prediction(empty, nothing, np.zeros((len(self._targets), 0)))
            return HeldOutErrors(none, self._squares)
        columns = self._part.live[fit.rows]
        gram, cross = self.products(fit.rows)
        U, Q = (np.asarray(x, dtype=np.float64) for x in (fit.U, fit.Q))
        change = np.sum(Q * (Q @ (U.T @ gram @ U) - 2 * cross.T @ U), axis=1)
        scaled = U * self._part.inverse_scale[columns][:, None]
        return HeldOutErrors(
            Prediction(columns, scaled, Q), np.maximum(self._squares + change, 0.0)
        )

    @property
    def total_errors(self) -> np.ndarray:
        """Squared errors without any predictor, summed over the rows; of shape (n_targets,)."""
        return self._squares

    def null_errors(self) -> np.ndarray:
        """Squared errors of the training means, summed over the rows; of shape (n_targets,)."""
        return self._squares

    def rows_forecast(self, fit: Fit, sizes: Sizes, rows: np.ndarray) -> np.ndarray:
        """Scores after removing rows of least cost, Q held fixed; inf for more rows."""
        return forecasts([self.removal(fit, sizes.ridge)], rows)[0]

    def removal(self, fit: Fit, ridge: float) -> Removal | RemovalInOrder | None:
        """What forecasts for fewer rows need; None with more rows than samples.

        With the inner products G = W D Wᵀ of the predictors, and C with the responses, the few rows
        D^(½)Wᵀ and D^(−½)WᵀC take the place of the held-out rows: they have the same inner
        products.
        """
        if fit.U.shape[0] == 0:  # left out
            return None
        gram, cross = self.products(fit.rows)
        values, W = np.linalg.eigh(gram)
        floor = len(values) * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)
        lengths = np.sqrt(np.where(values > floor, values, 0.0))[:, None]
        X, Y = lengths * W.T, arrays.divide_or_zero(1.0, lengths) * (W.T @ cross)
        if can_forecast(fit):
            return removal(fit, X, Y, self._null, self.entries)
        return removal_in_order(self._form(ridge), fit, X, Y, self._null, self.entries)

    def products(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inner products of held-out predictors, and of these with the responses."""
        columns = self._part.live[rows]
        places = self._moments.known(columns, self._part)
        gram = self._rows.gram(columns, places)
        return gram, self._rows.cross(columns, self._targets) * self._inverse


class BlockStack(Stack):
    """Fits to several splits, with errors from the inner products of the held-out rows."""

    def _keep_held_out(self) -> None:
        pairs = zip(self._samples, self._fits, strict=True)
        known = [cast(BlockSample, sample).products(fit.rows) for sample, fit in pairs]
        self._gram, self._cross = (stacked(parts) for parts in zip(*known, strict=True))
        self._bases = np.array([sample.null() for sample in self._samples])[:, None, None]
        self._offsets = None

    def _products(self, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        transposed = np.matrix_transpose(coefficients)
        return transposed @ self._cross, transposed @ (self._gram @ coefficients)

    def _live_response_errors(self) -> np.ndarray:
        coefficients = np.matrix_transpose(self._root) @ self._whitened
        change = coefficients * (self._gram @ coefficients - 2 * self._cross)
        totals = np.stack([sample.null_errors() for sample in self._samples])
        return np.maximum(totals + np.sum(change, axis=1), 0.0)


def stack_of(samples: Sequence[Any], fits: Sequence[RowFit | None]) -> Stack:
    """One fit per sample, of data in memory or in row blocks."""
    return (BlockStack if isinstance(samples[0], BlockSample) else Stack)(samples, fits)


def block_samples(
    loss: BlockLeastSquares, splits: Iterable[tuple[np.ndarray, np.ndarray]], **options: Any
) -> list[BlockSample]:
    """One sample per split; nothing is read if the moments of the splits are known.

    Parameters
    ----------
    loss : BlockLeastSquares
        The loss of all rows.
    splits : iterable of (ndarray, ndarray)
        Sorted positions of training and held-out rows.
    **options
        ``start`` and ``seed`` of :class:`thinrank.selection.samples.Sample`.

    Returns
    -------
    list of BlockSample
    """
    splits = list(splits)
    moments = loss.moments.of_splits(splits)
    ledger = ErrorLedger(moments, loss.targets, loss.inverse_scale)
    return [BlockSample(loss, moments, i, ledger, **options) for i in range(len(splits))]
