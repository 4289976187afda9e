"""The ``thinrank`` command."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from thinrank import __version__
from thinrank.cli.demo import run_demo
from thinrank.cli.reproduce import chosen_studies, run_reproduce
from thinrank.cli.rl import FAMILIES, FIGURES, Request, run_rl
from thinrank.studies import EXECUTORS, STUDIES

__all__ = ["app"]

app = typer.Typer(
    help="Low-rank, row-sparse and column-sparse coefficient matrices.",
    no_args_is_help=True,
    add_completion=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        Console().print(f"thinrank {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Low-rank, row-sparse and column-sparse coefficient matrices."""


@app.command()
def demo(
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated data.")] = 0,
) -> None:
    """Simulate the paper's two-way sparse setting, fit it, and show what was found."""
    run_demo(Console(), seed)


@app.command(epilog="Studies: " + ", ".join(STUDIES) + ".")
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Studies by name, or all.", show_default="all"),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version of everything.")] = False,
    jobs: Annotated[
        int, typer.Option(min=1, help="Processes; timing studies run alone.", show_default="cores")
    ] = os.cpu_count() or 1,
    executor: Annotated[
        str, typer.Option(help="How jobs are run: " + ", ".join(EXECUTORS) + ".")
    ] = "processes",
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("results"),
    limit: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            help="Seconds for each cell of table5.",
            show_default="120; 10 with --quick",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler.", show_default="a cluster on this machine"),
    ] = None,
) -> None:
    """Rebuild tables and figures of the paper, and lay them beside the printed ones.

    What is finished stays in the folder: after an interruption the same command goes on.
    """
    try:
        chosen = chosen_studies(names or [])
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="NAMES") from error
    if executor not in EXECUTORS:
        expected = ", ".join(EXECUTORS)
        raise typer.BadParameter(f"must be one of {expected}", param_hint="--executor")
    code = run_reproduce(
        Console(),
        chosen,
        out,
        quick=quick,
        jobs=jobs,
        executor=executor,
        limit=limit,
        address=scheduler,
        command=" ".join(["thinrank", *sys.argv[1:]]),
    )
    raise typer.Exit(code)


@app.command()
def rl(
    family: Annotated[
        str, typer.Option(help="What is learned: " + ", ".join(FAMILIES) + ".")
    ] = "linear",
    tasks: Annotated[int, typer.Option(min=3, help="Decision processes.")] = 12,
    features: Annotated[int, typer.Option(min=10, help="Features of a state.")] = 60,
    states: Annotated[
        list[int] | None,
        typer.Option(min=10, help="Design states; may be repeated.", show_default="30, 60, 120"),
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Families to draw.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first.")] = 0,
    out: Annotated[Path, typer.Option(help="The figure: " + ", ".join(FIGURES) + ".")] = Path(
        "rl.png"
    ),
) -> None:
    """Learn several decision processes together and apart, and compare their policies.

    Draws the value error of fitted Q-iteration with GDT and pursuit, which share features and
    rank among the tasks, beside that of the group lasso, of lassos and of ridge regressions.
    """
    if family not in FAMILIES:
        raise typer.BadParameter(f"must be one of {', '.join(FAMILIES)}", param_hint="--family")
    if out.suffix not in FIGURES:
        raise typer.BadParameter(f"must end in {', '.join(FIGURES)}", param_hint="--out")
    if not out.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {out.parent}", param_hint="--out")
    counts = sorted(set(states or (30, 60, 120)))
    code = run_rl(Console(), Request(family, tasks, features, counts, repeats, seed, out))
    raise typer.Exit(code)
