"""Strengths of the predictors as their number grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thinrank.plot.canvas import (
    axes_of,
    check_choice,
    check_count,
    log_scale,
    open_frame,
    room,
    size_in_points,
    whole_numbers,
)
from thinrank.plot.colours import ACCENT, CATEGORIES, GREY, LINE_STYLES, QUIET
from thinrank.plot.labels import apart, names_at, strongest
from thinrank.selection.predictor_path import PredictorPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FONT = 8.0  # size of labels in points
_GAP = 1.3 * _FONT


def path(
    result: PredictorPath,
    *,
    show: str = "strength",
    max_labels: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw how fits change with the number of predictors.

    Parameters
    ----------
    result : PredictorPath
        The result of :func:`thinrank.selection.path`.
    show : {"strength", "score"}, default="strength"
        "strength" draws a line for each predictor, the norm of its standardised coefficients;
        "score" draws the R² (or share of the deviance) of the fits on their own data.
    max_labels : int, default=20
        Largest number of predictors with a colour and a label: those that are strongest at the
        right end. The others are grey. In small Axes fewer have a label.
    ax : Axes or None, default=None
        The Axes to draw in; None for a new figure.

    Returns
    -------
    Axes
        The Axes. The dashed line is the number of predictors of the estimator.

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
    show = check_choice("show", show, ("strength", "score"))
    max_labels = check_count("max_labels", max_labels)
    ax = axes_of(ax, 7.2, 4.6)
    counts = result.row_sparsities
    if not log_scale(ax, "x", float(counts[0]), float(counts[-1]), ratio=30.0):
        whole_numbers(ax, "x")
    if show == "score":
        ax.plot(counts, result.scores, color=ACCENT, marker="o", markersize=4)
        ax.set_ylabel("score on the training data")
    else:
        _draw_strengths(ax, result, max_labels)
        ax.set_ylabel("strength (norm of standardised coefficients)")
    if not ax.get_xlabel():
        ax.set_xlabel("number of predictors")
    ax.axvline(result.chosen, color=GREY, linestyle="--", linewidth=1, zorder=1)
    ax.annotate(
        "chosen",
        (result.chosen, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        color=GREY,
        fontsize=_FONT,
    )
    open_frame(ax)
    return ax


def _draw_strengths(ax: Axes, result: PredictorPath, max_labels: int) -> None:
    used = np.flatnonzero(result.strengths.any(axis=0))
    named = strongest(result.strengths[-1], min(max_labels, room(ax, "y") * 3 // 4))
    for i in np.setdiff1d(used, named):
        ax.plot(result.row_sparsities, result.strengths[:, i], color=QUIET, linewidth=0.8, zorder=1)
    colours = []
    for place, i in enumerate(named):
        cycle, colour = divmod(place, len(CATEGORIES))
        style = LINE_STYLES[cycle % len(LINE_STYLES)]
        colours.append(CATEGORIES[colour])
        ax.plot(
            result.row_sparsities,
            result.strengths[:, i],
            color=CATEGORIES[colour],
            linestyle=style,
            marker="o",
            markersize=2.5,
            zorder=2,
        )
    ax.set_ylim(bottom=0)
    ends = result.strengths[-1, named]
    _label_ends(ax, float(result.row_sparsities[-1]), ends, names_at(result.names, named), colours)
    rest = len(used) - len(named)
    if rest > 0:
        ax.set_xlabel(
            f"number of predictors (strongest {len(named):,} of {len(used):,} shown in colour)"
        )


def _label_ends(
    ax: Axes, x: float, ends: np.ndarray, labels: list[str], colours: list[str]
) -> None:
    """Labels to the right of the lines, moved apart, with a thin line to where they belong."""
    low, high = ax.get_ylim()
    height = size_in_points(ax)[1]
    points = [(end - low) / (high - low) * height for end in ends]
    for end, label, colour, place in zip(
        ends, labels, colours, apart(points, _GAP, 0.0, height), strict=True
    ):
        ax.annotate(
            label,
            (x, float(end)),
            xytext=(1.04, place / height),
            textcoords="axes fraction",
            va="center",
            fontsize=_FONT,
            color=colour,
            parse_math=False,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": QUIET, "linewidth": 0.6, "shrinkB": 2},
        )
