"""Simulated carts that are to be driven to goals of their own, for ``thinrank rl`` without logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thinrank.rl.transitions import Transitions

NAMES = ["place", "speed"]
"""The state variables."""


class Carts:
    """Carts on a track that are pushed to the left, not at all, or to the right."""

    def __init__(self, count: int, seed: int) -> None:
        self._seed = seed
        self.goals = np.random.default_rng([seed, 0]).uniform(-0.8, 0.8, count)

    def log(self, task: int, episodes: int) -> Transitions:
        """Episodes of 20 random pushes, from places all over the track."""
        rng, parts = np.random.default_rng([self._seed, 1, task]), []
        states = np.stack([rng.uniform(-1, 1, episodes), np.zeros(episodes)], axis=1)
        for _ in range(20):
            actions = rng.integers(3, size=episodes)
            rewards, after = self._driven(task, states, actions, rng)
            parts.append((states, actions, rewards, after))
            states = after
        states, actions, rewards, after = map(np.concatenate, zip(*parts, strict=True))
        never, numbers = np.zeros(len(states), dtype=bool), np.tile(np.arange(episodes), 20)
        return Transitions(states, actions, rewards, after, never, episodes=numbers)

    def value(self, policy: Callable[[int], Any], discount: float) -> float:
        """Mean discounted return of episodes of 100 steps, the same for all policies."""
        total = 0.0
        for task in range(len(self.goals)):
            rng = np.random.default_rng([self._seed, 2, task])
            states = np.stack([rng.uniform(-1, 1, 100), np.zeros(100)], axis=1)
            for step in range(100):
                rewards, states = self._driven(task, states, policy(task)(states), rng)
                total += discount**step * float(rewards.mean()) / len(self.goals)
        return total

    def _driven(
        self, task: int, states: np.ndarray, actions: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rewards and next states."""
        speed = 0.8 * states[:, 1] + 0.08 * (actions - 1) + 0.01 * rng.standard_normal(len(states))
        place = np.clip(states[:, 0] + speed, -1, 1)
        return -np.abs(place - self.goals[task]), np.stack([place, speed], axis=1)
