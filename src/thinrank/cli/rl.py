"""``thinrank rl``: learn policies from logged transitions of one or more decision processes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from thinrank import __version__
from thinrank.cli.options import Overwrite, Seed, check_before_fit, typed_command
from thinrank.cli.running import Output
from thinrank.core.files import check_result_folder, result_folder, write_summary, write_text
from thinrank.core.imports import how_to_install, is_installed

if TYPE_CHECKING:
    from thinrank.rl import PolicyValue, Transitions

# Resamples of the episodes for an interval of the value of a policy: 100 take a minute with long
# logs.
_RESAMPLES = 20


def rl(
    logs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LOGS]...",
            help="CSV or Parquet files (one per task), folders of them, names of Minari datasets.",
            show_default="simulated logs",
        ),
    ] = None,
    discount: Annotated[float, typer.Option(min=0, max=1, help="Discount of rewards.")] = 0.95,
    iterations: Annotated[int, typer.Option(min=1, help="Iterations of Q-iteration.")] = 50,
    tasks: Annotated[int, typer.Option(min=2, help="Number of simulated tasks.")] = 6,
    episodes: Annotated[int, typer.Option(min=2, help="Simulated episodes per task.")] = 10,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("rl"),
    overwrite: Overwrite = False,
    *,
    output: Output,
) -> None:
    """Learn policies for one or more related decision processes from logged transitions.

    Columns of a file are action, reward, terminated, episode, and state variables. Writes the
    model, the values of the logged states with the best actions (CSV), an HTML page and a summary
    (JSON) to one folder. Without logs, carts that are to be driven to goals of their own are
    simulated.
    """
    from thinrank.estimators.summary import text_table
    from thinrank.persistence import save
    from thinrank.report.policy_page import HEADER, write_policy_page
    from thinrank.rl import CommonPart, MultiTaskFQI, fitted_q_evaluation
    from thinrank.rl.carts import NAMES, Carts
    from thinrank.rl.transition_files import values_table

    check_before_fit(check_result_folder, out, overwrite)
    carts = None if logs else Carts(tasks, seed)
    if carts is None:
        read = _read(logs or [])
    else:
        named = (f"goal at {goal:+.2f}" for goal in carts.goals)
        read = {name: (carts.log(task, episodes), NAMES) for task, name in enumerate(named)}
    transitions = [log for log, _ in read.values()]
    given: dict[str, Any] = {"discount": discount, "n_iterations": iterations, "random_state": seed}
    output.remark("learning")
    fqi = MultiTaskFQI(**given).fit_batch(transitions)
    values = [
        fitted_q_evaluation(
            log, fqi.policy(task), fqi.values_.features, fqi.n_actions_, discount,
            n_resamples=_RESAMPLES, seed=seed,
        )
        for task, log in enumerate(transitions)
    ]  # fmt: skip
    told = [
        f"{len(read)} tasks, {sum(map(len, transitions))} transitions, {fqi.n_features_} features, "
        f"{fqi.n_actions_} actions. {_words(fqi.best_params_ or {}, len(read))}"
    ]
    if carts is not None:
        alone = MultiTaskFQI(**given, regressor=CommonPart(None, None, common_ridge=np.inf))
        learners = {
            "these policies": fqi,
            "one policy for all": MultiTaskFQI(**given, pooled=True).fit_batch(transitions),
            "every task by itself": alone.fit_batch(transitions),
        }
        figures = (f"{name} {carts.value(q.policy, discount):.2f}" for name, q in learners.items())
        told.append(f"Mean discounted return of simulated episodes: {', '.join(figures)}.")
    rows = _rows(read, values, discount)
    for line in (*told, *text_table(HEADER, rows, range(1, len(HEADER)))):
        output.show(line)
    paged = is_installed("matplotlib")
    with result_folder(out, overwrite) as folder:
        save(fqi, folder / "model")
        write_text(folder / "values.csv", values_table(fqi, read))
        if paged:
            write_policy_page(folder / "index.html", told, rows, fqi.history_.bellman_residuals)
        learned = {
            name: {"transitions": len(log), "value": each.value, "interval": [each.low, each.high]}
            for (name, (log, _)), each in zip(read.items(), values, strict=True)
        }
        about = {**given, "tasks": learned, "command": typed_command(), "thinrank": __version__}
        write_summary(folder, about)
    if not paged:
        output.show(f"No page is written: for one {how_to_install('report')}")
    output.show(f"The results are in {out}")


def _read(logs: list[str]) -> dict[str, tuple[Transitions, list[str]]]:
    """The log of every task, and the names of its state variables."""
    from thinrank.rl.minari import from_minari
    from thinrank.rl.transition_files import is_log_file, read_file, read_folder

    found: dict[str, tuple[Transitions, list[str]]] = {}
    for name in logs:
        if Path(name).is_dir():
            read = read_folder(Path(name))
        elif is_log_file(Path(name)):
            read = {Path(name).stem: read_file(Path(name))}
        else:
            read = {name: (from_minari(name), [])}
        for task, (log, names) in read.items():
            first, expected = next(iter(found.items()), (task, (log, names)))
            if task in found:
                raise ValueError(f"{name}: there is another log named {task}; rename one of them")
            if names != expected[1]:
                raise ValueError(
                    f"{task}: state variables must be {', '.join(expected[1])}, as in {first}, in "
                    f"this order, got {', '.join(names)}"
                )
            found[task] = log, names
    return found


def _words(sizes: dict[str, Any], tasks: int) -> str:
    """What was chosen."""
    if tasks == 1:
        return f"The penalty is {sizes['common_ridge']:g}."
    if sizes["rank"] == 0:
        return "Held-out episodes show no difference between the tasks: all have one policy."
    rank = "any rank" if sizes["rank"] is None else f"rank {sizes['rank']}"
    return f"Tasks deviate from their common part with {rank}."


def _rows(
    read: dict[str, tuple[Transitions, list[str]]], values: list[PolicyValue], discount: float
) -> list[tuple[str, ...]]:
    """Task, transitions, episodes, return of the log, and value of the policy with interval."""
    from thinrank.rl.policy_values import episode_returns

    rows: list[tuple[str, ...]] = []
    for (name, (log, _)), value in zip(read.items(), values, strict=True):
        logged = episode_returns(log, discount)
        told = f"{value.value:.4g} ({value.low:.4g} to {value.high:.4g})"
        rows.append((name, str(len(log)), str(len(logged)), f"{logged.mean():.4g}", told))
    return rows
