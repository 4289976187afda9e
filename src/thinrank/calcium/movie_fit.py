"""What both ways of fitting a movie give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thinrank.calcium.neurons import Neurons
from thinrank.core.factors import Factors
from thinrank.core.result import Status


@dataclass(frozen=True)
class MovieFit:
    """A fitted movie.

    Attributes
    ----------
    factors : Factors
        Factors of Θ over all pixels, in units of ``scale``.
    status : Status
        How the fit ended.
    decay : float
        γ, the fraction of the fluorescence that is left after one frame.
    radius : float
        Radius of a neuron, in pixels.
    mean_image : ndarray of shape (height, width), float32
        Mean of the raw frames.
    knots : ndarray of shape (n_knots,)
        Frames at which the baseline is computed; in between it is interpolated linearly.
    baseline : ndarray of shape (n_knots, height * width), float32
        Baseline of all pixels at the knots.
    scale : ndarray of shape (height * width,), float32
        Unit of each pixel; 0 for a pixel that never changes.
    neurons : Neurons
    """

    factors: Factors
    status: Status
    decay: float
    radius: float
    mean_image: np.ndarray
    knots: np.ndarray
    baseline: np.ndarray
    scale: np.ndarray
    neurons: Neurons
