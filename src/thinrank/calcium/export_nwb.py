"""Export of neurons to an NWB file, as a plane segmentation."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from thinrank.calcium.fluorescence import Fluorescence, Quality
from thinrank.core.imports import import_optional

_UNKNOWN = "unknown"


def write_nwb(
    path: Path | str,
    footprints: Any,
    traces: Any,
    frame_rate: float,
    *,
    session_start_time: datetime | None = None,
    spike_trains: Any = None,
    fluorescence: Fluorescence | None = None,
    quality: Quality | None = None,
    n_accepted: int | None = None,
    subject: str | None = None,
    device: str = "Microscope",
) -> None:
    """Write an NWB file with a ``PlaneSegmentation`` and the traces of its regions.

    All are in the processing module ``ophys``: the footprints as image masks of
    ``ImageSegmentation/PlaneSegmentation``, in the orientation of a frame, with the columns
    ``snr``, ``correlation`` and ``doubtful``; the traces as ``Fluorescence/RoiResponseSeries``,
    beside ``Fluorescence/raw``, ``neuropil``, ``baseline``, ``deconvolved`` and ``spikes``; and
    ΔF/F as ``DfOverF/dff``. Required metadata that a movie does not contain, such as the indicator
    and the brain area, are written as "unknown".

    Parameters
    ----------
    path : path
    footprints : array of shape (n_neurons, height, width)
    traces : array of shape (n_neurons, n_frames)
    frame_rate : float
        Frames per second.
    session_start_time : datetime, default=None
        Start of the recording, with a time zone. NWB requires it. If None, the time of writing is
        used, and the session description says so.
    spike_trains : array of shape (n_neurons, n_frames), default=None
        Size of the spike in each frame.
    fluorescence : Fluorescence, default=None
        The light of each neuron.
    quality : Quality, default=None
        The quality of each neuron.
    n_accepted : int, default=None
        Number of neurons; what comes after them was rejected, for the reason in the column
        ``rejected``. None if all were accepted.
    subject : str, default=None
        Identifier of the animal.
    device : str, default="Microscope"
        Name of the microscope.

    Raises
    ------
    ImportError
        If pynwb is not installed.
    ValueError
        If there is no neuron: NWB requires at least one region.
    """
    pynwb = import_optional("pynwb")
    masks = np.asarray(footprints, np.float32)
    if not len(masks):
        raise ValueError("an NWB file needs at least one neuron, and none was found")
    description = "Neurons of a calcium imaging movie, found by thinrank."
    if session_start_time is None:
        description += " The start of the session is unknown; the time of writing is given instead."
    file = pynwb.NWBFile(
        session_description=description,
        identifier=str(uuid4()),
        session_start_time=session_start_time or datetime.now(UTC),
        subject=None if subject is None else pynwb.file.Subject(subject_id=subject),
    )
    channel = pynwb.ophys.OpticalChannel(
        name="OpticalChannel", description=_UNKNOWN, emission_lambda=float("nan")
    )
    plane = file.create_imaging_plane(
        name="ImagingPlane",
        optical_channel=channel,
        imaging_rate=float(frame_rate),
        description=_UNKNOWN,
        device=file.create_device(name=device),
        excitation_lambda=float("nan"),
        indicator=_UNKNOWN,
        location=_UNKNOWN,
    )
    module = file.create_processing_module("ophys", "Neurons of a calcium imaging movie")
    segmentation = pynwb.ophys.ImageSegmentation()
    module.add(segmentation)
    regions = segmentation.create_plane_segmentation(
        name="PlaneSegmentation",
        description="Footprints by two-way sparse low-rank regression",
        imaging_plane=plane,
    )
    for mask in masks:
        regions.add_roi(image_mask=mask)
    if quality is not None:
        for name, about, data in (
            ("snr", "Signal-to-noise ratio", quality.snr.tolist()),
            ("correlation", "Correlation of trace and raw light", quality.correlation.tolist()),
            ("doubtful", "Whether snr or correlation is low", quality.doubtful.tolist()),
            ("rejected", "Why a candidate is no neuron", quality.reasons(n_accepted)),
        ):
            regions.add_column(name, about, data=data)
    for container, series in _responses(traces, spike_trains, fluorescence).items():
        place = getattr(pynwb.ophys, container)()
        module.add(place)
        for name, (values, about) in series.items():
            place.create_roi_response_series(
                name=name,
                data=np.ascontiguousarray(np.asarray(values, np.float32).T),
                rois=regions.create_roi_table_region("all neurons", region=list(range(len(masks)))),
                unit="ratio" if name == "dff" else "a.u.",
                rate=float(frame_rate),
                starting_time=0.0,
                description=about,
            )
    with pynwb.NWBHDF5IO(str(path), "w") as io:
        io.write(file)


def _responses(
    traces: Any, spike_trains: Any, light: Fluorescence | None
) -> dict[str, dict[str, tuple[Any, str]]]:
    """Values and descriptions of all series, by container and name."""
    fluorescence = {"RoiResponseSeries": (traces, "Denoised fluorescence above the baseline")}
    if spike_trains is not None:
        fluorescence["spikes"] = (spike_trains, "Size of the spike in each frame, or 0")
    if light is None:
        return {"Fluorescence": fluorescence}
    share = np.unique(np.round(light.coefficient, 6))
    rest = f"raw - {f'{share[0]:g}' if len(share) == 1 else 'coefficient'} * neuropil"
    fluorescence |= {
        "raw": (light.raw, "Mean over the region, weighted by the footprint"),
        "neuropil": (light.neuropil, "Mean over the pixels around the region"),
        "baseline": (light.baseline, f"F0, the resting level of {rest}"),
        "deconvolved": (light.deconvolved, f"Non-negative deconvolution of {rest} - baseline"),
    }
    ratio = {"dff": (light.dff, f"({rest} - baseline) / baseline")}
    return {"Fluorescence": fluorescence, "DfOverF": ratio}
