"""Neurons found locally: noise is judged around each of them, however large the frame is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thinrank.calcium.binning import BinnedMovie, middle, noise_level
from thinrank.calcium.local_background import LocalBackground, fit_background
from thinrank.calcium.local_fit import fit_jointly, merged, pruned, subtract
from thinrank.calcium.seeds import LocalNeuron, SeedSearch, local_spread
from thinrank.calcium.smoothing import smooth_frames
from thinrank.calcium.stages import StageProgress

# Rounds of background, search and joint fit. The first background includes the neurons; the second
# does not. A third round changes little.
_ROUNDS = 2
# Passes of the joint fit before and after components are dropped.
_PASSES, _PASSES_AFTER = 4, 2
# Largest gain of the background in the first round, when neurons still raise it, and later.
_GAINS = (1.2, 1.5)
# Smallest noise level of a pixel, relative to the median. Without it, pixels at the margin of a
# registered movie, which hardly have any noise, would be scaled up. Rule of thumb.
_LEAST_NOISE = 0.1


@dataclass(frozen=True)
class LocalResult:
    """Neurons in units of the noise."""

    neurons: list[LocalNeuron]
    background: LocalBackground | None


@dataclass(frozen=True)
class LocalDetection:
    """Search for neurons in a binned movie."""

    radius: float  # radius of a neuron, in pixels
    # standard deviation of the Gaussian filter of the frames for the search, in pixels
    smoothing: float
    background: float  # standard deviation of the filter of the background, in pixels; 0 for none
    decay: float  # fraction of the fluorescence that is left after one bin

    def noise_after_smoothing(self, rough: np.ndarray) -> np.ndarray:
        """Standard deviation of the noise that the filter of the search leaves in each pixel.

        Shapes: ``rough`` (height, width, n_noise_bins), result (height, width).
        """
        level = noise_level(smooth_frames(rough, self.smoothing))
        level[level == 0] = np.inf
        return level

    def run(
        self,
        values: np.ndarray,
        level: np.ndarray,
        progress: StageProgress,
        *,
        first: int = 0,
        last: int = _ROUNDS,
        neurons: Sequence[LocalNeuron] = (),
        any_shape: bool = False,
    ) -> LocalResult:
        """Find the neurons.

        Shapes: ``level`` (height, width).
        """
        found, background = list(neurons), None
        for turn in range(first, last):
            begin = (turn - first) / (last - first)
            rest = values.copy()
            subtract(rest, found)
            if self.background:
                background = fit_background(rest, self.background, _GAINS[min(turn, 1)])
            rest -= middle(rest)[..., None]  # what the baseline and the background have left
            fit_jointly(rest, found, 1)
            smooth = smooth_frames(rest, self.smoothing)
            smooth -= middle(smooth)[..., None]
            smooth /= level[..., None]
            spread = local_spread(smooth, self.decay, self.radius)
            progress(begin + 0.3 / (last - first))
            new = SeedSearch(self.radius, self.decay).run(smooth, spread, wide=any_shape)
            del smooth
            progress(begin + 0.6 / (last - first))
            found = self._refined(rest, found + started(rest, new), spread, any_shape)
            progress(begin + 1 / (last - first))
            if turn and not new:
                break
        return LocalResult(found, background)

    def _refined(
        self, rest: np.ndarray, neurons: list[LocalNeuron], spread: np.ndarray, any_shape: bool
    ) -> list[LocalNeuron]:
        """Fit all neurons jointly, and leave out components that are not neurons."""
        fit_jointly(rest, neurons, _PASSES)
        radius = None if any_shape else self.radius
        kept = merged(pruned(neurons, radius, self.decay, spread), self.radius)
        subtract(rest, [neuron for neuron in neurons if neuron not in kept], sign=-1)
        fit_jointly(rest, kept, _PASSES_AFTER)
        return pruned(kept, radius, self.decay, spread)


def unit_noise(movie: BinnedMovie, own: bool) -> np.ndarray:
    """Unit of each pixel: its noise level, or the median noise level; 0 for dead pixels.

    Shapes: result (height, width).
    """
    noise = noise_level(movie.rough)
    alive = movie.live & (noise > 0)
    typical = np.float32(np.median(noise[alive])) if alive.any() else np.float32(1)
    noise = np.maximum(noise, _LEAST_NOISE * typical) if own else np.full_like(noise, typical)
    return np.where(movie.live, noise, 0).astype(np.float32)


def started(rest: np.ndarray, neurons: list[LocalNeuron]) -> list[LocalNeuron]:
    """Give new neurons, found in the smoothed movie, a trace in the movie itself.

    Shapes: ``rest`` (height, width, n_bins).
    """
    for neuron in neurons:
        here = neuron.window(rest)
        size = np.float32(np.vdot(neuron.footprint, neuron.footprint))
        neuron.trace = np.maximum(np.tensordot(neuron.footprint, here, axes=2) / size, 0)
        here -= neuron.footprint[..., None] * neuron.trace
    return neurons
