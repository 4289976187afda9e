"""A start given by the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import check_finite
from thinrank.core.factors import Factors


@dataclass(frozen=True)
class Given:
    """A given Θ⁰.

    Parameters
    ----------
    theta : array of shape (n_features, n_targets) or Factors
        Θ⁰.
    """

    theta: Array | Factors

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """The best rank-``rank`` approximation of Θ⁰."""
        theta = self.theta
        if tuple(theta.shape) != tuple(loss.shape):
            raise ValueError(
                f"start must have shape {tuple(loss.shape)}, one row per predictor and one column "
                f"per response; got shape {tuple(theta.shape)}"
            )
        if isinstance(theta, Factors):
            balanced = Factors(_like(theta.U, loss), _like(theta.V, loss)).balanced()
            kept = min(rank, balanced.rank)
            return Factors(balanced.U[:, :kept], balanced.V[:, :kept])
        return Factors.from_theta(_like(theta, loss), rank)


def _like(array: Array, loss: Any) -> Array:
    """The array in the library, dtype and device of the loss, after a check that it is finite."""
    array = arrays.from_numpy(array, loss.prototype)
    check_finite("start", array)
    return array
