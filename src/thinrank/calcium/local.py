"""Neurons found locally: noise is judged around each of them, however large the frame is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thinrank.calcium.binning import BinnedMovie, middle, noise_level
from thinrank.calcium.local_background import LocalBackground, fit_background
from thinrank.calcium.local_fit import fit_jointly, merged, pruned, subtract
from thinrank.calcium.seeds import LocalNeuron, SeedSearch, local_spread
from thinrank.calcium.smoothing import smooth_frames
from thinrank.calcium.stages import StageProgress

__all__ = ["LocalDetection", "LocalResult"]

# Rounds of background, search and joint fit. The first background includes the neurons; the second
# does not. Later rounds change little.
_ROUNDS = 3
# Passes of the joint fit before and after components are dropped.
_PASSES, _PASSES_AFTER = 4, 2
# Largest gain of the background in the first round, when neurons still raise it, and later.
_GAINS = (1.0, 1.5)


@dataclass(frozen=True)
class LocalResult:
    """Neurons in units of the noise, and what converts them.

    Attributes
    ----------
    neurons : list of LocalNeuron
    noise : ndarray of shape (height, width), float32
        Unit of each pixel: standard deviation of the noise of a bin; 0 for dead pixels.
    background : LocalBackground or None
    """

    neurons: list[LocalNeuron]
    noise: np.ndarray
    background: LocalBackground | None


@dataclass(frozen=True)
class LocalDetection:
    """Search for neurons in a binned movie.

    Parameters
    ----------
    radius : float
        Radius of a neuron, in pixels.
    smoothing : float
        Standard deviation of the Gaussian filter of the frames for the search, in pixels.
    background : float
        Standard deviation of the filter of the background, in pixels; 0 for none.
    decay : float
        Fraction of the fluorescence that is left after one bin.
    noise_scaling : bool
        Whether each pixel has its own noise level.
    """

    radius: float
    smoothing: float
    background: float
    decay: float
    noise_scaling: bool

    def run(self, movie: BinnedMovie, values: np.ndarray, progress: StageProgress) -> LocalResult:
        """Find the neurons.

        Parameters
        ----------
        movie : BinnedMovie
        values : ndarray of shape (height, width, n_bins)
            The binned movie minus its baseline; divided by the noise, in place.
        progress : callable
            Called with the fraction of the work that is done.

        Returns
        -------
        LocalResult
        """
        noise = unit_noise(movie, self.noise_scaling)
        inverse = np.divide(1, noise, out=np.zeros_like(noise), where=noise > 0)[..., None]
        values *= inverse
        level = noise_level(smooth_frames(movie.rough * inverse, self.smoothing))
        level[noise == 0] = np.inf
        search = SeedSearch(self.radius, self.decay)
        neurons: list[LocalNeuron] = []
        background = None
        for turn in range(_ROUNDS):
            rest = values.copy()
            subtract(rest, neurons)
            if self.background:
                background = fit_background(rest, self.background, _GAINS[min(turn, 1)])
            fit_jointly(rest, neurons, 1 if turn else 0)
            smooth = smooth_frames(rest, self.smoothing)
            smooth -= middle(smooth)[..., None]
            smooth /= level[..., None]
            spread = local_spread(smooth, self.decay, self.radius)
            begin = turn / _ROUNDS

            def part(share: float, begin: float = begin) -> None:
                progress(begin + share * 0.5 / _ROUNDS)

            new = search.run(smooth, spread, part)
            del smooth
            neurons += started(rest, new)
            fit_jointly(rest, neurons, _PASSES)
            kept = merged(pruned(neurons, self.radius, self.decay, spread), self.radius)
            subtract(rest, [neuron for neuron in neurons if neuron not in kept], sign=-1)
            fit_jointly(rest, kept, _PASSES_AFTER)
            neurons = pruned(kept, self.radius, self.decay, spread)
            progress((turn + 1) / _ROUNDS)
            if turn and not new:
                break
        return LocalResult(neurons, noise, background)


def unit_noise(movie: BinnedMovie, own: bool) -> np.ndarray:
    """Unit of each pixel: its noise level, or the median noise level; 0 for dead pixels."""
    noise = noise_level(movie.rough)
    alive = movie.live & (noise > 0)
    typical = np.float32(np.median(noise[alive])) if alive.any() else np.float32(1)
    noise = np.maximum(noise, 0.1 * typical) if own else np.full_like(noise, typical)
    return np.where(movie.live, noise, 0).astype(np.float32)


def started(rest: np.ndarray, neurons: list[LocalNeuron]) -> list[LocalNeuron]:
    """Give new neurons, found in the smoothed movie, a trace in the movie itself."""
    for neuron in neurons:
        here = neuron.window(rest)
        size = np.float32(np.vdot(neuron.footprint, neuron.footprint))
        neuron.trace = np.maximum(np.tensordot(neuron.footprint, here, axes=2) / size, 0)
        here -= neuron.footprint[..., None] * neuron.trace
    return neurons
