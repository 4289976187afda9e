"""Several decision processes learned together and apart: value error against design states."""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.exceptions import ConvergenceWarning

from thinrank.baselines import MultiTaskGroupLasso, SeparateLassos
from thinrank.estimators import SparseReducedRankRegressor
from thinrank.rl import MultiTaskFQI
from thinrank.rl.families import Family, make_linear_family, make_optimal_value_family
from thinrank.rl.tabular import value_error
from thinrank.studies.rl_regressors import SeparateRidges

__all__ = ["FAMILIES", "FIGURES", "Request", "run_rl"]

FAMILIES = {"linear": make_linear_family, "optimal-value": make_optimal_value_family}
"""What may be learned, by name."""

FIGURES = (".png", ".svg", ".pdf")
"""Kinds of files that a figure can be."""

_ACTIONS, _ROWS, _RANK = 3, 10, 3
_ITERATIONS = 12


@dataclass(frozen=True)
class Request:
    """What to run.

    Parameters
    ----------
    family : str
        A key of :data:`FAMILIES`.
    tasks, features : int
        k, and p features of a state.
    states : sequence of int
        Numbers of design states to try.
    repeats : int
        Families drawn, from ``seed`` on.
    seed : int
        Of the first.
    out : Path
        The figure.
    """

    family: str
    tasks: int
    features: int
    states: Sequence[int]
    repeats: int
    seed: int
    out: Path


def run_rl(console: Console, request: Request) -> int:
    """Run, print a table and draw the figure; the exit code."""
    drawn = importlib.util.find_spec("matplotlib") is not None
    if not drawn:
        console.print(
            'No figure will be drawn: it needs pip install "thinrank[report]"',
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    console.print(
        f"{request.tasks} tasks, {request.features} features × {_ACTIONS} actions, "
        f"{_ROWS} of the {request.features * _ACTIONS} rows of Θ* in use, rank {_RANK}.",
        highlight=False,
    )
    records = _measure(console, request)
    console.print(_table(records, request.states))
    console.print(
        "Mean squared distance of the values of the learned policies from the optimal ones. GDT "
        "and pursuit choose sizes and ridge by a criterion; the others cross-validate a penalty.",
        highlight=False,
    )
    if drawn:
        from thinrank.report.value_errors import draw_value_errors  # matplotlib is optional

        draw_value_errors(records, request.out)
        console.print(f"The figure is {request.out}", highlight=False, soft_wrap=True)
    return 0 if drawn else 1


def _methods() -> dict[str, Any]:
    """Regressors by name: those that share rows and rank, those that share rows, those alone."""
    literal: dict[str, Any] = {"standardize": False, "fit_intercept": False}
    sized = {"column_sparsity": None, "ridge": "auto", **literal}
    tuned = {"n_penalties": 12, "cv": 3, **literal}
    return {
        "GDT": SparseReducedRankRegressor(solver="gdt", **sized),
        "pursuit": SparseReducedRankRegressor(**sized),
        "group lasso": MultiTaskGroupLasso(**tuned),
        "lasso": SeparateLassos(**tuned),
        "ridge": SeparateRidges(**tuned),
    }


def _measure(console: Console, request: Request) -> list[dict[str, Any]]:
    """One record a repeat, number of states and method."""
    methods = _methods()
    records = []
    with _bar(console, request.repeats * len(request.states) * len(methods)) as advance:
        for seed in range(request.seed, request.seed + request.repeats):
            family = FAMILIES[request.family](
                request.tasks, request.features, _ACTIONS, _ROWS, _RANK, random_state=seed
            )
            order = np.random.default_rng(seed).permutation(family.tasks[0].n_states)
            for count in request.states:
                for name, regressor in methods.items():
                    advance(f"{name}, {count} states")
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


def _learned(family: Family, regressor: Any, states: np.ndarray, seed: int) -> float:
    learner = MultiTaskFQI(
        family.features,
        _ACTIONS,
        family.discount,
        regressor,
        n_iterations=_ITERATIONS,
        tune_at="doubling",
        random_state=seed,
    )
    with warnings.catch_warnings():
        # an iteration that is cut short is followed by others
        warnings.simplefilter("ignore", ConvergenceWarning)
        learner.fit(family.tasks, states)
    policies = [learner.policy(k) for k in range(len(family.tasks))]
    return value_error(family.tasks, policies, family.discount, family.q_star)


def _table(records: list[dict[str, Any]], states: Sequence[int]) -> Table:
    table = Table(title="Value error by design states")
    table.add_column("method")
    for count in states:
        table.add_column(str(count), justify="right")
    table.add_column("seconds a fit", justify="right")
    for name in dict.fromkeys(record["method"] for record in records):
        own = [record for record in records if record["method"] == name]
        means = [
            np.mean([record["value_error"] for record in own if record["states"] == count])
            for count in states
        ]
        seconds = np.mean([record["seconds"] for record in own])
        table.add_row(name, *(f"{mean:.2g}" for mean in means), f"{seconds:.2f}")
    return table


@contextmanager
def _bar(console: Console, total: int) -> Iterator[Any]:
    """A function that is told what comes next."""
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        done = -1

        def advance(next_one: str) -> None:
            nonlocal done
            done += 1
            progress.update(task, completed=done, description=next_one)

        yield advance
