"""How many directions, spike frames and pixels a movie has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.stats import chi2

from thinrank import linalg
from thinrank.calcium.preprocessing import smoothing_kernel

__all__ = [
    "LeadingDirections",
    "MovieSizes",
    "active_pixel_count",
    "leading_directions",
    "spike_price",
]

# Frames up to which the inner products of all frames are formed.
_MOST_FRAMES = 4000
# Pixels that are enough to see the directions of a movie.
_MOST_PIXELS = 20000
_LARGEST_RANK = 200
# Of the frames: neither more directions nor more spike frames than these parts.
_LARGEST_RANK_PART = 0.25
# Chance at which a pixel without activity counts as active.
_FALSE_PIXELS = 1e-3
# Where most pixels are active the quarter with the least activity is no measure of noise, which is
# of unit variance: what smoothing and leading directions make of that is at most a few times 1.
_LARGEST_NOISE = 10.0
# Mean of |a − b| for independent standard normal numbers is 2/√π.
_FROM_MEAN_DIFFERENCE = np.pi**0.5 / 2


@dataclass(frozen=True)
class MovieSizes:
    """Rank, spike frames and pixels; None where they are to be found."""

    rank: int | None
    rows: int | None
    columns: int | None


@dataclass(frozen=True)
class LeadingDirections:
    """Leading directions of a matrix Y, or of its most active pixels.

    Attributes
    ----------
    Z : ndarray of shape (T, q)
        Y times its leading right singular vectors, the largest first.
    total : float
        ‖Y‖².
    shape : (T, m)
        Of what was looked at.
    """

    Z: np.ndarray
    total: float
    shape: tuple[int, int]

    def visible(self, smoothing: float) -> int:
        """How many directions noise does not reach.

        Noise of T frames and m pixels that are correlated by smoothing has squared singular
        values up to about σ²m(1 + √(T/m′))², m′ = m/Σρ² with ρ the correlations between a pixel
        and all others.

        Parameters
        ----------
        smoothing : float
            Standard deviation of the Gaussian filter of the frames, in pixels.
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
    """Leading directions of Y, of its most active pixels when there are very many.

    Parameters
    ----------
    Y : ndarray of shape (T, m)
    most : int or None
        How many directions; None for as many as a rank is ever chosen.
    seed : int
        Of the randomised decomposition of long movies.
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
    """Σρ², ρ the correlations of all pixels with one of them that smoothing makes."""
    if smoothing == 0:
        return 1.0
    kernel = smoothing_kernel(smoothing)
    correlation = np.correlate(kernel, kernel, mode="full") / (kernel @ kernel)
    return float(correlation @ correlation) ** 2


def spike_price(Z: np.ndarray) -> float:
    """What a segment of pure noise hardly ever explains of Z.

    A segment explains Σ σ_d² χ²₁ over the directions d of Z, σ_d the noise along them; the price
    is the bound of Laurent & Massart (2000) that all T frames' such sums exceed once on average.
    """
    differences = np.abs(np.diff(Z, axis=0)).mean(axis=0)
    variances = (differences * _FROM_MEAN_DIFFERENCE) ** 2
    tail = 2 * np.log(len(Z))
    spread = 2 * float(np.sqrt((variances**2).sum() * tail))
    return float(variances.sum()) + spread + 2 * float(variances.max(initial=0.0)) * tail


def active_pixel_count(energies: np.ndarray, degrees: int) -> int:
    """How many pixels explain more than noise does.

    Parameters
    ----------
    energies : ndarray of shape (m,)
        What the fit explains of each pixel: about a multiple of χ² with ``degrees`` degrees of
        freedom where there is no activity, as in at least a quarter of the pixels.
    degrees : int
    """
    live = energies[energies > 0]
    if live.size == 0:
        return 0
    unit = min(float(np.quantile(live, 0.25)) / float(chi2.ppf(0.25, degrees)), _LARGEST_NOISE)
    return int(np.count_nonzero(live > unit * float(chi2.isf(_FALSE_PIXELS, degrees))))
