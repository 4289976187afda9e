"""Non-negative deconvolution of fluorescence: the increments that decay by γ per frame."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

# The powers of γ of one stretch of frames span at most this factor, far inside floating point.
_SPAN = 1e-60
# What comes before or after a stretch no longer matters where it has decayed by this factor.
_FORGOTTEN = 1e-15


def deconvolve(values: Any, decay: float) -> np.ndarray:
    """Non-negative increments whose decaying sum is nearest to some traces.

    For every trace y, the sum of squares of y − c is minimized over c with the increments
    s_t = c_t − γ c_{t−1} ≥ 0 and c_0 ≥ 0. There is no penalty on the increments, so that noise
    leaves small ones in many frames. With u_t = c_t γ^{−t} the problem is a weighted isotonic
    regression, which is solved in overlapping stretches, since powers of γ soon leave the range of
    floating point.

    Parameters
    ----------
    values : array of shape (n_neurons, n_frames)
        Fluorescence above its baseline.
    decay : float
        γ, the fraction of the fluorescence that is left after one frame; at least 0, below 1.

    Returns
    -------
    ndarray of shape (n_neurons, n_frames), float32
        The increments, in the units of the values.

    References
    ----------
    J. Friedrich, P. Zhou and L. Paninski, Fast online deconvolution of calcium imaging data, PLOS
    Computational Biology 13 (2017).

    Examples
    --------
    >>> from thinrank.calcium import deconvolve
    >>> deconvolve([[0, 2, 1, 0.5, 4.25]], 0.5).tolist()
    [[0.0, 2.0, 0.0, 0.0, 4.0]]
    """
    if not isinstance(decay, Real) or isinstance(decay, bool) or not 0 <= decay < 1:
        raise ValueError(f"decay must be a number at least 0 and below 1, got {decay!r}")
    traces = np.asarray(values, dtype=np.float64)
    if traces.ndim != 2:
        raise ValueError(
            f"values must have the shape (n_neurons, n_frames), got shape {traces.shape}"
        )
    if not np.isfinite(traces).all():
        raise ValueError("values must not contain NaN or infinity")
    if decay == 0:
        return np.maximum(traces, 0).astype(np.float32)
    levels = np.stack([_levels(trace, float(decay)) for trace in traces]) if len(traces) else traces
    increments = levels.copy()
    increments[:, 1:] -= decay * levels[:, :-1]
    return np.maximum(increments, 0).astype(np.float32)


def _levels(trace: np.ndarray, decay: float) -> np.ndarray:
    """The non-negative decaying trace that is nearest to a trace."""
    stretch, margin = (max(1, int(math.log(x) / math.log(decay))) for x in (_SPAN, _FORGOTTEN))
    levels = np.empty_like(trace)
    for first in range(0, len(trace), stretch):
        last = min(first + stretch, len(trace))
        begin, end = max(first - margin, 0), min(last + margin, len(trace))
        powers = decay ** np.arange(end - begin, dtype=np.float64)
        fitted = isotonic_regression(trace[begin:end] / powers, weights=powers**2).x
        fitted = np.maximum(fitted, 0.0)  # with a lower bound, the regression is clipped to it
        levels[first:last] = (fitted * powers)[first - begin : last - begin]
    return levels
