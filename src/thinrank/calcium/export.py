"""Regions, traces and footprints as files that other programs read."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from thinrank.calcium.folder import whole_folder, write_summary
from thinrank.calcium.scores import as_regions
from thinrank.core.extras import import_optional

__all__ = [
    "Segmentation",
    "export_results",
    "read_regions",
    "write_footprints",
    "write_regions",
    "write_results",
    "write_spikes",
    "write_traces",
]


class Segmentation(Protocol):
    """What is written of N neurons in T frames of H × W pixels: a fitted ``CalciumImaging``."""

    frame_rate: float
    decay_: float
    mean_image_: np.ndarray
    traces_: np.ndarray
    spike_trains_: np.ndarray
    region_coordinates_: list[np.ndarray]

    @property
    def footprints_(self) -> np.ndarray:
        """Shape (N, H, W); made at each call."""
        ...


def export_results(
    imaging: Segmentation, folder: Path | str, *, nwb: bool = False, overwrite: bool = False
) -> None:
    """Write all results of a fit into a new folder.

    The neurons are numbered from 1, as in ``regions_``: neuron 3 is the region with the id 3, the
    column ``neuron_3`` of the traces and the third page of the footprints.

    ================== =========================================================================
    regions.json       pixels of each region, in the layout of NeuroFinder
    traces.csv         one line a frame: its number from 0, its time in seconds, all traces
    spikes.csv         one line a spike: neuron, frame, time in seconds, size
    footprints.tif     one page a neuron, float32
    regions.nwb        with ``nwb``: a ``PlaneSegmentation`` and the traces, for NWB
    summary.json       numbers of neurons and frames, and the names of the files
    ================== =========================================================================

    Where no neuron was found there are no footprints and no NWB file.

    Parameters
    ----------
    imaging : CalciumImaging
        Fitted.
    folder : path
        Appears whole or not at all.
    nwb : bool
        Whether to write an NWB file too, which needs ``thinrank[nwb]``.
    overwrite : bool
        Whether to replace a folder that this function wrote earlier. A folder with any other
        file in it is never replaced.
    """
    with whole_folder(folder, overwrite) as place:
        write_results(imaging, place, nwb=nwb)
        write_summary(place, describe(imaging))


def write_results(imaging: Segmentation, folder: Path, *, nwb: bool = False) -> None:
    """Write the files of :func:`export_results`, but for the summary, into a folder."""
    footprints = imaging.footprints_
    write_regions(folder / "regions.json", imaging.region_coordinates_)
    write_traces(folder / "traces.csv", imaging.traces_, imaging.frame_rate)
    write_spikes(folder / "spikes.csv", imaging.spike_trains_, imaging.frame_rate)
    write_footprints(folder / "footprints.tif", footprints)
    if nwb and len(footprints):
        from thinrank.calcium.export_nwb import write_nwb  # pynwb is slow to import

        write_nwb(folder / "regions.nwb", footprints, imaging.traces_, imaging.frame_rate)


def describe(imaging: Segmentation) -> dict[str, Any]:
    """The numbers of a fit, for the summary."""
    return {
        "frames": int(imaging.traces_.shape[1]),
        "height": int(imaging.mean_image_.shape[0]),
        "width": int(imaging.mean_image_.shape[1]),
        "frame_rate": float(imaging.frame_rate),
        "decay": float(imaging.decay_),
        "neurons": len(imaging.region_coordinates_),
    }


def write_regions(path: Path | str, regions: Any) -> None:
    """Write regions as JSON in the layout of NeuroFinder.

    A list of ``{"id": 1, "coordinates": [[row, column], …]}``.

    Parameters
    ----------
    path : path
    regions : sequence of (m, 2) arrays, masks (N, H, W), or a label image (H, W)
    """
    content = [
        {"id": number, "coordinates": points.tolist()}
        for number, points in enumerate(as_regions(regions), start=1)
    ]
    Path(path).write_text(json.dumps(content) + "\n", encoding="utf-8")


def read_regions(path: Path | str) -> list[np.ndarray]:
    """Read regions from JSON in the layout of NeuroFinder.

    Parameters
    ----------
    path : path

    Returns
    -------
    list of ndarray of shape (m, 2)
        Rows and columns.

    Raises
    ------
    ValueError
        If the file is not of that layout; the message names it and says why.
    """
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON ({error})") from error
    if not isinstance(content, list) or not content:
        raise ValueError(f"{path}: a list of regions is expected, and at least one of them")
    try:
        return as_regions([region["coordinates"] for region in content])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f'{path}: each region must be {{"coordinates": [[row, column], …]}} ({error})'
        ) from error


def write_traces(path: Path | str, traces: Any, frame_rate: float) -> None:
    """Write traces as CSV: the columns ``frame``, ``time`` and ``neuron_1``, ``neuron_2``, ….

    Parameters
    ----------
    path : path
    traces : array of shape (N, T)
    frame_rate : float
        Frames a second; ``time`` is in seconds from the first frame.
    """
    values = np.asarray(traces)
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["frame", "time", *(f"neuron_{i}" for i in range(1, len(values) + 1))])
        for frame, column in enumerate(values.T):
            time = f"{frame / frame_rate:.6f}"
            writer.writerow([frame, time, *(f"{value:.6g}" for value in column)])


def write_spikes(path: Path | str, spike_trains: Any, frame_rate: float) -> None:
    """Write spikes as CSV, one line each: the columns ``neuron``, ``frame``, ``time``, ``size``.

    Parameters
    ----------
    path : path
    spike_trains : array of shape (N, T)
        What each spike adds to the fluorescence; 0 where there is none.
    frame_rate : float
        Frames a second.
    """
    trains = np.asarray(spike_trains)
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["neuron", "frame", "time", "size"])
        for neuron, frame in np.argwhere(trains > 0).tolist():
            size = f"{trains[neuron, frame]:.6g}"
            writer.writerow([neuron + 1, frame, f"{frame / frame_rate:.6f}", size])


def write_footprints(path: Path | str, footprints: Any) -> None:
    """Write footprints as a TIFF file of float32 with one page a neuron.

    Parameters
    ----------
    path : path
    footprints : array of shape (N, H, W)
        Without a neuron no file is written: TIFF has no page without pixels.
    """
    pages = np.asarray(footprints, dtype=np.float32)
    if len(pages):
        import_optional("tifffile").imwrite(
            path, pages, photometric="minisblack", compression="zlib"
        )
