"""The targets y = r + γ·max Q(s′, ·) of an iteration, from tasks or from logged data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from thinrank.designs import BlockDiagonal, as_design
from thinrank.rl.action_values import ActionValues
from thinrank.rl.features import Features, feature_matrix
from thinrank.rl.tasks import expected, sampled
from thinrank.rl.transitions import Transitions

LARGEST = 1e100
"""Larger values count as divergence. Their squares do not overflow yet."""
MAX_CELLS = 200_000_000
"""Largest number of cells of the dense features of an action: 1.6 GB."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of X: feature vectors φ(s, a) of the design pairs, at which targets are known.

    There is one block per action; zeros outside the blocks are not stored.
    """

    # for each action a, the matrix Φ_a of shape (n_rows of a, n_features). If actions have the same
    # states, their blocks are the same object
    blocks: Sequence[Any]
    n_tasks: int
    # (n_rows,) the episode of each row, numbered over all tasks, or the state if states were chosen
    # one by one; folds hold out whole episodes
    episodes: np.ndarray
    # (n_rows,) the task that each row belongs to. None if all tasks have the same rows; then
    # targets have the shape (n_rows, n_tasks), otherwise (n_rows,)
    owner: np.ndarray | None = None
    # (n_rows,) the rows of logs episode by episode, with the steps of an episode in order
    sequence: np.ndarray | None = None

    def __post_init__(self) -> None:
        for action, block in enumerate(self.blocks):
            if block.shape[1] != self.n_features:
                raise ValueError(
                    f"features must have the same number of columns for all actions; action 0 has "
                    f"{self.n_features}, action {action} has {block.shape[1]}"
                )

    @property
    def n_features(self) -> int:
        """Number of features of a state."""
        return self.blocks[0].shape[1]

    @property
    def shape(self) -> tuple[int, int, int]:
        """(n_actions, n_features, n_tasks)."""
        return len(self.blocks), self.n_features, self.n_tasks

    def values(self, values: ActionValues) -> np.ndarray:
        """Q at the design pairs, in the same shape as the targets."""
        parts = []
        for action, (block, where) in enumerate(zip(self.blocks, self.ranges, strict=True)):
            if self.owner is None:
                columns = [values.of_features(t, block)[:, action] for t in range(self.n_tasks)]
                parts.append(np.stack(columns, axis=1))
                continue
            part, owner = np.zeros(block.shape[0]), self.owner[where]
            for task in np.unique(owner):
                own = np.flatnonzero(owner == task)
                part[own] = values.of_features(int(task), block[own])[:, action]
            parts.append(part)
        return np.concatenate(parts)

    def task_sums(self, numbers: np.ndarray, where: slice = slice(None)) -> np.ndarray:
        """Sums over the rows of every task, of numbers at some rows; of shape (n_tasks,)."""
        if self.owner is None:
            return numbers.sum(axis=0)
        return np.bincount(self.owner[where], numbers, minlength=self.n_tasks)

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
        """The episode of every row, numbered from 0 without gaps; of shape (n_rows,)."""
        return np.unique(self.episodes, return_inverse=True)[1]

    def fold_labels(self, count: int, seed: int) -> np.ndarray:
        """The fold of each row; the episodes of each task, or states, are spread over the folds."""
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
        """The training and the held-out rows of every fold."""
        label = self.fold_labels(count, seed)
        return [(np.flatnonzero(label != i), np.flatnonzero(label == i)) for i in range(count)]


class FixedTargets:
    """Targets from the same transitions in every iteration; ``going`` where the episode goes on.

    Arrays are of shape (n_rows, ...), or (n_rows, n_tasks, ...) if tasks share their rows.
    """

    def __init__(
        self,
        rows: Rows,
        rewards: np.ndarray,
        next_states: np.ndarray,
        going: np.ndarray,
        discounts: np.ndarray,
        features: Features,
    ) -> None:
        self.rows, self._rewards, self._discounts = rows, rewards, discounts
        # places among the targets of a task, and features of the next states
        self._following: list[tuple[Any, Any]] = []
        for task in range(rows.n_tasks):
            if rows.owner is None:
                place: Any = np.flatnonzero(going[:, task]), task
            else:
                place = np.flatnonzero(going & (rows.owner == task))
            states, where = next_states[place], f"task {task}: next states"
            matrix = feature_matrix(features, states, where) if len(states) else None
            self._following.append((place, matrix))

    def under(self, values: ActionValues) -> np.ndarray:
        """Targets in the order of the rows."""
        y = self._rewards.copy()
        for task, (place, matrix) in enumerate(self._following):
            if matrix is not None:
                y[place] += self._discounts[task] * values.of_features(task, matrix).max(axis=1)
        return y

    def fixed(self) -> FixedTargets:
        """These targets."""
        return self

    def to_the_end(self, residuals: np.ndarray) -> np.ndarray:
        """Discounted sums of the residuals from a row to the end of its episode."""
        from scipy.signal import lfilter  # as long to import as the rest of the package

        rows = self.rows
        if rows.sequence is None:
            return residuals
        found = np.empty_like(residuals)
        for task, discount in enumerate(self._discounts):
            own = rows.sequence
            if rows.owner is not None:
                own = own[rows.owner[own] == task]
            # the sums of all later rows, less those of later episodes
            sums = lfilter([1.0], [1.0, -discount], residuals[own][::-1], axis=0)[::-1]
            end = np.searchsorted(rows.episodes[own], rows.episodes[own], side="right")
            later = np.append(sums, np.zeros_like(sums[:1]), axis=0)[end]
            found[own] = (sums.T - discount ** (end - np.arange(len(own))) * later.T).T
        return found


class GenerativeTargets:
    """Targets from new samples, or expectations, of every task at the same design states."""

    def __init__(
        self,
        tasks: Sequence[Any],
        states: np.ndarray,
        n_actions: int,
        features: Features,
        discounts: np.ndarray,
        expectation: bool,
        seed: int,
    ) -> None:
        self._tasks, self._states, self._discounts = tasks, states, discounts
        self._expectation, self._features, self._seed = expectation, features, seed
        self._streams = np.random.default_rng(seed).spawn(len(tasks))
        self.rows = _design_rows(states, n_actions, features, len(tasks))

    def under(self, values: ActionValues) -> np.ndarray:
        """Targets of shape (n_rows, n_tasks)."""
        columns = [self._column(task, values) for task in range(len(self._tasks))]
        return np.stack(columns, axis=1)

    def fixed(self) -> FixedTargets:
        """One sample at the design states, or at some of them if features take above 400 MB."""
        actions, width, tasks = self.rows.shape
        rows, states = self.rows, self._states
        most = max(MAX_CELLS // 4 // (tasks * actions * width), 50)
        if len(states) > most:
            chosen = np.random.default_rng(self._seed).permutation(len(states))[:most]
            states = states[np.sort(chosen)]
            rows = _design_rows(states, actions, self._features, tasks)
        streams = np.random.default_rng([self._seed, 1]).spawn(tasks)
        drawn = [
            zip(*(sampled(task, t, states, a, streams[t]) for a in range(actions)), strict=True)
            for t, task in enumerate(self._tasks)
        ]
        columns = zip(*([np.concatenate(part) for part in parts] for parts in drawn), strict=True)
        rewards, after, ended = (np.stack(column, axis=1) for column in columns)
        return FixedTargets(rows, rewards, after, ~ended, self._discounts, self._features)

    def _column(self, task: int, values: ActionValues) -> np.ndarray:
        def value(states: np.ndarray) -> np.ndarray:
            return values.values(task, states).max(axis=1)

        parts, model, stream = [], self._tasks[task], self._streams[task]
        states = self._states
        for action in range(len(self.rows.blocks)):
            if self._expectation:
                rewards, ahead = expected(model, task, states, action, value)
            else:
                rewards, following, ended = sampled(model, task, states, action, stream)
                ahead = np.zeros(len(following))
                if not ended.all():
                    ahead[~ended] = value(following[~ended])
            parts.append(rewards + self._discounts[task] * ahead)
        return np.concatenate(parts)


Targets = GenerativeTargets | FixedTargets
"""Design pairs, ``rows``, and the targets at them for given action values, ``under(values)``."""


def _design_rows(states: np.ndarray, n_actions: int, features: Features, n_tasks: int) -> Rows:
    """The rows of design states, in which every action is taken."""
    matrix = feature_matrix(features, states, "design states")
    return Rows([matrix] * n_actions, n_tasks, np.tile(np.arange(len(states)), n_actions))


def logged_targets(
    log: Transitions, features: Features, n_actions: int, discounts: np.ndarray
) -> FixedTargets:
    """Targets from logged data."""
    too_large = log.actions >= n_actions
    if too_large.any():
        raise ValueError(
            f"actions must be from 0 to {n_actions - 1}, task {log.tasks[too_large][0]} has "
            f"{log.actions[too_large][0]}"
        )
    tried = np.append(np.unique(log.actions), -1)
    untried = int(np.argmax(tried != np.arange(len(tried))))
    if untried < n_actions:
        raise ValueError(
            f"no task has a transition with action {untried}: its values cannot be learned"
        )
    order = np.argsort(log.actions, kind="stable")
    by_action = np.split(order, np.cumsum(np.bincount(log.actions, minlength=n_actions))[:-1])
    blocks = [_block(log, features, index, a) for a, index in enumerate(by_action)]
    episodes, owner = log.episodes[order], log.tasks[order] if log.n_tasks > 1 else None
    rows = Rows(blocks, log.n_tasks, episodes, owner, np.lexsort((order, episodes)))
    places = order[:, None] if owner is None else order
    columns = log.rewards[places], log.next_states[places], ~log.terminated[places]
    return FixedTargets(rows, *columns, discounts, features)


def _block(log: Transitions, features: Features, index: np.ndarray, action: int) -> Any:
    """φ at the states of an action. An error names the first task with invalid features."""
    states, tasks = log.states[index], log.tasks[index]
    try:
        return feature_matrix(features, states, f"states of action {action}")
    except ValueError:
        for task in np.unique(tasks):
            feature_matrix(features, states[tasks == task], f"task {task}, action {action}")
        raise
