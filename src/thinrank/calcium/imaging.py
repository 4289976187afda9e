"""Neurons from a fluorescence movie."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from thinrank import arrays
from thinrank.calcium.alternation import Alternation
from thinrank.calcium.decay import estimate_decay, resolve_decay
from thinrank.calcium.movie import open_movie
from thinrank.calcium.neurons import find_neurons
from thinrank.calcium.preprocessing import PreparedMovie, Preprocessing, interpolated
from thinrank.calcium.scores import Scores, score_regions
from thinrank.calcium.settings import check_settings, given_sizes, in_radii
from thinrank.calcium.sizes import MovieSizes
from thinrank.calcium.stages import Stages, reported_stages
from thinrank.core.factors import Factors
from thinrank.core.result import Outcome, Solution, Status
from thinrank.designs import Dense, RecursiveFilter
from thinrank.losses import LeastSquares
from thinrank.minimize import minimize, seed_from

__all__ = ["CalciumImaging"]

# Pixels of larger frames than this are screened: their matrix is to fit into memory.
_MOST_PIXELS = 1 << 15
# Where the decay begins that the screening of large frames uses while none is known.
_USUAL_DECAY = 0.9


class CalciumImaging(BaseEstimator):
    r"""Find neurons, their footprints, traces and spikes in a calcium imaging movie.

    The movie of T frames and k pixels is modelled as Y = G⁻¹SA + E (Pnevmatikakis et al. 2014; Yu,
    Gupta & Kolar 2020): spikes S are non-zero in few frames, footprints A in few pixels, and G⁻¹
    lets every spike decay by γ a frame. Θ = SA has low rank, few non-zero rows and few non-zero
    columns, so this is two-way sparse reduced-rank regression on X = G⁻¹, which is never formed:
    products with it are recursive filters (:class:`thinrank.designs.RecursiveFilter`).

    The product Θ says which frames and pixels are active, not which neuron is which. A row of Θ
    is the picture of what one frame adds, mostly one neuron or a few apart from each other. Its
    peaks vote for places, each place with enough votes starts a neuron, and footprints and
    traces are then fitted to XΘ by turns, footprints and spikes both at least 0. Overlapping
    neurons are told apart by their spike frames, where connected pieces of the active pixels, or
    peaks of their energy, would join them.

    Parameters
    ----------
    frame_rate : float
        Frames a second.
    rank : int or "auto"
        Largest rank of Θ. "auto" counts the directions of Y that noise does not reach.
    row_sparsity : int or "auto"
        How many frames may have spikes. "auto" takes as many as explain more than noise would.
    column_sparsity : int or "auto"
        How many pixels may be active; "auto" likewise.
    decay : None, float or "estimate"
        γ. None is 1 − 1/frame_rate, as in the paper; "estimate" takes it from the
        autocovariance of the most active pixels.
    baseline : {"median", "percentile", "none"}
        What is taken out of each pixel: its median; a running percentile, for movies that
        bleach or drift; or nothing, for movies that come without.
    percentile : float, default 20
        Which one, for baseline="percentile".
    window : float, default 30
        Seconds of its windows.
    smoothing : float or "auto"
        Standard deviation, in pixels, of a Gaussian filter of each frame: a neuron covers many
        pixels, whose noise is independent. "auto" is 0.4 times the radius of a neuron; 0 is none,
        as in the paper.
    background : float or "auto"
        Standard deviation, in pixels, of a wider Gaussian filter, whose changes over time are
        taken out of each pixel: neuropil, and the lamp. "auto" is 3 times the radius; 0 is none.
    noise_scaling : bool, default True
        Whether each pixel is divided by the standard deviation of its noise: bright pixels are
        noisier, and would be taken for active.
    floor : float, default 2
        Values below this many standard deviations of the noise under the baseline are raised to
        that: calcium makes pixels brighter, and what makes them darker (the surround of a bright
        neuron in the background filter, motion) is not to count as activity. Infinity for none.
    neuron_radius : float, default 5
        Rough radius of a neuron, in pixels.
    region_threshold : float, default 0.4
        A region ends where its footprint falls below this part of its peak.
    solver : {"pursuit", "gdt"}
        See :func:`thinrank.minimize`.
    max_iter : int, optional
        Its iteration limit.
    random_state : int, Generator or None
        For randomised decompositions of very long movies; None gives the same answer every time.
    verbose : int, default 0
        Whether to show progress on standard error.

    Attributes
    ----------
    factors_ : Factors
        Θ: U of shape (T, r), V of shape (H·W, r), in units of the noise of each pixel.
    rank_ : int
    spike_frames_ : ndarray of int
        Sorted frames in which something spikes, the non-zero rows of Θ.
    active_pixels_ : ndarray of int
        Sorted flat indices row·W + column of the non-zero columns of Θ.
    n_neurons_ : int
        N. Neurons are ordered, those that explain the most first.
    footprints_ : ndarray of shape (N, H, W), float32
        Light of each neuron, 1 at its brightest pixel; made dense on demand from
        ``sparse_footprints_``, of shape (N, H·W).
    traces_ : ndarray of shape (N, T), float32
        Denoised fluorescence of each neuron above the baseline, at its brightest pixel of the
        smoothed movie, in the units of the movie. Smoothing lowers peaks, by about a third for
        footprints with a standard deviation of 3 pixels.
    spike_trains_ : ndarray of shape (N, T), float32
        At least 0; ``traces_`` are these through the filter G⁻¹.
    regions_ : ndarray of shape (H, W) of int
        0, or 1 + the neuron whose region a pixel is in.
    region_coordinates_ : list of ndarray of shape (m, 2)
        Rows and columns of every region, which may overlap.
    decay_ : float
    shape_ : (T, H, W)
    mean_image_ : ndarray of shape (H, W), float32
        Mean of the raw frames.
    status_ : Status
        How the solver ended; ``str(status_)`` is a sentence.

    References
    ----------
    M. Yu, V. Gupta and M. Kolar, Recovery of simultaneous low rank and two-way sparse coefficient
    matrices, a nonconvex approach, Electronic Journal of Statistics 14 (2020).

    Examples
    --------
    >>> import thinrank as tr
    >>> movie, truth = tr.calcium.make_movie(200, (40, 40), 3, n_close_pairs=1, random_state=1)
    >>> imaging = tr.calcium.CalciumImaging(frame_rate=7).fit(movie)
    >>> imaging.n_neurons_
    3
    >>> imaging.score(truth.regions).combined
    1.0
    """

    def __init__(
        self,
        frame_rate: float,
        rank: int | str = "auto",
        row_sparsity: int | str = "auto",
        column_sparsity: int | str = "auto",
        decay: float | str | None = None,
        baseline: str = "median",
        *,
        percentile: float = 20.0,
        window: float = 30.0,
        smoothing: float | str = "auto",
        background: float | str = "auto",
        noise_scaling: bool = True,
        floor: float = 2.0,
        neuron_radius: float = 5.0,
        region_threshold: float = 0.4,
        solver: str = "pursuit",
        max_iter: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.frame_rate = frame_rate
        self.rank = rank
        self.row_sparsity = row_sparsity
        self.column_sparsity = column_sparsity
        self.decay = decay
        self.baseline = baseline
        self.percentile = percentile
        self.window = window
        self.smoothing = smoothing
        self.background = background
        self.noise_scaling = noise_scaling
        self.floor = floor
        self.neuron_radius = neuron_radius
        self.region_threshold = region_threshold
        self.solver = solver
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    factors_: Factors
    status_: Status
    decay_: float
    shape_: tuple[int, int, int]
    mean_image_: np.ndarray
    sparse_footprints_: csr_array
    traces_: np.ndarray
    spike_trains_: np.ndarray
    regions_: np.ndarray
    region_coordinates_: list[np.ndarray]

    def fit(
        self,
        movie: Any,
        y: Any = None,
        *,
        dataset: str | None = None,
        progress: Callable[[str, float], object] | None = None,
    ) -> CalciumImaging:
        """Find the neurons.

        Parameters
        ----------
        movie : array or memmap of shape (T, H, W), or path
            TIFF (multi-page and BigTIFF; memory-mapped if uncompressed and in one piece), NPY,
            NPZ, HDF5, or NWB with a TwoPhotonSeries. Registered: motion is not corrected.
        y : ignored
        dataset : str, optional
            Which array of an NPZ or HDF5 file, or which series of an NWB file.
        progress : callable, optional
            Called with the name of each stage and the part of it that is done, from 0 to 1.

        Returns
        -------
        self

        Raises
        ------
        MovieError
            A ValueError that names the file and what is wrong with it.
        """
        check_settings(self)
        decay = resolve_decay(self.decay, self.frame_rate)
        with reported_stages(progress, self.verbose) as stages:
            with open_movie(movie, dataset) as source:
                sizes = given_sizes(self, source.shape, _MOST_PIXELS)
                prepared = self._preprocessing().prepare(
                    source, _USUAL_DECAY if decay is None else decay, stages.begin("reading")
                )
            self.decay_ = estimate_decay(prepared.Y) if decay is None else decay
            solution = self._solve(prepared, sizes, stages)
            self._keep(prepared, solution)
            del prepared  # the separation needs Θ only
            stages.begin("neurons")
            self._separate()
        return self

    @property
    def rank_(self) -> int:
        """Rank of Θ."""
        check_is_fitted(self, "factors_")
        return self.factors_.rank

    @property
    def spike_frames_(self) -> np.ndarray:
        """Sorted frames in which something spikes."""
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
        """Light of each neuron, shape (N, H, W); made at each call."""
        check_is_fitted(self, "factors_")
        return self.sparse_footprints_.toarray().reshape(-1, *self.shape_[1:])

    @property
    def denoised_(self) -> np.ndarray:
        """Baseline + G⁻¹Θ in the units of the movie, shape (T, H, W), float32; made at each call.

        Of the smoothed movie, when ``smoothing`` is not 0; pixels that are not active are at
        their baseline throughout.
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
        """How active each pixel is: the norm of its column of Θ, shape (H, W)."""
        check_is_fitted(self, "factors_")
        theta = self.factors_
        gram = theta.U.T @ theta.U
        squares = np.einsum("ij,ij->i", theta.V @ gram, theta.V)
        return np.sqrt(np.maximum(squares, 0)).reshape(self.shape_[1:])

    def score(self, regions: Any, y: Any = None, *, threshold: float = 5.0) -> Scores:
        """NeuroFinder's scores of ``region_coordinates_`` against labelled regions, and pixel AUC.

        Parameters
        ----------
        regions : list of (m, 2) arrays, masks (N, H, W) or a label image (H, W)
        y : ignored
        threshold : float
            Distance of centres, in pixels, below which regions match.
        """
        check_is_fitted(self, "factors_")
        return score_regions(
            self.region_coordinates_, regions, threshold, energy=self.pixel_energy_
        )

    # ----------------------------------------------------------------------- stages

    def _solve(self, prepared: PreparedMovie, sizes: MovieSizes, stages: Stages) -> Solution:
        """Θ over the pixels that were kept."""
        Y = prepared.Y
        seed = seed_from(self.random_state)
        alternation = Alternation(self.decay_, self._smoothing, seed)
        start, found = alternation.run(Y, sizes, stages.begin("spike frames"))
        if start.rank == 0:
            message = "No frame explains more than noise would: no spikes, the answer has rank 0."
            return Solution(
                start, 0.5 * float(np.vdot(Y, Y)) / len(Y), Status(Outcome.ZERO, message)
            )
        loss = LeastSquares(RecursiveFilter(self.decay_, len(Y), np.float32), Dense(Y))
        stages.begin("factors")
        solution = minimize(
            loss,
            rank=found.rank,
            row_sparsity=found.rows,
            column_sparsity=found.columns,
            start=start,
            solver=self.solver,
            max_iter=self.max_iter,
            random_state=seed,
        )
        if solution.status.outcome in (Outcome.ITERATION_LIMIT, Outcome.DIVERGED):
            warnings.warn(solution.status.message, ConvergenceWarning, stacklevel=3)
        return solution

    def _keep(self, prepared: PreparedMovie, solution: Solution) -> None:
        """Θ over all pixels, and what leads back to the units of the movie."""
        _, height, width = self.shape_ = prepared.shape
        theta = solution.factors
        V = arrays.scatter_rows(theta.V, prepared.pixels, height * width)
        self.factors_ = Factors(theta.U, V)
        self.status_ = solution.status
        self.mean_image_ = prepared.mean_image
        self._knots, self._baseline = prepared.knots, prepared.baseline
        self._scale = prepared.scale

    def _separate(self) -> None:
        """Footprints, traces and regions of neurons."""
        neurons = find_neurons(
            self.factors_,
            self.decay_,
            self._scale,
            self.shape_,
            float(self.neuron_radius),
            float(self.region_threshold),
        )
        self.sparse_footprints_ = neurons.footprints
        self.spike_trains_, self.traces_ = neurons.spikes, neurons.traces
        self.region_coordinates_, self.regions_ = neurons.regions, neurons.labels

    @property
    def _smoothing(self) -> float:
        return in_radii(self.smoothing, 0.4, self.neuron_radius)

    def _preprocessing(self) -> Preprocessing:
        return Preprocessing(
            baseline=self.baseline,
            percentile=float(self.percentile),
            window=max(2, round(self.window * self.frame_rate)),
            smoothing=self._smoothing,
            background=in_radii(self.background, 3.0, self.neuron_radius),
            noise_scaling=bool(self.noise_scaling),
            floor=float(self.floor),
            most_pixels=_MOST_PIXELS,
        )
