"""What a fit of a family lacks of the responses: regressions on its predictors, without a rank."""

from __future__ import annotations

import numpy as np
from scipy.special import fdtrc

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.factors import Factors
from thinrank.losses.generalized_linear import GeneralizedLinear

# With many missing entries noise levels are estimated by regressions of the responses on the
# predictors of a fit if there are at most this number of them, since more would take long, and only
# for responses of which such a regression leaves this fraction of the entries as degrees of
# freedom. Rules of thumb.
MOST_REGRESSED = 100
LEAST_LEFT = 0.25
# Level of the test that a fit lacks something of a response.
_LACKS = 0.01


def explains_more(
    loss: GeneralizedLinear, fit: Array, whole: Array, freedom: np.ndarray, left: np.ndarray
) -> np.ndarray:
    """Whether an F test says that a fit lacks something that regressions explain, per response.

    Parameters
    ----------
    loss : GeneralizedLinear
        Squared errors.
    fit, whole : array of shape (n_samples, n_targets)
        Linear predictors of the fit and of the regressions.
    freedom, left : ndarray of shape (n_targets,)
        Their degrees of freedom.

    Returns
    -------
    ndarray of bool of shape (n_targets,)
    """
    weight = relative_weights(loss)
    xp = arrays.namespace(fit)
    before, after = (
        arrays.to_numpy(
            xp.sum(xp.where(weight > 0, weight * (loss.Y - linear) ** 2, 0.0), axis=0)
        ).astype(np.float64)
        for linear in (fit, whole)
    )
    more, left = np.maximum(freedom - left, 1.0), np.maximum(left, 1.0)
    ratio = np.maximum(before - after, 0) / more / np.maximum(after / left, 1e-300)
    return np.asarray(fdtrc(more, left, ratio) < _LACKS)


def regressed(loss: GeneralizedLinear, rows: Array) -> Array:
    """Linear predictors of separate regressions of all responses on some predictors.

    Parameters
    ----------
    loss : GeneralizedLinear
        Squared errors.
    rows : array of int
        Positions of the predictors.

    Returns
    -------
    array of shape (n_samples, n_targets)
    """
    inner = loss.restrict(rows, loss.targets)
    every = arrays.identity(rows.shape[0], like=loss.prototype)
    nothing = arrays.zeros((loss.shape[1], rows.shape[0]), like=loss.prototype)
    steps = inner.column_steps(Factors(every, nothing))
    assert steps is not None  # as for the loss itself
    return inner.at(Factors(every, steps[0])).linear


def relative_weights(loss: GeneralizedLinear) -> Array:
    """Weights of all entries, with a mean of 1 over those that are positive."""
    weight = loss.weights()
    xp = arrays.namespace(weight)
    return weight * (loss.observations / float(xp.sum(weight)))
