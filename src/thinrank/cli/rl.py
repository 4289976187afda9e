"""``thinrank rl``: learn decision processes jointly and separately, and compare the policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from thinrank.cli.options import Debug, check_output_file, plain_console
from thinrank.cli.running import Output, carry_out
from thinrank.core.imports import how_to_install, is_installed
from thinrank.core.progress import progress_bar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from thinrank.rl.comparison import Comparison

_FIGURES = (".png", ".svg", ".pdf")


def rl(
    family: Annotated[
        str, typer.Option(help="Family of tasks to draw: linear or optimal-value.")
    ] = "linear",
    tasks: Annotated[int, typer.Option(min=3, help="Number of decision processes.")] = 12,
    features: Annotated[
        int,
        typer.Option(
            min=10,
            max=2000,  # more than the states of a task would be linearly dependent
            help="Number of features of a state.",
        ),
    ] = 60,
    states: Annotated[
        list[int] | None,
        typer.Option(
            min=10,
            max=2000,  # the number of states of a task
            help="Number of design states; may be given several times.",
            show_default="30, 60, 120",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Number of families to draw.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first family.")] = 0,
    out: Annotated[Path, typer.Option(help="File of the figure: .png, .svg or .pdf.")] = Path(
        "rl.png"
    ),
    debug: Debug = False,
) -> None:
    """Learn several decision processes jointly and separately, and compare the policies.

    Compares the value error of fitted Q-iteration with GDT and pursuit, for which the tasks share
    features and rank, with that of the group lasso, the lasso and ridge regression.
    """
    from thinrank.rl.comparison import FAMILIES, Comparison

    if family not in FAMILIES:
        raise typer.BadParameter(f"must be one of {', '.join(FAMILIES)}", param_hint="--family")
    if out.suffix not in _FIGURES:
        raise typer.BadParameter(f"must end in {', '.join(_FIGURES)}", param_hint="--out")
    check_output_file(out)
    counts = sorted(set(states or (30, 60, 120)))
    comparison = Comparison(family, tasks, features, counts, repeats, seed)
    output = Output(debug=debug)
    raise typer.Exit(carry_out("rl", output, lambda: _compare(plain_console(), comparison, out)))


def _compare(console: Console, comparison: Comparison, out: Path) -> None:
    """Run the comparison, print a table and draw the figure."""
    drawn = is_installed("matplotlib")
    if not drawn:
        console.print(
            f"No figure will be drawn: for one {how_to_install('report')}", soft_wrap=True
        )
    pairs = comparison.features * comparison.actions
    console.print(
        f"{comparison.tasks} tasks, {comparison.features} features × {comparison.actions} actions, "
        f"{comparison.rows} of the {pairs} rows of Θ* non-zero, rank {comparison.rank}."
    )
    with _bar(console, comparison.fits) as advance:
        records = comparison.run(advance)
    console.print(_table(records, comparison.states))
    console.print(
        "Mean squared difference between the values of the learned policies and the optimal ones. "
        "GDT and pursuit choose sizes and ridge by a criterion, the others a penalty by "
        "cross-validation."
    )
    if drawn:
        from thinrank.report.value_errors import draw_value_errors  # matplotlib is optional

        draw_value_errors(records, out)
        console.print(f"The figure is in {out}", soft_wrap=True)


def _table(records: list[dict[str, Any]], states: Sequence[int]) -> Table:
    from rich.table import Table

    table = Table(title="Value error by number of design states")
    table.add_column("method")
    for count in states:
        table.add_column(str(count), justify="right")
    table.add_column("seconds per fit", justify="right")
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
    """Yield a function that advances the bar and shows what is fitted next."""
    with progress_bar("", total, console=console, transient=True) as update:
        done = -1

        def advance(next_one: str) -> None:
            nonlocal done
            done += 1
            update(done, text=next_one)

        yield advance
