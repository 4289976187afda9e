"""Loadings of predictors and responses on the factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.estimators.summary import plural
from thinrank.plot import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@canvas.documented
def factors(
    est: Any,
    factors: int | Sequence[int] | None = None,
    *,
    max_predictors: int = 20,
    max_responses: int = 15,
    max_factors: int = 6,
    ax: Axes | None = None,
) -> Axes:
    """Draw the loadings of predictors and responses on the factors as bars.

    There is one column of bars per factor, with the predictors above and the responses below.
    Bars to the right (red) are positive, those to the left (blue) negative. A response rises with
    a predictor if their bars for a factor point to the same side. The loading of a predictor is the
    change of the factor, in its standard deviations, per standard deviation of the predictor; that
    of a response is the change of the response per standard deviation of the factor. Bars are
    drawn relative to the longest one of the factor among the predictors or responses.

    Parameters
    ----------
    {est}
    factors : int, sequence of int or None, default=None
        Which factors, counted from 0; None for all, but at most ``max_factors``.
    max_predictors : int, default=20
        Largest number of predictors shown: those with the largest loading on one of the factors.
        In small Axes fewer are shown, so that their names can be read.
    max_responses : int, default=15
        The same for responses.
    max_factors : int, default=6
        Largest number of factors shown if ``factors`` is None.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    >>> est = tr.SparseReducedRankRegressor(2, 5, None).fit(X, Y)
    >>> ax = tr.plot.factors(est)
    >>> [label.get_text().split()[:2] for label in ax.get_xticklabels()]
    [['factor', '1'], ['factor', '2']]
    """
    canvas.check_counts(
        max_predictors=max_predictors, max_responses=max_responses, max_factors=max_factors
    )
    model = canvas.fitted_model(est)
    which = list(range(min(model.rank, max_factors)))
    if factors is not None:
        which = canvas.factor_positions(factors, model.rank)
    left, right = (loadings[:, which] for loadings in canvas.loadings_of(model))
    high = min(int(np.count_nonzero(left.any(axis=1))), max_predictors)
    low = min(int(np.count_nonzero(right.any(axis=1))), max_responses)
    width = min(max(2.6 + 1.5 * len(which), 4.8), 11.0)
    ax = canvas.axes_of(ax, width, max(1.1 + canvas.ROW * (high + low + 1.6), 2.8))
    if model.rank == 0:
        return canvas.write_instead(ax, canvas.NO_FACTORS)
    fitting = max(canvas.room(ax, "y") - 2, 2)
    if high + low > fitting:
        high = max(round(fitting * high / (high + low)), 1)
        low = max(fitting - high, 1)
    sides = [
        ("predictors", model.predictor_names, left, high),
        (plural(model.noun), model.response_names, right, low),
    ]
    canvas.bar_columns(ax, sides, [canvas.factor_title(model, i) for i in which])
    return canvas.with_fonts(ax)
