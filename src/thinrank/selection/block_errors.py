"""Standard errors of differences between models, for held-out rows that are not in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thinrank.core.stored_values import storable
from thinrank.forms.block_moments import BlockMoments

__all__ = ["BlockRowErrors", "ErrorLedger", "Prediction"]


@storable
class Prediction(NamedTuple):
    """How a fit to the training rows of a split predicts: (X_S − means) U Qᵀ.

    Attributes
    ----------
    columns : ndarray of int
        S, numbers of predictors in X.
    U : ndarray of shape (|S|, r)
        Coefficients, in the units of X.
    Q : ndarray of shape (n_targets, r)
        Orthonormal basis of the row space.
    """

    columns: np.ndarray
    U: np.ndarray
    Q: np.ndarray


class BlockRowErrors:
    """Errors of the rows of one model, of which only comparisons with other models are computed.

    Parameters
    ----------
    ledger : ErrorLedger
        Computes the comparisons.
    number : int
        Number of the model in the ledger.
    rows : int
        Number of rows of the data.
    """

    def __init__(self, ledger: ErrorLedger, number: int, rows: int) -> None:
        self._ledger, self._number, self._rows = ledger, number, rows

    def __len__(self) -> int:
        return self._rows

    def standard_error(self, other: BlockRowErrors) -> float:
        """Standard error of the mean difference between the errors of two models."""
        return self._ledger.standard_error(self._number, other._number)


class ErrorLedger:
    """All models of a search, and the moments of the errors that their held-out rows have.

    When two models are compared, one pass over the data computes, for all models so far, the
    matrix of second moments of their errors over the rows. Standard errors of all differences
    follow from it, so that nothing with one number per row is kept or sent.

    Parameters
    ----------
    moments : BlockMoments
        The moments of the splits.
    targets : ndarray of int
        The responses.
    inverse_scale : ndarray of shape (n_targets,)
        What they are multiplied by.
    """

    def __init__(
        self, moments: BlockMoments, targets: np.ndarray, inverse_scale: np.ndarray
    ) -> None:
        self._moments = moments
        self._targets, self._inverse = targets, inverse_scale
        self._models: list[Sequence[Prediction]] = []
        self._count, self._sums, self._second = 0.0, np.zeros(0), np.zeros((0, 0))
        n, tests = moments.X.shape[0], moments.tests
        self._tests = np.zeros((n, len(tests)), dtype=bool)
        for j, test in enumerate(tests):
            self._tests[test, j] = True

    def added(self, model: Sequence[Prediction]) -> BlockRowErrors:
        """A further model, given by its prediction for each split."""
        self._models.append(model)
        return BlockRowErrors(self, len(self._models) - 1, self._moments.X.shape[0])

    def standard_error(self, one: int, other: int) -> float:
        """Standard error of the mean difference between the errors of two models."""
        if one == other:
            return 0.0
        if max(one, other) >= len(self._sums):
            self._read()
        if self._count < 2:
            return 0.0
        second = self._second
        square = float(second[one, one] - 2 * second[one, other] + second[other, other])
        mean = float(self._sums[one] - self._sums[other]) / self._count
        variance = max(square - self._count * mean**2, 0.0) / (self._count - 1)
        return float(np.sqrt(variance / self._count))

    def _read(self) -> None:
        """One pass, for all models so far."""
        moments = self._moments
        k = len(self._targets)
        splits: list[Any] = []
        for held_out in moments.held_out:
            part = held_out.training
            # the score is a mean over splits of means over rows
            entries = held_out.weight * k
            splits.append((part.mean_x, part.mean_y[self._targets], entries))
        counts = [float(len(test)) for test in moments.tests]
        count, self._sums, self._second = moments.X.reduce(
            error_moments,
            self._models,
            splits,
            counts,
            self._targets,
            self._inverse,
            along=(moments.Y, moments.weight, self._tests),
        )
        self._count = float(count)


def error_moments(
    X: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray | None,
    tests: np.ndarray,
    models: Sequence[Sequence[Prediction]],
    splits: Sequence[tuple[np.ndarray, np.ndarray, float]],
    counts: Sequence[float],
    targets: np.ndarray,
    inverse_scale: np.ndarray,
) -> list[np.ndarray]:
    """Number of held-out rows, and first and second moments of the errors of models in them.

    Errors are relative to those of the training means, so that few digits cancel in differences.
    """
    total, times = np.zeros((len(X), len(models))), tests.sum(axis=1)
    used = np.unique(np.concatenate([split.columns for model in models for split in model]))
    for j, (mean_x, mean_y, entries) in enumerate(splits):
        rows = np.flatnonzero(tests[:, j])
        part = X[np.ix_(rows, used)] - mean_x[used]
        own = (Y[rows][:, targets] - mean_y) * inverse_scale
        factor = np.full(len(rows), counts[j] / entries)
        if weight is not None:
            factor = factor * weight[rows]
        for i, model in enumerate(models):
            columns, U, Q = model[j]
            scores = part[:, np.searchsorted(used, columns)] @ U
            # ‖y − Qt‖² − ‖y‖²
            change = np.sum(scores * (scores - 2 * (own @ Q)), axis=1)
            total[rows, i] += factor * change
    seen = times > 0
    errors = total[seen] / times[seen][:, None]
    return [np.asarray(float(seen.sum())), errors.sum(axis=0), errors.T @ errors]
