"""Observed entries beside their predictions, for every kind of estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.estimators.input_types import column_names
from thinrank.estimators.responses import responses_of
from thinrank.losses.families import Bernoulli, Mixed, Multinomial
from thinrank.plot.fitted_model import fitted_model


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
        if isinstance(response, Integral) and not isinstance(response, bool):
            if not 0 <= int(response) < len(self.names):
                raise ValueError(
                    f"response must be a position from 0 to {len(self.names) - 1} or a name, got "
                    f"{response!r}"
                )
            places = [int(response)]
        else:
            places = [i for i, name in enumerate(self.names) if name == response]
            places = places or [
                i for i, name in enumerate(self.names) if name.startswith(f"{response}=")
            ]
        if not places:
            known = ", ".join(repr(name) for name in self.names[:5])
            more = ", ..." if len(self.names) > 5 else ""
            raise ValueError(
                f"response must be one of {known}{more} or a position, got {response!r}"
            )
        return Pairs(
            [self.names[i] for i in places],
            self.observed[:, places],
            self.predicted[:, places],
            self.probability[places],
        )


def prediction_pairs(est: Any, X: Any, Y: Any) -> Pairs:
    """Observations and predictions of an estimator."""
    names = fitted_model(est).response_names
    if hasattr(est, "predict_proba"):
        observed, predicted = _of_classifier(est, X, Y)
        probability = np.ones(len(names), dtype=bool)
    elif hasattr(est, "categories_"):
        observed, predicted = _of_glm(est, X, Y)
        probability = _are_probabilities(est.family_, len(names))
    else:
        observed = _matrix(Y, np.float64)
        predicted = _matrix(est.predict(X), np.float64)
        probability = np.zeros(len(names), dtype=bool)
    if observed.shape != predicted.shape:
        raise ValueError(
            f"Y must have the shape of the predictions, {predicted.shape}, got {observed.shape}"
        )
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


def _of_glm(est: Any, X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
    like = est.factors_.U
    responses = responses_of(Y, est.family, None, column_names(Y), like, est.categories_)
    observed = arrays.to_numpy(responses.Y).astype(np.float64)
    if responses.weight is not None:
        observed = np.where(arrays.to_numpy(responses.weight) > 0, observed, np.nan)
    return observed, _matrix(est.predict(X), np.float64)


def _are_probabilities(family: Any, count: int) -> np.ndarray:
    """Whether the mean of each column is a probability."""
    if not isinstance(family, Mixed):
        return np.full(count, isinstance(family, (Bernoulli, Multinomial)))
    out = np.zeros(count, dtype=bool)
    members: Sequence[Any] = family.families
    for member, columns in zip(members, family.columns, strict=True):
        out[np.asarray(columns)] = isinstance(member, (Bernoulli, Multinomial))
    return out


def _matrix(values: Any, dtype: Any) -> np.ndarray:
    """Values as a matrix with a column per response."""
    matrix = arrays.to_numpy(values) if arrays.is_array(values) else np.asarray(values)
    return (matrix[:, None] if matrix.ndim == 1 else matrix).astype(dtype)
