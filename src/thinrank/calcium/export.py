"""Export of regions, traces and footprints to files that other programs can read."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from thinrank.calcium.export_suite2p import write_suite2p
from thinrank.calcium.fluorescence import Fluorescence
from thinrank.calcium.folder import whole_folder, write_summary
from thinrank.calcium.imaging import with_rejected
from thinrank.calcium.quality import Quality
from thinrank.calcium.scores import as_regions
from thinrank.core.imports import import_optional


class Segmentation(Protocol):
    """The attributes that are exported; a fitted ``CalciumImaging`` has them.

    If there are ``fluorescence_`` and ``quality_`` too, they are exported.
    """

    frame_rate: float
    decay_: float
    mean_image_: np.ndarray
    traces_: np.ndarray
    spike_trains_: np.ndarray
    region_coordinates_: list[np.ndarray]

    @property
    def footprints_(self) -> np.ndarray:
        """Footprints of shape (n_neurons, height, width); computed at each call."""
        ...


def export_results(
    imaging: Segmentation,
    folder: Path | str,
    *,
    nwb: bool = False,
    suite2p: bool = False,
    overwrite: bool = False,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write all results of a fit into a new folder.

    The neurons are numbered from 1, as in ``regions_``: neuron 3 is the region with the id 3, the
    column ``neuron_3`` of the traces and the third page of the footprints.

    ================== =========================================================================
    regions.json       pixels of each region, in NeuroFinder's format
    traces.csv         one line per frame: its number from 0, its time in seconds, all traces
    spikes.csv         one line per spike: neuron, frame, time in seconds, size
    fluorescence.csv   raw F of each neuron; like the next four, with the columns of traces.csv
    neuropil.csv       light around each neuron
    f0.csv             F0, the resting level of F minus neuropil
    dff.csv            ΔF/F; empty where F0 is not positive
    deconvolved.csv    deconvolved activity
    quality.csv        one line per neuron: center, signal-to-noise ratio, correlation of the trace
                       with the raw light, whether it is doubtful, score of its shape; then
                       the rejected candidates with the reason
    footprints.tif     one page per neuron, float32
    regions.nwb        with ``nwb=True``: a ``PlaneSegmentation`` and all of these
    suite2p/plane0     with ``suite2p=True``: see :func:`write_suite2p`
    summary.json       numbers of neurons and frames, and the names of the files
    ================== =========================================================================

    If no neuron was found, no footprints and no NWB file are written.

    Parameters
    ----------
    imaging : CalciumImaging
        A fitted estimator.
    folder : path
        The folder to create. After an error it does not exist.
    nwb : bool, default=False
        Whether to write an NWB file too, which needs ``thinrank[nwb]``.
    suite2p : bool, default=False
        Whether to write the files of suite2p too.
    overwrite : bool, default=False
        Whether to replace a folder that this function wrote earlier. A folder that contains any
        other file is never replaced.
    metadata : dict, default=None
        ``session_start_time``, ``subject`` and ``device`` of the NWB file; see :func:`write_nwb`.
    """
    with whole_folder(folder, overwrite) as place:
        write_results(imaging, place, nwb=nwb, suite2p=suite2p, metadata=metadata)
        write_summary(place, describe(imaging))


def write_results(
    imaging: Segmentation,
    folder: Path,
    *,
    nwb: bool = False,
    suite2p: bool = False,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write the files of :func:`export_results` into a folder, except the summary."""
    footprints = imaging.footprints_
    light, quality = (getattr(imaging, name, None) for name in ("fluorescence_", "quality_"))
    write_regions(folder / "regions.json", imaging.region_coordinates_)
    write_traces(folder / "traces.csv", imaging.traces_, imaging.frame_rate)
    write_spikes(folder / "spikes.csv", imaging.spike_trains_, imaging.frame_rate)
    if light is not None:
        for name, values in light_by_file(light).items():
            write_traces(folder / f"{name}.csv", values, imaging.frame_rate)
    if quality is not None:
        found, count = with_rejected(imaging)
        write_quality(
            folder / "quality.csv", found.region_coordinates_, found.quality_, n_accepted=count
        )
    write_footprints(folder / "footprints.tif", footprints)
    if suite2p:
        write_suite2p(folder, imaging)
    if nwb and len(footprints):
        from thinrank.calcium.export_nwb import write_nwb  # pynwb is slow to import

        found, count = with_rejected(imaging)
        write_nwb(
            folder / "regions.nwb",
            found.footprints_,
            found.traces_,
            imaging.frame_rate,
            spike_trains=found.spike_trains_,
            fluorescence=getattr(found, "fluorescence_", None),
            quality=getattr(found, "quality_", None),
            n_accepted=count,
            **(metadata or {}),
        )


def light_by_file(light: Fluorescence) -> dict[str, np.ndarray]:
    """Measured light by the name of its file without the suffix."""
    return {
        "fluorescence": light.raw,
        "neuropil": light.neuropil,
        "f0": light.baseline,
        "dff": light.dff,
        "deconvolved": light.deconvolved,
    }


def describe(imaging: Segmentation) -> dict[str, Any]:
    """Numbers that describe a fit, for the summary."""
    return {
        "frames": int(imaging.traces_.shape[1]),
        "height": int(imaging.mean_image_.shape[0]),
        "width": int(imaging.mean_image_.shape[1]),
        "frame_rate": float(imaging.frame_rate),
        "decay": float(imaging.decay_),
        **({"radius": round(float(imaging.radius_), 3)} if hasattr(imaging, "radius_") else {}),
        "neurons": len(imaging.region_coordinates_),
        "rejected": len(with_rejected(imaging)[0].region_coordinates_)
        - len(imaging.region_coordinates_),
    }


def write_regions(path: Path | str, regions: Any) -> None:
    """Write regions to a JSON file in NeuroFinder's format.

    The content is a list of ``{"id": 1, "coordinates": [[row, column], …]}``.

    Parameters
    ----------
    path : path
    regions : list of arrays of shape (n_pixels, 2), or array
        The rows and columns of each region; or boolean masks of shape
        (n_neurons, height, width); or a label image of shape (height, width).
    """
    content = [
        {"id": number, "coordinates": points.tolist()}
        for number, points in enumerate(as_regions(regions), start=1)
    ]
    Path(path).write_text(json.dumps(content) + "\n", encoding="utf-8")


def read_regions(path: Path | str) -> list[np.ndarray]:
    """Read regions from a JSON file in NeuroFinder's format.

    Parameters
    ----------
    path : path

    Returns
    -------
    list of ndarray of shape (n_pixels, 2)
        Rows and columns of the pixels of each region.

    Raises
    ------
    ValueError
        If the file does not have this format. The message names the file and the reason.
    """
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON, or nested too deeply ({error})") from error
    if not isinstance(content, list) or not content:
        raise ValueError(f"{path}: expected a list of at least one region")
    expected = 'each region must be {"coordinates": [[row, column], …]}'
    for i, region in enumerate(content):
        if not isinstance(region, dict) or "coordinates" not in region:
            raise ValueError(f"{path}: {expected}; region {i + 1} has no coordinates")
    try:
        return as_regions([region["coordinates"] for region in content])
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{path}: {expected} ({error})") from error


def write_traces(path: Path | str, traces: Any, frame_rate: float) -> None:
    """Write traces to a CSV file: columns ``frame``, ``time``, ``neuron_1``, ``neuron_2``, ….

    Parameters
    ----------
    path : path
    traces : array of shape (n_neurons, n_frames)
    frame_rate : float
        Frames per second; ``time`` is in seconds since the first frame. NaN is an empty cell.
    """
    values = np.asarray(traces)
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["frame", "time", *(f"neuron_{i}" for i in range(1, len(values) + 1))])
        for frame, column in enumerate(values.T):
            time = f"{frame / frame_rate:.6f}"
            writer.writerow(
                [frame, time, *("" if value != value else f"{value:.6g}" for value in column)]
            )


def write_spikes(path: Path | str, spike_trains: Any, frame_rate: float) -> None:
    """Write spikes to a CSV file: columns ``neuron``, ``frame``, ``time`` and ``size``.

    The file has one line per spike.

    Parameters
    ----------
    path : path
    spike_trains : array of shape (n_neurons, n_frames)
        Increase of the fluorescence by each spike; 0 where there is none.
    frame_rate : float
        Frames per second.
    """
    trains = np.asarray(spike_trains)
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["neuron", "frame", "time", "size"])
        for neuron, frame in np.argwhere(trains > 0).tolist():
            size = f"{trains[neuron, frame]:.6g}"
            writer.writerow([neuron + 1, frame, f"{frame / frame_rate:.6f}", size])


def write_quality(
    path: Path | str,
    regions: list[np.ndarray],
    quality: Quality,
    *,
    n_accepted: int | None = None,
) -> None:
    """Write the quality of each neuron to a CSV file.

    The columns are ``neuron``, ``row``, ``column``, ``pixels``, ``snr``, ``correlation``,
    ``doubtful``, which is 1 or 0, ``score`` and ``rejected``, the reason why a candidate is no
    neuron, or nothing.

    Parameters
    ----------
    path : path
    regions : list of ndarray of shape (n_pixels, 2)
        Rows and columns of the pixels of each neuron.
    quality : Quality
    n_accepted : int, default=None
        Number of neurons; what comes after them was rejected. None if all were accepted.
    """
    rejected = quality.reasons(n_accepted)
    names = ["neuron", "row", "column", "pixels", "snr", "correlation", "doubtful"]
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*names, "score", "rejected"])
        for i, region in enumerate(regions):
            row, column = region.mean(axis=0)
            measures = (f"{quality.snr[i]:.4g}", f"{quality.correlation[i]:.4g}")
            where = (i + 1, f"{row:.2f}", f"{column:.2f}", len(region))
            score = "" if quality.score is None else f"{quality.score[i]:.3f}"
            writer.writerow([*where, *measures, int(quality.doubtful[i]), score, rejected[i]])


def write_footprints(path: Path | str, footprints: Any) -> None:
    """Write footprints to a TIFF file of float32 with one page per neuron.

    Parameters
    ----------
    path : path
    footprints : array of shape (n_neurons, height, width)
        If there is no neuron, no file is written: TIFF needs at least one page.
    """
    pages = np.asarray(footprints, dtype=np.float32)
    if len(pages):
        import_optional("tifffile").imwrite(
            path, pages, photometric="minisblack", compression="zlib"
        )
