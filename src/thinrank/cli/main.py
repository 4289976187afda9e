"""The ``thinrank`` command.

A subcommand imports what it needs when it runs, so that ``thinrank --version`` and
``thinrank --help`` load no study.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from thinrank import __version__
from thinrank.cli.arguments import number, typed_command
from thinrank.cli.exit_codes import Output, carry_out
from thinrank.cli.group import CommandGroup
from thinrank.cli.model_commands import add_model_commands
from thinrank.cli.option_types import Debug
from thinrank.cli.output_place import check_output_file

app = typer.Typer(
    help="Low-rank, row-sparse and column-sparse coefficient matrices.",
    no_args_is_help=True,
    cls=CommandGroup,
)
add_model_commands(app)


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


@app.command()
def demo(
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated data.")] = 0,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File of the report; it is replaced.")
    ] = Path("thinrank-demo.html"),
    debug: Debug = False,
) -> None:
    """Simulate the two-way sparse setting of the paper, fit it, and show the results."""
    check_output_file(out)
    from thinrank.cli.demo import run_demo
    from thinrank.cli.plain_console import plain_console

    output = Output(debug=debug)
    raise typer.Exit(carry_out("demo", output, lambda: run_demo(plain_console(), seed, out)))


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


@app.command()
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
    from thinrank.cli.plain_console import plain_console
    from thinrank.cli.rl import FIGURES, run_rl
    from thinrank.rl.comparison import FAMILIES, Comparison

    if family not in FAMILIES:
        raise typer.BadParameter(f"must be one of {', '.join(FAMILIES)}", param_hint="--family")
    if out.suffix not in FIGURES:
        raise typer.BadParameter(f"must end in {', '.join(FIGURES)}", param_hint="--out")
    check_output_file(out)
    counts = sorted(set(states or (30, 60, 120)))
    comparison = Comparison(family, tasks, features, counts, repeats, seed)
    output = Output(debug=debug)
    raise typer.Exit(carry_out("rl", output, lambda: run_rl(plain_console(), comparison, out)))


@app.command()
def calcium(
    movie: Annotated[
        Path | None,
        typer.Argument(help="The movie: TIFF, NPY, NPZ, HDF5, Zarr or NWB.", show_default=False),
    ] = None,
    frame_rate: Annotated[
        float | None,
        typer.Option(min=0, help="Frames per second.", show_default="metadata of ScanImage"),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the results; must be new or empty.")
    ] = Path("neurons"),
    neuron_radius: Annotated[
        float | None,
        typer.Option(
            min=0, help="Approximate radius of a neuron in pixels.", show_default="from the movie"
        ),
    ] = None,
    rank: Annotated[str, typer.Option(help="Rank of the fit: a number or auto.")] = "auto",
    rows: Annotated[
        str, typer.Option(help="Maximal number of frames with spikes: a number or auto.")
    ] = "auto",
    columns: Annotated[
        str, typer.Option(help="Maximal number of pixels in neurons: a number or auto.")
    ] = "auto",
    decay: Annotated[
        str | None,
        typer.Option(
            help="Fraction of the fluorescence that remains after one frame: a number or estimate.",
            show_default="1 - 1/frame rate",
        ),
    ] = None,
    baseline: Annotated[
        str, typer.Option(help="What to subtract from each pixel: median, percentile or none.")
    ] = "median",
    smoothing: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Standard deviation of the Gaussian filter in pixels; 0 for none.",
            show_default="half the radius",
        ),
    ] = None,
    background: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Standard deviation in pixels of the filter of the background; 0 for none.",
            show_default="3 radii",
        ),
    ] = None,
    register: Annotated[
        bool, typer.Option("--register", help="Correct rigid motion of the frames first.")
    ] = False,
    neuropil: Annotated[
        float,
        typer.Option(min=0, max=2, help="Fraction of the light around a neuron to subtract."),
    ] = 0.7,
    dataset: Annotated[
        str | None, typer.Option(help="Name of the array in an NPZ, HDF5, Zarr or NWB file.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Labelled regions to compare with, in NeuroFinder's JSON format."),
    ] = None,
    accept: Annotated[
        Path | None,
        typer.Option(help="Write the neurons accepted in this file only, saved on the page."),
    ] = None,
    hide_doubtful: Annotated[
        bool, typer.Option("--hide-doubtful", help="Leave out doubtful neurons.")
    ] = False,
    nwb: Annotated[bool, typer.Option("--nwb", help="Also write an NWB file.")] = False,
    suite2p: Annotated[
        bool, typer.Option("--suite2p", help="Also write the files of suite2p.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the results of an earlier run.")
    ] = False,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Use a simulated movie instead of a file.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated movie.")] = 0,
    debug: Debug = False,
) -> None:
    """Find the neurons of a calcium imaging movie, with their traces and spikes.

    Writes regions (JSON), traces and fluorescence (CSV), footprints (TIFF) and an HTML page to one
    folder, which is created when everything is finished.
    """
    from thinrank.calcium.frame_rate import may_have_frame_rate
    from thinrank.cli.calcium import CalciumRequest, run_calcium
    from thinrank.cli.plain_console import plain_console

    if simulate == (movie is not None):
        raise typer.BadParameter("give either a movie or --simulate", param_hint="MOVIE")
    if frame_rate is None and movie is not None and not may_have_frame_rate(movie):
        raise typer.BadParameter(
            "the number of frames per second is required", param_hint="--frame-rate"
        )
    settings = {
        "frame_rate": frame_rate,
        "rank": number(rank, int, ("auto",), "--rank"),
        "row_sparsity": number(rows, int, ("auto",), "--rows"),
        "column_sparsity": number(columns, int, ("auto",), "--columns"),
        "decay": None if decay is None else number(decay, float, ("estimate",), "--decay"),
        "baseline": baseline,
        "neuropil": neuropil,
        "register": register,
    }
    optional = {
        "neuron_radius": neuron_radius,
        "smoothing": smoothing,
        "background": background,
    }
    settings |= {name: value for name, value in optional.items() if value is not None}
    request = CalciumRequest(
        movie=movie,
        out=out,
        settings=settings,
        dataset=dataset,
        labels=labels,
        nwb=nwb,
        suite2p=suite2p,
        accept=accept,
        hide_doubtful=hide_doubtful,
        overwrite=overwrite,
        seed=seed,
        command=typed_command(),
    )
    output = Output(debug=debug)
    raise typer.Exit(
        carry_out("calcium", output, lambda: run_calcium(plain_console(), request, output))
    )
