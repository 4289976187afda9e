"""Standard errors of differences between models, for held-out rows that are not in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from thinrank.core.stored_values import storable
from thinrank.forms.block_moments import BlockMoments
from thinrank.selection.cv_splits import partitions_of

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

    def added(self, model: Sequence[Prediction]) -> BlockRowErrors | np.ndarray:
        """The errors of a further model, given by its prediction for each split.

        If the rows of positive weight are so few that models are evaluated on further splits, which
        have other ledgers, they are computed at once, as an array.
        """
        weight = self._moments.weight
        n = self._moments.X.shape[0]
        if partitions_of(n if weight is None else int(np.count_nonzero(weight))) > 1:
            return self._over_rows(self._moments.X.collect, row_errors, [model])[:, 0]
        self._models.append(model)
        return BlockRowErrors(self, len(self._models) - 1, n)

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
        count, self._sums, self._second = self._over_rows(
            self._moments.X.reduce, error_moments, self._models
        )
        self._count = float(count)

    def _over_rows(
        self,
        apply: Callable[..., Any],
        function: Callable[..., Any],
        models: Sequence[Sequence[Prediction]],
    ) -> Any:
        """Apply a function of the errors of models to all blocks."""
        moments = self._moments
        splits = [
            _SplitUnits(
                held_out.training.mean_x,
                held_out.training.mean_y[self._targets],
                # the score is a mean over splits of means over rows
                len(test) / (held_out.weight * len(self._targets)),
            )
            for held_out, test in zip(moments.held_out, moments.tests, strict=True)
        ]
        return apply(
            function,
            models,
            splits,
            self._targets,
            self._inverse,
            along=(moments.Y, moments.weight, self._tests),
        )


class _SplitUnits(NamedTuple):
    """Means of the training rows of a split, and the factor of errors of its held-out rows."""

    mean_x: np.ndarray
    mean_y: np.ndarray
    factor: float


def row_errors(
    X: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray | None,
    tests: np.ndarray,
    models: Sequence[Sequence[Prediction]],
    splits: Sequence[_SplitUnits],
    targets: np.ndarray,
    inverse_scale: np.ndarray,
) -> np.ndarray:
    """Errors of models in the rows of a block, minus those of the training means.

    Parameters
    ----------
    X, Y, weight : ndarrays, or None
        Rows of a block.
    tests : ndarray of bool, of shape (m, n_splits)
        Whether a row is held out.
    models : sequence of sequences of Prediction
        For each model one prediction per split.
    splits : sequence of _SplitUnits
        Means and factors.
    targets : ndarray of int
        The responses.
    inverse_scale : ndarray of shape (n_targets,)
        What they are multiplied by.

    Returns
    -------
    ndarray of shape (m, n_models)
        Mean over the splits that hold a row out; nan if none does.
    """
    total, times = np.zeros((len(X), len(models))), tests.sum(axis=1)
    used = np.unique(np.concatenate([split.columns for model in models for split in model]))
    for j, units in enumerate(splits):
        rows = np.flatnonzero(tests[:, j])
        part = X[np.ix_(rows, used)] - units.mean_x[used]
        own = (Y[rows][:, targets] - units.mean_y) * inverse_scale
        factor = units.factor if weight is None else units.factor * weight[rows]
        for i, model in enumerate(models):
            columns, U, Q = model[j]
            scores = part[:, np.searchsorted(used, columns)] @ U
            # ‖y − Qt‖² − ‖y‖²
            total[rows, i] += factor * np.sum(scores * (scores - 2 * (own @ Q)), axis=1)
    with np.errstate(invalid="ignore"):
        return total / times[:, None]


def error_moments(X: np.ndarray, Y: np.ndarray, *rest: Any) -> list[np.ndarray]:
    """Number of held-out rows, and first and second moments of the errors of models in them.

    The parameters are those of :func:`row_errors`. Errors relative to those of the means are
    small, so that few digits cancel in differences.
    """
    errors = row_errors(X, Y, *rest)
    errors = errors[np.isfinite(errors).all(axis=1)]
    return [np.asarray(float(len(errors))), errors.sum(axis=0), errors.T @ errors]
