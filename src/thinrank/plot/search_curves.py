"""How the sizes were chosen: scores of the models that were tried."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thinrank.core.imports import import_optional
from thinrank.core.result import Record
from thinrank.estimators.summary import score_name
from thinrank.plot import canvas
from thinrank.plot.canvas import GRAY, INK, POSITIVE
from thinrank.selection.choice import last_search, one_standard_error, standard_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# A ring around a star is readable if both are the same model.
_RING: dict[str, Any] = {"marker": "o", "markersize": 14, "markerfacecolor": "none", "zorder": 5}
_RING |= {"markeredgecolor": INK, "markeredgewidth": 1.4, "label": "one standard error"}
_STAR: dict[str, Any] = {"marker": "*", "markersize": 12, "color": POSITIVE, "zorder": 6}
_STAR |= {"markeredgecolor": "white", "label": "chosen"}


@canvas.documented
def selection(est: Any, *, max_ranks: int = 5, ax: Axes | None = None) -> Axes:
    """Draw the held-out error (or criterion) of the models that were tried.

    There is one line for each rank. Its points are the numbers of predictors that were tried,
    each with the best number of responses and ridge. A large marker is a model that was fitted;
    the other points come from models of other ranks, on the predictors that these selected. The
    line of a rank of which no model was fitted is dashed. For held-out errors, bars of the chosen
    rank are one standard error over the splits.

    The chosen model has a star. The one-standard-error model, a ring, has the fewest predictors
    among the models whose error is at most one standard error above the least one.

    Only the models of the last search are shown: the noise in the responses is estimated again
    before each search, and scores before and after cannot be compared. The chosen model need not
    be the lowest point. ``refit_rule`` may allow a larger error for fewer predictors, and with few
    samples the best models are evaluated on further splits, too.
    ``refit_rule="one_se"`` compares these again, so its choice may differ from the ring.

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
    canvas.check_counts(max_ranks=max_ranks)
    check_is_fitted(est, "best_params_")
    records = last_search(getattr(est, "search_", []))
    if not getattr(est, "search_", []):
        raise ValueError(
            "est tried no models, because all sizes were given or the data are constant; "
            'plot.selection needs a fit with rank, row_sparsity or column_sparsity "auto"'
        )
    ax = canvas.axes_of(ax)
    if not records:
        return canvas.write_instead(ax, "No model of the search has a finite score.")
    chosen = chosen_record(records, est.best_params_)
    lines = _lines(records)
    null = next((r for r in records if r.sizes is not None and r.sizes.rank == 0), None)
    best_rank = chosen.sizes.rank if chosen is not None and chosen.sizes is not None else 0
    ranks = _some_ranks(sorted(lines), best_rank, max_ranks)
    # from dark to light; the lightest yellow cannot be seen on paper
    shades = import_optional("matplotlib").colormaps["viridis"](np.linspace(0, 0.9, len(ranks)))
    for rank, color in zip(ranks, shades, strict=True):
        _draw_line(ax, rank, lines[rank], records, color, thick=rank == best_rank)
    if null is not None:
        ax.axhline(null.objective, color=GRAY, linestyle=":", label="no predictors")
    marked = (one_standard_error(records), _RING), (chosen, _STAR)
    for record, look in marked:
        if record is not None and record.sizes is not None:  # which may have no predictors
            ax.plot(record.sizes.rows, record.objective, linestyle="none", **look)
    points = [point for rank in ranks for point in lines[rank]]
    rows = [row for row, _ in points]
    zero = null is not None and any(record is null for record, _ in marked)
    if zero or not (points and canvas.log_scale(ax, "x", min(rows), max(rows))):
        canvas.whole_numbers(ax, "x")
    scores = [score for _, score in points] + ([] if null is None else [null.objective])
    log = canvas.log_scale(ax, "y", min(scores), max(scores), ratio=4.0)
    ax.set_xlabel("number of predictors")
    ax.set_ylabel(score_name(est) + (" (log scale)" if log else ""))
    canvas.open_frame(ax)
    # beside the lines, which may be anywhere in the Axes
    canvas.legend_of(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderpad=0)
    return ax


def chosen_record(records: Sequence[Record], params: dict[str, Any]) -> Record | None:
    """The record of the model that was fitted to all rows."""
    names = ("rank", "row_sparsity", "column_sparsity", "ridge", "exchange")
    wanted = [params.get(name) for name in names]
    alike = [
        record
        for record in records
        if record.sizes is not None
        and all(
            want is None or math.isclose(have, want, rel_tol=1e-9)
            for have, want in zip(record.sizes, wanted, strict=True)
        )
    ]
    # None means no limit: the model with the most predictors and responses
    return max(alike, key=lambda r: r.sizes[1:3] if r.sizes else (0, 0), default=None)


def _lines(records: Sequence[Record]) -> dict[int, list[tuple[int, float]]]:
    """For each rank the numbers of predictors, increasing, with their least score.

    Models of other ranks count only where no model of this rank and number was fitted.
    """
    own: dict[tuple[int, int], float] = {}
    others: dict[tuple[int, int], float] = {}
    for record in records:
        assert record.sizes is not None
        fitted, rows = record.sizes.rank, record.sizes.rows
        for rank, score in ((fitted, record.objective), *record.rank_scores):
            if rank > 0 and math.isfinite(score):
                known = own if rank == fitted else others
                known[rank, rows] = min(score, known.get((rank, rows), math.inf))
    lines: dict[int, list[tuple[int, float]]] = {}
    for (rank, rows), score in sorted((others | own).items()):
        lines.setdefault(rank, []).append((rows, score))
    return lines


def _some_ranks(ranks: Sequence[int], chosen: int, most: int) -> list[int]:
    """At most ``most`` ranks: the chosen one, those next to it, and others evenly spaced."""
    spaced = [ranks[round(i)] for i in np.linspace(0, len(ranks) - 1, most)]
    wanted = dict.fromkeys([chosen, chosen - 1, chosen + 1, *spaced, *ranks])
    return sorted([rank for rank in wanted if rank in ranks][:most])


def _draw_line(
    ax: Axes,
    rank: int,
    line: Sequence[tuple[int, float]],
    records: Sequence[Record],
    color: np.ndarray,
    *,
    thick: bool,
) -> None:
    own = any(record.sizes is not None and record.sizes.rank == rank for record in records)
    look: Any = {"color": color, "zorder": 3 if thick else 2}
    label = f"rank {rank}" if own else f"rank {rank}, from others"
    style: Any = {"linewidth": 2.0 if thick else 1.2, "linestyle": "-" if own else "--"}
    ax.plot(*zip(*line, strict=True), marker=".", markersize=3, label=label, **look, **style)
    fitted: dict[int, Record] = {}
    for record in sorted(records, key=lambda r: r.objective):
        assert record.sizes is not None
        if record.sizes.rank == rank and math.isfinite(record.objective):
            fitted.setdefault(record.sizes.rows, record)
    if not fitted:
        return
    errors = [standard_error(record) for record in fitted.values()]
    bars = thick and not any(math.isnan(error) for error in errors)
    scores = [record.objective for record in fitted.values()]
    look |= {"fmt": "o", "markersize": 4, "elinewidth": 0.8, "capsize": 2}
    ax.errorbar(list(fitted), scores, yerr=errors if bars else None, **look)
