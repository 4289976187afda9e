"""Export of neurons as suite2p writes them, for programs that read its results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import skew


def write_suite2p(folder: Path, imaging: Any, count: int) -> None:
    """Write ``suite2p/plane0`` with the files that readers of suite2p expect.

    ``count``: number of accepted neurons; those after them were rejected.
    """
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
        stat[i] = _statistics(region, footprints[i], covered) | {
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
    np.save(place / "ops.npy", np.array(_settings(imaging, shape, typical), dtype=object))


def _statistics(region: np.ndarray, footprint: np.ndarray, covered: np.ndarray) -> dict[str, Any]:
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


def _settings(imaging: Any, shape: tuple[int, int], typical: float) -> dict[str, Any]:
    """The entries of ``ops`` that readers use."""
    height, width = shape
    share = np.asarray(imaging.fluorescence_.coefficient)
    frame_rate = float(imaging.frame_rate)
    diameter = max(1, round(2 * float(np.sqrt(typical / np.pi))))
    mean = np.asarray(imaging.mean_image_, dtype=np.float32)
    dark, bright = np.nanpercentile(mean, [1, 99])
    return {
        "Ly": height,
        "Lx": width,
        "yrange": [0, height],
        "xrange": [0, width],
        "fs": frame_rate,
        "nframes": int(imaging.traces_.shape[1]),
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
        "diameter": diameter,
        "aspect": 1.0,
        "meanImg": mean,
        "meanImgE": np.clip((mean - dark) / max(bright - dark, 1e-30), 0, 1).astype(np.float32),
        "Vcorr": np.asarray(imaging.pixel_energy_, dtype=np.float32),
        "badframes": np.zeros(imaging.traces_.shape[1], dtype=bool),
        # for suite2p's conversion to NWB
        "mesoscan": False,
        "data_path": [""],
        "save_path": "suite2p/plane0",  # the folder around it may be moved
        "suite2p_version": "written by thinrank",
    }
