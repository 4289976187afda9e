"""Families of twelve control tasks from random logs: automatic sizes against ridge regressions.

    python benchmarks/rl_families.py --markdown docs/benchmarks/rl_families.md

CartPole, MountainCar and Acrobot, as in Gymnasium, with other physics, a goal of its own, a goal on
either side or reversed actions in some of the tasks. Features are a Fourier basis of the state and
100 noise variables. ``--store FILE`` keeps the records of single runs, to continue later.
"""

from __future__ import annotations

import json
import time
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from output import arguments_of, machine, publish, table
from rl_families_baselines import RidgeIteration
from rl_families_tasks import FAMILIES, NOISE, TASKS, make_family, random_log, returns

import thinrank as tr

DIFFERENT = ("own goals", "either side", "reversed")
EPISODES = (10, 30, 100)
REPORT_SEED, SEEDS = 40_000, 10
DISCOUNT, ITERATIONS, STARTS = 0.98, 40, 10
OURS, BASELINES = "MultiTaskFQI", ("ridge per task", "ridge, pooled")
# A single seed fails if it gains less than this part of what the better baseline gains over the
# lowest return, where that gains at least a tenth of the range of returns.
LEAST, GAINED = 0.75, 0.1


def learned(name: str, episodes: int, seed: int) -> dict[str, Any]:
    """Mean return over the tasks on one family and log."""
    warnings.simplefilter("ignore")
    family = make_family(name, seed)
    log = random_log(family, episodes, seed)
    record: dict[str, Any] = {"family": name, "episodes": episodes, "seed": seed}
    for method, pooled in zip(BASELINES, (False, True), strict=True):
        ridge = RidgeIteration(family, log, pooled, DISCOUNT, ITERATIONS)
        record[method] = float(returns(family, ridge.act, STARTS, seed).mean())
    began = time.process_time()
    fqi = tr.rl.MultiTaskFQI(
        family.features, family.n_actions, DISCOUNT, n_iterations=ITERATIONS
    ).fit_batch(tr.rl.Transitions(**log))
    record["seconds"] = time.process_time() - began
    policies = [fqi.policy(task) for task in range(TASKS)]
    found = returns(family, lambda task, states: policies[task](states), STARTS, seed)
    record[OURS] = float(found.mean())
    features = fqi.factors_.row_support % (family.features.informative + NOISE)
    record["rows"] = len(features)
    record["noise"] = float(np.mean(features >= family.features.informative))
    record["rank"] = fqi.factors_.rank
    return record


def _figure(values: list[float]) -> str:
    spread = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return f"{np.mean(values):.1f} ± {spread:.1f}"


def _share(record: dict[str, Any]) -> float:
    """What is gained over the lowest return, as a part of what the better baseline gains."""
    limit = {"C": 200.0, "M": 50.0, "A": 100.0}[record["family"][0]]
    low = 0.0 if record["family"][0] == "C" else -limit
    best = max(record[method] for method in BASELINES) - low
    return (record[OURS] - low) / best if best > GAINED * limit else np.inf


def _line(name: str, episodes: int, records: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """A line of the table, and what does not hold."""
    means = {m: float(np.mean([r[m] for r in records])) for m in BASELINES}
    best = max(means, key=lambda method: means[method])
    gaps = np.array([record[OURS] - record[best] for record in records])
    error = float(gaps.std(ddof=1)) / len(gaps) ** 0.5 if len(gaps) > 1 else 0.0
    least = min(map(_share, records))
    noise = float(np.mean([record["noise"] for record in records]))
    failed, where = [], f"{name} with {episodes} episodes"
    if gaps.mean() < -error:
        failed.append(f"{where}: {gaps.mean():+.1f} ± {error:.1f} against {best}")
    elif name.endswith(DIFFERENT) and gaps.mean() <= error:
        failed.append(f"{where}: not above {best} ({gaps.mean():+.1f} ± {error:.1f})")
    if least < LEAST:
        failed.append(f"{where}: {least:.0%} of the better one in a seed")
    if noise > 0.1:
        failed.append(f"{where}: {noise:.0%} of the rows are noise")
    cells = [
        name,
        str(episodes),
        *(_figure([record[method] for record in records]) for method in BASELINES),
        f"**{_figure([record[OURS] for record in records])}**",
        f"{gaps.mean():+.1f} ± {error:.1f}",
        "" if np.isinf(least) else f"{least:.0%}",
        f"{np.mean([record['rows'] for record in records]):.0f}",
        f"{noise:.0%}",
        f"{np.mean([record['rank'] for record in records]):.1f}",
        f"{np.mean([record['seconds'] for record in records]):.1f}",
    ]
    return cells, failed


def main() -> None:
    parser = arguments_of(__doc__)
    parser.add_argument("--store", type=Path, help="file of records, one per line, to continue")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--first-seed", type=int, default=REPORT_SEED)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    known: dict[tuple[Any, ...], dict[str, Any]] = {}

    def keep(record: dict[str, Any]) -> None:
        known[record["family"], record["episodes"], record["seed"]] = record

    if options.store is not None and options.store.is_file():
        for line in options.store.read_text().splitlines():
            keep(json.loads(line))
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    wanted = [(n, e, s) for s, e, n in product(seeds, EPISODES, FAMILIES)]
    left = [delayed(learned)(*run) for run in wanted if run not in known]
    for record in Parallel(options.jobs, return_as="generator_unordered")(left):
        keep(record)
        print(json.dumps(record), flush=True)
        if options.store is not None:
            with options.store.open("a") as file:
                file.write(json.dumps(record) + "\n")
    lines, failed = [], []
    for name, episodes in product(FAMILIES, EPISODES):
        line, wrong = _line(name, episodes, [known[name, episodes, seed] for seed in seeds])
        lines.append(line)
        failed += wrong
    headings = ["family", "episodes", *BASELINES, OURS, "minus the better ridge"]
    headings += ["least share", "rows", "noise", "rank", "seconds"]
    told = "" if options.seeds == SEEDS else f" --seeds {options.seeds}"
    told += "" if options.first_seed == REPORT_SEED else f" --first-seed {options.first_seed}"
    publish(
        [
            *table(headings, lines),
            "",
            f"Mean return over {TASKS} tasks and {options.seeds} seeds ± standard error. "
            f"Discount {DISCOUNT}, {ITERATIONS} iterations. “Least share”: in the worst seed, what "
            "MultiTaskFQI gains over the lowest return as a part of what the better ridge gains. "
            "“Rows” are those in use, “noise” the fraction of them that belongs to noise features; "
            "both and the rank are those of MultiTaskFQI with automatic sizes, and so are the CPU "
            "seconds of a fit. Actions are repeated 4 times in MountainCar (at most 50 decisions) "
            "and twice in Acrobot (at most 100); logs of these two and of CartPole with goals "
            "begin in random states.",
            "",
            f"Below the better ridge regression by more than one standard error, not above it "
            f"where tasks differ, a share below {LEAST:.0%}, or more than a tenth of noise: "
            f"{'; '.join(failed) if failed else 'nothing'}.",
            "",
            f"Machine: {machine()}.",
            f"Command: `python benchmarks/rl_families.py{told}`.",
        ],
        options.markdown,
    )


if __name__ == "__main__":
    main()
