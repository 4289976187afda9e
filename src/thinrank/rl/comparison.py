"""A comparison of learning tasks jointly and separately; ``thinrank rl`` runs it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thinrank.baselines import MultiTaskGroupLasso, SeparateLassos, SeparateRidges
from thinrank.estimators import SparseReducedRankRegressor
from thinrank.rl.families import Family, make_linear_family, make_optimal_value_family
from thinrank.rl.fqi import MultiTaskFQI
from thinrank.rl.tabular import value_error

FAMILIES: dict[str, Callable[..., Family]] = {
    "linear": make_linear_family,
    "optimal-value": make_optimal_value_family,
}
"""Families of tasks by name."""

# Number of iterations of fitted Q-iteration.
_ITERATIONS = 12


@dataclass(frozen=True)
class Comparison:
    """Fitted Q-iteration with several regressions on simulated families of tasks."""

    family: str  # A key of :data:`FAMILIES`
    tasks: int  # number of tasks
    features: int  # number of features of a state
    states: Sequence[int]  # numbers of design states to compare
    repeats: int  # number of families to draw, with consecutive seeds
    seed: int  # seed of the first family

    actions = 3
    rows = 10
    rank = 3

    @property
    def fits(self) -> int:
        """Number of fits."""
        return self.repeats * len(self.states) * len(_methods())

    def run(self, begin: Callable[[str], object]) -> list[dict[str, Any]]:
        """Run all fits."""
        methods = _methods()
        records = []
        for seed in range(self.seed, self.seed + self.repeats):
            sizes = (self.tasks, self.features, self.actions, self.rows, self.rank)
            family = FAMILIES[self.family](*sizes, random_state=seed)
            order = np.random.default_rng(seed).permutation(family.tasks[0].n_states)
            for count in self.states:
                for name, regressor in methods.items():
                    begin(f"{name}, {count} states")
                    began = time.perf_counter()
                    error = _learned(family, regressor, order[:count], seed)
                    seconds = time.perf_counter() - began
                    records.append(
                        {
                            "method": name,
                            "states": count,
                            "seed": seed,
                            "value_error": error,
                            "seconds": seconds,
                        }
                    )
        return records


def _methods() -> dict[str, Any]:
    """The regressors by name: with shared rows and rank, with shared rows, and separate ones."""
    literal: dict[str, Any] = {"standardize": False, "fit_intercept": False}
    sized = {"column_sparsity": None, "ridge": "auto", "criterion": "pic", **literal}
    tuned = {"n_penalties": 12, "cv": 3, **literal}
    return {
        "GDT": SparseReducedRankRegressor(solver="gdt", **sized),
        "pursuit": SparseReducedRankRegressor(**sized),
        "group lasso": MultiTaskGroupLasso(**tuned),
        "lasso": SeparateLassos(**tuned),
        "ridge": SeparateRidges(**tuned),
    }


def _learned(family: Family, regressor: Any, states: np.ndarray, seed: int) -> float:
    learner = MultiTaskFQI(
        family.features,
        family.tasks[0].n_actions,
        family.discount,
        regressor,
        n_iterations=_ITERATIONS,
        tune_at="doubling",
        random_state=seed,
    )
    with warnings.catch_warnings():
        # a regression that does not converge is followed by further iterations
        warnings.simplefilter("ignore", ConvergenceWarning)
        # a regression of rank 0 is visible in the errors
        warnings.filterwarnings("ignore", "no feature is in use", UserWarning)
        learner.fit(family.tasks, states)
    policies = [learner.policy(k) for k in range(len(family.tasks))]
    return value_error(family.tasks, policies, family.discount, family.q_star)
