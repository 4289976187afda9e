"""``thinrank calcium``: read a movie, fit it, score the regions and write the results."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from thinrank import __version__
from thinrank.calcium import CalciumImaging, Scores, make_movie, read_regions
from thinrank.calcium.export import describe, write_results
from thinrank.calcium.folder import check_destination, whole_folder, write_summary
from thinrank.core.extras import import_optional
from thinrank.report import MovieAnalysis, write_movie_page
from thinrank.report.libraries import check_libraries

__all__ = ["SIMULATED_FRAME_RATE", "CalciumRequest", "run_calcium"]

SIMULATED_FRAME_RATE = 7.0
"""Default number of frames per second of the simulated movie."""

_INTERRUPTED = 130  # the exit code of shells after Ctrl-C


@dataclass(frozen=True)
class CalciumRequest:
    """The arguments of the command.

    Parameters
    ----------
    movie : Path or None
        The file; None for a simulated movie.
    out : Path
        Folder of the results.
    settings : dict
        Arguments of :class:`~thinrank.calcium.CalciumImaging`.
    dataset : str or None
        Name of the array in the file.
    labels : Path or None
        File with regions marked by a person, in the format of NeuroFinder.
    nwb : bool
        Whether to write an NWB file.
    overwrite : bool
        Whether to replace earlier results.
    seed : int
        Seed of the simulated movie.
    command : str
        The command as typed.
    """

    movie: Path | None
    out: Path
    settings: dict[str, Any]
    dataset: str | None
    labels: Path | None
    nwb: bool
    overwrite: bool
    seed: int
    command: str


def run_calcium(console: Console, request: CalciumRequest) -> int:
    """Run the command and return its exit code; after a failure no new folder is left behind."""
    try:
        _analyse(console, request)
    except (ValueError, OSError, ImportError, MemoryError) as error:
        # the message says what is wrong with the file, the folder, a setting or an installation
        console.print(
            f"thinrank calcium: {str(error) or type(error).__name__}",
            style="red",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        return 1
    except KeyboardInterrupt:
        console.print("Interrupted; nothing was written.", highlight=False)
        return _INTERRUPTED
    return 0


def _analyse(console: Console, request: CalciumRequest) -> None:
    # check everything that can fail before the fit, which takes long
    check_destination(request.out, request.overwrite)
    _check_libraries(request.nwb)
    labelled = None if request.labels is None else read_regions(request.labels)
    imaging = CalciumImaging(**request.settings, verbose=1)

    movie: Any = request.movie
    name = str(movie)
    if movie is None:
        movie, truth = make_movie(
            frame_rate=request.settings["frame_rate"], random_state=request.seed
        )
        name = f"a simulated movie (seed {request.seed})"
        labelled = truth.regions

    began = time.perf_counter()
    imaging.fit(movie, dataset=request.dataset)
    seconds = time.perf_counter() - began

    scores = None if labelled is None else imaging.score(labelled)
    with whole_folder(request.out, request.overwrite) as place:
        write_results(imaging, place, nwb=request.nwb)
        settings = _settings(request, imaging, seconds)
        analysis = MovieAnalysis(name, imaging, labelled, scores, settings)
        write_movie_page(analysis, place / "page.html")
        write_summary(
            place,
            {
                "movie": name,
                **describe(imaging),
                **({} if scores is None else {"scores": scores.as_dict()}),
                "seconds": round(seconds, 3),
                "command": request.command,
                "thinrank": __version__,
            },
        )
    _tell(console, imaging, scores, request.out)


def _check_libraries(nwb: bool) -> None:
    """Raise an ImportError that names the extra if a library that is needed later is missing."""
    check_libraries()
    for library in ("tifffile", *(["pynwb"] if nwb else [])):
        import_optional(library)


def _settings(request: CalciumRequest, imaging: CalciumImaging, seconds: float) -> dict[str, str]:
    """Return the last table of the page: the given settings, and the resulting values."""
    asked = {name: str(value) for name, value in request.settings.items() if value is not None}
    return {
        "command": f"`{request.command}`",
        **{name.replace("_", " "): value for name, value in asked.items()},
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
    console.print(text, highlight=False, soft_wrap=True)
    console.print(
        f"Results are in {out}; start with {out / 'page.html'}", highlight=False, soft_wrap=True
    )
