"""One bar or line per name: how often it is selected, its statistic, its confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.core.checks import check_choice
from thinrank.plot import canvas
from thinrank.plot.canvas import ACCENT, GRAY, QUIET, names_at, shown_of, strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = {"row": "predictor", "column": "response", "pair": "pair"}
_COLUMNS = ("axis", "name", "frequency", "stable")
_AXIS_TITLES = {"−log10 weighted p": "−log₁₀ of the weighted p-value", "W": "knockoff statistic W"}
_NOUNS = {"coefficients": "coefficient", "predictions": "prediction", "layers": "quantity"}


@canvas.plot
def stability(
    table: Any, *, axis: str = "row", max_names: int = 40, ax: Axes | None = None
) -> Axes:
    """Draw how often predictors, responses or pairs are selected in random half-samples.

    Stable names are blue, others gray; the legend has the bound on the expected number of wrong
    ones among the stable.

    Parameters
    ----------
    table : DataFrame
        The result of :func:`thinrank.selection.stability`.
    axis : {"row", "column", "pair"}, default="row"
        Predictors, responses, or pairs of them, if the table has these.
    max_names : int, default=40
        Largest number of names shown, those selected most often.

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
    check_choice("axis", axis, _KINDS)
    kind = _KINDS[axis]
    part = part_of(table, axis)
    stable = part["stable"].to_numpy(dtype=bool)
    ax = _bars(
        ax,
        part["frequency"].to_numpy(dtype=np.float64),
        stable,
        [str(name) for name in part["name"]],
        titles=(_stable_title(part, int(stable.sum())), "not stable"),
        limit=part.attrs.get("threshold"),
        nothing=f"No {kind} was selected in any half-sample.",
        most=max_names,
        labels=("selection frequency", kind),
    )
    if ax.axison:
        ax.set_xlim(0, 1)
        ax.set_ylabel(ax.get_ylabel().replace("strongest", "most frequent"))
    return ax


@canvas.plot
def discoveries(result: Any, *, max_names: int = 40, ax: Axes | None = None) -> Axes:
    """Draw the statistics of the strongest predictors and the threshold of the selection.

    Selected predictors are blue, others gray; the dashed line is the threshold, and the legend
    has the estimated proportion of false discoveries.

    Parameters
    ----------
    result : Discoveries
        The result of :func:`thinrank.inference.select_predictors`.
    max_names : int, default=40
        Largest number of predictors shown, those of largest statistic in absolute value.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    >>> ax = tr.plot.discoveries(tr.inference.select_predictors(X, Y))
    >>> ax.get_xlabel()
    '−log₁₀ of the weighted p-value'
    """
    _check(result, "Discoveries", "select_predictors")
    count = len(result.selected)
    title = f"selected: {count} at a rate of {result.fdr:g}"
    if count:
        title += f" (estimate of false ones {result.estimated_fdp:.2g})"
    label = _AXIS_TITLES.get(result.statistic_name, result.statistic_name)
    return _bars(
        ax,
        result.statistics,
        np.isin(np.arange(len(result.statistics)), result.selected),
        result.feature_names,
        titles=(title, "not selected"),
        limit=result.threshold if np.isfinite(result.threshold) else None,
        nothing="No predictor has a statistic other than zero.",
        most=max_names,
        labels=(label, "predictor"),
    )


@canvas.plot
def intervals(result: Any, *, max_names: int = 40, ax: Axes | None = None) -> Axes:
    """Draw confidence intervals.

    Intervals that contain zero are gray, others blue.

    Parameters
    ----------
    result : Intervals
        The result of :func:`thinrank.inference.confidence_intervals`.
    max_names : int, default=40
        Largest number of intervals shown: those whose estimates are the most standard errors away
        from zero, or, of predictions, the first.

    Examples
    --------
    {fit}
    >>> ax = tr.plot.intervals(tr.inference.confidence_intervals(est, X, Y))
    >>> ax.get_xlabel()
    'coefficient, 95 % confidence intervals'
    """
    _check(result, "Intervals", "confidence_intervals")
    total = len(result.estimate)
    ax = canvas.axes_of(ax, 5.6, max(1.0 + canvas.ROW * min(max_names, total), 2.4))
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
    parts = list(result.labels.values())
    if result.of == "coefficients":
        parts.insert(1, ["→"] * total)
    labels = [" ".join(part for part in row if part) for row in zip(*parts, strict=True)]
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


def _bars(
    ax: Axes | None,
    values: np.ndarray,
    marked: np.ndarray,
    names: Sequence[str],
    *,
    titles: tuple[str, str],
    limit: float | None,
    nothing: str,
    most: int,
    labels: tuple[str, str],
) -> Axes:
    """Bars of the names with the largest values, and a limit.

    ``titles``: of marked and of other bars; ``labels``: of the axes; ``nothing``: what to write if
    all values are zero.
    """
    sizes = np.abs(values)
    some = int(np.count_nonzero(sizes))
    ax = canvas.axes_of(ax, 5.6, max(1.0 + canvas.ROW * min(most, some), 2.4))
    if some == 0:
        return canvas.write_instead(ax, nothing)
    shown = strongest(sizes, min(most, canvas.room(ax, "y")))
    places = np.arange(len(shown))
    kinds = (marked[shown], ACCENT, titles[0]), (~marked[shown], QUIET, titles[1])
    for here, color, title in kinds:
        if here.any():
            ax.barh(places[here], values[shown][here], height=0.75, color=color, label=title)
    if limit is not None:
        ax.axvline(float(limit), color=GRAY, linestyle="--", linewidth=1)
    canvas.legend_of(ax, loc="lower left", bbox_to_anchor=(0, 1), borderpad=0)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(shown_of(labels[1], len(shown), len(sizes) if len(shown) < some else some))
    return _named(ax, names_at(names, shown))


def _named(ax: Axes, labels: list[str]) -> Axes:
    canvas.name_axis(ax, "y", range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    canvas.open_frame(ax)
    return ax


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
    """Number of stable names, and the bound on the wrong ones."""
    bound = float(part["bound"].iloc[0]) if "bound" in part.columns else np.nan
    if bound < found:
        return f"stable: {found}, of which at most {bound:.2g} wrong (expected)"
    return f"stable: {found}" + " (the bound on wrong ones says nothing)" * (0 < found <= bound)
