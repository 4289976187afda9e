"""Calcium imaging: the paper's setting on a labeled movie, and movies with known neurons."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.ndimage import label
from sklearn.preprocessing import minmax_scale

from paper.statistics import number, pm
from paper.study import Finding, Job, Record, Study, replicated
from thinrank.calcium import CalciumImaging, Scores, make_movie, match_regions, score_regions
from thinrank.calcium.regions import mask_of, window
from thinrank.designs import RecursiveFilter
from thinrank.report.calcium_movie import (
    ESTIMATED,
    EXPLANATION,
    LABELLED,
    RegionPanel,
    contours,
    label_names,
    neuron_names,
    outline,
    score_table,
    show,
)
from thinrank.report.document import (
    WIDTH,
    Block,
    Cell,
    Picture,
    Section,
    Table,
    Text,
    new_figure,
)
from thinrank.selection import estimate_rank

_SEED = 81_000
_AMPLITUDES, _QUICK_AMPLITUDES = (3.0, 1.5, 1.0), (3.0,)
# As in the paper: rank 50, 100 frames, 3000 pixels; smaller in proportion for the small version.
_PAPER = {"rank": 50, "rows": 100, "columns": 3000}
_QUICK = {"rank": 10, "rows": 50, "columns": 400}
# Simulated movies: frames, height and width, neurons, pairs of close neurons, frames with spikes.
_KNOWN = {"frames": 500, "height": 96, "width": 96, "neurons": 12, "pairs": 4, "rows": 100}
_QUICK_KNOWN = {"frames": 250, "height": 48, "width": 48, "neurons": 4, "pairs": 1, "rows": 50}
_SHOWN = 5  # number of labeled regions in the paper's figure
_LEAST_PIECE = 10  # minimal number of pixels of a connected piece that counts as a region
_CLOSE = 0.8  # correlation with the true trace from which an estimated trace counts as close
_STRONG = 8.0  # peak signal-to-noise ratio from which a labeled region counts as strong
_FRAME_RATE = 7.0  # frames per second of the public movies, and of the simulated ones
BEFORE, AFTER = "before separation", "after separation"

# Labeled movies: that of the study, and a part of it for the small version.
_FILES = {
    "NeuroFinder 00.00, crop": "calcium/neurofinder0000_crop_559x135x131.npz",
    "NeuroFinder 00.00, small crop": "calcium/neurofinder0000_tiny_300x48x48.npz",
}


def _file(movie: str) -> Path:
    return Path(os.environ.get("THINRANK_DATA") or "no such folder") / _FILES[movie]


def jobs(quick: bool) -> list[Job]:
    """Return one job for the labeled movie, if it is there, and one per simulated movie."""
    movie = list(_FILES)[quick]
    cell = {"part": "labelled", "movie": movie, **(_QUICK if quick else _PAPER)}
    known = _known_jobs(quick)
    return [Job(cell, _SEED), *known] if _file(movie).is_file() else known


@replicated(_SEED, full=10, small=2)
def _known_jobs(quick: bool) -> list[Record]:
    sizes = _QUICK_KNOWN if quick else _KNOWN
    amplitudes = _QUICK_AMPLITUDES if quick else _AMPLITUDES
    return [{"part": "known", "amplitude": amplitude, **sizes} for amplitude in amplitudes]


def run(job: Job) -> list[Record]:
    """Analyze the labeled movie, or a simulated one with known neurons."""
    return _labelled(job) if job.cell["part"] == "labelled" else _known(job)


def _known(job: Job) -> list[Record]:
    """Fit a simulated movie, given only the number of frames with spikes."""
    cell = job.cell
    movie, truth = make_movie(
        cell["frames"],
        (cell["height"], cell["width"]),
        cell["neurons"],
        n_close_pairs=cell["pairs"],
        amplitude=cell["amplitude"],
        frame_rate=_FRAME_RATE,
        random_state=job.seed,
    )
    imaging, seconds = _fitted(movie, row_sparsity=cell["rows"])
    pairs = match_regions(imaging.region_coordinates_, truth.regions)
    likeness = [np.corrcoef(imaging.traces_[i], truth.traces[j])[0, 1] for i, j in pairs]
    return [
        {
            "kind": "known",
            "stage": stage,
            **score_regions(regions, truth.regions, energy=imaging.pixel_energy_).as_dict(),
            "traces": len(likeness),
            "traces_close": sum(value >= _CLOSE for value in likeness),
            "seconds": seconds,
        }
        for stage, regions in _stages(imaging).items()
    ]


def _labelled(job: Job) -> list[Record]:
    """Fit the labeled movie; the labels are used only after the fit."""
    cell = job.cell
    with np.load(_file(cell["movie"])) as content:
        movie, significance = content["movie"], content["peak_snr"]
        labels = [np.argwhere(mask) for mask in content["masks"]]
    sizes = {"rank": cell["rank"], "row_sparsity": cell["rows"], "column_sparsity": cell["columns"]}
    imaging, seconds = _fitted(movie, **sizes)
    strong = np.flatnonzero(significance >= _STRONG)
    scores = [
        {
            "kind": "scores",
            "stage": stage,
            "labels": kind,
            **score_regions(found, [labels[i] for i in index]).as_dict(),
        }
        for kind, index in {"strong": strong, "all": np.arange(len(labels))}.items()
        for stage, found in _stages(imaging).items()
    ]
    matches = {j: i for i, j in match_regions(imaging.region_coordinates_, labels)}
    picture = {
        "kind": "picture",
        "image": imaging.mean_image_,
        "regions": labels,
        "regions_estimated": imaging.region_coordinates_,
        "neuron_of_label": [matches.get(j, -1) + 1 for j in range(len(labels))],
    }
    order = np.argsort(-significance, kind="stable")[:_SHOWN].tolist()
    regions = [
        {
            "kind": "region",
            "place": place,
            "region": j + 1,
            "significance": significance[j],
            **_region(imaging, movie, labels[j], matches.get(j)),
        }
        for place, j in enumerate(order, start=1)
    ]
    about = {"kind": "sizes", **_sizes(imaging, movie, labels, strong), "seconds": seconds}
    return [about, *scores, picture, *regions]


def _fitted(movie: np.ndarray, **sizes: Any) -> tuple[CalciumImaging, float]:
    """The fit of a movie, and how many seconds it took."""
    began = time.perf_counter()
    imaging = CalciumImaging(frame_rate=_FRAME_RATE, **sizes).fit(movie)
    return imaging, time.perf_counter() - began


def _sizes(
    imaging: CalciumImaging, movie: np.ndarray, labels: list[np.ndarray], strong: np.ndarray
) -> Record:
    """Return sizes of the fit, its overlap with the strong regions, and estimated ranks."""
    shape = movie.shape[1:]
    kept = np.zeros(shape, dtype=bool)
    kept.flat[imaging.active_pixels_] = True
    bright = np.any([mask_of(labels[i], shape) for i in strong], axis=0)
    above = np.asarray(movie, dtype=np.float64).reshape(len(movie), -1)
    above -= np.median(above, axis=0)
    design = RecursiveFilter(imaging.decay_, len(above))
    return {
        "frames": len(movie),
        "height": shape[0],
        "width": shape[1],
        "strong_regions": len(strong),
        "strong_pixels": bright.sum(),
        "strong_pixels_kept": (bright & kept).sum(),
        "pixel_auc": score_regions([], labels, energy=imaging.pixel_energy_).pixel_auc,
        "active_frames": len(imaging.spike_frames_),
        "active_pixels": kept.sum(),
        "neurons": len(imaging.region_coordinates_),
        "rank_fitted": imaging.factors_.rank,
        "rank_rsc": estimate_rank(design, above),
        "rank_authors": estimate_rank(design, above, "authors"),
    }


def _region(
    imaging: CalciumImaging, movie: np.ndarray, label: np.ndarray, found: int | None
) -> Record:
    """Return the data of the paper's figure: a labeled region and the one estimated there."""
    shape, center = movie.shape[1:], label.mean(axis=0)
    trace = movie[:, label[:, 0], label[:, 1]].mean(axis=1, dtype=np.float64)
    record: Record = {
        "found": found is not None,
        "image": window(imaging.mean_image_, center),
        "labelled": window(mask_of(label, shape), center),
        "trace_labelled": minmax_scale(trace),
    }
    if found is None:
        return record
    ours = imaging.region_coordinates_[found]
    scores = score_regions([ours], [label])
    return record | {
        "distance": np.linalg.norm(ours.mean(axis=0) - center),
        "inclusion": scores.inclusion,
        "exclusion": scores.exclusion,
        "correlation": np.corrcoef(trace, imaging.traces_[found])[0, 1],
        "footprint": window(imaging.footprints_[found], center),
        "estimated": window(mask_of(ours, shape), center),
        "trace_estimated": minmax_scale(imaging.traces_[found]),
    }


def _stages(imaging: CalciumImaging) -> dict[str, list[np.ndarray]]:
    """Return the connected pieces of the kept pixels, and the neurons separated from them."""
    return {BEFORE: active_pieces(imaging, _LEAST_PIECE), AFTER: imaging.region_coordinates_}


def active_pieces(imaging: CalciumImaging, least: int) -> list[np.ndarray]:
    """Connected pieces of the active pixels; of shape (n_pixels, 2) each, at least ``least``."""
    mask = np.zeros(imaging.shape_[1:], dtype=bool)
    mask.flat[imaging.active_pixels_] = True
    pieces, count = label(mask, structure=np.ones((3, 3)))
    found = [np.argwhere(pieces == piece) for piece in range(1, count + 1)]
    return [piece for piece in found if len(piece) >= least]


def page(records: pd.DataFrame) -> list[Block]:
    kinds = dict(list(records.groupby("kind")))
    labelled = _labelled_blocks(kinds) if "sizes" in kinds else []
    return [*labelled, *_known_blocks(kinds["known"])]


def _labelled_blocks(kinds: dict[str, pd.DataFrame]) -> list[Block]:
    sizes, picture = kinds["sizes"].iloc[0], kinds["picture"].iloc[0]
    true, found = (
        [np.array(region) for region in picture[name]] for name in ("regions", "regions_estimated")
    )
    matches = [(neuron - 1, j) for j, neuron in enumerate(picture["neuron_of_label"]) if neuron]
    labels = label_names(matches, len(true))
    panels = [
        RegionPanel("labeled", true, labels, LABELLED),
        RegionPanel("estimated", found, neuron_names(len(found)), ESTIMATED),
    ]
    regions = kinds["region"].sort_values("place")
    shown = [(labels[int(region["region"]) - 1], region) for _, region in regions.iterrows()]
    header = ("neuron", "number in the file of labels", "peak SNR", "result", "distance")
    return [
        Text(_setting(sizes)),
        Section("The most significant labeled regions, and the estimated ones"),
        Picture(
            "regions",
            _side_by_side(shown),
            "The paper's last figure. Top: labeled regions on the mean of the movie. Bottom: the "
            "footprints estimated there, with their outlines; the labeled outlines are dashed. "
            + EXPLANATION,
        ),
        Table(
            (*header, "inclusion", "exclusion", "correlation of traces"),
            [_region_row(name, region) for name, region in shown],
        ),
        Picture(
            "traces",
            _paired_traces(shown),
            "Mean of the movie over the labeled region (gray) and trace of the neuron found there "
            "(dark), each scaled from its minimum to its maximum.",
        ),
        Section("All regions"),
        Picture(
            "contours",
            contours(np.array(picture["image"], dtype=float), panels),
            "Mean of the movie with all labeled regions, and with all estimated ones. "
            + EXPLANATION,
        ),
        _score_table(kinds["scores"]),
        Text(
            "NeuroFinder's scores; regions match if their centers are within 5 pixels. Before "
            f"separation, a region is a connected piece of at least {_LEAST_PIECE} kept pixels. "
            "Precision against the significant regions alone counts all other neurons as wrong."
        ),
        Section("Sizes"),
        _size_table(sizes),
    ]


def _setting(sizes: pd.Series) -> str:
    names = ["frames", "height", "width", "rank", "rows", "columns"]
    frames, height, width, rank, rows, columns = sizes[names].astype(int)
    return (
        "The paper fits Y = G⁻¹SA + E, where fluorescence is a filter of the spikes S of neurons "
        "with footprints A, to a movie of 559 frames and 135 × 131 pixels with r = 50, s₁ = 100 "
        "frames and s₂ = 3000 pixels. That movie is not available. The movie here is a public one "
        f"with labels ({sizes['movie']}): {frames} frames, {height} × {width} pixels, r = {rank}, "
        f"s₁ = {rows}, s₂ = {columns}. The labels were not used in the fit, but the defaults of "
        "the preprocessing and of the separation were chosen with scores on this movie in view, so "
        "scores on other movies may be lower."
    )


def _title(name: str, region: pd.Series) -> str:
    return f"{'neuron' if region['found'] else 'region'} {name}"


def _side_by_side(shown: list[tuple[str, pd.Series]]) -> Any:
    """Draw labeled regions in the upper row, and the estimated ones in the lower row."""
    columns = max(len(shown), 5)
    figure = new_figure(2 * WIDTH / columns + 0.35)
    axes = figure.subplots(2, columns, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for (upper, lower), (name, region) in zip(axes.T, shown, strict=False):
        labelled = np.argwhere(np.array(region["labelled"]))
        show(upper, np.array(region["image"], dtype=float), "gray")
        outline(upper, labelled, LABELLED)
        upper.set_title(_title(name, region), fontsize=9)
        if region["found"]:
            show(lower, np.array(region["footprint"], dtype=float), "magma")
            outline(lower, np.argwhere(np.array(region["estimated"])), ESTIMATED)
        else:
            show(lower, np.zeros(np.shape(region["image"])), "magma")
            lower.set_title("not found", fontsize=9)
        outline(lower, labelled, LABELLED, dashed=True)
    return figure


def _region_row(name: str, region: pd.Series) -> tuple[Cell, ...]:
    scores = ("distance", "inclusion", "exclusion", "correlation")
    return (
        name,
        f"{region['region']:.0f}",
        number(region["significance"], 1),
        "✓ found" if region["found"] else "✗ not found",
        *(number(region.get(field), 2) for field in scores),
    )


def _score_table(records: pd.DataFrame) -> Table:
    titles = {"strong": f"peak SNR from {_STRONG:g}", "all": "all labeled"}
    counts = dict.fromkeys(("n_matched", "n_estimated", "n_labelled"), int)
    names = ["recall", "precision", "combined", "inclusion", "exclusion", *counts]
    rows = {
        f"{titles[record['labels']]}, {record['stage']}": Scores(**record[names])
        for _, record in records.astype(counts).iterrows()
    }
    return score_table(rows)


def _size_table(sizes: pd.Series) -> Table:
    pixels = sizes["strong_pixels"]
    part = f"{sizes['strong_pixels_kept'] / pixels:.1%} of {pixels:.0f}" if pixels else ""
    rows = [
        ("rank limit r", f"{sizes['rank']:.0f}"),
        ("rank by the criterion of Bunea et al.", f"{sizes['rank_rsc']:.0f}"),
        ("rank by the authors' script", f"{sizes['rank_authors']:.0f}"),
        ("frames with spikes", f"{sizes['active_frames']:.0f}"),
        ("pixels kept", f"{sizes['active_pixels']:.0f}"),
        ("pixels of significant regions kept", part),
        ("area under the ROC curve, pixels of all regions", number(sizes["pixel_auc"], 3)),
        ("neurons", f"{sizes['neurons']:.0f}"),
        ("seconds", number(sizes["seconds"], 1)),
    ]
    return Table(("quantity", "value"), list(rows))


def _paired_traces(shown: list[tuple[str, pd.Series]]) -> Any:
    """Draw the traces of labeled regions and, if there is one, the estimated trace."""
    figure = new_figure(0.5 + 0.62 * len(shown))
    axes = figure.subplots(len(shown), 1, squeeze=False, sharex=True)[:, 0]
    for axis, (name, region) in zip(axes, shown, strict=True):
        axis.plot(region["trace_labelled"], color="#b5b5b5", lw=0.8)
        if region["found"]:
            axis.plot(region["trace_estimated"], color="#0b3c5d", lw=0.9)
        axis.set_xlim(0, len(region["trace_labelled"]) - 1)
        axis.set_title(_title(name, region), fontsize=9, pad=2)
        axis.tick_params(labelleft=False, left=False)
        axis.spines["left"].set_visible(False)
    axes[-1].set_xlabel("frame")
    return figure


def _known_blocks(known: pd.DataFrame) -> list[Block]:
    fields = ("recall", "precision", "combined", "inclusion", "exclusion")
    rows = []
    for (amplitude, stage), same in known.groupby(["amplitude", "stage"], sort=False):
        cells = [pm(same[field].mean(), same[field].std(), 2) for field in fields]
        close = f"{same['traces_close'].sum():.0f} of {same['traces'].sum():.0f}"
        cells += [close if stage == AFTER else "", str(len(same))]
        rows.append((f"{amplitude:g}, {stage}", *cells))
    names = ["frames", "height", "width", "neurons", "pairs", "rows"]
    frames, height, width, neurons, pairs, limit = known[names].iloc[0].astype(int)
    return [
        Section("Movies with known neurons"),
        Text(
            f"Simulated: {frames} frames of {height} × {width} pixels, {neurons} neurons with "
            f"Gaussian footprints of standard deviation 3 pixels, {pairs} pairs of them 6 to 7 "
            "pixels apart; a spike adds the amplitude, in standard deviations of a pixel's noise, "
            "at the brightest pixel. The number of frames with spikes is limited to "
            f"s₁ = {limit}; everything else is automatic. A trace is close if its correlation with "
            f"the true trace of the matched neuron is at least {_CLOSE}. Mean ± standard deviation."
        ),
        Table(("amplitude", *fields, "close traces", "movies"), list(rows)),
    ]


def found_regions(records: pd.DataFrame) -> Finding | None:
    """On a calcium movie (a public one) the five most significant labeled regions match the
    estimated ones: each has one within 5 pixels."""
    regions = records[records["kind"] == "region"]
    if regions.empty:
        return None
    found = regions[regions["found"].astype(bool)]
    told = f"{len(found)} of {len(regions)}"
    if len(found):
        scores = ("inclusion", "exclusion", "correlation")
        told += ", " + ", ".join(f"mean {name} {found[name].mean():.2f}" for name in scores)
    return len(found) == len(regions), told


def rank_beside_criterion(records: pd.DataFrame) -> Finding | None:
    """On a calcium movie (a public one) r = 50 is at least the rank by the criterion of Bunea, She
    and Wegkamp."""
    sizes = records[records["kind"] == "sizes"]
    if sizes.empty:
        return None
    rank, criterion = (int(sizes[name].iloc[0]) for name in ("rank", "rank_rsc"))
    return rank >= criterion, f"r = {rank}; the criterion gives {criterion}"


_CLAIMS = (found_regions, rank_beside_criterion)

STUDIES = (Study("calcium", "Calcium imaging", jobs, run, page, _CLAIMS),)
