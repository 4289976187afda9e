"""Time of multi-task fitted Q-iteration: 20 tasks, 5000 states, 200 features, 3 actions.

    python benchmarks/rl_speed.py --markdown docs/benchmarks/rl_speed.md

Every iteration draws fresh next states for 20 × 3 × 5000 pairs and fits 600 × 20 coefficients to
15,000 × 20 targets. States are vectors of 200 numbers, so that next states are as large as their
features; "targets" is the time of the tasks' own simulation, the values of the next states
included. The peak is that of NumPy's memory; X as a dense matrix would have 600 columns.
"""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
from output import arguments_of, machine, publish, table
from rich.console import Console

import thinrank as tr

TASKS, STATES, FEATURES, ACTIONS, ITERATIONS = 20, 5000, 200, 3, 20
RANK, ROWS, POOL = 3, 10, 20_000


class Drift:
    """Each next state is one of a pool, rewards are linear in a few features."""

    def __init__(self, pool: np.ndarray, weights: np.ndarray) -> None:
        self.pool, self.weights = pool, weights

    def sample(
        self, states: np.ndarray, action: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rewards, next states, and False for every end of an episode."""
        following = self.pool[rng.integers(len(self.pool), size=len(states))]
        rewards = states @ self.weights[action] + 0.1 * rng.standard_normal(len(states))
        return rewards, following, np.zeros(len(states), dtype=bool)


def problem() -> tuple[list[Drift], np.ndarray]:
    rng = np.random.default_rng(0)
    pool, states = (rng.standard_normal((rows, FEATURES)) for rows in (POOL, STATES))
    pool[:, 0] = states[:, 0] = 1.0  # a constant: next states have a mean value
    theta = np.zeros((ACTIONS * FEATURES, TASKS))
    active = rng.choice(len(theta), ROWS, replace=False)
    theta[active] = rng.standard_normal((ROWS, RANK)) @ rng.standard_normal((RANK, TASKS))
    weights = theta.T.reshape(TASKS, ACTIONS, FEATURES)
    return [Drift(pool, own) for own in weights], states


def regressors() -> dict[str, tr.SparseReducedRankRegressor]:
    literal = {"standardize": False, "fit_intercept": False, "column_sparsity": None}
    return {
        "pursuit, sizes given": tr.SparseReducedRankRegressor(RANK, 2 * ROWS, **literal),
        "GDT, sizes given": tr.SparseReducedRankRegressor(RANK, 2 * ROWS, solver="gdt", **literal),
        "pursuit, sizes chosen": tr.SparseReducedRankRegressor(**literal),
        "GDT, sizes chosen": tr.SparseReducedRankRegressor(solver="gdt", **literal),
    }


def fitted(regressor: tr.SparseReducedRankRegressor, iterations: int) -> tr.rl.MultiTaskFQI:
    tasks, states = problem()
    fqi = tr.rl.MultiTaskFQI(
        tr.rl.Identity(), ACTIONS, 0.9, regressor, n_iterations=iterations, tune_at="doubling"
    )
    return fqi.fit(tasks, states)


def peak_mebibytes(regressor: tr.SparseReducedRankRegressor) -> float:
    """Peak of two iterations beyond what the problem itself holds."""
    tracemalloc.start()
    tasks, states = problem()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    tr.rl.MultiTaskFQI(tr.rl.Identity(), ACTIONS, 0.9, regressor, n_iterations=2).fit(tasks, states)
    peak = tracemalloc.get_traced_memory()[1] - held
    tracemalloc.stop()
    return peak / 2**20


def main() -> None:
    parser = arguments_of(__doc__)
    options = parser.parse_args()
    console = Console()
    rows = []
    for name, regressor in regressors().items():
        with console.status(name):
            began, busy = time.perf_counter(), time.process_time()
            history = fitted(regressor, ITERATIONS).history_
            total, busy = time.perf_counter() - began, time.process_time() - busy
        targets = sum(record.seconds_targets for record in history)
        regression = sum(record.seconds_regression for record in history)
        times = (total, targets, regression, busy)
        rows.append([name, *(f"{seconds:.1f}" for seconds in times)])
    peak = peak_mebibytes(regressors()["pursuit, sizes given"])
    dense = ACTIONS * STATES * ACTIONS * FEATURES * 8 / 2**20
    headings = ["regressor", "seconds", "of these targets", "of these regression", "CPU seconds"]
    lines = [
        *table(headings, rows),
        "",
        f"{TASKS} tasks, {STATES} states, {FEATURES} features, {ACTIONS} actions, {ITERATIONS} "
        f"iterations. Peak of the memory beyond the problem: {peak:.0f} MiB (X as a dense matrix "
        f"would take {dense:.0f} MiB).",
        "",
        f"Machine: {machine()}.",
        "Command: `python benchmarks/rl_speed.py`.",
    ]
    publish(lines, options.markdown)


if __name__ == "__main__":
    main()
