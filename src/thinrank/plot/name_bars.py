"""One bar or line per name: how often it is selected, its statistic, its confidence interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.plot import canvas
from thinrank.plot.canvas import ACCENT, GRAY, QUIET, names_at, shown_of, strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = {"row": "predictor", "column": "response", "pair": "pair"}
_COLUMNS = ("axis", "name", "frequency", "stable")
_AXIS_TITLES = {"−log10 weighted p": "−log₁₀ of the weighted p-value", "W": "knockoff statistic W"}
_NOUNS = {"coefficients": "coefficient", "predictions": "prediction", "layers": "quantity"}


def stability(
    table: Any, *, axis: str = "row", max_names: int = 40, ax: Axes | None = None
) -> Axes:
    """Draw how often predictors, responses or pairs are selected in random half-samples.

    Parameters
    ----------
    table : DataFrame
        The result of :func:`thinrank.selection.stability`.
    axis : {"row", "column", "pair"}, default="row"
        Predictors, responses, or pairs of them, if the table has these.
    max_names : int, default=40
        Largest number of names shown, those selected most often. In small Axes fewer are shown, so
        that they can be read.
    ax : Axes or None, default=None
        The Axes to draw in; None for a new figure.

    Returns
    -------
    Axes
        The Axes. Stable names are blue, others gray; the legend has the bound on the expected
        number of wrong ones among the stable.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(100, 20, 10, rank=1, row_sparsity=3,
    ...                                               column_sparsity=5, random_state=0)
    >>> est = tr.SparseReducedRankRegressor(1, 4, 5)
    >>> ax = tr.plot.stability(tr.selection.stability(est, X, Y, n_resamples=5))
    >>> ax.get_xlabel()
    'selection frequency'
    """
    axis = canvas.check_choice("axis", axis, tuple(_KINDS))
    canvas.check_counts(max_names=max_names)
    part = part_of(table, axis)
    frequency = part["frequency"].to_numpy(dtype=np.float64)
    stable = part["stable"].to_numpy(dtype=bool)
    found = int(np.count_nonzero(frequency))
    ax = _axes(ax, min(max_names, found))
    kind = _KINDS[axis]
    if found == 0:
        return canvas.write_instead(ax, f"No {kind} was selected in any half-sample.")
    shown = strongest(frequency, min(max_names, canvas.room(ax, "y")))
    title = _stable_title(part, int(stable.sum()))
    limit = getattr(part, "attrs", {}).get("threshold")
    _draw(ax, frequency[shown], stable[shown], (title, "not stable"), limit)
    ax.set_xlim(0, 1)
    ax.set_xlabel("selection frequency")
    total = len(frequency) if len(shown) < found else len(shown)
    ax.set_ylabel(shown_of(kind, len(shown), total).replace("strongest", "most frequent"))
    return _named(ax, names_at([str(name) for name in part["name"]], shown))


def discoveries(result: Any, *, max_names: int = 40, ax: Axes | None = None) -> Axes:
    """Draw the statistics of the strongest predictors and the threshold of the selection.

    Parameters
    ----------
    result : Discoveries
        The result of :func:`thinrank.inference.select_predictors`.
    max_names : int, default=40
        Largest number of predictors shown, those of largest statistic in absolute value. In small
        Axes fewer are shown, so that they can be read.
    ax : Axes or None, default=None
        The Axes to draw in; None for a new figure.

    Returns
    -------
    Axes
        The Axes. Selected predictors are blue, others gray; the dashed line is the threshold, and
        the legend has the estimated proportion of false discoveries.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(100, 20, 10, rank=1, row_sparsity=3,
    ...                                               column_sparsity=5, random_state=0)
    >>> ax = tr.plot.discoveries(tr.inference.select_predictors(X, Y))
    >>> ax.get_xlabel()
    '−log₁₀ of the weighted p-value'
    """
    _check(result, "Discoveries", "select_predictors")
    canvas.check_counts(max_names=max_names)
    sizes = np.abs(result.statistics)
    some = int(np.count_nonzero(sizes))
    ax = _axes(ax, min(max_names, some))
    if some == 0:
        return canvas.write_instead(ax, "No predictor has a statistic other than zero.")
    shown = strongest(sizes, min(max_names, canvas.room(ax, "y")))
    count = len(result.selected)
    title = f"selected: {count} at a rate of {result.fdr:g}"
    if count:
        title += f" (estimate of false ones {result.estimated_fdp:.2g})"
    limit = result.threshold if np.isfinite(result.threshold) else None
    chosen = np.isin(shown, result.selected)
    _draw(ax, result.statistics[shown], chosen, (title, "not selected"), limit)
    ax.set_xlabel(_AXIS_TITLES.get(result.statistic_name, result.statistic_name))
    ax.set_ylabel(shown_of("predictor", len(shown), len(sizes)))
    return _named(ax, names_at(result.feature_names, shown))


def intervals(result: Any, *, max_names: int = 40, ax: Axes | None = None) -> Axes:
    """Draw confidence intervals.

    Parameters
    ----------
    result : Intervals
        The result of :func:`thinrank.inference.confidence_intervals`.
    max_names : int, default=40
        Largest number of intervals shown: those whose estimates are the most standard errors away
        from zero, or, of predictions, the first. In small Axes fewer are shown, so that names can
        be read.
    ax : Axes or None, default=None
        The Axes to draw in; None for a new figure.

    Returns
    -------
    Axes
        The Axes. Intervals that contain zero are gray, others blue.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(100, 20, 8, 1, 3, 4, random_state=0)
    >>> est = tr.SparseReducedRankRegressor(1, 3, 4).fit(X, Y)
    >>> ax = tr.plot.intervals(tr.inference.confidence_intervals(est, X, Y))
    >>> ax.get_xlabel()
    'coefficient, 95 % confidence intervals'
    """
    _check(result, "Intervals", "confidence_intervals")
    canvas.check_counts(max_names=max_names)
    total = len(result.estimate)
    ax = _axes(ax, min(max_names, total))
    count = min(max_names, canvas.room(ax, "y"), total)
    if result.of == "predictions":
        shown = np.arange(count)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            strength = np.abs(result.estimate) / result.standard_error
        shown = np.sort(np.argsort(-np.nan_to_num(strength), kind="stable")[:count])
    places = np.arange(len(shown))
    lower, upper = result.lower[shown], result.upper[shown]
    zero_inside = (lower <= 0) & (upper >= 0)
    for here, color in ((zero_inside, QUIET), (~zero_inside, ACCENT)):
        ax.hlines(places[here], lower[here], upper[here], color=color, linewidth=2)
        ax.plot(result.estimate[shown][here], places[here], "o", color=color, markersize=4)
    ax.axvline(0.0, color=GRAY, linestyle="--", linewidth=1)
    labels = [" ".join(part for part in row if part) for row in zip(*_words(result), strict=True)]
    noun = _NOUNS.get(result.of, "value")
    ax.set_xlabel(f"{noun}, {result.level * 100:g} % confidence intervals")
    words = shown_of(noun, len(shown), total)
    ax.set_ylabel(words.replace("strongest", "first") if result.of == "predictions" else words)
    return _named(ax, names_at(labels, shown))


def _check(result: Any, kind: str, function: str) -> None:
    """A TypeError unless a result is that of a function of ``thinrank.inference``."""
    from thinrank import inference  # here, so that other plots do not load the package

    if not isinstance(result, getattr(inference, kind)):
        raise TypeError(
            f"result must be what tr.inference.{function} returns, got {type(result).__name__}"
        )


def _axes(ax: Axes | None, rows: int) -> Axes:
    return canvas.axes_of(ax, 5.6, max(1.0 + canvas.ROW * rows, 2.4))


def _draw(
    ax: Axes, values: np.ndarray, marked: np.ndarray, titles: tuple[str, str], limit: float | None
) -> None:
    """Bars from top to bottom, marked ones in color, and a line at the limit."""
    places = np.arange(len(values))
    for here, color, title in zip((marked, ~marked), (ACCENT, QUIET), titles, strict=True):
        if here.any():
            ax.barh(places[here], values[here], height=0.75, color=color, label=title)
    if limit is not None:
        ax.axvline(float(limit), color=GRAY, linestyle="--", linewidth=1)
    canvas.legend_of(ax, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderpad=0)


def _named(ax: Axes, labels: list[str]) -> Axes:
    canvas.name_rows(ax, labels)
    canvas.open_frame(ax)
    return canvas.with_fonts(ax)


def part_of(table: Any, axis: str, argument: str = "table") -> Any:
    """The rows of a table of frequencies for predictors, responses or pairs."""
    missing = [name for name in _COLUMNS if name not in getattr(table, "columns", ())]
    if missing:
        raise ValueError(
            f"{argument} must be the data frame that tr.selection.stability returns; it has no "
            f"column {missing[0]!r}"
        )
    part = table[table["axis"] == axis]
    if len(part) == 0:
        known = ", ".join(f'"{name}"' for name in table["axis"].unique())
        raise ValueError(f'table has no rows with axis "{axis}"; it has {known}')
    return part


def _stable_title(part: Any, found: int) -> str:
    """Number of stable names, and the bound on the wrong ones where it says something."""
    title = f"stable: {found}"
    if "bound" not in part.columns or found == 0:
        return title
    bound = float(part["bound"].iloc[0])
    if bound >= found:
        return f"{title} (the bound on wrong ones, {bound:.2g}, says nothing)"
    return f"{title}, of which at most {bound:.2g} wrong (expected)"


def _words(result: Any) -> list[list[str]]:
    """Parts of the labels; pairs have an arrow between their names."""
    parts = list(result.labels.values())
    if result.of == "coefficients":
        parts.insert(1, ["→"] * len(result.estimate))
    return parts
