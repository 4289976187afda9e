"""``thinrank calcium``: read a movie, fit it, score the regions and write the results."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console

from thinrank import __version__
from thinrank.calcium import (
    CalciumImaging,
    Decisions,
    Scores,
    accepted_neurons,
    make_movie,
    read_decisions,
    read_frame_rate,
    read_regions,
    select_neurons,
)
from thinrank.calcium.decisions import check_movie
from thinrank.calcium.export import describe, write_results
from thinrank.calcium.folder import check_destination, whole_folder, write_summary
from thinrank.calcium.movie import open_movie
from thinrank.calcium.windows import mask_of
from thinrank.cli.exit_codes import Output, UnusableArgumentError
from thinrank.cli.output_place import check_output_folder
from thinrank.core.imports import import_optional
from thinrank.report import MovieAnalysis, write_movie_page
from thinrank.report.document import check_libraries

SIMULATED_FRAME_RATE = 7.0
"""Default number of frames per second of the simulated movie."""


@dataclass(frozen=True)
class CalciumRequest:
    """The arguments of the command."""

    movie: Path | None  # the file; None for a simulated movie
    out: Path  # folder of the results
    # arguments of :class:`~thinrank.calcium.CalciumImaging`. The frame rate may be None, if the
    # movie has it
    settings: dict[str, Any]
    dataset: str | None  # name of the array in the file
    labels: Path | None  # file with regions marked by a person, in the format of NeuroFinder
    nwb: bool  # whether to write an NWB file, and the files of suite2p
    suite2p: bool
    accept: Path | None  # file with decisions; only accepted neurons are written
    hide_doubtful: bool  # whether to leave out doubtful neurons
    overwrite: bool  # whether to replace earlier results
    seed: int  # seed of the simulated movie
    command: str  # the command as typed


def run_calcium(console: Console, request: CalciumRequest, output: Output) -> None:
    """Run the command; after a failure no new folder is left behind."""
    # check everything that can fail before the fit, which takes long
    _check_out(request.out, request.overwrite)
    for file in (request.movie, request.labels, request.accept):
        if file is not None and not file.exists():
            raise UnusableArgumentError(f"{file}: there is no such file")
    _check_libraries(request)
    labelled = None if request.labels is None else read_regions(request.labels)
    decisions = None if request.accept is None else read_decisions(request.accept)
    if decisions is not None and request.movie is not None:
        with open_movie(request.movie, request.dataset) as opened:
            check_movie(decisions, opened.shape)
    settings = request.settings | {"frame_rate": _frame_rate(request, output)}
    imaging = CalciumImaging(**settings, verbose=1)

    movie: Any = request.movie
    name = str(movie)
    if movie is None:
        movie, truth = make_movie(frame_rate=settings["frame_rate"], random_state=request.seed)
        name = f"a simulated movie (seed {request.seed})"
        labelled = truth.regions

    began = time.perf_counter()
    imaging.fit(movie, dataset=request.dataset)
    seconds = time.perf_counter() - began

    kept = _kept(imaging, decisions, request.hide_doubtful, output)
    shown = imaging if len(kept) == imaging.n_neurons_ else select_neurons(imaging, kept)
    scores = None if labelled is None else shown.score(labelled)
    if labelled is not None:
        _tell_outside(labelled, imaging.mean_image_.shape, output)
    with whole_folder(request.out, request.overwrite) as place:
        write_results(shown, place, nwb=request.nwb, suite2p=request.suite2p)
        table = _settings(request, settings, shown, seconds)
        analysis = MovieAnalysis(name, shown, labelled, scores, table, review=True)
        write_movie_page(analysis, place / "page.html")
        write_summary(
            place,
            {
                "movie": name,
                **describe(shown),
                "neurons_found": imaging.n_neurons_,
                "numbers_before": (kept + 1).tolist(),
                "doubtful": (np.flatnonzero(shown.quality_.doubtful) + 1).tolist(),
                **({} if scores is None else {"scores": scores.as_dict()}),
                "seconds": round(seconds, 3),
                "command": request.command,
                "thinrank": __version__,
            },
        )
    output.kept = f"the results are in {request.out}"
    _tell(console, shown, scores, request.out)


def _frame_rate(request: CalciumRequest, output: Output) -> float:
    """The frame rate that was given, or that the movie has."""
    given = request.settings["frame_rate"]
    if given is not None:
        return float(given)
    if request.movie is None:
        return SIMULATED_FRAME_RATE
    found = read_frame_rate(request.movie)
    if found is None:
        raise typer.BadParameter(
            f"the number of frames per second is required: {request.movie} has no metadata of "
            "ScanImage with it",
            param_hint="--frame-rate",
        )
    output.note(f"{request.movie}: {found:g} frames per second, from the metadata of ScanImage")
    return found


def _kept(
    imaging: CalciumImaging, decisions: Decisions | None, hide_doubtful: bool, output: Output
) -> np.ndarray:
    """Indices of the neurons that are written; notes tell how many are not."""
    kept = np.arange(imaging.n_neurons_)
    if decisions is not None:
        kept = accepted_neurons(decisions, imaging.region_coordinates_, imaging.shape_)
        rejected = sum(not decision.accepted for decision in decisions.neurons)
        output.note(f"{len(kept)} neurons accepted, {rejected} rejected in {decisions.source}")
        left = imaging.n_neurons_ - len(decisions.neurons)
        if left:
            are = "is" if left == 1 else "are"
            output.note(f"{left} of the neurons {are} not in {decisions.source} and left out")
    doubtful = imaging.quality_.doubtful[kept]
    if doubtful.any():
        count = int(doubtful.sum())
        action = "left out (--hide-doubtful)" if hide_doubtful else "marked; see quality.csv"
        output.note(f"{count} doubtful neuron{'' if count == 1 else 's'}: {action}")
    return kept[~doubtful] if hide_doubtful else kept


def _check_out(out: Path, overwrite: bool) -> None:
    """Raise a usage error before the fit, which takes long, if the results cannot be written."""
    try:
        check_destination(out, overwrite)
    except OSError as error:
        raise typer.BadParameter(str(error), param_hint="--out") from error
    check_output_folder(out.absolute().parent)


def _tell_outside(labelled: list[np.ndarray], shape: tuple[int, int], output: Output) -> None:
    """Tell how many labelled regions are outside the frames: they may be of another movie."""
    count = sum(not mask_of(region, shape).any() for region in labelled)
    if count:
        output.note(
            f"{count} of the {len(labelled)} labelled regions "
            f"{'is' if count == 1 else 'are'} outside the frames of {shape[0]} × {shape[1]} pixels"
        )


def _check_libraries(request: CalciumRequest) -> None:
    """Raise an ImportError that names the extra if a library that is needed later is missing."""
    check_libraries()
    for library, needed in {
        "tifffile": True,
        "pynwb": request.nwb,
        "skimage.registration": request.settings.get("register", False),
    }.items():
        if needed:
            import_optional(library)


def _settings(
    request: CalciumRequest, given: dict[str, Any], imaging: CalciumImaging, seconds: float
) -> dict[str, str]:
    """Return the last table of the page: the given settings, and the resulting values."""
    asked = {name: str(value) for name, value in given.items() if value is not None}
    moved = {}
    if imaging.shifts_ is not None:
        spread = imaging.shifts_.std(axis=0)
        moved = {"shifts of frames": f"{spread[0]:.2f} rows, {spread[1]:.2f} columns (SD)"}
    return {
        "command": f"`{request.command}`",
        **{name.replace("_", " "): value for name, value in asked.items()},
        **moved,
        "decay per frame": f"{imaging.decay_:.4f}",
        "rank of the fit": str(imaging.factors_.rank),
        "frames with spikes": str(len(imaging.spike_frames_)),
        "pixels kept": str(len(imaging.active_pixels_)),
        "seconds": f"{seconds:.1f}",
        "version": f"thinrank {__version__}",
    }


def _tell(console: Console, imaging: CalciumImaging, scores: Scores | None, out: Path) -> None:
    count = len(imaging.region_coordinates_)
    text = f"{count} neuron{'' if count == 1 else 's'}"
    if scores is not None:
        text += (
            f"; {scores.n_matched} of {scores.n_labelled} labelled regions found, "
            f"recall {scores.recall:.2f}, precision {scores.precision:.2f}, "
            f"combined {scores.combined:.2f}"
        )
    console.print(text, soft_wrap=True)
    console.print(f"Results are in {out}; start with {out / 'page.html'}", soft_wrap=True)
