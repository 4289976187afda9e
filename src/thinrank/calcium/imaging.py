"""The estimator that finds neurons in a fluorescence movie."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from thinrank.calcium.pipeline import Neurons, fit_movie, joined, some_of
from thinrank.calcium.readers import Movie, open_movie
from thinrank.calcium.regions import label_image
from thinrank.calcium.registration import registered, warn_of_motion
from thinrank.calcium.scores import Scores, score_regions
from thinrank.calcium.traces import resolve_decay
from thinrank.core.checks import check_choice, is_auto
from thinrank.core.progress import progress_bar
from thinrank.minimize import as_solver

# Parameters that are numbers, with the smallest value and the one that they must be below.
_NUMBERS = {
    "frame_rate": (0, 1e9),  # above that, the decay of one frame is 1 in floating point
    "percentile": (0, 100),
    "window": (0, 3e9),  # a century
    "region_threshold": (0, 1),
    "floor": (-1e-9, np.inf),
    "neuropil": (-1e-9, 2 + 1e-9),  # more than any tissue has
    "neuron_radius": (0, np.inf),
    "smoothing": (-1e-9, np.inf),
    "background": (-1e-9, np.inf),
}
_WIDTHS = ("neuron_radius", "smoothing", "background")  # in pixels


@dataclass(eq=False, repr=False)
class CalciumImaging(BaseEstimator):
    r"""Find neurons, their footprints, traces and spikes in a calcium imaging movie.

    The movie is modeled as Y = G⁻¹SA + E (Pnevmatikakis et al. 2014; Yu, Gupta & Kolar 2020). Y
    has one row per frame and one column per pixel. The spikes S are non-zero in few frames, the
    footprints A in few pixels, and the filter G⁻¹ lets every spike decay by the factor γ per frame.
    Θ = SA has low rank, few non-zero rows and few non-zero columns, so this is two-way sparse
    reduced-rank regression on X = G⁻¹, a :class:`thinrank.designs.RecursiveFilter`.

    By default neurons are found locally: the most active place, relative to the noise and the
    remaining background around it, is the start of a neuron; its footprint and trace are fitted and
    subtracted, until no place is left; then all are fitted jointly, and their traces and spikes are
    computed in all frames. With ``detection="low_rank"``, Θ is fitted to the whole movie as in the
    paper. A row of Θ is the image of what one frame adds, in which the same search finds neurons.

    Parameters
    ----------
    frame_rate : float
        Frames per second.
    rank : int or "auto", default="auto"
        Largest rank of Θ. "auto" is the number of neurons or, with ``detection="low_rank"``, the
        number of directions of Y that exceed the noise.
    row_sparsity : int or "auto", default="auto"
        Largest number of frames with spikes. "auto" is the number of frames that explain more than
        noise would.
    column_sparsity : int or "auto", default="auto"
        Largest number of active pixels. "auto" is the number of pixels of which the fit explains
        more than it would of noise.
    decay : None, float or "estimate", default=None
        γ. None is 1 − 1/frame_rate, as in the paper; "estimate" computes it from the
        autocovariance of the most active pixels.
    baseline : {"median", "percentile", "none"}, default="median"
        What is subtracted from each pixel: its median; a running percentile, for movies with
        bleaching or drift; or nothing, for movies without a baseline.
    percentile : float, default=20.0
        The percentile for ``baseline="percentile"``.
    window : float, default=30.0
        Length of the windows for ``baseline="percentile"``, in seconds.
    smoothing : float or "auto", default="auto"
        Standard deviation of a Gaussian filter of each frame, in pixels; 0 for none, as in the
        paper. "auto" is 0.45 times the radius of a neuron (0.4 times with
        ``detection="low_rank"``). The local search uses it only to find neurons, not to fit them.
    background : float or "auto", default="auto"
        Standard deviation of a wider Gaussian filter, in pixels. Changes of the filtered movie over
        time, such as neuropil or changes of the illumination, are subtracted from each pixel, times
        a gain that is fitted; 0 for none. "auto" is 3 times the radius of a neuron.
    noise_scaling : bool, default=True
        Whether each pixel is divided by the standard deviation of its noise, which is larger in
        bright pixels.
    floor : float, default=2.0
        With ``detection="low_rank"``, values more than this many standard deviations of the noise
        below the baseline are replaced by that bound: calcium makes pixels brighter. Infinity for
        no bound.
    neuron_radius : float or "auto", default="auto"
        Approximate radius of a neuron, in pixels. "auto" is that of the bodies that a first search
        finds, or 5 pixels with ``detection="low_rank"``. A given radius is used as it is, unless
        the bodies that it finds are smaller by more than a third: then theirs is used.
    region_threshold : float, default=0.5
        A region consists of the pixels at which a footprint is at least this fraction of its
        maximum.
    neuropil : float or "auto", default="auto"
        Fraction of the light around a neuron that is subtracted from its raw fluorescence for ΔF/F
        and deconvolution. "auto" is the regression coefficient of each neuron, from 0 to 2;
        suite2p's neucoeff is 0.7.
    register : bool, default=False
        Whether to correct rigid motion first, as :func:`thinrank.calcium.register` does.
    detection : {"auto", "local", "low_rank"}, default="auto"
        How neurons are found. "auto" is "low_rank" if a size, another solver or an iteration limit
        is given, and "local" otherwise.
    solver : {"pursuit", "gdt"}, default="pursuit"
        See :func:`thinrank.minimize`; for ``detection="low_rank"``.
    max_iter : int, default=None
        Iteration limit of the solver.
    random_state : int, Generator or None, default=None
        Seed of the randomized decompositions of very long movies; None for a fixed seed.
    verbose : int, default=0
        Whether to show progress on standard error.

    Attributes
    ----------
    factors_ : Factors
        Factors of Θ, with U of shape (n_frames, rank) and V of shape (height * width, rank), in
        units of the noise of each pixel. ``factors_.theta`` is Θ as a dense array.
    rank_ : int
        Rank of Θ.
    spike_frames_ : ndarray of int
        Sorted indices of the frames with spikes, the non-zero rows of Θ.
    active_pixels_ : ndarray of int
        Sorted flat indices row * width + column of the non-zero columns of Θ.
    n_neurons_ : int
        Number of neurons. Those that explain the most come first.
    footprints_ : ndarray of shape (n_neurons, height, width), float32
        Brightness of each pixel, 1 at the brightest one. Computed at each access from
        ``sparse_footprints_``, a sparse array of shape (n_neurons, height * width).
    traces_ : ndarray of shape (n_neurons, n_frames), float32
        Denoised fluorescence of each neuron above the baseline, at its brightest pixel, in the
        units of the movie.
    spike_trains_ : ndarray of shape (n_neurons, n_frames), float32
        Spikes of each neuron, at least 0. Filtering them by G⁻¹ gives ``traces_``.
    regions_ : ndarray of shape (height, width) of int
        0, or 1 plus the index of the neuron to whose region a pixel belongs.
    region_coordinates_ : list of ndarray of shape (n_pixels, 2)
        Rows and columns of the pixels of each region. Regions may overlap.
    fluorescence_ : Fluorescence
        Raw F, neuropil, F0 (the running ``percentile`` in windows of ``window`` seconds), ΔF/F and
        deconvolved activity of each neuron, from the raw frames.
    quality_ : Quality
        Signal-to-noise ratio of each neuron, correlation of its trace with its raw light, and its
        score.
    rejected_ : Neurons
        What was found but does not look like a neuron, with the reason of each in
        ``quality.fault``. :func:`select_neurons` can accept them.
    shifts_ : ndarray of shape (n_frames, 2) or None
        Displacement of each frame in pixels, if ``register=True``.
    decay_ : float
        γ.
    radius_ : float
        Radius of a neuron that was used, in pixels.
    shape_ : tuple (n_frames, height, width)
        Shape of the movie.
    mean_image_ : ndarray of shape (height, width), float32
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
    >>> imaging.n_neurons_, imaging.score(truth.regions).combined
    (3, 1.0)
    >>> tr.calcium.select_neurons(imaging, imaging.quality_.snr > 5).n_neurons_
    3
    """

    frame_rate: float
    rank: int | str = "auto"
    row_sparsity: int | str = "auto"
    column_sparsity: int | str = "auto"
    decay: float | str | None = None
    baseline: str = "median"
    _: KW_ONLY
    percentile: float = 20.0
    window: float = 30.0
    smoothing: float | str = "auto"
    background: float | str = "auto"
    noise_scaling: bool = True
    floor: float = 2.0
    neuron_radius: float | str = "auto"
    region_threshold: float = 0.5
    neuropil: float | str = "auto"
    register: bool = False
    detection: str = "auto"
    solver: str = "pursuit"
    max_iter: int | None = None
    random_state: Any = None
    verbose: int = 0

    def _stored_shapes(self) -> dict[str, Any]:
        """Shapes of the fitted attributes, which ``tr.load`` checks."""
        frames, height, width = self.shape_
        pixels, neurons = height * width, len(self.traces_)
        shapes = {
            "factors_": (frames, pixels),
            "decay_": (),
            "traces_": (neurons, frames),
            "spike_trains_": (neurons, frames),
            "sparse_footprints_": (neurons, pixels),
            "regions_": (height, width),
            "region_coordinates_": neurons,
            "mean_image_": (height, width),
        }
        if hasattr(self, "fluorescence_"):  # models of earlier versions have none
            for name in ("raw", "neuropil", "baseline", "deconvolved"):
                shapes[f"fluorescence_.{name}"] = (neurons, frames)
            shapes |= {"quality_.snr": (neurons,), "quality_.correlation": (neurons,)}
        return shapes

    def fit(
        self,
        movie: Any,
        y: Any = None,
        *,
        dataset: str | None = None,
        progress: Callable[[str, float], object] | None = None,
    ) -> CalciumImaging:
        """Find the neurons of a movie.

        Parameters
        ----------
        movie : array or memmap of shape (n_frames, height, width), or path
            TIFF (multi-page and BigTIFF; memory-mapped if uncompressed and contiguous), NPY, NPZ,
            HDF5, Zarr, or NWB with a TwoPhotonSeries. It must be registered, or ``register=True``.
            It is read again at the end, for ``fluorescence_``.
        y : None
            Ignored; present for compatibility with scikit-learn.
        dataset : str, default=None
            Name of the array in an NPZ or HDF5 file, or of the series in an NWB file. Needed if
            there are several.
        progress : callable, default=None
            Called with the name of each stage and the fraction of it that is done, from 0 to 1.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        MovieError
            If the movie cannot be used. A ValueError whose message names the file and the reason.
        """
        low_rank = self._check()
        decay = resolve_decay(self.decay, self.frame_rate)
        with ExitStack() as stack:
            opened = stack.enter_context(open_movie(movie, dataset))
            self._check_widths(opened.shape)
            bar = progress_bar("opening", 1.0, count=False) if self.verbose > 0 else None
            update = None if bar is None else stack.enter_context(bar)

            def begin(name: str) -> Callable[[float], None]:
                def advanced(fraction: float) -> None:
                    if update is not None:
                        update(fraction, description=name)
                    if progress is not None:
                        progress(name, fraction)

                advanced(0.0)
                return advanced

            self.shape_, self.shifts_ = opened.shape, None
            if self.register:
                moved = registered(opened, begin("registration"))
                opened, self.shifts_ = Movie(moved.movie, opened.name), moved.shifts
            else:
                warn_of_motion(opened)
            neurons, accepted = fit_movie(self, opened, decay, low_rank, begin)
        every = np.arange(len(neurons.regions))
        self._use(neurons, every[:accepted], every[accepted:])
        return self

    def _check(self) -> bool:
        """Check what does not depend on the movie. Returns whether Θ is fitted to all of it."""
        check_choice("baseline", self.baseline, ("median", "percentile", "none"))
        check_choice("detection", self.detection, ("auto", "local", "low_rank"))
        if not isinstance(self.register, bool):
            raise ValueError(f"register must be True or False, got {self.register!r}")
        as_solver(self.solver, self.max_iter)
        for name, (least, most) in _NUMBERS.items():
            value, optional = getattr(self, name), name in (*_WIDTHS, "neuropil")
            number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
            good = number and (least < value < most or (name == "floor" and value == np.inf))
            if not good and not (optional and is_auto(value)):
                auto = ', or "auto"' if optional else ""
                above = "at least 0" if least < 0 else f"above {least:g}"
                raise ValueError(f"{name} must be {above} and below {most:g}{auto}, got {value!r}")
        given = not all(map(is_auto, (self.rank, self.row_sparsity, self.column_sparsity)))
        if self.detection == "local" and given:
            raise ValueError(
                'detection must be "auto" or "low_rank" if rank, row_sparsity or column_sparsity '
                'is given, got "local"'
            )
        other = given or self.solver != "pursuit" or self.max_iter is not None
        return self.detection == "low_rank" or (self.detection == "auto" and other)

    def _check_widths(self, shape: tuple[int, int, int]) -> None:
        """Raise an error for widths far beyond the frames, whose filters would need much memory."""
        most = 10 * max(shape[1:])
        for name in _WIDTHS:
            value = getattr(self, name)
            if not is_auto(value) and value > most:
                raise ValueError(
                    f"{name} must be at most {most} pixels, 10 times the larger side of the "
                    f"frames, got {value!r}"
                )

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
    def pixel_energy_(self) -> np.ndarray:
        """Activity of each pixel, the norm of its column of Θ; of shape (height, width)."""
        check_is_fitted(self, "factors_")
        theta = self.factors_
        squares = np.einsum("ij,ij->i", theta.V @ (theta.U.T @ theta.U), theta.V)
        return np.sqrt(np.maximum(squares, 0)).reshape(self.shape_[1:])

    def score(self, regions: Any, y: Any = None, *, threshold: float = 5.0) -> Scores:
        """Compare ``region_coordinates_`` with labeled regions by NeuroFinder's scores.

        Parameters
        ----------
        regions : list of arrays of shape (n_pixels, 2), or array
            The labeled regions, as for :func:`thinrank.calcium.score_regions`.
        y : None
            Ignored; present for compatibility with scikit-learn.
        threshold : float, default=5.0
            Distance in pixels below which two centers match.

        Returns
        -------
        Scores
        """
        check_is_fitted(self, "factors_")
        return score_regions(
            self.region_coordinates_, regions, threshold, energy=self.pixel_energy_
        )

    def _use(self, candidates: Neurons, chosen: np.ndarray, rejected: np.ndarray) -> None:
        """Make some of the candidates the neurons of the fit, and some the rejected ones."""
        neurons, self.rejected_ = (some_of(candidates, index) for index in (chosen, rejected))
        self.sparse_footprints_ = neurons.footprints
        self.spike_trains_, self.traces_ = neurons.spike_trains, neurons.traces
        self.region_coordinates_ = neurons.regions
        self.regions_ = label_image(self.footprints_, neurons.regions)
        self.fluorescence_, self.quality_ = neurons.fluorescence, neurons.quality


def with_rejected(imaging: Any) -> tuple[Any, int]:
    """A fit with its rejected candidates as further neurons, and the number of accepted ones."""
    count, rejected = len(imaging.traces_), getattr(imaging, "rejected_", None)
    if rejected is None or not rejected.regions:
        return imaging, count
    return select_neurons(imaging, np.arange(count + len(rejected.regions))), count


def select_neurons(imaging: CalciumImaging, neurons: Any) -> CalciumImaging:
    """A copy of a fit with some of its neurons, which are numbered anew from 1.

    Θ and everything else that does not belong to a single neuron stay as they are.

    Parameters
    ----------
    imaging : CalciumImaging
        A fitted estimator.
    neurons : array of shape (n_kept,) of int, or of shape (n_neurons,) of bool
        Indices of the neurons to keep, from 0 and without repetition, or whether to keep each. The
        indices after those of the neurons are those of the rejected candidates.

    Returns
    -------
    CalciumImaging

    Examples
    --------
    >>> import thinrank as tr
    >>> movie, truth = tr.calcium.make_movie(200, (40, 40), 3, n_close_pairs=1, random_state=1)
    >>> imaging = tr.calcium.CalciumImaging(frame_rate=7).fit(movie)
    >>> tr.calcium.select_neurons(imaging, imaging.quality_.snr > 5).n_neurons_
    3
    """
    light, quality, regions = imaging.fluorescence_, imaging.quality_, imaging.region_coordinates_
    parts = imaging.sparse_footprints_, imaging.spike_trains_, imaging.traces_
    everything = joined(Neurons(*parts, regions, light, quality), imaging.rejected_)
    count, chosen = len(everything.regions), np.asarray(neurons)
    if chosen.dtype == bool and chosen.shape in ((len(regions),), (count,)):
        chosen = np.flatnonzero(chosen)
    good = chosen.ndim == 1 and (not chosen.size or chosen.dtype.kind in "iu")
    distinct = set(chosen.tolist()) if good else set()
    if not good or len(distinct) < len(chosen) or not distinct <= set(range(count)):
        raise ValueError(
            f"neurons must be different indices from 0 to {count - 1}, or a mask with "
            f"{len(regions)} or, with the rejected ones, {count} entries; got {neurons!r:.80}"
        )
    result = copy.copy(imaging)
    result._use(everything, chosen.astype(np.int64), np.empty(0, dtype=np.int64))
    return result
