"""The plane of two factors: samples with arrows, and correlations in a circle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.core.checks import check_choice
from thinrank.core.imports import import_optional
from thinrank.estimators.summary import Findings, plural
from thinrank.plot import canvas
from thinrank.plot.canvas import CATEGORIES, GRAY, MARKERS, QUIET, SMALL, names_at, strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@canvas.plot
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
    {est}
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        Predictors of the samples to show.
    factors : tuple of (int, int), default=(0, 1)
        The factors of the horizontal and of the vertical axis, counted from 0.
    arrows : {"responses", "predictors", "none"}, default="responses"
        What the arrows are.
    groups : array of shape (n_samples,) or None, default=None
        Groups of the samples, shown by color and marker. With more than seven groups the less
        frequent ones are shown together.
    labels : sequence of n_samples labels or None, default=None
        Names of the samples. Those of the samples farthest from the center are written, as far
        as they do not overlap.
    max_arrows : int, default=12
        Largest number of arrows, the longest ones.
    max_labels : int, default=15
        Largest number of samples with a label.

    Examples
    --------
    {fit}
    >>> ax = tr.plot.biplot(est, X, max_arrows=5)
    >>> ax.get_xlabel().split(",")[0], len(ax.texts)
    ('factor 1', 5)
    """
    check_choice("arrows", arrows, ("responses", "predictors", "none"))
    model, pair, ax = _plane(est, factors, ax, (6.0, 5.2))
    if not pair:
        return ax
    scores = canvas.as_matrix(est.transform(X))[:, pair]
    scores /= np.where(est.factor_scale_ > 0, est.factor_scale_, 1.0)[pair]
    _draw_samples(ax, scores, groups)
    if labels is not None:
        _label_samples(ax, scores, labels, max_labels)
    if arrows != "none":
        left, right = canvas.loadings_of(model)
        names = model.response_names if arrows == "responses" else model.predictor_names
        ends = (right if arrows == "responses" else left)[:, pair]
        _draw_arrows(ax, names, ends, scores, max_arrows)
    return _finished(ax, model, pair)


@canvas.plot
def correlation_circle(
    est: Any,
    X: Any,
    Y: Any,
    factors: tuple[int, int] = (0, 1),
    *,
    max_names: int = 40,
    ax: Axes | None = None,
) -> Axes:
    """Draw the correlations of predictors and responses with two factors in a circle.

    Variables that lie close together far from the center are positively correlated, those on
    opposite sides negatively, as far as the two factors describe them. Only selected predictors
    and predicted responses are shown. The inner circle is a correlation of 0.5.

    Parameters
    ----------
    {est}
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        Predictors.
    Y : array or data frame of shape (n_samples, n_targets) or (n_samples,)
        Responses, as numbers; entries that are NaN are left out.
    factors : tuple of (int, int), default=(0, 1)
        The factors of the horizontal and of the vertical axis, counted from 0.
    max_names : int, default=40
        Largest number of names, those farthest from the center.

    Examples
    --------
    {fit}
    >>> ax = tr.plot.correlation_circle(est, X, Y)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['predictors', 'responses']
    """
    model, pair, ax = _plane(est, factors, ax, (6.4, 6.0))
    if not pair:
        return ax
    scores = canvas.as_matrix(est.transform(X))[:, pair]
    rows, columns, _ = canvas.selected(model)
    kinds = (
        ("predictors", X, rows, model.predictor_names),
        (plural(model.noun), Y, columns, model.response_names),
    )
    circle = import_optional("matplotlib.patches").Circle
    for radius in (0.5, 1.0):
        ax.add_patch(circle((0, 0), radius, fill=False, edgecolor=QUIET, linewidth=0.8))
    ax.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), aspect="equal")
    places, names = [], []
    for (kind, data, index, known), color, marker in zip(kinds, CATEGORIES, MARKERS, strict=False):
        found = _correlations(data, len(known), index, scores)
        ax.scatter(found[:, 0], found[:, 1], s=16, color=color, marker=marker, label=kind)
        places.append(found)
        names += names_at(known, index, width=20)
    every = np.concatenate(places)
    far = strongest(np.linalg.norm(np.nan_to_num(every), axis=1), max_names)
    _label_tips(ax, every[far], [names[i] for i in far])
    canvas.legend_of(ax, loc="upper left", bbox_to_anchor=(0, 1.08), ncols=2)
    return _finished(ax, model, pair)


def _correlations(data: Any, count: int, index: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Correlations of some columns with two factors, shape (n_index, 2); NaN where undefined."""
    matrix = canvas.as_matrix(data)
    if matrix.shape != (len(scores), count):
        raise ValueError(
            f"X and Y must have the columns of the fit and the same rows: expected "
            f"{(len(scores), count)}, got {matrix.shape}"
        )
    found = np.full((len(index), 2), np.nan)
    for i, values in enumerate(matrix[:, index].T):
        seen = np.isfinite(values)
        if seen.any() and np.ptp(values[seen]) > 0:
            found[i] = np.corrcoef(values[seen], scores[seen].T)[0, 1:]
    return found


def _plane(
    est: Any, factors: Any, ax: Axes | None, size: tuple[float, float]
) -> tuple[Findings, list[int], Axes]:
    """The model, the two factors and the Axes; no factors, but a sentence, if there is no plane."""
    model = canvas.fitted_model(est)
    if not isinstance(factors, (tuple, list)) or len(factors) != 2 or factors[0] == factors[1]:
        raise ValueError(f"factors must be two different positions, got {factors!r}")
    if model.rank < 2 and tuple(factors) == (0, 1):
        one = "The fit has one factor, and the plane needs two."
        ax = canvas.axes_of(ax, *size)
        return model, [], canvas.write_instead(ax, one if model.rank else canvas.NO_FACTORS)
    return model, canvas.factor_positions(factors, model.rank), canvas.axes_of(ax, *size)


def _finished(ax: Axes, model: Findings, pair: list[int]) -> Axes:
    """The Axes with lines through zero and the names of the factors."""
    ax.axhline(0, color=QUIET, linewidth=0.8, zorder=0)
    ax.axvline(0, color=QUIET, linewidth=0.8, zorder=0)
    for axis, i in zip((ax.xaxis, ax.yaxis), pair, strict=True):
        axis.set_label_text(canvas.factor_title(model, i).replace("\n", ", "))
    canvas.open_frame(ax)
    return ax


def _draw_samples(ax: Axes, scores: np.ndarray, groups: Any) -> None:
    look: Any = {"s": float(np.clip(4000 / len(scores), 6, 28)), "linewidths": 0}
    if groups is None:
        ax.scatter(*scores.T, color=canvas.ACCENT, alpha=0.6, **look)
        return
    members = np.asarray(groups)
    if members.shape != (len(scores),):
        raise ValueError(
            f"groups must have one entry for each of the {len(scores)} samples, got an array of "
            f"shape {members.shape}"
        )
    names = members.astype(str)
    counts = Counter(names.tolist())
    titles = sorted(counts)
    if len(titles) > len(CATEGORIES):
        common = [name for name, _ in counts.most_common(len(CATEGORIES) - 1)]
        others = f"{len(titles) - len(common)} other groups"
        names = np.where(np.isin(names, common), names, others)
        titles = [*sorted(common), others]
    look["alpha"] = 0.7
    for title, color, marker in zip(titles, CATEGORIES, MARKERS, strict=False):
        here = scores[names == title]
        ax.scatter(*here.T, color=color, marker=marker, label=canvas.shorten(title), **look)
    canvas.legend_of(ax)


def _label_samples(ax: Axes, scores: np.ndarray, labels: Sequence[object], max_labels: int) -> None:
    labels = list(labels)
    if len(labels) != len(scores):
        raise ValueError(
            f"labels must have one entry for each of the {len(scores)} samples, got {len(labels)}"
        )
    far = strongest(np.linalg.norm(scores, axis=1), len(scores))
    points = np.asarray(canvas.size_in_points(ax)) / np.maximum(np.ptp(scores, axis=0), 1e-12)
    written: list[np.ndarray] = []
    for i, text in zip(far, names_at(labels, far, width=16), strict=True):
        place = scores[i] * points
        near = [abs(place[1] - y) < 9 and abs(place[0] - x) < 5 * len(text) for x, y in written]
        if any(near) or len(written) == max_labels:
            continue
        written.append(place)
        shift, align = (4, "left") if scores[i, 0] >= 0 else (-4, "right")
        look: Any = {"ha": align, "fontsize": canvas.SMALLEST, "color": GRAY, "parse_math": False}
        where: Any = {"xytext": (shift, 3), "textcoords": "offset points"}
        ax.annotate(text, tuple(scores[i]), **where, **look)


def _draw_arrows(
    ax: Axes, names: list[str], ends: np.ndarray, scores: np.ndarray, max_arrows: int
) -> None:
    lengths = np.linalg.norm(ends, axis=1)
    shown = strongest(lengths, max_arrows)
    # the longest arrow ends before the farthest sample
    tips = ends[shown] * (0.8 * float(np.abs(scores).max()) / float(lengths.max()))
    origin = np.zeros(len(tips))
    look: Any = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.004}
    ax.quiver(origin, origin, *tips.T, color=canvas.POSITIVE, zorder=3, **look)
    ax.update_datalim(tips)
    ax.margins(0.15)
    _label_tips(ax, tips, names_at(names, shown, width=20))


def _label_tips(ax: Axes, tips: np.ndarray, texts: list[str]) -> None:
    """Labels on the outer side of points or of tips of arrows, moved apart vertically."""
    low, high = ax.get_ylim()
    line = 1.35 * SMALL * (high - low) / canvas.size_in_points(ax)[1]
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.5}
    look: Any = {"fontsize": SMALL, "color": canvas.INK, "va": "center", "parse_math": False}
    right = tips[:, 0] >= 0
    for side, shift, look["ha"] in ((right, 0.5, "left"), (~right, -0.5, "right")):
        index = np.flatnonzero(side).tolist()
        heights = canvas.apart(tips[index, 1].tolist(), line, low + line, high - line)
        for i, height in zip(index, heights, strict=True):
            place = float(tips[i, 0]) + shift * line, height
            ax.annotate(texts[i], tuple(tips[i]), xytext=place, bbox=box, zorder=4, **look)
