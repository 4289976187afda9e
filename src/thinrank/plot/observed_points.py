"""Observed values or frequencies against predictions, for every kind of estimator."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank import arrays
from thinrank.estimators.description import observed_r2
from thinrank.estimators.responses import responses_of
from thinrank.estimators.validation import column_names
from thinrank.losses.families import Bernoulli, Mixed, Multinomial
from thinrank.plot import canvas
from thinrank.plot.canvas import ACCENT, CATEGORIES, GRAY, MARKERS, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_POINTS = 20_000  # more points hide each other, so their density is drawn


@canvas.plot
def observed_predicted(
    est: Any, X: Any, Y: Any, response: int | str | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw observed against predicted responses.

    For probabilities (classes, and the families "bernoulli" and "multinomial") the observed
    frequency is drawn against the mean predicted probability in ten bins with equal numbers of
    entries, with bars of one standard error.

    On the dashed line predictions are equal to observations. R² is that of squared errors of
    the data shown, averaged over the responses.

    Parameters
    ----------
    {est}
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        Predictors. With those of the training data the plot is optimistic; use data that were not
        fitted where there are some.
    Y : array or data frame of shape (n_samples, n_targets) or (n_samples,)
        Responses; entries that are NaN are left out.
    response : int, str or None, default=None
        Position or name of one response, shown in its own units. None for all responses; if there
        are several, each is shown in standard deviations from its mean.

    Examples
    --------
    {fit}
    >>> ax = tr.plot.observed_predicted(est, X, Y, response="Y1")
    >>> ax.get_xlabel()
    'predicted Y1'
    """
    pairs = prediction_pairs(est, X, Y)
    return draw_pairs(pairs if response is None else pairs.only(response), ax)


def draw_pairs(pairs: Pairs, ax: Axes | None) -> Axes:
    """Draw observations against predictions."""
    if pairs.probability.any() and not pairs.probability.all():
        raise ValueError(
            "Y has both probabilities and numbers, which do not share an axis; name one of the "
            "responses with response="
        )
    ax = canvas.axes_of(ax, 5.2, 5.0)
    if not np.isfinite(pairs.observed).any():
        return canvas.write_instead(ax, "Y has no observed entries.")
    draw = _draw_calibration if pairs.probability.all() else _draw_points
    ax.set_title(draw(ax, pairs), loc="left", fontsize=canvas.LARGE, color=GRAY)
    canvas.open_frame(ax)
    return canvas.with_fonts(ax)


def _draw_points(ax: Axes, pairs: Pairs) -> str:
    """Observations against predictions; returns their R²."""
    names, many = pairs.names, len(pairs.names) > 1
    r2 = observed_r2(pairs.observed, pairs.predicted)
    center, spread = np.zeros(len(names)), np.ones(len(names))
    if many:
        center, spread = np.nanmean(pairs.observed, axis=0), np.nanstd(pairs.observed, axis=0)
        spread[~(spread > 0)] = 1.0
    seen = np.isfinite(pairs.observed)
    column = np.nonzero(seen)[1]
    observed, predicted = (
        ((values - center) / spread)[seen] for values in (pairs.observed, pairs.predicted)
    )
    low, high = (float(end) for end in np.quantile([observed, predicted], [0, 1]))
    margin = 0.05 * (high - low) or 0.5
    ax.axline((low, low), slope=1, color=GRAY, linestyle="--", linewidth=1, zorder=1)
    if len(column) > _MOST_POINTS:
        ax.hexbin(predicted, observed, gridsize=60, bins="log", cmap="Blues", mincnt=1)
    elif many and len(names) <= len(CATEGORIES):
        look: Any = {"s": 16, "alpha": 0.7, "linewidths": 0}
        for j, name in enumerate(names):
            look |= {"color": CATEGORIES[j], "marker": MARKERS[j], "label": shorten(name)}
            ax.scatter(predicted[column == j], observed[column == j], **look)
        canvas.legend_of(ax, loc="lower right")
    else:
        area = float(np.clip(8000 / len(column), 4, 20))
        ax.scatter(predicted, observed, s=area, color=ACCENT, alpha=0.5, linewidths=0)
    ax.set(xlim=(low - margin, high + margin), ylim=(low - margin, high + margin), aspect="equal")
    what = "(standard deviations from the mean)" if many else shorten(names[0])
    ax.set_xlabel(f"predicted {what}", parse_math=False)
    ax.set_ylabel(f"observed {what}", parse_math=False)
    of = f", mean of {len(names):,} responses" if many else ""
    return f"R² = {r2:.2f}{of}"


def _draw_calibration(ax: Axes, pairs: Pairs) -> str:
    """Observed frequencies against probabilities, by column if they are few; returns the error."""
    ax.axline((0, 0), slope=1, color=GRAY, linestyle="--", linewidth=1, zorder=1)
    names, observed, predicted = list(map(shorten, pairs.names)), pairs.observed, pairs.predicted
    squares = (observed - predicted) ** 2
    text = f"mean squared error of the probabilities {np.nanmean(squares):.3f}"
    if len(names) > len(CATEGORIES):
        text += f", {len(names)} classes together"
        names, observed, predicted = [""], observed.reshape(-1, 1), predicted.reshape(-1, 1)
    look: Any = {"markersize": 5, "linewidth": 1.2, "elinewidth": 0.8, "capsize": 2}
    for name, own, chance, color, marker in zip(
        names, observed.T, predicted.T, CATEGORIES, MARKERS, strict=False
    ):
        seen = np.isfinite(own)
        if seen.any():
            bins = _binned(chance[seen], own[seen])
            ax.errorbar(*bins, label=name, color=color, marker=marker, **look)
    if len(names) > 1:
        canvas.legend_of(ax, loc="lower right")
    of = f" of {names[0]}" if len(pairs.names) == 1 else ""
    ax.set_xlabel(f"predicted probability{of}", parse_math=False)
    ax.set_ylabel(f"observed frequency{of}", parse_math=False)
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    return text


def _binned(
    predicted: np.ndarray, observed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean prediction, observed frequency and its standard error in ten bins of equal numbers."""
    parts = np.array_split(np.argsort(predicted, kind="stable"), min(10, len(predicted)))
    mean = np.asarray([predicted[part].mean() for part in parts])
    frequency = np.asarray([observed[part].mean() for part in parts])
    sizes = np.asarray(list(map(len, parts)))
    return mean, frequency, np.sqrt(np.maximum(mean * (1 - mean), 0.0) / sizes)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Observations and predictions, one column per response, class or category."""

    names: list[str]  # names of the columns
    # (n_samples, n_columns) observations, nan where one is missing, and predictions
    observed: np.ndarray
    predicted: np.ndarray
    # (n_columns,) whether the predictions are probabilities of what is observed as 0 or 1
    probability: np.ndarray

    def only(self, response: Any) -> Pairs:
        """The columns of one response."""
        total = len(self.names)
        if isinstance(response, Integral) and not isinstance(response, bool):
            places = [int(response)] if 0 <= int(response) < total else []
        else:
            places = [i for i in range(total) if self.names[i] == response]
            places = places or [i for i in range(total) if self.names[i].startswith(f"{response}=")]
        if not places:
            known = ", ".join(repr(name) for name in self.names[:5]) + ", ..." * (total > 5)
            raise ValueError(
                f"response must be one of {known} or a position from 0 to {total - 1}, got "
                f"{response!r}"
            )
        parts = (part[..., places] for part in (self.observed, self.predicted, self.probability))
        return Pairs([self.names[i] for i in places], *parts)


def prediction_pairs(est: Any, X: Any, Y: Any) -> Pairs:
    """Observations and predictions of an estimator."""
    names = canvas.fitted_model(est).response_names
    if hasattr(est, "predict_proba"):
        observed, predicted = _of_classifier(est, X, Y)
    else:
        predicted = canvas.as_matrix(est.predict(X))
        observed = _of_glm(est, Y) if hasattr(est, "categories_") else canvas.as_matrix(Y)
    if observed.shape != predicted.shape:
        raise ValueError(
            f"Y must have the shape of the predictions, {predicted.shape}, got {observed.shape}"
        )
    family = getattr(est, "family_", None)
    probability = np.full(len(names), isinstance(family, (Bernoulli, Multinomial)))
    if isinstance(family, Mixed):
        for member, columns in zip(family.families, family.columns, strict=True):
            probability[np.asarray(columns)] = isinstance(member, (Bernoulli, Multinomial))
    return Pairs(names, observed, predicted, probability)


def _of_classifier(est: Any, X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
    predicted = arrays.to_numpy(est.predict_proba(X))
    labels = arrays.to_numpy(Y) if arrays.is_array(Y) else np.asarray(Y)
    if labels.ndim == 2 and labels.shape[1] > 1:
        return labels.astype(np.float64), predicted
    labels = labels.reshape(-1)
    unknown = np.setdiff1d(labels, est.classes_)
    if len(unknown):
        raise ValueError(f"Y has the class {str(unknown[0])!r}, which est was not fitted to")
    classes = est.classes_
    if len(classes) == 2:
        classes, predicted = classes[1:], predicted[:, 1:]
    return (labels[:, None] == classes).astype(np.float64), predicted


def _of_glm(est: Any, Y: Any) -> np.ndarray:
    like = est.factors_.U
    responses = responses_of(Y, est.family, None, column_names(Y), like, est.categories_)
    observed = arrays.to_numpy(responses.Y).astype(np.float64)
    if responses.weight is None:
        return observed
    return np.where(arrays.to_numpy(responses.weight) > 0, observed, np.nan)
