"""The ``thinrank`` command."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from thinrank import __version__
from thinrank.cli.calcium import SIMULATED_FRAME_RATE, CalciumRequest, run_calcium
from thinrank.cli.demo import run_demo
from thinrank.cli.reproduce import chosen_studies, run_reproduce
from thinrank.cli.rl import FIGURES, run_rl
from thinrank.studies import EXECUTORS, STUDIES
from thinrank.studies.rl_comparison import FAMILIES, Comparison

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
        command=_typed(),
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
        typer.Option(
            min=10,
            max=2000,  # all that the families have
            help="Design states; may be repeated.",
            show_default="30, 60, 120",
        ),
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
    comparison = Comparison(family, tasks, features, counts, repeats, seed)
    raise typer.Exit(run_rl(Console(), comparison, out))


@app.command()
def calcium(
    movie: Annotated[
        Path | None,
        typer.Argument(help="TIFF, NPY, NPZ, HDF5 or NWB.", show_default=False),
    ] = None,
    frame_rate: Annotated[
        float | None, typer.Option(min=0, help="Frames a second.", show_default=False)
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the results, made anew.")
    ] = Path("neurons"),
    neuron_radius: Annotated[
        float | None,
        typer.Option(min=0, help="Rough radius of a neuron, in pixels.", show_default="5"),
    ] = None,
    rank: Annotated[str, typer.Option(help="Rank of the fit.")] = "auto",
    rows: Annotated[str, typer.Option(help="Most frames with spikes.")] = "auto",
    columns: Annotated[str, typer.Option(help="Most pixels in neurons.")] = "auto",
    decay: Annotated[
        str | None,
        typer.Option(
            help="Part of the fluorescence left after a frame: a number, or estimate.",
            show_default="1 - 1/frame rate",
        ),
    ] = None,
    baseline: Annotated[
        str, typer.Option(help="What is taken out of each pixel: median, percentile, none.")
    ] = "median",
    smoothing: Annotated[
        float | None,
        typer.Option(min=0, help="Pixels, sd of a Gaussian filter; 0: none.", show_default="2"),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Which array of an NPZ, HDF5 or NWB file.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Labelled regions to compare with, NeuroFinder's JSON.")
    ] = None,
    nwb: Annotated[bool, typer.Option("--nwb", help="Write an NWB file too.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace results of an earlier run.")
    ] = False,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Try it on a simulated movie, without a file.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the simulated movie.")] = 0,
) -> None:
    """Find the neurons of a calcium imaging movie, their traces and their spikes.

    Writes their regions (JSON), traces (CSV) and footprints (TIFF) and a page that shows them, all
    into one folder, which appears when everything is done.
    """
    if simulate == (movie is not None):
        raise typer.BadParameter("give a movie or --simulate, not both", param_hint="MOVIE")
    if frame_rate is None and not simulate:
        raise typer.BadParameter("frames a second are needed", param_hint="--frame-rate")
    settings = {
        "frame_rate": SIMULATED_FRAME_RATE if frame_rate is None else frame_rate,
        "rank": _number(rank, int, ("auto",), "--rank"),
        "row_sparsity": _number(rows, int, ("auto",), "--rows"),
        "column_sparsity": _number(columns, int, ("auto",), "--columns"),
        "decay": None if decay is None else _number(decay, float, ("estimate",), "--decay"),
        "baseline": baseline,
    }
    optional = {"neuron_radius": neuron_radius, "smoothing": smoothing}
    settings |= {name: value for name, value in optional.items() if value is not None}
    request = CalciumRequest(
        movie=movie,
        out=out,
        settings=settings,
        dataset=dataset,
        labels=labels,
        nwb=nwb,
        overwrite=overwrite,
        seed=seed,
        command=_typed(),
    )
    raise typer.Exit(run_calcium(Console(), request))


def _number(text: str, kind: type, words: tuple[str, ...], option: str) -> object:
    """An option that is a number or one of some words."""
    if text in words:
        return text
    try:
        return kind(text)
    except ValueError as error:
        expected = " or ".join(("a whole number" if kind is int else "a number", *words))
        raise typer.BadParameter(f"must be {expected}, not {text!r}", param_hint=option) from error


def _typed() -> str:
    """The command as the user gave it."""
    return " ".join(["thinrank", *sys.argv[1:]])
