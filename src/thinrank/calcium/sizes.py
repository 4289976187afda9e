"""Estimates of the rank, the number of spike frames and the number of active pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.stats import chi2

from thinrank import linalg
from thinrank.calcium.preprocessing import smoothing_kernel

# Up to this many frames the inner products of all frames are computed: 128 MB in double precision.
_MOST_FRAMES = 4000
# Number of the most active pixels that the directions are computed from. Rule of thumb.
_MOST_PIXELS = 20000
# Largest rank that is chosen automatically. Rule of thumb.
_LARGEST_RANK = 200
# Largest rank relative to the number of frames. Rule of thumb.
_LARGEST_RANK_PART = 0.25
# Probability that a pixel without activity is counted as active.
_FALSE_PIXELS = 1e-3
# Largest noise level of the explained sums of squares. The noise has variance 1, which smoothing
# and the choice of leading directions raise to a few times 1 at most; an estimate above this value
# means that most pixels are active.
_LARGEST_NOISE = 10.0
# For independent standard normal a and b, E|a − b| = 2/√π; this is its inverse.
_FROM_MEAN_DIFFERENCE = np.pi**0.5 / 2


@dataclass(frozen=True)
class MovieSizes:
    """Rank, number of spike frames (rows) and number of active pixels (columns).

    None stands for a size that is to be estimated.
    """

    rank: int | None
    rows: int | None
    columns: int | None


@dataclass(frozen=True)
class LeadingDirections:
    """Leading directions of a matrix Y, or of its most active pixels."""

    # (n_frames, n_directions) Y times its leading right singular vectors, largest singular value
    # first
    Z: np.ndarray
    total: float  # ‖Y‖²
    shape: tuple[int, int]  # shape of Y, restricted to the pixels in use

    def visible(self, smoothing: float) -> int:
        """Number of directions with larger singular values than noise would have.

        Noise of T frames and m pixels that are correlated by smoothing has squared singular
        values up to about σ²m(1 + √(T/m′))², where m′ = m/Σρ² and ρ are the correlations between
        one pixel and all pixels.
        """
        frames, pixels = self.shape
        squares = np.einsum("ij,ij->j", self.Z, self.Z)
        edge = (1 + (frames * correlated_pixels(smoothing) / pixels) ** 0.5) ** 2
        count = 0
        while count < min(len(squares), frames - 1):
            level = (self.total - float(squares[:count].sum())) / (frames - count)
            found = int(np.count_nonzero(squares > edge * level))
            if found <= count:
                break
            count = found
        return min(count, max(1, int(_LARGEST_RANK_PART * frames)))


def leading_directions(Y: np.ndarray, most: int | None, seed: int) -> LeadingDirections:
    """Leading directions of Y, from its most active pixels if there are very many.

    ``most``: None for the largest rank that is chosen automatically.
    """
    if most is None:
        most = min(_LARGEST_RANK, *Y.shape)
    energy = np.einsum("ij,ij->j", Y, Y)
    if Y.shape[1] > _MOST_PIXELS:
        active = np.sort(np.argpartition(energy, -_MOST_PIXELS)[-_MOST_PIXELS:])
        Y, energy = Y[:, active], energy[active]
    shape = (Y.shape[0], Y.shape[1])
    if len(Y) > _MOST_FRAMES:
        left, values, _ = linalg.truncated_svd(Y, most, seed=seed)
        return LeadingDirections(left * values, float(energy.sum()), shape)
    gram = (Y @ Y.T).astype(np.float64)
    largest = (len(Y) - min(most, len(Y)), len(Y) - 1)
    squares, vectors = eigh(gram, overwrite_a=True, subset_by_index=largest)
    Z = vectors[:, ::-1] * np.sqrt(np.maximum(squares[::-1], 0.0))
    return LeadingDirections(Z, float(energy.sum()), shape)


def correlated_pixels(smoothing: float) -> float:
    """Σρ², where ρ are the correlations of all pixels with one pixel after smoothing."""
    if smoothing == 0:
        return 1.0
    kernel = smoothing_kernel(smoothing)
    correlation = np.correlate(kernel, kernel, mode="full") / (kernel @ kernel)
    return float(correlation @ correlation) ** 2


def spike_penalty(Z: np.ndarray) -> float:
    """Smallest sum of squares that a spike must explain: more than a segment of noise explains.

    A segment of noise explains Σ σ_d²·χ²₁ over the directions d of Z, where σ_d is the noise level
    of direction d. The penalty is the bound of Laurent & Massart (2000) for this sum, which
    noise exceeds with a probability of at most 1/T².

    Shapes: ``Z`` (n_frames, n_directions).
    """
    differences = np.abs(np.diff(Z, axis=0)).mean(axis=0)
    variances = (differences * _FROM_MEAN_DIFFERENCE) ** 2
    tail = 2 * np.log(len(Z))
    spread = 2 * float(np.sqrt((variances**2).sum() * tail))
    return float(variances.sum()) + spread + 2 * float(variances.max(initial=0.0)) * tail


def active_pixel_count(energies: np.ndarray, degrees: int) -> int:
    """Number of pixels of which the fit explains more than it would of noise.

    Shapes: ``energies`` (n_pixels,).
    """
    live = energies[energies > 0]
    if live.size == 0:
        return 0
    unit = min(float(np.quantile(live, 0.25)) / float(chi2.ppf(0.25, degrees)), _LARGEST_NOISE)
    return int(np.count_nonzero(live > unit * float(chi2.isf(_FALSE_PIXELS, degrees))))
