"""What both ways of fitting a movie give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thinrank.calcium.neurons import Neurons
from thinrank.core.factors import Factors
from thinrank.core.result import Status


@dataclass(frozen=True)
class MovieFit:
    """A fitted movie."""

    factors: Factors  # factors of Θ over all pixels, in units of ``scale``
    status: Status  # how the fit ended
    decay: float  # γ, the fraction of the fluorescence that is left after one frame
    radius: float  # radius of a neuron, in pixels
    mean_image: np.ndarray  # (height, width) mean of the raw frames
    # (n_knots,) frames at which the baseline is computed; in between it is interpolated linearly
    knots: np.ndarray
    baseline: np.ndarray  # (n_knots, height * width) baseline of all pixels at the knots
    scale: np.ndarray  # (height * width,) unit of each pixel; 0 for a pixel that never changes
    neurons: Neurons
