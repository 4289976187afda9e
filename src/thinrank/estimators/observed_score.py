"""R² of responses with missing entries."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import r2_score


def observed_r2(y: np.ndarray, predicted: np.ndarray, sample_weight: Any = None) -> float:
    """Coefficient of determination of the observed entries, averaged over the responses."""
    if y.ndim == 1:
        y, predicted = y[:, None], predicted[:, None]
    if y.shape != predicted.shape:
        raise ValueError(f"y must have shape {predicted.shape}, got {y.shape}")
    weight = None if sample_weight is None else np.asarray(sample_weight)
    # all complete responses in one call, which is much faster if there are thousands
    full = ~np.isnan(y).any(axis=0) if len(y) > 1 else np.zeros(y.shape[1], dtype=bool)
    scores: list[float] = []
    if full.any():
        scores += r2_score(
            y[:, full], predicted[:, full], sample_weight=weight, multioutput="raw_values"
        ).tolist()
    for own, fitted in zip(y[:, ~full].T, predicted[:, ~full].T, strict=True):
        seen = ~np.isnan(own)
        if np.count_nonzero(seen) > 1:
            weights = None if weight is None else weight[seen]
            scores.append(r2_score(own[seen], fitted[seen], sample_weight=weights))
    if scores:
        return float(np.mean(scores))
    warnings.warn(
        "R² is nan: no response in y has two observed entries.",
        UndefinedMetricWarning,
        stacklevel=3,
    )
    return float("nan")
