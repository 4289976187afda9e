"""Selection frequencies over half-samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.plot.canvas import (
    axes_of,
    check_choice,
    check_count,
    name_axis,
    open_frame,
    room,
    write_instead,
)
from thinrank.plot.colours import ACCENT, GREY, QUIET
from thinrank.plot.labels import names_at, shown_of, strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = {"row": "predictor", "column": "response", "pair": "pair"}
_COLUMNS = ("axis", "name", "frequency", "stable")
_ROW = 0.19  # height of a name in a new figure, in inches


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
        The Axes. Stable names are blue, others grey; the legend has the bound on the expected
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
    axis = check_choice("axis", axis, tuple(_KINDS))
    max_names = check_count("max_names", max_names)
    part = _part(table, axis)
    frequency = part["frequency"].to_numpy(dtype=np.float64)
    stable = part["stable"].to_numpy(dtype=bool)
    selected = int(np.count_nonzero(frequency))
    ax = axes_of(ax, 5.6, max(1.0 + _ROW * min(max_names, selected), 2.4))
    kind = _KINDS[axis]
    if selected == 0:
        return write_instead(ax, f"No {kind} was selected in any half-sample.")
    shown = strongest(frequency, min(max_names, room(ax, "y")))
    places = np.arange(len(shown))
    _draw_bars(ax, places, frequency[shown], stable[shown], part, int(stable.sum()))
    name_axis(ax, "y", places.tolist(), names_at([str(name) for name in part["name"]], shown))
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(0, 1)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("selection frequency")
    total = len(frequency) if len(shown) < selected else len(shown)
    ax.set_ylabel(shown_of(kind, len(shown), total).replace("strongest", "most frequent"))
    open_frame(ax)
    return ax


def _part(table: Any, axis: str) -> Any:
    """The rows of the table for predictors, responses or pairs."""
    missing = [name for name in _COLUMNS if name not in getattr(table, "columns", ())]
    if missing:
        raise ValueError(
            "table must be the data frame that tr.selection.stability returns; it has no column "
            f"{missing[0]!r}"
        )
    part = table[table["axis"] == axis]
    if len(part) == 0:
        known = ", ".join(f'"{name}"' for name in table["axis"].unique())
        raise ValueError(f'table has no rows with axis "{axis}"; it has {known}')
    return part


def _draw_bars(
    ax: Axes, places: np.ndarray, frequency: np.ndarray, stable: np.ndarray, part: Any, found: int
) -> None:
    titles = {True: _stable_title(part, found), False: "not stable"}
    for which, colour in ((True, ACCENT), (False, QUIET)):
        here = stable == which
        if here.any():
            ax.barh(places[here], frequency[here], height=0.75, color=colour, label=titles[which])
    threshold = getattr(part, "attrs", {}).get("threshold")
    if threshold is not None:
        ax.axvline(float(threshold), color=GREY, linestyle="--", linewidth=1)
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize=8, ncols=2, borderpad=0
    )


def _stable_title(part: Any, found: int) -> str:
    """Number of stable names, and the bound on the wrong ones where it says something."""
    title = f"stable: {found}"
    if "bound" not in part.columns or found == 0:
        return title
    bound = float(part["bound"].iloc[0])
    if bound >= found:
        return f"{title} (the bound on wrong ones, {bound:.2g}, says nothing)"
    return f"{title}, of which at most {bound:.2g} wrong (expected)"
