"""Families of twelve control tasks from random logs: automatic sizes against three baselines.

    python benchmarks/rl_families.py --markdown docs/benchmarks/rl_families.md

CartPole, MountainCar and Acrobot, as in Gymnasium, with other physics, a goal of its own, a goal on
either side or reversed actions in some of the tasks. Features are a Fourier basis of the state and
100 noise variables. ``--store FILE`` keeps the records of single runs, to continue later.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from output import arguments_of, machine, publish, table
from rl_families_baselines import RidgeIteration
from rl_families_tasks import NOISE, TASKS, make_family, random_log, returns
from sklearn.ensemble import ExtraTreesRegressor
from stored import StoredRecords

import thinrank as tr

FAMILIES = (
    "CartPole, physics",
    "CartPole, own goals",
    "CartPole, reversed",
    "MountainCar, physics",
    "MountainCar, either side",
    "Acrobot, physics",
    "Acrobot, reversed",
)
DIFFERENT = ("own goals", "either side", "reversed")
EPISODES = (10, 30, 100)
REPORT_SEED, SEEDS = 40_000, 10
# Extremely randomised trees take far longer than everything else: fewer seeds, trees, iterations.
TREE_SEEDS, TREES, TREE_ITERATIONS, TREE_EPISODES = 2, 10, 15, (10, 30)
DISCOUNT, ITERATIONS, STARTS = 0.98, 40, 10


def learned(name: str, episodes: int, seed: int) -> dict[str, Any]:
    """Mean return over the tasks of the linear methods on one family and log."""
    family = make_family(name, seed)
    log = random_log(family, episodes, seed)
    record: dict[str, Any] = {}
    for method, pooled in (("ridge per task", False), ("ridge, pooled", True)):
        began = time.process_time()
        ridge = RidgeIteration(family, log, pooled, DISCOUNT, ITERATIONS)
        record[f"{method} seconds"] = time.process_time() - began
        record[method] = float(returns(family, ridge.act, STARTS, seed).mean())
    transitions = tr.rl.Transitions(**log)
    began = time.process_time()
    fqi = tr.rl.MultiTaskFQI(
        family.features, family.n_actions, DISCOUNT, n_iterations=ITERATIONS
    ).fit_batch(transitions)
    record["MultiTaskFQI seconds"] = time.process_time() - began
    record["MultiTaskFQI"] = _return(family, fqi, seed)
    features = fqi.factors_.row_support % (family.features.informative + NOISE)
    record["rows"] = len(features)
    record["noise"] = float(np.mean(features >= family.features.informative))
    record["rank"] = fqi.factors_.rank
    return record


def by_trees(name: str, episodes: int, seed: int) -> dict[str, Any]:
    """Mean return over the tasks of extremely randomised trees."""
    family = make_family(name, seed)
    forest = ExtraTreesRegressor(TREES, min_samples_leaf=5, random_state=seed)
    began = time.process_time()
    fqi = tr.rl.MultiTaskFQI(
        family.features, family.n_actions, DISCOUNT, forest, n_iterations=TREE_ITERATIONS
    ).fit_batch(tr.rl.Transitions(**random_log(family, episodes, seed)))
    seconds = time.process_time() - began
    return {"trees per task": _return(family, fqi, seed), "trees per task seconds": seconds}


def _return(family: Any, fqi: tr.rl.MultiTaskFQI, seed: int) -> float:
    policies = [fqi.policy(task) for task in range(TASKS)]
    act = lambda task, states: policies[task](states)  # noqa: E731
    return float(returns(family, act, STARTS, seed).mean())


def _cell(records: list[dict[str, Any]], field: str) -> tuple[float, float]:
    values = np.array([record[field] for record in records if field in record])
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return float(values.mean()) if len(values) else np.nan, float(error)


def _figure(mean: float, error: float) -> str:
    if np.isnan(mean):
        return ""
    return f"{mean:.1f}" + ("" if np.isnan(error) else f" ± {error:.1f}")


def _line(
    name: str, episodes: int, records: list[dict[str, Any]], trees: list[dict[str, Any]]
) -> tuple[list[str], list[str]]:
    """A line of the table, and what does not hold."""
    ours = _cell(records, "MultiTaskFQI")
    baselines = ("ridge per task", "ridge, pooled")
    best = max(baselines, key=lambda method: _cell(records, method)[0])
    gap = np.array([record["MultiTaskFQI"] - record[best] for record in records])
    error = gap.std(ddof=1) / len(gap) ** 0.5 if len(gap) > 1 else 0.0
    failed = []
    where = f"{name} with {episodes} episodes"
    if gap.mean() < -error:
        failed.append(f"{where}: {gap.mean():+.1f} ± {error:.1f} against {best}")
    elif name.endswith(DIFFERENT) and gap.mean() <= error:
        failed.append(f"{where}: not above {best} ({gap.mean():+.1f} ± {error:.1f})")
    noise = float(np.mean([record["noise"] for record in records]))
    if noise > 0.1:
        failed.append(f"{where}: {noise:.0%} of the rows are noise")
    cells = [
        name,
        str(episodes),
        *(_figure(*_cell(records, method)) for method in baselines),
        _figure(*_cell(trees, "trees per task")),
        f"**{_figure(*ours)}**",
        f"{gap.mean():+.1f} ± {error:.1f}",
        f"{np.mean([record['rows'] for record in records]):.0f}",
        f"{noise:.0%}",
        f"{np.mean([record['rank'] for record in records]):.1f}",
        f"{np.mean([record['MultiTaskFQI seconds'] for record in records]):.1f}",
    ]
    return cells, failed


def _options(given: argparse.Namespace) -> str:
    """The options that change the figures."""
    told = "" if given.seeds == SEEDS else f" --seeds {given.seeds}"
    told += "" if given.first_seed == REPORT_SEED else f" --first-seed {given.first_seed}"
    told += f" --only {given.only}" if given.only else ""
    return told + (" --no-trees" if given.no_trees else "")


def main() -> None:
    parser = arguments_of(__doc__)
    parser.add_argument("--store", type=Path, help="file of records, to continue later")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--first-seed", type=int, default=REPORT_SEED)
    parser.add_argument("--only", default="", help="families whose name contains this")
    parser.add_argument("--no-trees", action="store_true")
    options = parser.parse_args()
    store = StoredRecords(options.store)
    lines, failed = [], []
    cells = [(n, e) for n in FAMILIES if options.only.lower() in n.lower() for e in EPISODES]
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    runs = {
        cell: store.run("{} {}".format(*cell), partial(learned, *cell), seeds) for cell in cells
    }
    for name, episodes in cells:
        # after all others, because they take longer
        some = seeds[:TREE_SEEDS] if episodes in TREE_EPISODES and not options.no_trees else ()
        trees = store.run(f"trees {name} {episodes}", partial(by_trees, name, episodes), some)
        line, wrong = _line(name, episodes, runs[name, episodes], trees)
        lines.append(line)
        failed += wrong
    headings = [
        "family",
        "episodes",
        "ridge per task",
        "ridge, pooled",
        "trees per task",
        "MultiTaskFQI",
        "minus the better ridge",
        "rows",
        "noise",
        "rank",
        "seconds",
    ]
    trees_told = (
        "Trees were not run."
        if options.no_trees
        else f"Trees: {TREE_SEEDS} seeds, {TREES} trees, {TREE_ITERATIONS} iterations."
    )
    verdict = "; ".join(failed) if failed else "nothing"
    publish(
        [
            *table(headings, lines),
            "",
            f"Mean return over {TASKS} tasks and {options.seeds} seeds ± standard error. "
            f"Discount {DISCOUNT}, {ITERATIONS} iterations. {trees_told} “Rows” are those in "
            "use, “noise” the fraction of them that belongs to noise features; both and the rank "
            "are those of MultiTaskFQI with automatic sizes, and so are the CPU seconds of a fit. "
            "Actions are repeated 4 times in MountainCar (at most 50 decisions) and twice in "
            "Acrobot (at most "
            "100); logs of these two and of CartPole with goals begin in random states.",
            "",
            f"Below the better ridge regression by more than one standard error, not above it "
            f"where tasks differ, or more than a tenth of noise: {verdict}.",
            "",
            f"Machine: {machine()}.",
            f"Command: `python benchmarks/rl_families.py{_options(options)}`.",
        ],
        options.markdown,
    )


if __name__ == "__main__":
    main()
