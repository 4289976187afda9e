"""Loadings of predictors and responses on the factors."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.estimators.findings import Findings
from thinrank.estimators.summary import percent
from thinrank.plot.canvas import (
    axes_of,
    check_count,
    name_axis,
    room,
    size_in_points,
    write_instead,
)
from thinrank.plot.colours import GREY, QUIET, by_sign
from thinrank.plot.fitted_model import fitted_model, loadings
from thinrank.plot.labels import names_at, plural, strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW = 0.19  # height of a name in a new figure, in inches
_HALF = 0.44  # half of the width of a column of bars; the distance between columns is 1
_SPACE = 1.6  # least number of rows between predictors and responses, for a title
_TITLE = 8.0  # font size of these titles, in points


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
    est : estimator
        A fitted estimator, such as :class:`thinrank.SparseReducedRankRegressor`.
    factors : int, sequence of int or None, default=None
        Which factors, counted from 0; None for all, but at most ``max_factors``.
    max_predictors : int, default=20
        Largest number of predictors shown: those with the largest loading on one of the factors.
        In small Axes fewer are shown, so that their names can be read.
    max_responses : int, default=15
        The same for responses.
    max_factors : int, default=6
        Largest number of factors shown if ``factors`` is None.
    ax : Axes or None, default=None
        The Axes to draw in; None for a new figure.

    Returns
    -------
    Axes
        The Axes.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    >>> est = tr.SparseReducedRankRegressor(2, 5, None).fit(X, Y)
    >>> ax = tr.plot.factors(est)
    >>> [label.get_text().split()[:2] for label in ax.get_xticklabels()]
    [['factor', '1'], ['factor', '2']]
    """
    max_predictors = check_count("max_predictors", max_predictors)
    max_responses = check_count("max_responses", max_responses)
    model = fitted_model(est)
    which = _which(factors, model.rank, check_count("max_factors", max_factors))
    left, right = loadings(model)
    high = min(int(np.count_nonzero(left[:, which].any(axis=1))), max_predictors)
    low = min(int(np.count_nonzero(right[:, which].any(axis=1))), max_responses)
    width = 2.6 + 1.5 * len(which)
    ax = axes_of(ax, min(max(width, 4.8), 11.0), max(1.1 + _ROW * (high + low + _SPACE), 2.8))
    if model.rank == 0:
        return no_factors(ax)
    fitting = max(room(ax, "y") - 2, 2)
    if high + low > fitting:
        high = max(round(fitting * high / (high + low)), 1)
        low = max(fitting - high, 1)
    _draw_sides(ax, model, which, (left[:, which], right[:, which]), (high, low))
    ax.set_xticks(range(len(which)), [factor_title(model, i) for i in which], fontsize=9)
    ax.xaxis.tick_top()
    ax.set_xlim(-0.55, len(which) - 0.45)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def factor_title(model: Findings, index: int) -> str:
    """The name of a factor, with the share of the responses that it explains."""
    return f"factor {index + 1}\n{percent(float(model.shares[index]))} of {model.share_of}"


def no_factors(ax: Axes) -> Axes:
    """The message of plots of factors if the rank is 0."""
    return write_instead(ax, "The rank is 0: there are no factors.")


def _which(factors: Any, rank: int, most: int) -> list[int]:
    """The positions of the factors to show."""
    if factors is None:
        return list(range(min(rank, most)))
    given = [factors] if isinstance(factors, Integral) else list(factors)
    for index in given:
        whole = isinstance(index, Integral) and not isinstance(index, bool)
        if not whole or not 0 <= int(index) < rank:
            last = f"from 0 to {rank - 1}" if rank else "(none, because the rank is 0)"
            raise ValueError(f"factors must be positions of factors {last}, got {index!r}")
    if not given:
        raise ValueError("factors must name at least one factor, got an empty sequence")
    return [int(index) for index in given]


def _draw_sides(
    ax: Axes,
    model: Findings,
    which: Sequence[int],
    sides: tuple[np.ndarray, np.ndarray],
    most: tuple[int, int],
) -> None:
    """Bars of the predictors, then of the responses, from top to bottom."""
    names = (model.predictor_names, model.response_names)
    # the title needs a line of text, which may be more than one row of bars
    space = max(_SPACE, 1.7 * _TITLE * (sum(most) + 4) / size_in_points(ax)[1])
    place = 0.0
    places: list[float] = []
    labels: list[str] = []
    for kind, values, known, limit in zip(
        ("predictors", plural(model.noun)), sides, names, most, strict=True
    ):
        total = int(np.count_nonzero(values.any(axis=1)))
        shown = _in_order(values, strongest(np.abs(values).max(axis=1), limit))
        heights = place + np.arange(len(shown))
        note = kind if len(shown) >= total else f"{kind}: strongest {len(shown)} of {total:,} shown"
        ax.text(-0.5, place - space / 2, note, fontsize=_TITLE, color=GREY, va="center")
        for column in range(len(which)):
            own = values[shown, column]
            largest = float(np.abs(values[:, column]).max()) or 1.0
            ax.barh(
                heights,
                own / largest * _HALF,
                left=column,
                height=0.75,
                color=[by_sign(value) for value in own],
            )
            ax.plot([column, column], [heights[0] - 0.5, heights[-1] + 0.5], color=QUIET, lw=0.8)
        places.extend(heights.tolist())
        labels.extend(names_at(known, shown))
        place = float(heights[-1]) + 1 + space
    ax.set_ylim(place - space - 0.4, -space)
    name_axis(ax, "y", places, labels)


def _in_order(loadings: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Names by the factor on which they load most, and by their loading on it."""
    main = np.argmax(np.abs(loadings[shown]), axis=1)
    values = loadings[shown, main]
    return shown[np.lexsort((-values, main))]
