"""Observed values or frequencies against predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.estimators.description import observed_r2
from thinrank.plot.canvas import axes_of, open_frame, write_instead
from thinrank.plot.colours import ACCENT, CATEGORIES, GREY, MARKERS
from thinrank.plot.labels import as_written, shorten
from thinrank.plot.prediction_pairs import Pairs, prediction_pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_POINTS = 20_000  # more points hide each other, so their density is drawn
_BINS = 10  # bins of probabilities


def observed_predicted(
    est: Any, X: Any, Y: Any, response: int | str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw observed against predicted responses.

    For probabilities (classes, and the families "bernoulli" and "multinomial") the observed
    frequency is drawn against the mean predicted probability in ten bins with equal numbers of
    entries, with bars of one standard error.

    Parameters
    ----------
    est : estimator
        A fitted estimator, such as :class:`thinrank.SparseReducedRankRegressor`.
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        Predictors. With those of the training data the plot is optimistic; use data that were not
        fitted where there are some.
    Y : array or data frame of shape (n_samples, n_targets) or (n_samples,)
        Responses; entries that are NaN are left out.
    response : int, str or None, default=None
        Position or name of one response, shown in its own units. None for all responses; if there
        are several, each is shown in standard deviations from its mean.
    ax : Axes or None, default=None
        The Axes to draw in; None for a new figure.

    Returns
    -------
    Axes
        The Axes. On the dashed line predictions are equal to observations. R² is that of squared
        errors of the data shown, averaged over the responses.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    >>> est = tr.SparseReducedRankRegressor(2, 5, None).fit(X, Y)
    >>> ax = tr.plot.observed_predicted(est, X, Y, response="Y1")
    >>> ax.get_xlabel()
    'predicted Y1'
    """
    pairs = prediction_pairs(est, X, Y)
    if response is not None:
        pairs = pairs.only(response)
    if pairs.probability.any() and not pairs.probability.all():
        raise ValueError(
            "Y has both probabilities and numbers, which do not share an axis; name one of the "
            "responses with response="
        )
    ax = axes_of(ax, 5.2, 5.0)
    if not np.isfinite(pairs.observed).any():
        return write_instead(ax, "Y has no observed entries.")
    if pairs.probability.all():
        _draw_calibration(ax, pairs)
    else:
        _draw_points(ax, pairs)
    open_frame(ax)
    return ax


def _draw_points(ax: Axes, pairs: Pairs) -> None:
    observed, predicted, names = pairs.observed, pairs.predicted, pairs.names
    r2 = observed_r2(observed, predicted)
    many = len(names) > 1
    if many:
        centre, spread = np.nanmean(observed, axis=0), np.nanstd(observed, axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        observed, predicted = (observed - centre) / spread, (predicted - centre) / spread
    seen = np.isfinite(observed)
    low = float(min(observed[seen].min(), predicted[seen].min()))
    high = float(max(observed[seen].max(), predicted[seen].max()))
    margin = 0.05 * (high - low) or 0.5
    ax.axline((low, low), slope=1, color=GREY, linestyle="--", linewidth=1, zorder=1)
    if np.count_nonzero(seen) > _MOST_POINTS:
        ax.hexbin(predicted[seen], observed[seen], gridsize=60, bins="log", cmap="Blues", mincnt=1)
    elif many and len(names) <= len(CATEGORIES):
        for name, own, fitted, colour, marker in zip(
            names, observed.T, predicted.T, CATEGORIES, MARKERS, strict=False
        ):
            ax.scatter(
                fitted,
                own,
                s=16,
                color=colour,
                marker=marker,
                alpha=0.7,
                linewidths=0,
                label=shorten(name),
            )
        as_written(ax.legend(frameon=False, fontsize=8, loc="lower right").get_texts())
    else:
        size = float(np.clip(8000 / np.count_nonzero(seen), 4, 20))
        ax.scatter(predicted[seen], observed[seen], s=size, color=ACCENT, alpha=0.5, linewidths=0)
    ax.set(xlim=(low - margin, high + margin), ylim=(low - margin, high + margin), aspect="equal")
    what = "(standard deviations from the mean)" if many else shorten(names[0])
    ax.set_xlabel(f"predicted {what}", parse_math=False)
    ax.set_ylabel(f"observed {what}", parse_math=False)
    of = f", mean of {len(names):,} responses" if many else ""
    _note(ax, f"R² = {r2:.2f}{of}")


def _draw_calibration(ax: Axes, pairs: Pairs) -> None:
    """Observed frequencies against probabilities, one line per column if they are few."""
    ax.axline((0, 0), slope=1, color=GREY, linestyle="--", linewidth=1, zorder=1)
    seen = np.isfinite(pairs.observed)
    together = len(pairs.names) > len(CATEGORIES)
    columns = [...] if together else list(range(len(pairs.names)))
    for place, column in enumerate(columns):
        index: Any = (slice(None), column) if not together else (...,)
        mask = seen[index]
        if not mask.any():
            continue
        mean, frequency, error = _binned(pairs.predicted[index][mask], pairs.observed[index][mask])
        ax.errorbar(
            mean,
            frequency,
            yerr=error,
            color=CATEGORIES[place],
            marker=MARKERS[place],
            markersize=5,
            linewidth=1.2,
            elinewidth=0.8,
            capsize=2,
            label=None if together else shorten(pairs.names[place]),
        )
    if len(columns) > 1:
        as_written(ax.legend(frameon=False, fontsize=8, loc="lower right").get_texts())
    one = shorten(pairs.names[0]) if len(pairs.names) == 1 else None
    ax.set_xlabel("predicted probability" + (f" of {one}" if one else ""), parse_math=False)
    ax.set_ylabel("observed frequency" + (f" of {one}" if one else ""), parse_math=False)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.03, 1.03)
    squares = (pairs.observed[seen] - pairs.predicted[seen]) ** 2
    of = f", {len(pairs.names)} classes together" if together else ""
    _note(ax, f"mean squared error of the probabilities {squares.mean():.3f}{of}")


def _binned(
    predicted: np.ndarray, observed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean prediction, observed frequency and its standard error in bins of equal numbers."""
    order = np.argsort(predicted, kind="stable")
    parts = [part for part in np.array_split(order, min(_BINS, len(order))) if len(part)]
    mean = np.asarray([predicted[part].mean() for part in parts])
    frequency = np.asarray([observed[part].mean() for part in parts])
    sizes = np.asarray([len(part) for part in parts])
    return mean, frequency, np.sqrt(np.maximum(mean * (1 - mean), 0.0) / sizes)


def _note(ax: Axes, text: str) -> None:
    ax.set_title(text, loc="left", fontsize=9, color=GREY)
