"""The decay γ: the fraction of the fluorescence that is left after one frame."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

# Largest lag of the autocovariance in use; larger lags are mostly noise.
_LAGS = 5
# Number of the most active pixels that the autocovariance is summed over. Rule of thumb.
_MOST_PIXELS = 2000
# Largest estimate, a decay time of 200 frames; slow changes of the baseline give larger ones.
_LARGEST = 0.995


def resolve_decay(decay: Any, frame_rate: float) -> float | None:
    """Turn the ``decay`` parameter into a number.

    None if the decay is to be estimated.
    """
    if decay is None:
        return decay_from_frame_rate(frame_rate)
    if isinstance(decay, str) and decay == "estimate":
        return None
    if isinstance(decay, Real) and not isinstance(decay, bool) and 0 <= float(decay) < 1:
        return float(decay)
    raise ValueError(
        f'decay must be None, "estimate" or a number at least 0 and below 1, got {decay!r}'
    )


def decay_from_frame_rate(frame_rate: float) -> float:
    """γ = 1 − 1/frame_rate, the paper's choice: a decay time of about one second."""
    if not frame_rate > 1:
        raise ValueError(
            f"frame_rate must be above 1 for the decay 1 − 1/frame_rate, got {frame_rate!r}; "
            'give the decay, or decay="estimate"'
        )
    return 1 - 1 / frame_rate


def estimate_decay(Y: np.ndarray) -> float:
    """γ from the autocovariance of the most active pixels.

    For y = (first-order filter of spikes) + (white noise) the autocovariance at lag l ≥ 1 is
    proportional to γ^l and does not depend on the noise. The autocovariances are summed over
    pixels, and γ is the regression coefficient of each lag on the lag before, for lags 1 to 5.
    """
    frames = Y.shape[0]
    lags = min(_LAGS, frames - 2)
    square = Y.mean(axis=0, dtype=np.float64) ** 2
    covariances = np.array(
        [
            np.einsum("ij,ij->j", Y[: frames - lag], Y[lag:]) / (frames - lag) - square
            for lag in range(1, lags + 1)
        ]
    )
    # chosen by the sum over all lags, so that the choice does not favor any lag
    active = np.argsort(covariances.sum(axis=0))[-_MOST_PIXELS:]
    covariance = covariances[:, active].sum(axis=1)
    before, after = covariance[:-1], covariance[1:]
    energy = float(before @ before)
    if energy == 0:
        return 0.0
    return float(np.clip(before @ after / energy, 0.0, _LARGEST))
