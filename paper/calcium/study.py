"""Calcium imaging: the specification."""

from __future__ import annotations

import time

import numpy as np

from paper.calcium.images import as_text, shades
from paper.calcium.labelled_movies import FRAME_RATE, LabelledMovie, available, load
from paper.studies import Job, Study, StudyRecord
from thinrank.calcium import CalciumImaging, make_movie, match_regions, pixel_auc, score_regions
from thinrank.calcium.regions import connected_regions
from thinrank.calcium.windows import mask_of, window
from thinrank.designs import RecursiveFilter
from thinrank.selection import estimate_rank

_SEED = 81_000
_REPLICATIONS, _QUICK_REPLICATIONS = 10, 2
_AMPLITUDES, _QUICK_AMPLITUDES = (3.0, 1.5, 1.0), (3.0,)
# As in the paper: rank 50, 100 frames, 3000 pixels; smaller in proportion for the small version.
_PAPER = {"rank": 50, "rows": 100, "columns": 3000}
_QUICK = {"rank": 10, "rows": 50, "columns": 400}
# Simulated movies: frames, height and width, neurons, pairs of close neurons, frames with spikes.
_KNOWN = {"frames": 500, "height": 96, "width": 96, "neurons": 12, "pairs": 4, "rows": 100}
_QUICK_KNOWN = {"frames": 250, "height": 48, "width": 48, "neurons": 4, "pairs": 1, "rows": 50}
_SHOWN = 5  # number of labelled regions in the paper's figure
_LEAST_PIECE = 10  # minimal number of pixels of a connected piece that counts as a region
_CLOSE = 0.8  # correlation with the true trace from which an estimated trace counts as close
BEFORE, AFTER = "before separation", "after separation"


def jobs(quick: bool) -> list[Job]:
    """Return one job for the labelled movie, and one per movie with known neurons."""
    sizes, known = (_QUICK, _QUICK_KNOWN) if quick else (_PAPER, _KNOWN)
    count = _QUICK_REPLICATIONS if quick else _REPLICATIONS
    amplitudes = _QUICK_AMPLITUDES if quick else _AMPLITUDES
    labelled = Job("calcium", {"part": "labelled", "movie": available(quick), **sizes}, _SEED)
    return [
        labelled,
        *(
            Job("calcium", {"part": "known", "amplitude": amplitude, **known}, _SEED + i)
            for amplitude in amplitudes
            for i in range(count)
        ),
    ]


def run(job: Job) -> list[StudyRecord]:
    """Analyse the labelled movie, or a simulated one with known neurons."""
    return _labelled(job) if job.cell["part"] == "labelled" else _known(job)


def _known(job: Job) -> list[StudyRecord]:
    """Fit a simulated movie, given only the number of frames with spikes."""
    cell = job.cell
    movie, truth = make_movie(
        cell["frames"],
        (cell["height"], cell["width"]),
        cell["neurons"],
        n_close_pairs=cell["pairs"],
        amplitude=cell["amplitude"],
        frame_rate=FRAME_RATE,
        random_state=job.seed,
    )
    began = time.perf_counter()
    imaging = CalciumImaging(frame_rate=FRAME_RATE, row_sparsity=cell["rows"]).fit(movie)
    seconds = time.perf_counter() - began
    pairs = match_regions(imaging.region_coordinates_, truth.regions)
    likeness = [_correlation(imaging.traces_[i], truth.traces[j]) for i, j in pairs]
    return [
        {
            "kind": "known",
            "stage": stage,
            **score_regions(regions, truth.regions).as_dict(),
            "pixel_auc": pixel_auc(imaging.pixel_energy_, truth.labels > 0),
            "traces": len(likeness),
            "traces_close": sum(value >= _CLOSE for value in likeness),
            "seconds": seconds,
        }
        for stage, regions in _stages(imaging).items()
    ]


def _labelled(job: Job) -> list[StudyRecord]:
    """Fit the labelled movie; the labels are used only after the fit."""
    cell = job.cell
    data = load(cell["movie"])
    began = time.perf_counter()
    imaging = CalciumImaging(
        frame_rate=FRAME_RATE,
        rank=cell["rank"],
        row_sparsity=cell["rows"],
        column_sparsity=cell["columns"],
    ).fit(data.movie)
    seconds = time.perf_counter() - began
    return [
        {**_sizes(imaging, data), "seconds": seconds},
        *_scores(imaging, data),
        _picture(imaging, data),
        *_regions(imaging, data),
    ]


def _sizes(imaging: CalciumImaging, data: LabelledMovie) -> StudyRecord:
    """Return sizes of the fit, its overlap with the strong regions, and estimated ranks."""
    shape = data.movie.shape[1:]
    kept = np.zeros(shape, dtype=bool)
    kept.flat[imaging.active_pixels_] = True
    strong = _union(data, data.strong, shape)
    above = np.asarray(data.movie, dtype=np.float64).reshape(len(data.movie), -1)
    above -= np.median(above, axis=0)
    design = RecursiveFilter(imaging.decay_, len(above))
    return {
        "kind": "sizes",
        "frames": len(data.movie),
        "height": shape[0],
        "width": shape[1],
        "regions": len(data.regions),
        "strong_from": data.bound,
        "strong_regions": len(data.strong),
        "strong_pixels": int(strong.sum()),
        "strong_pixels_kept": int((strong & kept).sum()),
        "pixel_auc": pixel_auc(imaging.pixel_energy_, _union(data, data.order, shape)),
        "active_frames": len(imaging.spike_frames_),
        "active_pixels": int(kept.sum()),
        "neurons": len(imaging.region_coordinates_),
        "rank_fitted": imaging.factors_.rank,
        "rank_rsc": estimate_rank(design, above),
        "rank_authors": estimate_rank(design, above, "authors"),
    }


def _scores(imaging: CalciumImaging, data: LabelledMovie) -> list[StudyRecord]:
    """Score the estimated regions against the strong regions and against all labelled regions."""
    chosen = {"strong": data.strong, "all": np.arange(len(data.regions))}
    return [
        {
            "kind": "scores",
            "stage": stage,
            "labels": labels,
            **score_regions(found, [data.regions[i] for i in index]).as_dict(),
        }
        for stage, found in _stages(imaging).items()
        for labels, index in chosen.items()
    ]


def _picture(imaging: CalciumImaging, data: LabelledMovie) -> StudyRecord:
    """Return the mean image and images of all regions; of overlapping ones the last is visible."""
    shape = data.movie.shape[1:]
    neuron_of_label = [0] * len(data.regions)  # 0: not found
    for i, j in match_regions(imaging.region_coordinates_, data.regions):
        neuron_of_label[j] = i + 1
    return {
        "kind": "picture",
        "image": as_text(shades(imaging.mean_image_)),
        "labelled": as_text(_label_image(data.regions, shape)),
        "estimated": as_text(_label_image(imaging.region_coordinates_, shape)),
        "neuron_of_label": neuron_of_label,
    }


def _regions(imaging: CalciumImaging, data: LabelledMovie) -> list[StudyRecord]:
    """Return the data of the paper's figure: labelled regions and those estimated there."""
    shape, footprints = data.movie.shape[1:], imaging.footprints_
    matches = {j: i for i, j in match_regions(imaging.region_coordinates_, data.regions)}
    records = []
    for place, j in enumerate(data.order[:_SHOWN], start=1):
        region, found = data.regions[j], matches.get(int(j))
        centre = region.mean(axis=0)
        trace = data.movie[:, region[:, 0], region[:, 1]].mean(axis=1, dtype=np.float64)
        record: StudyRecord = {
            "kind": "region",
            "place": place,
            "region": int(j) + 1,
            "significance": float(data.significance[j]),
            "found": found is not None,
            "image": as_text(shades(window(imaging.mean_image_, centre))),
            "labelled": as_text(window(mask_of(region, shape), centre).astype(np.uint8)),
            "trace_labelled": _curve(trace),
        }
        if found is not None:
            ours = imaging.region_coordinates_[found]
            scores = score_regions([ours], [region])
            record |= {
                "neuron": found + 1,
                "distance": float(np.linalg.norm(ours.mean(axis=0) - centre)),
                "inclusion": scores.inclusion,
                "exclusion": scores.exclusion,
                "correlation": _correlation(trace, imaging.traces_[found]),
                "footprint": as_text(shades(window(footprints[found], centre))),
                "estimated": as_text(window(mask_of(ours, shape), centre).astype(np.uint8)),
                "trace_estimated": _curve(imaging.traces_[found]),
            }
        records.append(record)
    return records


def _stages(imaging: CalciumImaging) -> dict[str, list[np.ndarray]]:
    """Return the connected pieces of the kept pixels, and the neurons separated from them."""
    pieces = connected_regions(imaging.active_pixels_, imaging.shape_[1:], _LEAST_PIECE)
    return {BEFORE: pieces, AFTER: imaging.region_coordinates_}


def _union(data: LabelledMovie, index: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    return np.any([mask_of(data.regions[i], shape) for i in index], axis=0)


def _label_image(regions: list[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """Return an image of region numbers, which restart at 1 after 255."""
    image = np.zeros(shape, dtype=np.uint8)
    for number, region in enumerate(regions):
        image[mask_of(region, shape)] = number % 255 + 1
    return image


def _curve(trace: np.ndarray) -> list[float]:
    """Return a trace scaled to [0, 1] and rounded to three digits."""
    spread = float(np.ptp(trace)) or 1.0
    return [round(float(value), 3) for value in (trace - trace.min()) / spread]


def _correlation(first: np.ndarray, second: np.ndarray) -> float:
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


_STUDY = Study(
    name="calcium",
    title="Calcium imaging",
    claim=(
        "With r = 50, 100 frames and 3000 pixels, the signals estimated at the five most "
        "significant labelled regions match these very well."
    ),
    jobs=jobs,
    run=run,
)
STUDIES = (_STUDY,)
