"""Numbers of components and features, by the variance that is explained in held-out rows.

Two quantities are computed from rows that were left out of a fit with orthonormal directions W,
for each row x: the explained variance ‖Wᵀx‖², and the part of it that features have in common,

    ‖Wᵀx‖² − Σ_j ‖W_j‖² x_j² = Σ_{j≠k} (WWᵀ)_jk x_j x_k.

The second has the mean 0 for any directions if the features are uncorrelated, whatever their
variances and distributions are. It grows with a component only if the component explains more than
its features do by themselves on average: for standardized features, if its variance exceeds 1
(Kaiser's rule, here for held-out rows and features in any units).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.designs import standardize, take_rows
from thinrank.estimators.description import as_numbers
from thinrank.matrices.decomposition import PATIENCE
from thinrank.matrices.sparse_components import (
    compressed,
    feature_counts,
    leading_directions,
    orthogonal_part,
    shared_supports_along,
    without,
)

_SPLITS = 10
# Largest automatic rank: more components are not for reading.
_MAX_RANK = 20
# What components have in common must exceed 0 by these numbers of standard errors: those for
# uncorrelated features, and those estimated from the rows. benchmarks/sparse_pca.py counts how
# often noise exceeds both. With 3 for the rows a component that few rows show is lost.
_NULL_ERRORS = 5.0
_ROW_ERRORS = 2.3


class Choice(NamedTuple):
    """The chosen sizes."""

    # number of features: one number for a shared support, else one for each component
    features: list[int]
    rank: int  # number of components
    records: list[dict[str, Any]]  # one record per rank that was tried


@dataclass
class _Split:
    """Training rows, held-out rows, and what the components so far are."""

    training: Design  # training rows, centered and scaled, compressed
    held_out: Design  # the other rows, with the same means and scales
    rows: np.ndarray  # their positions
    # (n_features, max_rank) directions of the training rows without limit on the features
    leading: Array
    # (n_features, rank) directions of the accepted components, orthonormal
    kept: Array
    # (n_features, rank) directions of the components so far, orthonormal
    latest: Array

    def candidates(self, rank: int, counts: Sequence[int], shared: bool) -> list[Array]:
        """Orthonormal directions for each number of features."""
        if shared:
            return shared_supports_along(self.training, self.leading[:, :rank], counts)
        rest = compressed(without(self.training, self.latest))
        start = leading_directions(rest, 1)
        xp = arrays.namespace(start)
        return [
            xp.concat([self.latest, orthogonal_part(v, self.latest)], axis=1)
            for v in shared_supports_along(rest, start, counts)
        ]


def choose_components(
    design: Design,
    rank: int | None,
    features: int | None,
    *,
    least_share: float,
    scale: bool = False,
    shared: bool = True,
    seed: int = 0,
) -> Choice:
    """Choose the number of components, the number of features, or both: those that are None.

    ``least_share`` is what a further feature must add, of what features explain on average: data
    sets of correlated features lose those that add little; where few of many matter it has hardly
    any effect.
    """
    n, p = design.shape
    limit = min(rank or _MAX_RANK, p if features is None or not shared else features)
    splits = _split(design, limit, scale, seed)
    limit = min(limit, *(split.leading.shape[1] for split in splits)) if splits else 0
    best = Choice([], 0, [])
    chosen: list[int] = []
    first = rank if rank is not None and shared else 1
    for tried in range(first, limit + 1):
        if rank is None and tried - best.rank > PATIENCE:
            break
        count, record = _try(splits, n, tried, features, shared, least_share)
        chosen = [count] if shared else [*chosen, count]
        record["accepted"] = rank is not None or (
            record["null_errors"] > _NULL_ERRORS and record["row_errors"] > _ROW_ERRORS
        )
        best.records.append(record)
        if record["accepted"]:
            best = Choice(chosen, tried, best.records)
            for split in splits:
                split.kept = split.latest
    return best


def _split(design: Design, limit: int, scale: bool, seed: int) -> list[_Split]:
    n = design.shape[0]
    order = np.random.default_rng(seed).permutation(n)
    splits = []
    for part in range(min(_SPLITS, n)):
        held_out = np.sort(order[part::_SPLITS])
        training = np.sort(np.setdiff1d(order, held_out))
        if training.shape[0] < 3:
            return []
        index = arrays.indices(training.tolist(), design.prototype)
        moved = standardize(take_rows(design, index), scale=scale)
        others = take_rows(design, arrays.indices(held_out.tolist(), design.prototype))
        inner = compressed(moved.design)
        leading = leading_directions(inner, limit, seed)
        none = leading[:, :0]
        splits.append(_Split(inner, moved.applied_to(others), held_out, leading, none, none))
    return splits


def _try(
    splits: Sequence[_Split],
    n: int,
    rank: int,
    features: int | None,
    shared: bool,
    least_share: float,
) -> tuple[int, dict[str, Any]]:
    """The best number of features for a rank, and how much the rank improves on the best so far."""
    p = splits[0].training.shape[1]
    counts = feature_counts(rank if shared else 1, p)
    if features is not None:  # larger numbers lead to good starting points
        counts = [count for count in counts if count > features] + [features]
    fits = [split.candidates(rank, counts, shared) for split in splits]
    explained = np.zeros(len(counts))
    for split, found in zip(splits, fits, strict=True):
        explained += _explained(split.held_out, found) / n
    price = least_share * np.array(counts) / p
    at = (
        len(counts) - 1
        if features is not None
        else int(np.argmax(explained - explained.max() * price))
    )
    common, variance = np.zeros(n), 0.0
    unit = arrays.norm(splits[0].training.column_norms()) or 1.0
    for split, found in zip(splits, fits, strict=True):
        split.latest = found[at]
        common[split.rows], one = _in_common(split.held_out, split.latest, split.kept, unit)
        variance += one
    spread = np.std(common, ddof=1) * n**0.5
    record = {
        "rank": rank,
        "n_features": counts[at],
        "explained_variance": float(explained[at]),
        "null_errors": float(common.sum() / variance**0.5) if variance > 0 else 0.0,
        "row_errors": float(common.sum() / spread) if spread > 0 else 0.0,
    }
    return counts[at], record


def _explained(rows: Design, found: Sequence[Array]) -> np.ndarray:
    """Sum of squares of the scores of held-out rows, for each number of features."""
    xp = arrays.namespace(rows.prototype)
    scores = rows @ xp.concat(list(found), axis=1)
    squares = as_numbers(arrays.column_norms_squared(scores))
    widths = np.cumsum([0, *(W.shape[1] for W in found)])
    return np.add.reduceat(squares, widths[:-1])


def _in_common(rows: Design, new: Array, old: Array, unit: float) -> tuple[np.ndarray, float]:
    """What features have in common in the new directions beyond the old ones, for each row.

    Also the variance of its sum if features are uncorrelated: with A = new·newᵀ − old·oldᵀ this is
    2·Σ_{j≠k} A_jk² x_j² x_k², summed over the rows. ``unit``: of the features, whose fourth powers
    may be too large.
    """
    xp = arrays.namespace(new)
    W = xp.concat([new, old], axis=1)
    support = arrays.true_positions(arrays.row_norms_squared(W) > 0)
    W = arrays.take_rows(W, support)
    signs = arrays.from_numpy([1.0] * new.shape[1] + [-1.0] * old.shape[1], W)
    X = rows.columns(support) / unit
    diagonal, squares = (W * W) @ signs, X * X
    common = ((X @ W) ** 2) @ signs - squares @ diagonal
    variance = -float(xp.sum((squares * squares) @ (diagonal * diagonal)))
    for a in range(W.shape[1]):  # entries of Wᵀ·diag(x²)·W for all rows, one row of it at a time
        entries = squares @ (W * W[:, a : a + 1])
        variance += float(signs[a] * xp.sum((entries * entries) @ signs))
    return as_numbers(common), max(2 * variance, 0.0)
