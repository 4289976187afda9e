"""How often each predictor has a coefficient for each response, over many fits."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank import arrays

__all__ = ["PairCounts", "selected_pairs"]


def selected_pairs(fitted: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Signs of the coefficients of the selected predictors for the selected responses.

    Only this block of the coefficients is computed.

    Parameters
    ----------
    fitted : estimator
        With ``factors_``, or with ``coef_`` of shape (n_targets, n_features) or (n_features,).
    rows, columns : ndarray of int
        Selected predictors and responses.

    Returns
    -------
    ndarray of int8 of shape (n_rows, n_columns)
        −1, 0 or 1.
    """
    if hasattr(fitted, "factors_"):
        U, V = arrays.to_numpy(fitted.factors_.U), arrays.to_numpy(fitted.factors_.V)
        block = U[rows] @ V[columns].T
    else:
        coefficients = np.atleast_2d(arrays.to_numpy(fitted.coef_))
        block = coefficients[np.ix_(columns, rows)].T
    return np.sign(block).astype(np.int8)


class PairCounts:
    """Counts of the pairs that occur; nothing of size (n_features, n_targets) is formed.

    A pair (i, j) has the key i·n_targets + j.

    Parameters
    ----------
    n_targets : int
        Number of responses.

    Attributes
    ----------
    keys : ndarray of int64
        Keys of the pairs that have occurred, sorted.
    counts, positive : ndarray of int64
        In how many fits each of them occurred, and in how many with a positive coefficient.
    """

    def __init__(self, n_targets: int) -> None:
        self.n_targets = n_targets
        self.keys = np.empty(0, dtype=np.int64)
        self.counts = np.empty(0, dtype=np.int64)
        self.positive = np.empty(0, dtype=np.int64)

    def add(self, rows: np.ndarray, columns: np.ndarray, signs: np.ndarray) -> None:
        """Count the pairs of one fit.

        Parameters
        ----------
        rows, columns : ndarray of int
            Selected predictors and responses, sorted.
        signs : ndarray of shape (n_rows, n_columns)
            Signs of their coefficients; 0 does not count.
        """
        block = rows.astype(np.int64)[:, None] * self.n_targets + columns.astype(np.int64)
        occurs = signs != 0
        new, positive = block[occurs], signs[occurs] > 0
        keys = np.union1d(self.keys, new)
        old_at, new_at = np.searchsorted(keys, self.keys), np.searchsorted(keys, new)
        counts, positives = np.zeros((2, len(keys)), dtype=np.int64)
        counts[old_at], positives[old_at] = self.counts, self.positive
        counts[new_at] += 1  # a key occurs once in a fit
        positives[new_at] += positive
        self.keys, self.counts, self.positive = keys, counts, positives

    @property
    def predictors(self) -> np.ndarray:
        """Positions of the predictors of the pairs."""
        return self.keys // self.n_targets

    @property
    def responses(self) -> np.ndarray:
        """Positions of the responses of the pairs."""
        return self.keys % self.n_targets

    @property
    def signs(self) -> np.ndarray:
        """The more frequent sign of each pair, 1 or −1."""
        return np.where(2 * self.positive >= self.counts, 1, -1)

    @property
    def sign_agreement(self) -> np.ndarray:
        """Fraction of the fits that select a pair in which it has its more frequent sign."""
        return np.maximum(self.positive, self.counts - self.positive) / self.counts
