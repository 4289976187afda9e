"""Export of regions, traces and footprints to files that other programs can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thinrank.calcium.decisions import centres_of
from thinrank.calcium.export_nwb import write_nwb
from thinrank.calcium.export_suite2p import write_suite2p
from thinrank.calcium.fluorescence import Quality
from thinrank.calcium.folder import read_json, whole_folder, write_summary
from thinrank.calcium.imaging import CalciumImaging, with_rejected
from thinrank.calcium.scores import as_regions
from thinrank.core.imports import import_optional


def export_results(
    imaging: CalciumImaging,
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
    if not hasattr(imaging, "fluorescence_"):
        raise ValueError("imaging has no fluorescence_: it was fitted by an earlier version")
    with whole_folder(folder, overwrite) as place:
        write_results(imaging, place, nwb=nwb, suite2p=suite2p, metadata=metadata)
        write_summary(place, describe(imaging))


def write_results(
    imaging: CalciumImaging,
    folder: Path,
    *,
    nwb: bool = False,
    suite2p: bool = False,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write the files of :func:`export_results` into a folder, except the summary."""
    found, count = with_rejected(imaging)
    rate, light = imaging.frame_rate, imaging.fluorescence_
    write_regions(folder / "regions.json", imaging.region_coordinates_)
    write_spikes(folder / "spikes.csv", imaging.spike_trains_, rate)
    values = {
        "traces": imaging.traces_,
        "fluorescence": light.raw,
        "neuropil": light.neuropil,
        "f0": light.baseline,
        "dff": light.dff,
        "deconvolved": light.deconvolved,
    }
    for name, each in values.items():
        write_traces(folder / f"{name}.csv", each, rate)
    path, regions = folder / "quality.csv", found.region_coordinates_
    write_quality(path, regions, found.quality_, n_accepted=count)
    write_footprints(folder / "footprints.tif", imaging.footprints_)
    if suite2p:
        write_suite2p(folder, imaging)
    if nwb and len(regions):
        write_nwb(
            folder / "regions.nwb",
            found.footprints_,
            found.traces_,
            rate,
            spike_trains=found.spike_trains_,
            fluorescence=found.fluorescence_,
            quality=found.quality_,
            n_accepted=count,
            **(metadata or {}),
        )


def describe(imaging: CalciumImaging) -> dict[str, Any]:
    """Numbers that describe a fit, for the summary."""
    found, count = with_rejected(imaging)
    return {
        "frames": int(imaging.traces_.shape[1]),
        "height": int(imaging.mean_image_.shape[0]),
        "width": int(imaging.mean_image_.shape[1]),
        "frame_rate": float(imaging.frame_rate),
        "decay": float(imaging.decay_),
        "radius": round(float(imaging.radius_), 3),
        "neurons": count,
        "rejected": len(found.region_coordinates_) - count,
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
    content = read_json(path)
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
    table = pd.DataFrame(values.T, columns=[f"neuron_{i + 1}" for i in range(len(values))])
    table.insert(0, "time", [f"{frame / frame_rate:.6f}" for frame in table.index])
    table.to_csv(path, index_label="frame", float_format="%.6g", lineterminator="\n")


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
    neurons, frames = np.nonzero(trains > 0)
    times = [f"{frame / frame_rate:.6f}" for frame in frames]
    table = {"neuron": neurons + 1, "frame": frames, "time": times, "size": trains[neurons, frames]}
    pd.DataFrame(table).to_csv(path, index=False, float_format="%.6g", lineterminator="\n")


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
    centres = centres_of(regions)
    table = {
        "neuron": np.arange(len(regions)) + 1,
        "row": [f"{row:.2f}" for row in centres[:, 0]],
        "column": [f"{column:.2f}" for column in centres[:, 1]],
        "pixels": [len(region) for region in regions],
        "snr": quality.snr,
        "correlation": quality.correlation,
        "doubtful": quality.doubtful.astype(int),
        "score": quality.score,
        "rejected": quality.reasons(n_accepted),
    }
    pd.DataFrame(table).to_csv(path, index=False, float_format="%.4g", lineterminator="\n")


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
