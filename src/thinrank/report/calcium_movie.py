"""One movie on a page: where its neurons are, and when they are active."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from thinrank.calcium import Scores, match_regions
from thinrank.calcium.export import Segmentation
from thinrank.calcium.windows import mask_of, window
from thinrank.core.extras import import_optional
from thinrank.report.calcium_pictures import (
    ESTIMATED,
    LABELLED,
    Pair,
    Trace,
    contours,
    side_by_side,
    traces,
)
from thinrank.report.html import render_html
from thinrank.report.page import Block, Page, Picture, Section, Table, Text
from thinrank.report.statistics import number
from thinrank.report.style import as_svg, drawing

__all__ = ["MovieStory", "movie_page", "score_table", "write_movie_page"]

_IN_A_PICTURE = 10  # traces
_DRAWN = 100  # traces in all; the others are in the table and in the files
_SPIKE = 0.2  # of a neuron's largest spike: what the table counts as clear
_BESIDE = 5  # labelled regions, as in the paper's figure


@dataclass(frozen=True)
class MovieStory:
    """What a page tells of a movie.

    Parameters
    ----------
    name : str
        Of the movie.
    imaging : CalciumImaging
        Fitted.
    labelled : list of ndarray of shape (m, 2), optional
        Regions that a person marked.
    scores : Scores, optional
        Of the estimated regions against these.
    settings : dict of str to str
        How the fit was made: name and value, for the last table.
    """

    name: str
    imaging: Segmentation
    labelled: list[np.ndarray] | None = None
    scores: Scores | None = None
    settings: dict[str, str] = field(default_factory=dict)


def write_movie_page(story: MovieStory, path: Path | str) -> None:
    """Write the page of a movie as HTML that needs no other file.

    Parameters
    ----------
    story : MovieStory
    path : path
        Of the file.

    Raises
    ------
    ImportError
        Without matplotlib or Jinja2.
    """
    for library in ("matplotlib", "jinja2"):
        import_optional(library)
    with drawing():
        page = movie_page(story)
        drawings = {picture.name: as_svg(picture.figure) for picture in page.pictures}
    Path(path).write_text(render_html(page, drawings), encoding="utf-8")


def movie_page(story: MovieStory) -> Page:
    """Return the page of a movie."""
    page = Page(f"Neurons in {story.name}")
    page.add(Text(_verdict(story), stress=True), *_places(story), *_agreement(story))
    if len(story.imaging.traces_):
        page.add(*_activity(story), *_neurons(story))
    page.add(Section("How this was made"), Table(("", ""), list(story.settings.items()), left=2))
    return page


def score_table(rows: dict[str, Scores]) -> Table:
    """Return NeuroFinder's scores as a table, one line a name; pixel AUC where it is known."""
    header = ("", "labelled", "estimated", "matched", "recall", "precision", "combined")
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


def _verdict(story: MovieStory) -> str:
    imaging = story.imaging
    height, width = imaging.mean_image_.shape
    count, frames = len(imaging.traces_), imaging.traces_.shape[1]
    noun = "neuron" if count == 1 else "neurons"
    text = f"{count or 'No'} {noun} in {frames} frames of {height} × {width} pixels"
    if story.scores is None:
        return f"{text}."
    scores = story.scores
    return (
        f"{text}; {scores.n_matched} of {scores.n_labelled} labelled regions found, "
        f"combined score {scores.combined:.2f}."
    )


def _places(story: MovieStory) -> list[Block]:
    estimated = story.imaging.region_coordinates_
    panels = [("estimated", estimated, ESTIMATED)]
    caption = "Mean of the movie, and the outlines of the estimated regions with their numbers"
    if story.labelled is not None:
        panels.insert(0, ("labelled", story.labelled, LABELLED))
        caption += ", beside the labelled ones"
    figure = contours(np.asarray(story.imaging.mean_image_, dtype=float), panels)
    return [Section("Where they are"), Picture("contours", figure, f"{caption}.")]


def _agreement(story: MovieStory) -> list[Block]:
    if story.labelled is None or story.scores is None:
        return []
    blocks: list[Block] = [
        Section("Labelled and estimated"),
        score_table({"centres within 5 pixels": story.scores}),
        Text(
            "NeuroFinder's scores. Recall: labelled regions that were found. Precision: estimated "
            "regions that are labelled ones. Combined: their harmonic mean. Inclusion and "
            "exclusion: pixels that a labelled region and its match share, as a part of the "
            "labelled region and of the match. Pixel AUC: how often a pixel in a labelled region "
            "is more active in the fit than one outside. The labels took no part in the fit."
        ),
    ]
    pairs = _pairs(story)
    if pairs:
        caption = (
            f"The {len(pairs)} matched regions of highest peak: above, the mean of the movie with "
            "the labelled outline; below, the estimated footprint and its outline, the labelled "
            "one dashed."
        )
        blocks.append(Picture("labelled", side_by_side(pairs), caption))
    return blocks


def _pairs(story: MovieStory) -> list[Pair]:
    imaging, labelled = story.imaging, story.labelled or []
    shape, footprints = imaging.mean_image_.shape, imaging.footprints_
    matches = match_regions(imaging.region_coordinates_, labelled)
    peaks = np.max(imaging.traces_, axis=1) if len(imaging.traces_) else np.empty(0)
    pairs = []
    for i, j in sorted(matches, key=lambda match: -peaks[match[0]])[:_BESIDE]:
        centre = labelled[j].mean(axis=0)
        pairs.append(
            Pair(
                title=f"label {j + 1}, neuron {i + 1}",
                image=window(np.asarray(imaging.mean_image_, dtype=float), centre),
                labelled=window(mask_of(labelled[j], shape), centre),
                footprint=window(footprints[i], centre),
                estimated=window(mask_of(imaging.region_coordinates_[i], shape), centre),
            )
        )
    return pairs


def _activity(story: MovieStory) -> list[Block]:
    imaging = story.imaging
    peaks, footprints = np.max(imaging.traces_, axis=1), imaging.footprints_
    drawn = np.sort(np.argsort(-peaks, kind="stable")[:_DRAWN])
    lines = [
        Trace(
            title=str(i + 1),
            footprint=window(footprints[i], imaging.region_coordinates_[i].mean(axis=0)),
            values=imaging.traces_[i],
            spikes=imaging.spike_trains_[i],
        )
        for i in drawn
    ]
    blocks: list[Block] = [Section("When they are active")]
    if len(drawn) < len(peaks):
        blocks.append(
            Text(f"The {len(drawn)} neurons of highest peak; all {len(peaks)} are in the files.")
        )
    for begin in range(0, len(lines), _IN_A_PICTURE):
        some = lines[begin : begin + _IN_A_PICTURE]
        caption = (
            f"Footprints and traces of neurons {some[0].title} to {some[-1].title}, each on its "
            "own scale; red ticks as high as the spikes, the largest of a neuron being 1."
        )
        name = f"traces_{begin // _IN_A_PICTURE + 1}"
        blocks.append(Picture(name, traces(some, imaging.frame_rate), caption))
    return blocks


def _neurons(story: MovieStory) -> list[Block]:
    imaging = story.imaging
    rows = []
    for i, region in enumerate(imaging.region_coordinates_):
        row, column = region.mean(axis=0)
        peak = float(np.max(imaging.traces_[i]))
        train = imaging.spike_trains_[i]
        spikes = np.count_nonzero(train > _SPIKE * np.max(train, initial=0.0))
        where = (str(i + 1), f"{row:.1f}", f"{column:.1f}", str(len(region)))
        rows.append((*where, f"{peak:.3g}", str(spikes)))
    header = ("neuron", "row", "column", "pixels", "peak", "clear spikes")
    return [
        Section("The neurons, one by one"),
        Table(header, list(rows)),
        Text(
            "Row and column of the centre; pixels of the region; highest value of the trace; "
            f"spikes of more than {_SPIKE:.0%} of the neuron's largest."
        ),
    ]
