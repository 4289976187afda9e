"""Samples and directions of responses or predictors in the plane of two factors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank import arrays
from thinrank.plot.canvas import (
    axes_of,
    check_choice,
    check_count,
    open_frame,
    size_in_points,
    write_instead,
)
from thinrank.plot.colours import ACCENT, CATEGORIES, GREY, INK, MARKERS, POSITIVE, QUIET
from thinrank.plot.factor_bars import factor_title, no_factors
from thinrank.plot.fitted_model import fitted_model, loadings
from thinrank.plot.labels import apart, as_written, names_at, shorten, strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REACH = 0.8  # length of the longest arrow, as a part of the way to the farthest sample
_FONT = 8.0


def biplot(
    est: Any,
    X: Any,
    factors: tuple[int, int] = (0, 1),
    *,
    arrows: str = "responses",
    groups: Any = None,
    labels: Sequence[object] | None = None,
    max_arrows: int = 12,
    max_labels: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """Draw samples by their scores on two factors, with responses or predictors as arrows.

    Scores are in standard deviations of the training samples. Arrows are the loadings on the two
    factors, in one scale (see :func:`factors`): that of a response points to where the response is
    large, and it is the longer, the more of the response the two factors describe.

    Parameters
    ----------
    est : estimator
        A fitted estimator, such as :class:`thinrank.SparseReducedRankRegressor`.
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        Predictors of the samples to show.
    factors : tuple of (int, int), default=(0, 1)
        The factors of the horizontal and of the vertical axis, counted from 0.
    arrows : {"responses", "predictors", "none"}, default="responses"
        What the arrows are.
    groups : array of shape (n_samples,) or None, default=None
        Groups of the samples, shown by colour and marker. With more than seven groups the less
        frequent ones are shown together.
    labels : sequence of n_samples labels or None, default=None
        Names of the samples. Those of the samples farthest from the centre are written, as far
        as they do not overlap.
    max_arrows : int, default=12
        Largest number of arrows, the longest ones.
    max_labels : int, default=15
        Largest number of samples with a label.
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
    >>> ax = tr.plot.biplot(est, X, max_arrows=5)
    >>> ax.get_xlabel().split(",")[0], len(ax.texts)
    ('factor 1', 5)
    """
    arrows = check_choice("arrows", arrows, ("responses", "predictors", "none"))
    max_arrows = check_count("max_arrows", max_arrows)
    max_labels = check_count("max_labels", max_labels)
    model = fitted_model(est)
    pair = _pair(factors, model.rank)
    ax = axes_of(ax, 6.0, 5.2)
    if pair is None:
        if model.rank == 0:
            return no_factors(ax)
        return write_instead(ax, "The fit has one factor, and a biplot needs two.")
    chosen = list(pair)
    scale = np.where(est.factor_scale_ > 0, est.factor_scale_, 1.0)[chosen]
    scores = arrays.to_numpy(est.transform(X))[:, chosen].astype(np.float64) / scale
    ax.axhline(0, color=QUIET, linewidth=0.8, zorder=0)
    ax.axvline(0, color=QUIET, linewidth=0.8, zorder=0)
    _draw_samples(ax, scores, groups)
    if labels is not None:
        _label_samples(ax, scores, labels, max_labels)
    if arrows != "none":
        left, right = loadings(model)
        names = model.response_names if arrows == "responses" else model.predictor_names
        ends = (right if arrows == "responses" else left)[:, chosen]
        _draw_arrows(ax, names, ends, scores, max_arrows)
    for axis, i in ((ax.xaxis, pair[0]), (ax.yaxis, pair[1])):
        axis.set_label_text(factor_title(model, i).replace("\n", ", "))
    open_frame(ax)
    return ax


def _pair(factors: Any, rank: int) -> tuple[int, int] | None:
    """The two factors; None if the fit has fewer than two and the default was asked for."""
    given = tuple(factors) if isinstance(factors, (tuple, list)) else None
    if given is None or len(given) != 2 or given[0] == given[1]:
        raise ValueError(f"factors must be two different positions, got {factors!r}")
    if given == (0, 1) and rank < 2:
        return None
    for index in given:
        if not isinstance(index, (int, np.integer)) or not 0 <= index < rank:
            raise ValueError(
                f"factors must be positions from 0 to {rank - 1}, the fit has rank {rank}; got "
                f"{factors!r}"
            )
    return int(given[0]), int(given[1])


def _draw_samples(ax: Axes, scores: np.ndarray, groups: Any) -> None:
    size = float(np.clip(4000 / len(scores), 6, 28))
    if groups is None:
        ax.scatter(
            scores[:, 0],
            scores[:, 1],
            s=size,
            color=ACCENT,
            alpha=0.6,
            linewidths=0,
            label="samples",
        )
        return
    members = np.asarray(groups)
    if members.shape != (len(scores),):
        raise ValueError(
            f"groups must have one entry for each of the {len(scores)} samples, got an array of "
            f"shape {members.shape}"
        )
    names = np.asarray([str(value) for value in members], dtype=object)
    titles = sorted(Counter(names.tolist()))
    if len(titles) > len(CATEGORIES):
        common = [name for name, _ in Counter(names.tolist()).most_common(len(CATEGORIES) - 1)]
        others = f"{len(titles) - len(common)} other groups"
        names = np.where(np.isin(names, common), names, others)
        titles = [*sorted(common), others]
    for title, colour, marker in zip(titles, CATEGORIES, MARKERS, strict=False):
        here = scores[names == title]
        ax.scatter(
            here[:, 0],
            here[:, 1],
            s=size,
            color=colour,
            marker=marker,
            alpha=0.7,
            linewidths=0,
            label=shorten(title),
        )
    as_written(ax.legend(frameon=False, fontsize=_FONT).get_texts())


def _label_samples(ax: Axes, scores: np.ndarray, labels: Sequence[object], max_labels: int) -> None:
    labels = list(labels)
    if len(labels) != len(scores):
        raise ValueError(
            f"labels must have one entry for each of the {len(scores)} samples, got {len(labels)}"
        )
    far = strongest(np.linalg.norm(scores, axis=1), len(scores))
    points = np.asarray(size_in_points(ax)) / np.maximum(np.ptp(scores, axis=0), 1e-12)
    written: list[np.ndarray] = []
    for i, text in zip(far, names_at(labels, far, width=16), strict=True):
        place = scores[i] * points
        near = [abs(place[1] - y) < 9 and abs(place[0] - x) < 5 * len(text) for x, y in written]
        if any(near) or len(written) == max_labels:
            continue
        written.append(place)
        right = scores[i, 0] >= 0
        ax.annotate(
            text,
            tuple(scores[i]),
            xytext=(4 if right else -4, 3),
            textcoords="offset points",
            ha="left" if right else "right",
            fontsize=7,
            color=GREY,
            parse_math=False,
        )


def _draw_arrows(
    ax: Axes, names: list[str], ends: np.ndarray, scores: np.ndarray, max_arrows: int
) -> None:
    lengths = np.linalg.norm(ends, axis=1)
    shown = strongest(lengths, max_arrows)
    tips = ends[shown] * (_REACH * float(np.abs(scores).max()) / float(lengths.max()))
    origin = np.zeros(len(tips))
    ax.quiver(
        origin,
        origin,
        *tips.T,
        angles="xy",
        scale_units="xy",
        scale=1,
        width=0.004,
        color=POSITIVE,
        zorder=3,
    )
    ax.update_datalim(tips)
    ax.margins(0.15)
    texts = names_at(names, shown, width=20)
    for side in (tips[:, 0] >= 0, tips[:, 0] < 0):
        _label_tips(ax, tips[side], [text for text, here in zip(texts, side, strict=True) if here])


def _label_tips(ax: Axes, tips: np.ndarray, texts: list[str]) -> None:
    """Labels beside the tips of arrows to one side, moved apart vertically."""
    low, high = ax.get_ylim()
    line = 1.35 * _FONT * (high - low) / size_in_points(ax)[1]
    heights = apart([float(tip[1]) for tip in tips], line, low + line, high - line)
    for tip, height, text in zip(tips, heights, texts, strict=True):
        right = tip[0] >= 0
        ax.annotate(
            text,
            tuple(tip),
            xytext=(float(tip[0]) + (0.5 if right else -0.5) * line, height),
            textcoords="data",
            fontsize=_FONT,
            color=INK,
            ha="left" if right else "right",
            va="center",
            parse_math=False,
            zorder=4,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.5},
        )
