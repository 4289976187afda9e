"""Curves: scores of the models of a search, strengths along a path, iterations of a solver."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thinrank.core.checks import check_choice
from thinrank.core.imports import import_optional
from thinrank.core.result import History
from thinrank.estimators.summary import score_name
from thinrank.plot import canvas
from thinrank.plot.canvas import (
    ACCENT,
    CATEGORIES,
    GRAY,
    INK,
    POSITIVE,
    QUIET,
    SMALL,
    names_at,
    strongest,
)
from thinrank.selection.choice import last_search, one_standard_error, standard_error
from thinrank.selection.predictor_path import PredictorPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A ring around a star is readable if both are the same model.
_RING: dict[str, Any] = {"marker": "o", "markersize": 14, "markerfacecolor": "none", "zorder": 5}
_RING |= {"markeredgecolor": INK, "markeredgewidth": 1.4, "label": "one standard error"}
_STAR: dict[str, Any] = {"marker": "*", "markersize": 12, "color": POSITIVE, "zorder": 6}
_STAR |= {"markeredgecolor": "white", "label": "chosen"}


@canvas.plot
def selection(est: Any, *, max_ranks: int = 5, ax: Axes | None = None) -> Axes:
    """Draw the held-out error (or criterion) of the models that were tried.

    There is one line for each rank. Its points are the numbers of predictors that were tried,
    each with the best number of responses and ridge. A large marker is a model that was fitted;
    the other points come from models of other ranks, on the predictors that these selected. The
    line of a rank of which no model was fitted is dashed. For held-out errors, bars of the chosen
    rank are one standard error over the splits.

    The chosen model has a star. The one-standard-error model, a ring, has the fewest predictors
    among the models whose error is at most one standard error above the least one.

    Only the last search is shown: scores of different searches cannot be compared. The chosen
    model need not be the lowest point, nor the ring: ``refit_rule`` may allow a larger error for
    fewer predictors, and with few samples the best models are compared on further splits, too.

    Parameters
    ----------
    est : estimator
        A fitted estimator that chose a size itself.
    max_ranks : int, default=5
        Largest number of ranks shown: the chosen one, its neighbors, and others at regular
        distances.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    >>> est = tr.SparseReducedRankRegressor().fit(X, Y)
    >>> ax = tr.plot.selection(est)
    >>> ax.get_xlabel()
    'number of predictors'
    """
    check_is_fitted(est, "best_params_")
    search = getattr(est, "search_", [])
    if not search:
        raise ValueError(
            "est tried no models, because all sizes were given or the data are constant; "
            'plot.selection needs a fit with rank, row_sparsity or column_sparsity "auto"'
        )
    ax = canvas.axes_of(ax)
    records: list[Any] = last_search(search)
    if not records:
        return canvas.write_instead(ax, "No model of the search has a finite score.")
    chosen = chosen_record(records, est.best_params_)
    null = next((record for record in records if record.sizes.rank == 0), None)
    lines = _lines(records)
    best_rank = 0 if chosen is None else chosen.sizes.rank
    ranks = _some_ranks(sorted(lines), best_rank, max_ranks)
    # from dark to light; the lightest yellow cannot be seen on paper
    shades = import_optional("matplotlib").colormaps["viridis"](np.linspace(0, 0.9, len(ranks)))
    for rank, color in zip(ranks, shades, strict=True):
        own = [record for record in records if record.sizes.rank == rank]
        _draw_rank(ax, rank, lines[rank], own, color, chosen=rank == best_rank)
    if null is not None:
        ax.axhline(null.objective, color=GRAY, linestyle=":", label="no predictors")
    marked: Any = (one_standard_error(records), _RING), (chosen, _STAR)
    for record, look in marked:
        if record is not None:
            ax.plot(record.sizes.rows, record.objective, linestyle="none", **look)
    rows = [row for rank in ranks for row in lines[rank]]
    zero = null is not None and any(record is null for record, _ in marked)
    if zero or not (rows and canvas.log_scale(ax, "x", min(rows), max(rows))):
        canvas.whole_numbers(ax)
    scores = [score for rank in ranks for score in lines[rank].values()]
    scores += [] if null is None else [null.objective]
    log = canvas.log_scale(ax, "y", min(scores), max(scores), ratio=4.0)
    ax.set_xlabel("number of predictors")
    ax.set_ylabel(score_name(est) + (" (log scale)" if log else ""))
    canvas.open_frame(ax)
    # beside the lines, which may be anywhere in the Axes
    canvas.legend_of(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderpad=0)
    return ax


def chosen_record(records: Sequence[Any], params: dict[str, Any]) -> Any:
    """The record of the model that was fitted to all rows; None if there is none."""
    names = ("rank", "row_sparsity", "column_sparsity", "ridge", "exchange")
    wanted = [params.get(name) for name in names]
    alike = [
        record
        for record in records
        if all(
            want is None or math.isclose(have, want, rel_tol=1e-9)
            for have, want in zip(record.sizes, wanted, strict=True)
        )
    ]
    # None means no limit: the model with the most predictors and responses
    return max(alike, key=lambda record: record.sizes[1:3], default=None)


def _lines(records: Sequence[Any]) -> dict[int, dict[int, float]]:
    """For each rank the numbers of predictors, increasing, with their least score.

    Models of other ranks count only where no model of this rank and number was fitted.
    """
    own: dict[tuple[int, int], float] = {}
    others: dict[tuple[int, int], float] = {}
    for record in records:
        fitted, rows = record.sizes[:2]
        for rank, score in ((fitted, record.objective), *record.rank_scores):
            if rank > 0 and math.isfinite(score):
                known = own if rank == fitted else others
                known[rank, rows] = min(score, known.get((rank, rows), math.inf))
    lines: dict[int, dict[int, float]] = defaultdict(dict)
    for (rank, rows), score in sorted((others | own).items()):
        lines[rank][rows] = score
    return lines


def _some_ranks(ranks: Sequence[int], chosen: int, most: int) -> list[int]:
    """At most ``most`` ranks: the chosen one, those next to it, and others evenly spaced."""
    spaced = [ranks[round(i)] for i in np.linspace(0, len(ranks) - 1, most)]
    wanted = dict.fromkeys([chosen, chosen - 1, chosen + 1, *spaced, *ranks])
    return sorted([rank for rank in wanted if rank in ranks][:most])


def _draw_rank(
    ax: Axes, rank: int, line: dict[int, float], own: list[Any], color: np.ndarray, *, chosen: bool
) -> None:
    """The line of a rank, and markers for its models, with errors if it is the chosen rank."""
    look: Any = {"color": color, "zorder": 3 if chosen else 2}
    style: Any = {"linewidth": 2.0 if chosen else 1.2, "linestyle": "-" if own else "--"}
    style["label"] = f"rank {rank}" if own else f"rank {rank}, from others"
    ax.plot(*zip(*line.items(), strict=True), marker=".", markersize=3, **look, **style)
    # of each number of predictors the model of the least score
    best = {r.sizes.rows: r for r in sorted(own, key=lambda r: r.objective, reverse=True)}
    errors = [standard_error(record) for record in best.values()]
    bars = errors if chosen and not np.isnan(errors).any() else None
    scores = [record.objective for record in best.values()]
    look |= {"fmt": "o", "markersize": 4, "elinewidth": 0.8, "capsize": 2}
    ax.errorbar(list(best), scores, yerr=bars, **look)


@canvas.plot
def path(
    result: PredictorPath, *, show: str = "strength", max_labels: int = 20, ax: Axes | None = None
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
        right end. The others are gray.

    Examples
    --------
    {fit}
    >>> ax = tr.plot.path(tr.selection.path(est, X, Y))
    >>> [text.get_text() for text in ax.texts][-1]
    'chosen'
    """
    if not isinstance(result, PredictorPath):
        raise TypeError(
            f"result must be what tr.selection.path(est, X, Y) returns, got {type(result).__name__}"
        )
    check_choice("show", show, ("strength", "score"))
    ax = canvas.axes_of(ax, 7.2, 4.6)
    counts = result.row_sparsities
    if not canvas.log_scale(ax, "x", float(counts[0]), float(counts[-1]), ratio=30.0):
        canvas.whole_numbers(ax)
    shown = ""
    if show == "score":
        ax.plot(counts, result.scores, color=ACCENT, marker="o", markersize=4)
        ax.set_ylabel("score on the training data")
    else:
        shown = _draw_strengths(ax, result, max_labels)
        ax.set_ylabel("strength (norm of standardized coefficients)")
    ax.set_xlabel(f"number of predictors{shown}")
    ax.axvline(result.chosen, color=GRAY, linestyle="--", linewidth=1, zorder=1)
    look: Any = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    look |= {"ha": "center", "color": GRAY, "fontsize": SMALL}
    ax.annotate("chosen", (result.chosen, 1.0), xytext=(0, 2), **look)
    canvas.open_frame(ax)
    return ax


def _draw_strengths(ax: Axes, result: PredictorPath, max_labels: int) -> str:
    """A line for each predictor; returns how many have a color, if not all."""
    counts, strengths = result.row_sparsities, result.strengths
    used = np.flatnonzero(strengths.any(axis=0))
    named = strongest(strengths[-1], min(max_labels, canvas.room(ax, "y") * 3 // 4))
    for i in np.setdiff1d(used, named):
        ax.plot(counts, strengths[:, i], color=QUIET, linewidth=0.8, zorder=1)
    ends = []
    for place, (i, name) in enumerate(zip(named, names_at(result.names, named), strict=True)):
        again, which = divmod(place, len(CATEGORIES))
        look: Any = {"color": CATEGORIES[which], "linestyle": ("-", "--", ":")[again % 3]}
        ax.plot(counts, strengths[:, i], marker="o", markersize=2.5, zorder=2, **look)
        ends.append((float(counts[-1]), float(strengths[-1, i]), name, CATEGORIES[which]))
    ax.set_ylim(bottom=0)
    canvas.label_ends(ax, ends)
    all_named = len(named) == len(used)
    return "" if all_named else f" (strongest {len(named):,} of {len(used):,} shown in color)"


@canvas.plot
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
    {fit}
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
    if settled > history[0].iteration:
        ax.axvline(settled, color=GRAY, linestyle=":", label="supports final")
        canvas.legend_of(ax)
    canvas.whole_numbers(ax)
    if len(iterations) == 1:
        ax.set_xlim(iterations[0] - 1, iterations[0] + 1)
    log = canvas.log_scale(ax, "y", float(values.min()), float(values.max()))
    ax.set_xlabel("iteration")
    name = {"excess": "objective above its least value", "change": "relative change"}
    ax.set_ylabel(name.get(show, show) + (" (log scale)" if log else ""))
    ax.set_title(message, loc="left", fontsize=SMALL, color=GRAY, parse_math=False)
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


def _settled(history: Any) -> int:
    """The iteration from which on the supports are those of the last one."""
    last = history[-1]
    same = [
        np.array_equal(record.row_support, last.row_support)
        and np.array_equal(record.column_support, last.column_support)
        for record in history
    ]
    changes = np.flatnonzero(~np.asarray(same))
    return history[changes[-1] + 1 if len(changes) else 0].iteration
