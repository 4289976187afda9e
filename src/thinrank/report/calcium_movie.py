"""The page of one calcium movie: regions, traces and spikes of its neurons."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from thinrank.calcium import Scores, match_regions
from thinrank.calcium.export import Segmentation
from thinrank.calcium.windows import mask_of, window
from thinrank.core.files import write_text
from thinrank.report.calcium_neurons import neuron_blocks
from thinrank.report.calcium_pictures import (
    ESTIMATED,
    LABELLED,
    Pair,
    RegionPanel,
    Trace,
    contours,
    side_by_side,
    traces,
)
from thinrank.report.html import render_html
from thinrank.report.libraries import check_libraries
from thinrank.report.neuron_numbers import EXPLANATION, label_names, neuron_names
from thinrank.report.page import Block, Page, Picture, Section, Table, Text
from thinrank.report.statistics import number
from thinrank.report.style import as_svg, drawing

_TRACES_PER_FIGURE = 10
_MOST_TRACES = 100  # drawn in total; all neurons are in the table and in the files
_PAIRS = 5  # labelled regions that are shown, as in the paper's figure


@dataclass(frozen=True)
class MovieAnalysis:
    """A fitted movie, and what its page says about it.

    Parameters
    ----------
    name : str
        Name of the movie.
    imaging : CalciumImaging
        The fitted model.
    labelled : list of ndarray of shape (n_pixels, 2), default=None
        Regions marked by a person: row and column of each pixel.
    scores : Scores, default=None
        Scores of the estimated regions against the labelled ones.
    settings : dict of str to str, default={}
        Settings of the fit by name, for the last table.
    review : bool, default=False
        Whether neurons can be accepted or rejected on the page, and the decisions saved.
    """

    name: str
    imaging: Segmentation
    labelled: list[np.ndarray] | None = None
    scores: Scores | None = None
    settings: dict[str, str] = field(default_factory=dict)
    review: bool = False


def write_movie_page(analysis: MovieAnalysis, path: Path | str) -> None:
    """Write the page of a movie as a self-contained HTML file.

    Parameters
    ----------
    analysis : MovieAnalysis
        The fitted movie.
    path : path
        The file to write.

    Raises
    ------
    ImportError
        If matplotlib or Jinja2 is not installed.
    """
    check_libraries()
    with drawing():
        page = movie_page(analysis)
        drawings = {picture.name: as_svg(picture.figure) for picture in page.pictures}
    write_text(path, render_html(page, drawings))


def movie_page(analysis: MovieAnalysis) -> Page:
    """Return the page of a movie."""
    page = Page(f"Neurons in {analysis.name}")
    page.add(Text(_verdict(analysis), stress=True), *_places(analysis), *_agreement(analysis))
    if len(analysis.imaging.traces_):
        page.add(*_activity(analysis))
        page.add(*neuron_blocks(analysis.imaging, analysis.name, analysis.review))
    page.add(Section("Settings"), Table(("item", "value"), list(analysis.settings.items()), left=2))
    return page


def score_table(rows: dict[str, Scores]) -> Table:
    """Return NeuroFinder's scores as a table with one row per name; pixel AUC if known."""
    header = ("regions", "labelled", "estimated", "matched", "recall", "precision", "combined")
    with_auc = any(scores.pixel_auc is not None for scores in rows.values())
    cells = [
        (
            name,
            str(scores.n_labelled),
            str(scores.n_estimated),
            str(scores.n_matched),
            *(
                number(value, 2)
                for value in (
                    scores.recall,
                    scores.precision,
                    scores.combined,
                    scores.inclusion,
                    scores.exclusion,
                    *([scores.pixel_auc] if with_auc else []),
                )
            ),
        )
        for name, scores in rows.items()
    ]
    last = ("inclusion", "exclusion", *(["pixel AUC"] if with_auc else []))
    return Table((*header, *last), list(cells))


def _verdict(analysis: MovieAnalysis) -> str:
    imaging = analysis.imaging
    height, width = imaging.mean_image_.shape
    count, frames = len(imaging.traces_), imaging.traces_.shape[1]
    noun = "neuron" if count == 1 else "neurons"
    quality = getattr(imaging, "quality_", None)
    doubtful = 0 if quality is None else int(quality.doubtful.sum())
    noun += f", {doubtful} of them doubtful," if doubtful else ""
    text = f"{count or 'No'} {noun} in {frames} frames of {height} × {width} pixels"
    if analysis.scores is None:
        return f"{text}."
    scores = analysis.scores
    return (
        f"{text}; {scores.n_matched} of {scores.n_labelled} labelled regions found, "
        f"combined score {scores.combined:.2f}."
    )


def _places(analysis: MovieAnalysis) -> list[Block]:
    estimated, labelled = analysis.imaging.region_coordinates_, analysis.labelled
    panels = [RegionPanel("estimated", estimated, neuron_names(len(estimated)), ESTIMATED)]
    caption = "Mean of the movie, and outlines of the estimated regions with their numbers"
    if labelled is not None:
        names = label_names(match_regions(estimated, labelled), len(labelled))
        panels.insert(0, RegionPanel("labelled", labelled, names, LABELLED))
        caption += f", beside the labelled ones. {EXPLANATION[:-1]}"
    figure = contours(np.asarray(analysis.imaging.mean_image_, dtype=float), panels)
    return [Section("Regions"), Picture("contours", figure, f"{caption}.")]


def _agreement(analysis: MovieAnalysis) -> list[Block]:
    if analysis.labelled is None or analysis.scores is None:
        return []
    blocks: list[Block] = [
        Section("Comparison with the labels"),
        score_table({"centres within 5 pixels": analysis.scores}),
        Text(
            "NeuroFinder's scores. Recall: fraction of the labelled regions that were found. "
            "Precision: fraction of the estimated regions that match a labelled one. Combined: "
            "their harmonic mean. Inclusion and exclusion: number of pixels in both a labelled "
            "region and its match, divided by the size of the labelled region and of the match. "
            "Pixel AUC: probability that a pixel in a labelled region has more energy in the fit "
            "than one outside. The labels were not used in the fit."
        ),
    ]
    pairs = _pairs(analysis)
    if pairs:
        caption = (
            f"The {len(pairs)} matched regions with the highest peaks. Top: mean of the movie and "
            "labelled outline. Bottom: estimated footprint and outline, with the labelled outline "
            "dashed."
        )
        blocks.append(Picture("labelled", side_by_side(pairs), caption))
    return blocks


def _pairs(analysis: MovieAnalysis) -> list[Pair]:
    imaging, labelled = analysis.imaging, analysis.labelled or []
    shape, footprints = imaging.mean_image_.shape, imaging.footprints_
    matches = match_regions(imaging.region_coordinates_, labelled)
    peaks = np.max(imaging.traces_, axis=1) if len(imaging.traces_) else np.empty(0)
    pairs = []
    for i, j in sorted(matches, key=lambda match: -peaks[match[0]])[:_PAIRS]:
        centre = labelled[j].mean(axis=0)
        pairs.append(
            Pair(
                title=f"neuron {i + 1}",
                image=window(np.asarray(imaging.mean_image_, dtype=float), centre),
                labelled=window(mask_of(labelled[j], shape), centre),
                footprint=window(footprints[i], centre),
                estimated=window(mask_of(imaging.region_coordinates_[i], shape), centre),
            )
        )
    return pairs


def _activity(analysis: MovieAnalysis) -> list[Block]:
    imaging = analysis.imaging
    peaks, footprints = np.max(imaging.traces_, axis=1), imaging.footprints_
    light = getattr(imaging, "fluorescence_", None)
    drawn = np.sort(np.argsort(-peaks, kind="stable")[:_MOST_TRACES])
    lines = [
        Trace(
            title=str(i + 1),
            footprint=window(footprints[i], imaging.region_coordinates_[i].mean(axis=0)),
            values=imaging.traces_[i],
            spikes=imaging.spike_trains_[i],
            light=None if light is None else light.corrected[i] - light.baseline[i],
        )
        for i in drawn
    ]
    blocks: list[Block] = [Section("Traces and spikes")]
    if len(drawn) < len(peaks):
        blocks.append(
            Text(
                f"The {len(drawn)} neurons with the highest peaks; the files hold all {len(peaks)}."
            )
        )
    for begin in range(0, len(lines), _TRACES_PER_FIGURE):
        some = lines[begin : begin + _TRACES_PER_FIGURE]
        caption = (
            f"Footprints and traces of neurons {some[0].title} to {some[-1].title}, each on its "
            "own scale. The heights of the red ticks are the sizes of the spikes, relative to the "
            "largest spike of the neuron."
            + ("" if light is None else " Grey: raw fluorescence minus neuropil and F0.")
        )
        name = f"traces_{begin // _TRACES_PER_FIGURE + 1}"
        blocks.append(Picture(name, traces(some, imaging.frame_rate), caption))
    return blocks
