"""Predictors that are always kept: the choice of the user, and their part of a regression."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import is_list
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs import KeptBasis, kept_basis

# Names that the message about an unknown one mentions.
_NAMES_SHOWN = 5


def check_always_keep(estimator: Any) -> np.ndarray:
    """Sorted indices of the predictors that are always kept."""
    always_keep, n_features = estimator.always_keep, estimator.n_features_in_
    names = getattr(estimator, "feature_names_in_", None)
    if not is_list(always_keep):
        raise ValueError(
            f"always_keep must be a list of names or indices of predictors, got {always_keep!r}"
        )
    given = list(always_keep)
    if given and all(isinstance(item, (bool, np.bool_)) for item in given):
        if len(given) != n_features:
            raise ValueError(
                f"always_keep is a mask of {len(given)} entries, but X has {n_features} columns"
            )
        given = np.flatnonzero(given).tolist()
    index = [_position(item, n_features, names) for item in given]
    for item, place in zip(given, index, strict=True):
        if index.count(place) > 1:
            raise ValueError(f"always_keep must name every predictor once, got {item!r} repeatedly")
    if index and len(index) == n_features:
        raise ValueError(
            f"always_keep must leave predictors to choose from, got all {n_features} of them; for "
            "a regression without selection use sklearn.linear_model.LinearRegression"
        )
    return np.sort(np.asarray(index, dtype=np.int64))


def _position(item: Any, n_features: int, names: np.ndarray | None) -> int:
    if isinstance(item, str):
        if names is None:
            raise ValueError(
                f"always_keep has the name {item!r}, but names need X to be a data frame whose "
                "columns all have names"
            )
        places = np.flatnonzero(names == item)
        if len(places) == 0:
            known = ", ".join(repr(str(name)) for name in names[:_NAMES_SHOWN])
            more = ", ..." if len(names) > _NAMES_SHOWN else ""
            raise ValueError(f"always_keep has the name {item!r}, but X has {known}{more}")
        return int(places[0])
    if not isinstance(item, Integral) or isinstance(item, bool):
        raise ValueError(f"always_keep must contain names or indices of predictors, got {item!r}")
    if not 0 <= int(item) < n_features:
        raise ValueError(
            f"always_keep must contain indices from 0 to {n_features - 1}, got {item!r}"
        )
    return int(item)


@dataclass(frozen=True, eq=False)
class KeptPredictors:
    """The columns Z of X that are always kept, and what they explain of X and Y."""

    index: Array  # (n_kept,) their sorted indices
    values: Array  # (n_samples, n_kept) Z
    basis: KeptBasis  # the basis of Z, centred if there is an intercept
    # loadings of X and, for least squares, of Y, in the user's units; None before they are computed
    loadings_x: Array | None = None
    loadings_y: Array | None = None

    @classmethod
    def of(
        cls, design: Design, index: np.ndarray, weight: Array | None, *, center: bool
    ) -> KeptPredictors:
        """The columns ``index`` of a design."""
        places = arrays.indices(index.tolist(), design.prototype)
        values = design.columns(places)
        basis = kept_basis(values, like=design.prototype, sample_weight=weight, center=center)
        return cls(places, values, basis)

    @property
    def rank(self) -> int:
        """Number of coefficients per response that can be told apart."""
        return self.basis.basis.shape[1]

    def others(self, scale: Array) -> Array:
        """Sorted indices of the other predictors that have a positive scale; all if none has."""
        mine = set(arrays.to_numpy(self.index).tolist())
        positive = arrays.to_numpy(scale) > 0
        others = [i for i in range(scale.shape[0]) if i not in mine]
        return arrays.indices([i for i in others if positive[i]] or others, scale)

    def coefficients(self, factors: Factors, loadings: Any) -> Array:
        """Coefficients of shape (n_targets, n_kept), for coefficients Θ of the others.

        ``loadings`` are those of the responses, or of their linear predictors.
        """
        own = loadings - (self.loadings_x @ factors.U) @ factors.V.T
        return self.basis.coefficients(own).T

    def at_means(self, coefficients: Array) -> Array:
        """What the kept predictors contribute at their means, of shape (n_targets,)."""
        return coefficients @ self.basis.center
