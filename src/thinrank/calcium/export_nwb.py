"""Export of neurons to an NWB file, as a plane segmentation."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from thinrank.core.imports import import_optional

_UNKNOWN = "unknown"


def write_nwb(
    path: Path,
    imaging: Any,
    count: int,
    *,
    session_start_time: datetime | None = None,
    subject: str | None = None,
    device: str = "Microscope",
) -> None:
    """Write an NWB file with a ``PlaneSegmentation`` and the traces of its regions.

    ``count``: number of accepted neurons; those after them were rejected.
    """
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
        name="OpticalChannel", description=_UNKNOWN, emission_lambda=float("nan")
    )
    plane = file.create_imaging_plane(
        name="ImagingPlane",
        optical_channel=channel,
        imaging_rate=rate,
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
    for mask in np.asarray(imaging.footprints_, np.float32):
        regions.add_roi(image_mask=mask)
    for name, about, data in (
        ("snr", "Signal-to-noise ratio", quality.snr.tolist()),
        ("correlation", "Correlation of trace and raw light", quality.correlation.tolist()),
        ("rejected", "Why a candidate is no neuron", quality.reasons(count)),
    ):
        regions.add_column(name, about, data=data)
    everything = list(range(len(imaging.traces_)))
    for container, series in _responses(imaging).items():
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


def _responses(imaging: Any) -> dict[str, dict[str, tuple[Any, str]]]:
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
