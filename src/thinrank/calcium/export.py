"""Export of regions, traces and footprints to files that other programs can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thinrank.calcium.export_nwb import write_nwb
from thinrank.calcium.export_suite2p import write_suite2p
from thinrank.calcium.fluorescence import Quality
from thinrank.calcium.imaging import CalciumImaging, with_rejected
from thinrank.calcium.regions import centres_of
from thinrank.calcium.scores import as_regions
from thinrank.core.files import read_json, result_folder, write_summary
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
                       with the raw light, score; then the rejected candidates with the reason
    footprints.tif     one page per neuron, float32
    regions.nwb        with ``nwb=True``: a ``PlaneSegmentation`` with the footprints, quality and
                       reasons, the traces as ``Fluorescence/RoiResponseSeries`` beside ``raw``,
                       ``neuropil``, ``baseline``, ``deconvolved`` and ``spikes``, and
                       ``DfOverF/dff``, all in the processing module ``ophys``
    suite2p/plane0     with ``suite2p=True``: stat.npy, F.npy, Fneu.npy, spks.npy, ops.npy, and
                       iscell.npy, 0 for rejected candidates, which come last, with the
                       correlation in place of a probability. As in suite2p, stat and ops are
                       pickled
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
        For the NWB file: ``session_start_time``, a datetime with a time zone, without which the
        time of writing is used; ``subject``, the animal; ``device``, the microscope. What else
        NWB requires and a movie does not contain is "unknown".
    """
    if not hasattr(imaging, "fluorescence_"):
        raise ValueError("imaging has no fluorescence_: it was fitted by an earlier version")
    with result_folder(folder, overwrite) as place:
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
    values = {
        "traces": imaging.traces_,
        "fluorescence": light.raw,
        "neuropil": light.neuropil,
        "f0": light.baseline,
        "dff": light.dff,
        "deconvolved": light.deconvolved,
    }
    times = [f"{frame / rate:.6f}" for frame in range(imaging.traces_.shape[1])]
    columns = [f"neuron_{i + 1}" for i in range(len(imaging.traces_))]
    for name, each in values.items():
        table = pd.DataFrame(each.T, columns=columns)
        table.insert(0, "time", times)
        _write_table(folder / f"{name}.csv", table.reset_index(names="frame"), "%.6g")
    _write_table(folder / "spikes.csv", _spikes(imaging.spike_trains_, times), "%.6g")
    regions = found.region_coordinates_
    _write_table(folder / "quality.csv", _quality(regions, found.quality_, count), "%.4g")
    if len(imaging.traces_):  # TIFF needs at least one page
        import_optional("tifffile").imwrite(
            folder / "footprints.tif",
            np.asarray(imaging.footprints_, dtype=np.float32),
            photometric="minisblack",
            compression="zlib",
        )
    if suite2p:
        write_suite2p(folder, found, count)
    if nwb and len(regions):
        write_nwb(folder / "regions.nwb", found, count, **(metadata or {}))


def _write_table(path: Path, table: pd.DataFrame, digits: str) -> None:
    table.to_csv(path, index=False, float_format=digits, lineterminator="\n")


def _spikes(trains: np.ndarray, times: list[str]) -> pd.DataFrame:
    """One line per spike."""
    neurons, frames = np.nonzero(trains > 0)
    when = [times[frame] for frame in frames]
    sizes = trains[neurons, frames]
    return pd.DataFrame({"neuron": neurons + 1, "frame": frames, "time": when, "size": sizes})


def _quality(regions: list[np.ndarray], quality: Quality, count: int) -> pd.DataFrame:
    """One line per neuron, of which the first ``count`` were accepted."""
    centres = centres_of(regions)
    table = {
        "neuron": np.arange(len(regions)) + 1,
        "row": [f"{row:.2f}" for row in centres[:, 0]],
        "column": [f"{column:.2f}" for column in centres[:, 1]],
        "pixels": [len(region) for region in regions],
        "snr": quality.snr,
        "correlation": quality.correlation,
        "score": quality.score,
        "rejected": quality.reasons(count),
    }
    return pd.DataFrame(table)


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
