"""What RCGL and MTL would predict with the penalty that is best in hindsight.

Run:  python benchmarks/hindsight.py [--replications 50] [--seed 21000] [--markdown F]

In the settings of tables 1 and 2 these two predict fresh rows less well than printed. Every
penalty of the path is fitted to the training rows, and the best one on fresh rows counts: no way
of choosing the penalty can do better.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from threadpoolctl import threadpool_limits

from thinrank.paper.methods import BASELINES
from thinrank.paper.printed import printed
from thinrank.paper.simulation import draw, simulated_task
from thinrank.studies.judge import score_coefficients
from thinrank.studies.task import RegressionTask

TABLES = {"table1": "row_strong", "table2": "twoway_strong"}
METHODS = ("RCGL", "MTL")
LITERAL = {"fit_intercept": False, "standardize": False}


def best_penalty(name: str, task: RegressionTask) -> dict[str, float]:
    """Return the scores of the chosen penalty, and the lowest prediction error over the path."""
    told = {} if name == "MTL" else {"rank": task.ranks[0]}
    tuned = BASELINES[name](cv=list(task.splits), **told, **LITERAL).fit(*task.pooled)
    path = [
        score_coefficients(
            BASELINES[name](**params, **LITERAL).fit(task.X, task.Y).coef_.T, task.truth, task.X
        )
        for params in tuned.cv_results_["params"]
    ]
    chosen = path[int(np.argmax(tuned.cv_results_["mean_test_score"]))]
    least = min(scores["prediction"] for scores in path)
    return {name: chosen[name] for name in ("prediction", "same_rows")} | {"least": least}


def lines(table: str, seeds: range, console: Console) -> list[str]:
    """Return one line of the table per method."""
    records: dict[str, list[dict[str, float]]] = {name: [] for name in METHODS}
    for seed in track(seeds, description=table, console=console):
        task = simulated_task(draw(TABLES[table], seed))
        for name in METHODS:
            records[name].append(best_penalty(name, task))
    text = []
    for name in METHODS:
        mean = {key: np.mean([r[key] for r in records[name]]) for key in records[name][0]}
        stated, spread = printed()["tables"][table]["methods"][name]["prediction"]
        text.append(
            f"| {table} | {name} | {stated:.4f} ± {spread:.4f} | {mean['prediction']:.4f} "
            f"| {mean['least']:.4f} | {mean['same_rows']:.4f} |"
        )
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=50)
    parser.add_argument("--seed", type=int, default=21000)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    console = Console(width=110)
    seeds = range(options.seed, options.seed + options.replications)
    rows = [
        "| | | printed | penalty by validation | best penalty in hindsight | same rows of X |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    with threadpool_limits(1):
        for table in TABLES:
            rows += lines(table, seeds, console)
    command = f"python benchmarks/hindsight.py --replications {options.replications}"
    text = "\n".join([*rows, "", f"Command: `{command} --seed {options.seed}`.", ""])
    console.print(text, highlight=False, soft_wrap=True)
    if options.markdown:
        options.markdown.write_text(text)


if __name__ == "__main__":
    main()
