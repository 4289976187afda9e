"""The rows of X: feature vectors φ(s, a) of the pairs at which targets are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from thinrank.designs import BlockDiagonal, as_design

__all__ = ["Rows"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Feature vectors in blocks, one an action; the zeros around the blocks are not stored.

    Parameters
    ----------
    blocks : sequence of array or scipy sparse matrix
        Φ_a of shape (n_a, p_s) for each action a. Equal states for all actions are one object in
        all places.
    n_tasks : int
        k.
    owner : array of shape (Σ n_a,), optional
        The task that each row belongs to. None when all tasks have the same rows: then targets
        have the shape (Σ n_a, k), and otherwise (Σ n_a,).
    """

    blocks: Sequence[Any]
    n_tasks: int
    owner: np.ndarray | None = None

    @property
    def n_features(self) -> int:
        """p_s."""
        return self.blocks[0].shape[1]

    @cached_property
    def ranges(self) -> list[slice]:
        """Where the rows of each action are."""
        ends = accumulate((block.shape[0] for block in self.blocks), initial=0)
        return [slice(*pair) for pair in pairwise(ends)]

    @cached_property
    def design(self) -> BlockDiagonal:
        """X, block diagonal over the actions."""
        held = {id(block): as_design(block) for block in self.blocks}
        return BlockDiagonal([held[id(block)] for block in self.blocks])

    def folds(self, count: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Splits that hold out states at random, each with all its actions."""
        rng = np.random.default_rng(seed)
        labels = {id(block): rng.permutation(block.shape[0]) % count for block in self.blocks}
        label = np.concatenate([labels[id(block)] for block in self.blocks])
        return [(np.flatnonzero(label != i), np.flatnonzero(label == i)) for i in range(count)]
