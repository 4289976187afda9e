"""The ``thinrank`` command."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from thinrank import __version__
from thinrank.cli.demo import run_demo

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
