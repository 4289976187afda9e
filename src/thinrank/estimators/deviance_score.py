"""The fraction of the deviance that predictions explain."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.estimators.responses import Responses
from thinrank.losses.families import Family
from thinrank.losses.profile import profiled


def deviance_explained(
    family: Family,
    responses: Responses,
    linear: Array,
    sample_weight: Any = None,
    offset: Array | None = None,
) -> float:
    """1 − deviance/null deviance of the observed entries.

    Shapes: ``linear`` (n_samples, n_columns).
    """
    Y, weight = responses.Y, responses.weight
    xp = arrays.namespace(Y)
    if tuple(Y.shape) != tuple(linear.shape):
        raise ValueError(
            f"X and Y must have the same number of rows, and Y the columns that fit had: the "
            f"predictions have shape {tuple(linear.shape)}, Y has {tuple(Y.shape)}"
        )
    weight = Y * 0 + 1 if weight is None else weight
    if sample_weight is not None:
        given = _check_sample_weight(
            sample_weight, np.empty((Y.shape[0], 0)), dtype=np.float64, ensure_non_negative=True
        )
        weight = weight * arrays.from_numpy(given, Y)[:, None]
    total = 2 * float(xp.sum(family.value(Y, linear) * weight))
    ones = arrays.zeros((Y.shape[0], 1), Y) + 1
    base = Y * 0 if offset is None else offset
    null = 2 * float(xp.sum(profiled(family, Y, weight, base, ones, None)[2]))
    if null <= 0:
        return 1.0 if total <= 0 else 0.0
    return 1.0 - total / null
