"""Export of neurons to an NWB file, as a plane segmentation."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from thinrank.core.extras import import_optional

__all__ = ["write_nwb"]

_UNKNOWN = "unknown"


def write_nwb(
    path: Path | str,
    footprints: Any,
    traces: Any,
    frame_rate: float,
    *,
    session_start_time: datetime | None = None,
) -> None:
    """Write an NWB file with a ``PlaneSegmentation`` and the traces of its regions.

    Both are in the processing module ``ophys``: the footprints as image masks of
    ``ImageSegmentation/PlaneSegmentation``, in the orientation of a frame, and the traces as
    ``Fluorescence/RoiResponseSeries``. Required metadata that a movie does not contain, such as
    the indicator and the brain area, are written as "unknown".

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

    Raises
    ------
    ImportError
        If pynwb is not installed.
    ValueError
        If there is no neuron: NWB requires at least one region.
    """
    pynwb = import_optional("pynwb")
    masks, responses = np.asarray(footprints, np.float32), np.asarray(traces, np.float32)
    if not len(masks):
        raise ValueError("an NWB file needs at least one neuron, and none was found")
    description = "Neurons of a calcium imaging movie, found by thinrank."
    if session_start_time is None:
        description += " The start of the session is unknown; the time of writing is given instead."
    file = pynwb.NWBFile(
        session_description=description,
        identifier=str(uuid4()),
        session_start_time=session_start_time or datetime.now(UTC),
    )
    module = file.create_processing_module("ophys", "Neurons of a calcium imaging movie")
    segmentation, fluorescence = pynwb.ophys.ImageSegmentation(), pynwb.ophys.Fluorescence()
    module.add([segmentation, fluorescence])
    regions = segmentation.create_plane_segmentation(
        name="PlaneSegmentation",
        description="Footprints by two-way sparse low-rank regression",
        imaging_plane=_imaging_plane(pynwb, file, frame_rate),
    )
    for mask in masks:
        regions.add_roi(image_mask=mask)
    fluorescence.create_roi_response_series(
        name="RoiResponseSeries",
        data=np.ascontiguousarray(responses.T),
        rois=regions.create_roi_table_region("all neurons", region=list(range(len(masks)))),
        unit="a.u.",
        rate=float(frame_rate),
        starting_time=0.0,
    )
    with pynwb.NWBHDF5IO(str(path), "w") as io:
        io.write(file)


def _imaging_plane(pynwb: Any, file: Any, frame_rate: float) -> Any:
    channel = pynwb.ophys.OpticalChannel(
        name="OpticalChannel", description=_UNKNOWN, emission_lambda=float("nan")
    )
    return file.create_imaging_plane(
        name="ImagingPlane",
        optical_channel=channel,
        imaging_rate=float(frame_rate),
        description=_UNKNOWN,
        device=file.create_device(name="Microscope"),
        excitation_lambda=float("nan"),
        indicator=_UNKNOWN,
        location=_UNKNOWN,
    )
