"""Strengths of the predictors as their number grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.core.checks import check_choice
from thinrank.plot import canvas
from thinrank.plot.canvas import ACCENT, CATEGORIES, GRAY, QUIET, SMALL, names_at, strongest
from thinrank.selection.predictor_path import PredictorPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE_STYLES = ("-", "--", ":")  # of lines when there are more lines than colors


@canvas.documented
def path(
    result: PredictorPath,
    *,
    show: str = "strength",
    max_labels: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw how fits change with the number of predictors.

    The dashed line is the number of predictors of the estimator.

    Parameters
    ----------
    result : PredictorPath
        The result of :func:`thinrank.selection.path`.
    show : {"strength", "score"}, default="strength"
        "strength" draws a line for each predictor, the norm of its standardized coefficients;
        "score" draws the R² (or share of the deviance) of the fits on their own data.
    max_labels : int, default=20
        Largest number of predictors with a color and a label: those that are strongest at the
        right end. The others are gray. In small Axes fewer have a label.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    >>> est = tr.SparseReducedRankRegressor(2, 5, None).fit(X, Y)
    >>> ax = tr.plot.path(tr.selection.path(est, X, Y))
    >>> [text.get_text() for text in ax.texts][-1]
    'chosen'
    """
    if not isinstance(result, PredictorPath):
        raise TypeError(
            f"result must be what tr.selection.path(est, X, Y) returns, got {type(result).__name__}"
        )
    check_choice("show", show, ("strength", "score"))
    canvas.check_counts(max_labels=max_labels)
    ax = canvas.axes_of(ax, 7.2, 4.6)
    counts = result.row_sparsities
    if not canvas.log_scale(ax, "x", float(counts[0]), float(counts[-1]), ratio=30.0):
        canvas.whole_numbers(ax, "x")
    if show == "score":
        ax.plot(counts, result.scores, color=ACCENT, marker="o", markersize=4)
        ax.set_ylabel("score on the training data")
    else:
        _draw_strengths(ax, result, max_labels)
        ax.set_ylabel("strength (norm of standardized coefficients)")
    if not ax.get_xlabel():
        ax.set_xlabel("number of predictors")
    ax.axvline(result.chosen, color=GRAY, linestyle="--", linewidth=1, zorder=1)
    where: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    look: Any = {"ha": "center", "color": GRAY, "fontsize": SMALL}
    ax.annotate("chosen", (result.chosen, 1.0), xytext=(0, 2), **where, **look)
    canvas.open_frame(ax)
    return canvas.with_fonts(ax)


def _draw_strengths(ax: Axes, result: PredictorPath, max_labels: int) -> None:
    used = np.flatnonzero(result.strengths.any(axis=0))
    named = strongest(result.strengths[-1], min(max_labels, canvas.room(ax, "y") * 3 // 4))
    for i in np.setdiff1d(used, named):
        ax.plot(result.row_sparsities, result.strengths[:, i], color=QUIET, linewidth=0.8, zorder=1)
    colors = [CATEGORIES[place % len(CATEGORIES)] for place in range(len(named))]
    for place, i in enumerate(named):
        style = _LINE_STYLES[place // len(CATEGORIES) % len(_LINE_STYLES)]
        look: Any = {"linestyle": style, "marker": "o", "markersize": 2.5, "zorder": 2}
        ax.plot(result.row_sparsities, result.strengths[:, i], color=colors[place], **look)
    ax.set_ylim(bottom=0)
    ends = result.strengths[-1, named]
    labels = names_at(result.names, named)
    last = [float(result.row_sparsities[-1])] * len(named)
    canvas.label_ends(ax, list(zip(last, map(float, ends), labels, colors, strict=True)))
    rest = len(used) - len(named)
    if rest > 0:
        ax.set_xlabel(
            f"number of predictors (strongest {len(named):,} of {len(used):,} shown in color)"
        )
