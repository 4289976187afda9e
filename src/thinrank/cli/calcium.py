"""``thinrank calcium``: read a movie, fit it, score the regions and write the results."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from thinrank import __version__
from thinrank.cli.options import Overwrite, Seed, check_before_fit, number, typed_command
from thinrank.cli.running import Output, UnusableArgumentError
from thinrank.core.imports import import_optional

if TYPE_CHECKING:
    from thinrank.calcium import CalciumImaging, Decisions, Scores

_SIMULATED_FRAME_RATE = 7.0  # frames per second of the simulated movie, if none are given


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
        float | None,
        typer.Option(
            min=0,
            max=2,
            help="Fraction of the light around a neuron to subtract.",
            show_default="from the movie, for each neuron",
        ),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Name of the array in an NPZ, HDF5, Zarr or NWB file.")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(help="Labeled regions to compare with, in NeuroFinder's JSON format."),
    ] = None,
    accept: Annotated[
        Path | None,
        typer.Option(help="Write the neurons accepted in this file only, saved on the page."),
    ] = None,
    nwb: Annotated[bool, typer.Option("--nwb", help="Also write an NWB file.")] = False,
    session_start: Annotated[
        datetime | None,
        typer.Option(help="Start of the recording, in local time, for --nwb.", show_default="now"),
    ] = None,
    subject: Annotated[
        str | None, typer.Option(help="Identifier of the animal, for --nwb.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(help="Name of the microscope, for --nwb.", show_default="Microscope"),
    ] = None,
    suite2p: Annotated[
        bool, typer.Option("--suite2p", help="Also write the files of suite2p.")
    ] = False,
    overwrite: Overwrite = False,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Use a simulated movie instead of a file.")
    ] = False,
    seed: Seed = 0,
    *,
    output: Output,
) -> None:
    """Find the neurons of a calcium imaging movie, with their traces and spikes.

    Writes regions (JSON), traces and fluorescence (CSV), footprints (TIFF) and an HTML page to one
    folder, which is created when everything is finished.
    """
    from thinrank.calcium import (
        CalciumImaging,
        make_movie,
        read_decisions,
        read_regions,
        select_neurons,
    )
    from thinrank.calcium.decisions import check_movie
    from thinrank.calcium.export import describe, write_results
    from thinrank.calcium.readers import open_movie
    from thinrank.core.files import check_result_folder, result_folder, write_summary
    from thinrank.report import MovieAnalysis, write_movie_page

    if simulate == (movie is not None):
        raise typer.BadParameter("give either a movie or --simulate", param_hint="MOVIE")
    for_nwb = {"--session-start": session_start, "--subject": subject, "--device": device}
    unused = [option for option, value in for_nwb.items() if value is not None and not nwb]
    if unused:
        raise typer.BadParameter("is for the NWB file; give --nwb too", param_hint=unused[0])
    for file in (movie, labels, accept):
        if file is not None and not file.exists():
            raise UnusableArgumentError(f"{file}: there is no such file")
    given: dict[str, Any] = {
        "frame_rate": _frame_rate(movie, frame_rate, output),
        "rank": number(rank, int, ("auto",), "--rank"),
        "row_sparsity": number(rows, int, ("auto",), "--rows"),
        "column_sparsity": number(columns, int, ("auto",), "--columns"),
        "decay": None if decay is None else number(decay, float, ("estimate",), "--decay"),
        "baseline": baseline,
        "register": register,
        "neuropil": neuropil,
        "neuron_radius": neuron_radius,
        "smoothing": smoothing,
        "background": background,
    }
    settings = {name: value for name, value in given.items() if value is not None}
    # check everything that can fail before the fit, which takes long
    check_before_fit(check_result_folder, out, overwrite)
    for library in ("matplotlib", "tifffile", *["pynwb"] * nwb):
        import_optional(library)  # an ImportError that names the extra
    labelled = None if labels is None else read_regions(labels)
    decisions = None if accept is None else read_decisions(accept)
    if decisions is not None and movie is not None:
        with open_movie(movie, dataset) as opened:
            check_movie(decisions, opened.shape)
    if session_start is not None:
        session_start = session_start.astimezone()
    elif nwb:
        output.note("the NWB file gets the time of writing: give --session-start (and --subject)")
    imaging = CalciumImaging(**settings, verbose=1)

    film: Any = movie
    name = str(movie)
    if simulate:
        film, truth = make_movie(frame_rate=settings["frame_rate"], random_state=seed)
        name = f"a simulated movie (seed {seed})"
        labelled = truth.regions

    began = time.perf_counter()
    imaging.fit(film, dataset=dataset)
    seconds = time.perf_counter() - began

    kept = _kept(imaging, decisions, output)
    shown = imaging if decisions is None else select_neurons(imaging, kept)
    scores = None if labelled is None else shown.score(labelled)
    if labelled is not None:
        _tell_outside(labelled, imaging.mean_image_.shape, output)
    with result_folder(out, overwrite) as place:
        about = {"session_start_time": session_start, "subject": subject}
        about["device"] = device or "Microscope"
        write_results(shown, place, nwb=nwb, suite2p=suite2p, metadata=about)
        table = _settings(settings, shown, seconds)
        analysis = MovieAnalysis(name, shown, labelled, scores, table, review=True)
        write_movie_page(analysis, place / "page.html")
        write_summary(
            place,
            {
                "movie": name,
                **describe(shown),
                "neurons_found": imaging.n_neurons_,
                "numbers_before": (kept + 1).tolist(),
                **({} if scores is None else {"scores": scores.as_dict()}),
                "seconds": round(seconds, 3),
                "command": typed_command(),
                "thinrank": __version__,
            },
        )
    output.kept = f"the results are in {out}"
    _tell(shown, scores, out, output)


def _frame_rate(movie: Path | None, given: float | None, output: Output) -> float:
    """The frame rate that was given, or that the movie has."""
    from thinrank.calcium import read_frame_rate

    if given is not None:
        return given
    if movie is None:
        return _SIMULATED_FRAME_RATE
    found = read_frame_rate(movie)
    if found is None:
        raise typer.BadParameter(
            f"the number of frames per second is required: {movie} has no metadata of ScanImage "
            "with it",
            param_hint="--frame-rate",
        )
    output.note(f"{movie}: {found:g} frames per second, from the metadata of ScanImage")
    return found


def _kept(imaging: CalciumImaging, decisions: Decisions | None, output: Output) -> np.ndarray:
    """Indices of the neurons that are written; notes tell how many are not."""
    from thinrank.calcium import accepted_neurons
    from thinrank.calcium.imaging import with_rejected

    found, count = with_rejected(imaging)
    kept = np.arange(count)
    if len(found.traces_) > count:
        output.note(
            f"{len(found.traces_) - count} rejected for not looking like neurons; "
            "see quality.csv and the page"
        )
    if decisions is not None:
        kept = accepted_neurons(decisions, found.region_coordinates_, imaging.shape_)
        rejected = int(np.count_nonzero(~decisions.accepted))
        output.note(f"{len(kept)} neurons accepted, {rejected} rejected in {decisions.source}")
        left = len(found.traces_) - len(decisions.numbers)
        if left:
            are = "is" if left == 1 else "are"
            output.note(f"{left} of the neurons {are} not in {decisions.source} and left out")
    return kept


def _tell_outside(labelled: list[np.ndarray], shape: tuple[int, int], output: Output) -> None:
    """Tell how many labeled regions are outside the frames: they may be of another movie."""
    from thinrank.calcium.regions import inside

    count = sum(not len(inside(region, shape)) for region in labelled)
    if count:
        output.note(
            f"{count} of the {len(labelled)} labeled regions "
            f"{'is' if count == 1 else 'are'} outside the frames of {shape[0]} × {shape[1]} pixels"
        )


def _settings(given: dict[str, Any], imaging: CalciumImaging, seconds: float) -> dict[str, str]:
    """Return the last table of the page: the given settings, and the resulting values."""
    moved = {}
    if imaging.shifts_ is not None:
        spread = imaging.shifts_.std(axis=0)
        moved = {"shifts of frames": f"{spread[0]:.2f} rows, {spread[1]:.2f} columns (SD)"}
    return {
        "command": typed_command(),
        **{name.replace("_", " "): str(value) for name, value in given.items()},
        **moved,
        "radius of a neuron": f"{imaging.radius_:.2f} pixels",
        "decay per frame": f"{imaging.decay_:.4f}",
        "rank of the fit": str(imaging.factors_.rank),
        "frames with spikes": str(len(imaging.spike_frames_)),
        "pixels kept": str(len(imaging.active_pixels_)),
        "seconds": f"{seconds:.1f}",
        "version": f"thinrank {__version__}",
    }


def _tell(imaging: CalciumImaging, scores: Scores | None, out: Path, output: Output) -> None:
    count = len(imaging.region_coordinates_)
    text = f"{count} neuron{'' if count == 1 else 's'}"
    if scores is not None:
        text += (
            f"; {scores.n_matched} of {scores.n_labelled} labeled regions found, "
            f"recall {scores.recall:.2f}, precision {scores.precision:.2f}, "
            f"combined {scores.combined:.2f}"
        )
    output.show(text)
    output.show(f"Results are in {out}; start with {out / 'page.html'}")
