"""Factors of coefficients that were estimated for each response separately."""

from __future__ import annotations

import numpy as np

from thinrank.core.factors import Factors


def factors_of_columns(theta: np.ndarray) -> Factors:
    """Factors of all of Θ, in which every column is as precise as in Θ.

    The columns have the units of the responses, which may differ by many orders of magnitude. In a
    decomposition of Θ itself the small ones would get the rounding errors of the large ones.

    Shapes: ``theta`` (n_features, n_targets).
    """
    units = np.max(np.abs(theta), axis=0, initial=0.0)
    units = np.where(units > 0, units, 1.0)
    factors = Factors.from_theta(theta / units, rank=min(theta.shape))
    return Factors(factors.U, factors.V * units[:, None])
