"""The group lasso path of the baselines, whatever the order of the predictors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from thinrank import arrays
from thinrank.baselines.sample import Prepared
from thinrank.solvers.group_lasso import group_lasso_path

# Columns are the same if they differ by at most this fraction of their norm, by rounding errors of
# centring.
_SAME = 1e-9


class Merged(NamedTuple):
    """Columns of which no two are the same, and those that each of them stands for."""

    first: np.ndarray  # (q,) the columns
    # (n_features,) for each column the position in ``first`` of the one that it equals
    place: np.ndarray
    # (n_features,) one over the number of columns that are the same, negative if the signs are
    # opposite
    share: np.ndarray


def ordered_path(data: Prepared, penalties: Iterable[float], tol: float) -> Iterator[np.ndarray]:
    """Solve the group lasso for one penalty after another, in any order of the predictors.

    Coordinate descent ends within a tolerance of the solution, at a point that depends on the order
    of the coordinates, so that a row near zero may be zero in one order and not in another. So the
    predictors are ordered by their strength. Predictors that are the same, of which any share of
    the coefficients is a solution, get equal shares.

    Shapes: result (n_features, n_targets).
    """
    merged = merge_same(data.X)
    strength = arrays.half_the_digits(np.linalg.norm(data.cross[merged.first], axis=1))
    order = np.argsort(-strength, kind="stable")
    place = np.argsort(order)[merged.place]
    X = np.asfortranarray(data.X[:, merged.first[order]])
    for theta in group_lasso_path(X, data.Y, penalties, tol=tol):
        yield theta[place] * merged.share[:, None]


def merge_same(X: np.ndarray) -> Merged:
    """Find the columns that are the same up to their signs."""
    norms = np.linalg.norm(X, axis=0)
    # columns that are the same have the same product with any vector
    products = np.random.default_rng(0).standard_normal(X.shape[0]) @ X
    signs, keys = np.where(products < 0, -1.0, 1.0), np.abs(products)
    first = np.arange(X.shape[1])
    run: list[int] = []
    for j in np.argsort(keys, kind="stable"):
        slack = _SAME * norms[j]
        run = [i for i in run if keys[j] - keys[i] <= 4 * X.shape[0] ** 0.5 * slack]
        for i in run:
            if np.linalg.norm(signs[i] * X[:, i] - signs[j] * X[:, j]) <= slack:
                first[j] = i
                break
        else:
            run.append(j)
    members, place, counts = np.unique(first, return_inverse=True, return_counts=True)
    return Merged(members, place, signs * signs[first] / counts[place])
