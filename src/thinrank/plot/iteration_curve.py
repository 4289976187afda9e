"""Objective and change in each iteration of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.core.checks import check_choice
from thinrank.core.result import History
from thinrank.plot import canvas
from thinrank.plot.canvas import ACCENT, GRAY

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_SUPPORTS = "row_support", "column_support"


@canvas.documented
def convergence(est: Any, *, show: str = "objective", ax: Axes | None = None) -> Axes:
    """Draw the objective, or the relative change, after each iteration of the final fit.

    The dotted line is the iteration after which the selected predictors and responses did not
    change any more.

    Parameters
    ----------
    est : estimator or Solution
        A fitted estimator, or the result of :func:`thinrank.minimize`.
    show : {"objective", "excess", "change"}, default="objective"
        "objective" is the loss; "excess" is the loss minus its least value, whose slope on a
        logarithmic scale is the rate of convergence; "change" is the relative change of the
        iterate, which the solver compares with ``tol``.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(random_state=0)
    >>> est = tr.SparseReducedRankRegressor(8, 10, 10, solver="gdt").fit(X, Y)
    >>> ax = tr.plot.convergence(est)
    >>> len(ax.lines[0].get_xdata()) == est.n_iter_
    True
    """
    check_choice("show", show, ("objective", "excess", "change"))
    history, message = _history(est)
    ax = canvas.axes_of(ax)
    if not history:
        return canvas.write_instead(ax, f"There are no iterations. {message}")
    iterations = np.asarray([record.iteration for record in history])
    values = np.asarray(history.changes if show == "change" else history.objectives, dtype=float)
    if show == "excess":
        values = values - values.min()
    drawn = np.isfinite(values)
    if show != "objective":
        drawn &= values > 0  # zero, as in the last iteration, has no logarithm
    if not drawn.any():
        return canvas.write_instead(ax, f"The {show} is 0 in every iteration. {message}")
    iterations, values = iterations[drawn], values[drawn]
    few = len(values) <= 30
    ax.plot(iterations, values, color=ACCENT, marker="o" if few else None, markersize=4)
    settled = _settled(history)
    if settled is not None:
        ax.axvline(settled, color=GRAY, linestyle=":", label="supports final")
        canvas.legend_of(ax)
    canvas.whole_numbers(ax, "x")
    if len(iterations) == 1:
        ax.set_xlim(iterations[0] - 1, iterations[0] + 1)
    log = canvas.log_scale(ax, "y", float(values.min()), float(values.max()))
    ax.set_xlabel("iteration")
    name = {"excess": "objective above its least value", "change": "relative change"}
    ax.set_ylabel(name.get(show, show) + (" (log scale)" if log else ""))
    ax.set_title(message, loc="left", fontsize=canvas.SMALL, color=GRAY, parse_math=False)
    canvas.open_frame(ax)
    return ax


def _history(est: Any) -> tuple[History, str]:
    """The records of the iterations, and how the run ended."""
    for history, status in (("history_", "status_"), ("history", "status")):
        if isinstance(getattr(est, history, None), History):
            return getattr(est, history), str(getattr(est, status))
    raise TypeError(
        "est must be a fitted estimator of thinrank or the result of tr.minimize, with the history "
        f"of its iterations, got {type(est).__name__}"
    )


def _settled(history: History) -> int | None:
    """The iteration from which on the supports are those of the last; None if it is the first."""
    last = history[-1]
    if last.row_support is None:
        return None
    settled = last.iteration
    for record in reversed(history):
        same = [np.array_equal(getattr(record, name), getattr(last, name)) for name in _SUPPORTS]
        if not all(same):
            break
        settled = record.iteration
    return settled if settled > history[0].iteration else None
