"""The ``thinrank`` command.

A subcommand imports what it needs when it runs, so that ``thinrank --version`` and
``thinrank --help`` stay fast.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from thinrank import __version__
from thinrank.cli.calcium import calcium
from thinrank.cli.demo import demo
from thinrank.cli.fit import fit
from thinrank.cli.inspect import inspect
from thinrank.cli.predict import predict
from thinrank.cli.report import report
from thinrank.cli.rl import rl
from thinrank.cli.running import CommandGroup, with_options
from thinrank.cli.stability import stability

app = typer.Typer(no_args_is_help=True, cls=CommandGroup)
command: Callable[..., Any]
for command in (fit, predict, inspect, stability, report, demo, rl, calcium):
    app.command()(with_options(command))


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"thinrank {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Low-rank, row-sparse and column-sparse coefficient matrices."""


@app.command(
    hidden=True, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def reproduce() -> None:
    """Say where the paper's experiments are now."""
    print(
        "The paper's experiments are no longer part of the installed package. "
        "In a clone of the repository run: make reproduce STUDY=table1",
        file=sys.stderr,
    )
    raise typer.Exit(2)
