"""Export of regions, traces and footprints to files that other programs can read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
from scipy.stats import skew

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
    found, count = with_rejected(imaging)  # those after the first ``count`` were rejected
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
    _write_table(folder / "spikes.csv", _spike_table(imaging.spike_trains_, times), "%.6g")
    regions = found.region_coordinates_
    _write_table(folder / "quality.csv", _quality_table(regions, found.quality_, count), "%.4g")
    if len(imaging.traces_):  # TIFF needs at least one page
        import_optional("tifffile").imwrite(
            folder / "footprints.tif",
            np.asarray(imaging.footprints_, dtype=np.float32),
            photometric="minisblack",
            compression="zlib",
        )
    if suite2p:
        _write_suite2p(folder, found, count)
    if nwb and len(regions):
        _write_nwb(folder / "regions.nwb", found, count, **(metadata or {}))


def _write_table(path: Path, table: pd.DataFrame, digits: str) -> None:
    table.to_csv(path, index=False, float_format=digits, lineterminator="\n")


def _spike_table(trains: np.ndarray, times: list[str]) -> pd.DataFrame:
    """One line per spike."""
    neurons, frames = np.nonzero(trains > 0)
    when = [times[frame] for frame in frames]
    sizes = trains[neurons, frames]
    return pd.DataFrame({"neuron": neurons + 1, "frame": frames, "time": when, "size": sizes})


def _quality_table(regions: list[np.ndarray], quality: Quality, count: int) -> pd.DataFrame:
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


def _write_suite2p(folder: Path, imaging: Any, count: int) -> None:
    """Write ``suite2p/plane0`` with the files that readers of suite2p expect."""
    place = folder / "suite2p" / "plane0"
    place.mkdir(parents=True)
    light, quality = imaging.fluorescence_, imaging.quality_
    corrected = light.corrected.astype(np.float64)
    footprints, shape = imaging.footprints_, imaging.mean_image_.shape
    covered = np.zeros(shape, dtype=int)
    for region in imaging.region_coordinates_:
        covered[tuple(region.T)] += 1
    stat = np.empty(len(footprints), dtype=object)
    for i, region in enumerate(imaging.region_coordinates_):
        stat[i] = _suite2p_stat(region, footprints[i], covered) | {
            "skew": float(np.nan_to_num(skew(corrected[i]))),
            "std": float(corrected[i].std()),
            "snr": float(quality.snr[i]),
        }
    typical = float(np.median([each["npix"] for each in stat])) if len(stat) else 1.0
    for each in stat:
        each["npix_norm"] = each["npix_norm_no_crop"] = each["npix"] / typical
    cells = np.column_stack([np.arange(len(stat)) < count, np.clip(quality.correlation, 0, 1)])
    np.save(place / "stat.npy", stat)
    np.save(place / "F.npy", light.raw)
    np.save(place / "Fneu.npy", light.neuropil)
    np.save(place / "spks.npy", light.deconvolved)
    np.save(place / "iscell.npy", cells.astype(np.float32))
    np.save(place / "ops.npy", np.array(_suite2p_ops(imaging, shape, typical), dtype=object))


def _suite2p_stat(region: np.ndarray, footprint: np.ndarray, covered: np.ndarray) -> dict[str, Any]:
    """Pixels and shape of a neuron."""
    rows, columns = region[:, 0].astype(np.int32), region[:, 1].astype(np.int32)
    weights = np.maximum(footprint[rows, columns], np.finfo(np.float32).tiny).astype(np.float32)
    centre = np.median(rows), np.median(columns)
    middle = int(np.argmin((rows - centre[0]) ** 2 + (columns - centre[1]) ** 2))
    # the variance of a coordinate within one pixel is 1/12, so that single pixels have a radius
    spread = np.cov(region.T, bias=True) + np.eye(2) / 12
    axes = np.sqrt(np.linalg.eigvalsh(spread))
    distances = np.hypot(rows - rows[middle], columns - columns[middle])
    disc = 2 / 3 * np.sqrt(len(region) / np.pi)  # mean distance to the center of a disc
    return {
        "ypix": rows,
        "xpix": columns,
        "lam": weights,
        "med": [int(rows[middle]), int(columns[middle])],
        "npix": len(region),
        "npix_soma": len(region),
        "soma_crop": np.ones(len(region), dtype=bool),
        "overlap": covered[rows, columns] > 1,
        "radius": float(2 * axes[1]),
        "aspect_ratio": float(2 * axes[1] / (axes[0] + axes[1])),
        "mrs": float(distances.mean()),
        "mrs0": float(disc),
        "compact": float(max(1.0, distances.mean() / disc)),
        "footprint": 1.0,
    }


def _suite2p_ops(imaging: Any, shape: tuple[int, int], typical: float) -> dict[str, Any]:
    """The entries of ``ops`` that readers use."""
    height, width = shape
    share = np.asarray(imaging.fluorescence_.coefficient)
    frame_rate, frames = float(imaging.frame_rate), int(imaging.traces_.shape[1])
    mean = np.asarray(imaging.mean_image_, dtype=np.float32)
    dark, bright = np.nanpercentile(mean, [1, 99])
    return {
        "Ly": height,
        "Lx": width,
        "yrange": [0, height],
        "xrange": [0, width],
        "fs": frame_rate,
        "nframes": frames,
        "nplanes": 1,
        "nchannels": 1,
        "functional_chan": 1,
        "tau": float(-1 / (frame_rate * np.log(imaging.decay_))) if imaging.decay_ > 0 else 0.0,
        "neucoeff": float(np.median(share)) if share.size else 0.7,
        # the defaults of suite2p, for programs that deconvolve again
        "baseline": "maximin",
        "win_baseline": 60.0,
        "sig_baseline": 10.0,
        "prctile_baseline": 8.0,
        "diameter": max(1, round(2 * float(np.sqrt(typical / np.pi)))),
        "aspect": 1.0,
        "meanImg": mean,
        "meanImgE": np.clip((mean - dark) / max(bright - dark, 1e-30), 0, 1).astype(np.float32),
        "Vcorr": np.asarray(imaging.pixel_energy_, dtype=np.float32),
        "badframes": np.zeros(frames, dtype=bool),
        # for suite2p's conversion to NWB
        "mesoscan": False,
        "data_path": [""],
        "save_path": "suite2p/plane0",  # the folder around it may be moved
        "suite2p_version": "written by thinrank",
    }


def _write_nwb(
    path: Path,
    imaging: Any,
    count: int,
    *,
    session_start_time: datetime | None = None,
    subject: str | None = None,
    device: str = "Microscope",
) -> None:
    """Write an NWB file with a ``PlaneSegmentation`` and the traces of its regions."""
    pynwb = import_optional("pynwb")
    description = "Neurons of a calcium imaging movie, found by thinrank."
    if session_start_time is None:
        description += " The start of the session is unknown; the time of writing is given instead."
    file = pynwb.NWBFile(
        session_description=description,
        identifier=str(uuid4()),
        session_start_time=session_start_time or datetime.now(UTC),
        subject=None if subject is None else pynwb.file.Subject(subject_id=subject),
    )
    rate, quality = float(imaging.frame_rate), imaging.quality_
    channel = pynwb.ophys.OpticalChannel(
        name="OpticalChannel", description="unknown", emission_lambda=float("nan")
    )
    plane = file.create_imaging_plane(
        name="ImagingPlane",
        optical_channel=channel,
        imaging_rate=rate,
        description="unknown",
        device=file.create_device(name=device),
        excitation_lambda=float("nan"),
        indicator="unknown",
        location="unknown",
    )
    module = file.create_processing_module("ophys", "Neurons of a calcium imaging movie")
    segmentation = pynwb.ophys.ImageSegmentation()
    module.add(segmentation)
    regions = segmentation.create_plane_segmentation(
        name="PlaneSegmentation",
        description="Footprints by two-way sparse low-rank regression",
        imaging_plane=plane,
    )
    for mask in np.asarray(imaging.footprints_, np.float32):
        regions.add_roi(image_mask=mask)
    for name, about, data in (
        ("snr", "Signal-to-noise ratio", quality.snr.tolist()),
        ("correlation", "Correlation of trace and raw light", quality.correlation.tolist()),
        ("rejected", "Why a candidate is no neuron", quality.reasons(count)),
    ):
        regions.add_column(name, about, data=data)
    everything = list(range(len(imaging.traces_)))
    for container, series in _nwb_series(imaging).items():
        place = getattr(pynwb.ophys, container)()
        module.add(place)
        for name, (values, about) in series.items():
            place.create_roi_response_series(
                name=name,
                data=np.ascontiguousarray(np.asarray(values, np.float32).T),
                rois=regions.create_roi_table_region("all neurons", region=everything),
                unit="ratio" if name == "dff" else "a.u.",
                rate=rate,
                starting_time=0.0,
                description=about,
            )
    with pynwb.NWBHDF5IO(str(path), "w") as io:
        io.write(file)


def _nwb_series(imaging: Any) -> dict[str, dict[str, tuple[Any, str]]]:
    """Values and descriptions of all series, by container and name."""
    light = imaging.fluorescence_
    share = np.unique(np.round(light.coefficient, 6))
    rest = f"raw - {f'{share[0]:g}' if len(share) == 1 else 'coefficient'} * neuropil"
    fluorescence = {
        "RoiResponseSeries": (imaging.traces_, "Denoised fluorescence above the baseline"),
        "spikes": (imaging.spike_trains_, "Size of the spike in each frame, or 0"),
        "raw": (light.raw, "Mean over the region, weighted by the footprint"),
        "neuropil": (light.neuropil, "Mean over the pixels around the region"),
        "baseline": (light.baseline, f"F0, the resting level of {rest}"),
        "deconvolved": (light.deconvolved, f"Non-negative deconvolution of {rest} - baseline"),
    }
    ratio = {"dff": (light.dff, f"({rest} - baseline) / baseline")}
    return {"Fluorescence": fluorescence, "DfOverF": ratio}


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
        As for :func:`score_regions`.
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
