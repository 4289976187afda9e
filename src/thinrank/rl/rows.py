"""The rows of X: feature vectors φ(s, a) of the design pairs, at which targets are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from thinrank.designs import BlockDiagonal, as_design


@dataclass(frozen=True, eq=False)
class Rows:
    """Feature vectors in blocks, one block per action; zeros outside the blocks are not stored."""

    # for each action a, the matrix Φ_a of shape (n_rows of a, n_features). If actions have the same
    # states, their blocks are the same object
    blocks: Sequence[Any]
    n_tasks: int  # number of tasks
    # (n_rows,) the task that each row belongs to. None if all tasks have the same rows; then
    # targets have the shape (n_rows, n_tasks), otherwise (n_rows,)
    owner: np.ndarray | None = None
    # (n_rows,) the episode of each row, numbered over all tasks; folds hold out whole episodes.
    # None if rows belong to states that were chosen one by one
    episodes: np.ndarray | None = None

    @property
    def n_features(self) -> int:
        """Number of features of a state."""
        return self.blocks[0].shape[1]

    @cached_property
    def ranges(self) -> list[slice]:
        """The rows of each action."""
        ends = accumulate((block.shape[0] for block in self.blocks), initial=0)
        return [slice(*pair) for pair in pairwise(ends)]

    @cached_property
    def design(self) -> BlockDiagonal:
        """X, block diagonal over the actions."""
        held = {id(block): as_design(block) for block in self.blocks}
        return BlockDiagonal([held[id(block)] for block in self.blocks])

    @cached_property
    def groups(self) -> np.ndarray:
        """The episode of every row, or the state, numbered from 0; of shape (n_rows,)."""
        if self.episodes is not None:
            return np.unique(self.episodes, return_inverse=True)[1]
        first = np.cumsum([0, *(len(numbers) for numbers in self._numbers.values())])
        begin = dict(zip(self._numbers, first, strict=False))
        return np.concatenate([self._numbers[id(b)] + begin[id(b)] for b in self.blocks])

    @cached_property
    def _numbers(self) -> dict[int, np.ndarray]:
        return {id(block): np.arange(block.shape[0]) for block in self.blocks}

    def fold_labels(self, count: int, seed: int) -> np.ndarray:
        """The fold of each row, the same for all rows of an episode, or of a state.

        The episodes of each task are spread over the folds.

        Shapes: result (n_rows,).
        """
        rng = np.random.default_rng(seed)
        numbers, first = np.unique(self.groups, return_index=True)
        owner = np.zeros_like(first) if self.owner is None else self.owner[first]
        fold = np.empty(len(numbers), dtype=np.int64)
        for task in np.unique(owner):
            own = np.flatnonzero(owner == task)
            # tasks begin with different folds: there may be fewer episodes than folds
            fold[own] = (rng.permutation(len(own)) + rng.integers(count)) % count
        return fold[self.groups]

    def folds(self, count: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Splits that hold out the rows of :meth:`fold_labels`."""
        label = self.fold_labels(count, seed)
        return [(np.flatnonzero(label != i), np.flatnonzero(label == i)) for i in range(count)]
