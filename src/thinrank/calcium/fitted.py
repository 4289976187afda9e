"""What is computed from a fitted Θ on request."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from thinrank.calcium.preprocessing import interpolated
from thinrank.core.factors import Factors
from thinrank.designs import RecursiveFilter

__all__ = ["FittedMovie"]


class FittedMovie:
    """Attributes of a fitted :class:`CalciumImaging` that follow from others."""

    factors_: Factors
    decay_: float
    shape_: tuple[int, int, int]
    traces_: np.ndarray
    sparse_footprints_: csr_array
    _knots: np.ndarray
    _baseline: np.ndarray
    _scale: np.ndarray

    @property
    def rank_(self) -> int:
        """Rank of Θ."""
        check_is_fitted(self, "factors_")
        return self.factors_.rank

    @property
    def spike_frames_(self) -> np.ndarray:
        """Sorted indices of the frames with spikes."""
        check_is_fitted(self, "factors_")
        return self.factors_.row_support

    @property
    def active_pixels_(self) -> np.ndarray:
        """Sorted flat indices of the active pixels."""
        check_is_fitted(self, "factors_")
        return self.factors_.column_support

    @property
    def n_neurons_(self) -> int:
        """Number of neurons."""
        check_is_fitted(self, "factors_")
        return len(self.traces_)

    @property
    def footprints_(self) -> np.ndarray:
        """Footprints of shape (n_neurons, height, width); computed at each access."""
        check_is_fitted(self, "factors_")
        return self.sparse_footprints_.toarray().reshape(-1, *self.shape_[1:])

    @property
    def denoised_(self) -> np.ndarray:
        """Baseline + G⁻¹Θ in the units of the movie; computed at each access.

        An array of shape (n_frames, height, width), float32. If ``smoothing`` is not 0, it
        approximates the smoothed movie. Pixels that are not active equal their baseline.
        """
        check_is_fitted(self, "factors_")
        theta, (frames, height, width) = self.factors_, self.shape_
        pixels = self.active_pixels_
        movie = np.empty((frames, height * width), dtype=np.float32)
        movie[:] = interpolated(self._baseline, self._knots, frames)
        levels = RecursiveFilter(self.decay_, frames, np.float32) @ theta.U
        movie[:, pixels] += levels @ (theta.V[pixels] * self._scale[pixels, None]).T
        return movie.reshape(self.shape_)

    @property
    def pixel_energy_(self) -> np.ndarray:
        """Activity of each pixel, the norm of its column of Θ; of shape (height, width)."""
        check_is_fitted(self, "factors_")
        theta = self.factors_
        gram = theta.U.T @ theta.U
        squares = np.einsum("ij,ij->i", theta.V @ gram, theta.V)
        return np.sqrt(np.maximum(squares, 0)).reshape(self.shape_[1:])
