"""A fit with some of its neurons: those that are accepted, or are not doubtful."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from thinrank.calcium.regions import label_image


def select_neurons(imaging: Any, neurons: Any) -> Any:
    """A copy of a fit with some of its neurons, which are numbered anew from 1.

    Θ, the denoised movie and everything else that does not belong to a single neuron stay as they
    are.

    Parameters
    ----------
    imaging : CalciumImaging
        A fitted estimator.
    neurons : array of shape (n_kept,) of int, or of shape (n_neurons,) of bool
        Indices of the neurons to keep, from 0 and without repetition, or whether to keep each.

    Returns
    -------
    CalciumImaging

    Examples
    --------
    >>> import thinrank as tr
    >>> movie, truth = tr.calcium.make_movie(200, (40, 40), 3, n_close_pairs=1, random_state=1)
    >>> imaging = tr.calcium.CalciumImaging(frame_rate=7).fit(movie)
    >>> tr.calcium.select_neurons(imaging, ~imaging.quality_.doubtful).n_neurons_
    3
    """
    kept = _indices(neurons, len(imaging.traces_))
    result = copy.copy(imaging)
    result.traces_, result.spike_trains_ = imaging.traces_[kept], imaging.spike_trains_[kept]
    result.sparse_footprints_ = imaging.sparse_footprints_[kept]
    result.region_coordinates_ = [imaging.region_coordinates_[i] for i in kept]
    for name in ("fluorescence_", "quality_"):
        if hasattr(imaging, name):  # models of earlier versions do not have them
            setattr(result, name, getattr(imaging, name).of(kept))
    shape = imaging.mean_image_.shape
    result.regions_ = label_image(list(result.footprints_), result.region_coordinates_, shape)
    return result


def _indices(neurons: Any, count: int) -> np.ndarray:
    chosen = np.asarray(neurons)
    if chosen.dtype == bool:
        if chosen.shape != (count,):
            raise ValueError(
                f"neurons as a mask must have the shape ({count},), one entry per neuron, got "
                f"shape {chosen.shape}"
            )
        return np.flatnonzero(chosen)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise ValueError(
            f"neurons must be a list of indices or a mask, got {chosen.dtype} of shape "
            f"{chosen.shape}"
        )
    chosen = chosen.astype(np.int64)
    if np.any((chosen < 0) | (chosen >= count)) or len(np.unique(chosen)) != len(chosen):
        raise ValueError(
            f"neurons must be different indices from 0 to {count - 1}, got {chosen.tolist()}"
        )
    return chosen
