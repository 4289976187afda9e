"""Sizes chosen by a criterion, or by held-out error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.losses import LeastSquares
from thinrank.selection.criteria import Criterion
from thinrank.selection.path import Search
from thinrank.selection.samples import CriterionSample
from thinrank.selection.space import Space
from thinrank.selection.splits import held_out_samples

__all__ = ["automatic_ridges", "by_criterion", "by_held_out"]


def automatic_ridges(loss: LeastSquares) -> list[float]:
    """Zero, and from a thousandth to three times the mean curvature of the loss."""
    diagonal = loss.quadratic().diagonal()
    mean = float(arrays.namespace(diagonal).mean(diagonal))
    return [0.0, *(mean * np.geomspace(1e-3, 3.0, 11)).tolist()]


def by_criterion(loss: LeastSquares, space: Space, criterion: Criterion, **options: Any) -> Search:
    """Search by a criterion on all rows; each fit begins from the nearest one before.

    Parameters
    ----------
    loss : LeastSquares
        Without ridge.
    space : Space
    criterion : Criterion
    **options
        Of :class:`thinrank.selection.path.Search`.
    """
    p, k = loss.shape
    chosen = space.rows[0] < p, space.columns[0] < k
    sample = CriterionSample(loss.quadratic(), loss.noise, criterion, *chosen)
    search = Search([sample], space, fresh=False, **options)
    search.run()
    return search


def by_held_out(
    loss: LeastSquares,
    space: Space,
    splits: Iterable[tuple[np.ndarray, np.ndarray]],
    *,
    center: bool,
    scale: bool,
    max_iter: int,
    tol: float,
    **options: Any,
) -> Search:
    """Search by the mean squared error on held-out rows.

    The predictive information criterion on all rows, which costs a fit where this costs one a
    split, says where to begin; every fit of a split begins from that split's own data.
    """
    samples = held_out_samples(loss, splits, center=center, scale=scale)
    limits: dict[str, Any] = {"max_iter": max_iter, "tol": tol}
    guide = None
    if space.exhaustive is None:
        first = by_criterion(loss, space.without_ridges(), Criterion(), **limits)
        if first.stopped:
            raise KeyboardInterrupt  # nothing has been cross-validated yet
        guide = first.best.sizes
    search = Search(samples, space, fresh=True, guide=guide, **limits, **options)
    search.run()
    return search
