"""The paper's fit: a Θ of low rank with few rows and columns for the whole movie."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thinrank import arrays
from thinrank.calcium.alternation import Alternation
from thinrank.calcium.decay import estimate_decay
from thinrank.calcium.movie import Movie
from thinrank.calcium.movie_fit import MovieFit
from thinrank.calcium.neurons import find_neurons
from thinrank.calcium.settings import (
    as_preprocessing,
    given_radius,
    given_sizes,
    smoothing_width,
)
from thinrank.calcium.sizes import MovieSizes
from thinrank.calcium.stages import Stages
from thinrank.core.factors import Factors
from thinrank.core.result import Outcome, Solution, Status
from thinrank.designs import Dense, RecursiveFilter
from thinrank.losses import LeastSquares
from thinrank.minimize import minimize, seed_from

# Largest number of pixels in use; larger frames are screened. For 3000 frames, Y then takes 400 MB.
_MOST_PIXELS = 1 << 15
# Decay for the screening of large frames if it is estimated, which happens later. The paper's
# 1 − 1/frame_rate at 10 frames per second.
_USUAL_DECAY = 0.9


def fit_low_rank(imaging: Any, movie: Movie, decay: float | None, stages: Stages) -> MovieFit:
    """Fit Θ to the whole movie and split it into neurons.

    ``decay``: None to estimate it.
    """
    radius = given_radius(imaging)
    sizes = given_sizes(imaging, movie.shape, _MOST_PIXELS)
    prepared = as_preprocessing(imaging, _MOST_PIXELS, radius).prepare(
        movie, _USUAL_DECAY if decay is None else decay, stages.begin("reading")
    )
    decay = estimate_decay(prepared.Y) if decay is None else decay
    solution = _solve(imaging, prepared.Y, decay, sizes, stages)
    _, height, width = movie.shape
    V = arrays.scatter_rows(solution.factors.V, prepared.pixels, height * width)
    theta = Factors(solution.factors.U, V)
    knots, baseline, scale = prepared.knots, prepared.baseline, prepared.scale
    image = prepared.mean_image
    del prepared  # frees memory: the separation needs only Θ
    stages.begin("neurons")
    threshold = float(imaging.region_threshold)
    neurons = find_neurons(theta, decay, scale, movie.shape, radius, threshold)
    return MovieFit(theta, solution.status, decay, radius, image, knots, baseline, scale, neurons)


def _solve(
    imaging: Any, Y: np.ndarray, decay: float, sizes: MovieSizes, stages: Stages
) -> Solution:
    """Fit Θ over the pixels in use."""
    seed = seed_from(imaging.random_state)
    alternation = Alternation(decay, smoothing_width(imaging, given_radius(imaging)), seed)
    start, found = alternation.run(Y, sizes, stages.begin("spike frames"))
    if start.rank == 0:
        message = "No frame explains more than noise would: no spikes were found, and Θ has rank 0."
        return Solution(start, 0.5 * float(np.vdot(Y, Y)) / len(Y), Status(Outcome.ZERO, message))
    loss = LeastSquares(RecursiveFilter(decay, len(Y), np.float32), Dense(Y))
    stages.begin("factors")
    solution = minimize(
        loss,
        rank=found.rank,
        row_sparsity=found.rows,
        column_sparsity=found.columns,
        start=start,
        solver=imaging.solver,
        max_iter=imaging.max_iter,
        random_state=seed,
    )
    if solution.status.outcome in (Outcome.ITERATION_LIMIT, Outcome.DIVERGED):
        warnings.warn(solution.status.message, ConvergenceWarning, stacklevel=4)
    return solution
