"""The page of one calcium movie: regions, traces and spikes of its neurons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from thinrank.calcium import Quality, Scores, match_regions
from thinrank.calcium.decisions import DECISIONS, centres_of
from thinrank.calcium.export import Segmentation
from thinrank.calcium.quality import LEAST_CORRELATION, LEAST_SNR
from thinrank.calcium.windows import mask_of, window
from thinrank.core.files import write_text
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
from thinrank.report.document import (
    Block,
    Cell,
    Choice,
    Choices,
    Number,
    Page,
    Picture,
    Section,
    Table,
    Text,
    check_libraries,
    drawing,
    render_html,
)

_TRACES_PER_FIGURE = 10
_MOST_TRACES = 100  # drawn in total; all neurons are in the table and in the files
_LETTERS = "abcdefghjkmnpqrstuvwxyz"  # without i, l and o, which look like digits
EXPLANATION = (
    "A number stands for the same neuron in every panel, table and file. Labelled regions that "
    "were not found have letters."
)
_CLEAR = 0.2  # fraction of a neuron's largest spike from which the table counts a spike
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
        content = render_html(movie_page(analysis))
    write_text(path, content)


def movie_page(analysis: MovieAnalysis) -> Page:
    """The page of a movie."""
    page = Page(f"Neurons in {analysis.name}")
    page.add(Text(_verdict(analysis), stress=True), *_places(analysis), *_agreement(analysis))
    if len(analysis.imaging.traces_):
        page.add(*_activity(analysis))
        page.add(*_neurons(analysis.imaging, analysis.name, analysis.review))
    page.add(Section("Settings"), Table(("item", "value"), list(analysis.settings.items()), left=2))
    return page


def score_table(rows: dict[str, Scores]) -> Table:
    """NeuroFinder's scores as a table with one row per name; pixel AUC if known."""
    header = ("regions", "labelled", "estimated", "matched", "recall", "precision", "combined")
    with_auc = any(scores.pixel_auc is not None for scores in rows.values())
    cells: list[tuple[Cell, ...]] = []
    for name, scores in rows.items():
        counts = (scores.n_labelled, scores.n_estimated, scores.n_matched)
        parts: list[float | None] = [scores.recall, scores.precision, scores.combined]
        parts += [scores.inclusion, scores.exclusion, *([scores.pixel_auc] if with_auc else [])]
        texts = ["" if part is None or np.isnan(part) else f"{part:.2f}" for part in parts]
        cells.append((name, *map(str, counts), *texts))
    last = ("inclusion", "exclusion", *(["pixel AUC"] if with_auc else []))
    return Table((*header, *last), cells)


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
        score_table({"centers within 5 pixels": analysis.scores}),
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
        center = labelled[j].mean(axis=0)
        pairs.append(
            Pair(
                title=f"neuron {i + 1}",
                image=window(np.asarray(imaging.mean_image_, dtype=float), center),
                labelled=window(mask_of(labelled[j], shape), center),
                footprint=window(footprints[i], center),
                estimated=window(mask_of(imaging.region_coordinates_[i], shape), center),
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
            + ("" if light is None else " Gray: raw fluorescence minus neuropil and F0.")
        )
        name = f"traces_{begin // _TRACES_PER_FIGURE + 1}"
        blocks.append(Picture(name, traces(some, imaging.frame_rate), caption))
    return blocks


def _neurons(imaging: Segmentation, movie: str, review: bool) -> list[Block]:
    """The section with one row per neuron."""
    quality: Quality | None = getattr(imaging, "quality_", None)
    header = ["neuron", "row", "column", "pixels", "peak", "clear spikes"]
    rows: list[list[Cell]] = [_measures(imaging, i) for i in range(len(imaging.traces_))]
    about = (
        "Row and column of the center, number of pixels of the region, maximum of the trace, and "
        f"number of spikes larger than {_CLEAR:.0%} of the neuron's largest spike."
    )
    if quality is not None:
        header += ["SNR", "correlation", "doubtful"]
        for i, row in enumerate(rows):
            row += _quality(quality, i)
        about += (
            " SNR is the height of the largest transient in the raw light, in standard deviations "
            "of its noise; correlation is that of the trace with the raw light, from which the "
            f"neuropil was regressed out. Neurons with an SNR below {LEAST_SNR:g} or a correlation "
            f"below {LEAST_CORRELATION:g} are doubtful."
        )
    blocks: list[Block] = [Section("Neurons")]
    if review:
        header.append("accept")
        for i, row in enumerate(rows):
            row.append(_choice(imaging, quality, i))
        about += (
            " The button above the table saves the ticked neurons as decisions.json; the same "
            "command with `--accept decisions.json` and another folder then writes these only."
        )
        blocks.append(_choices(imaging, movie))
    table = Table(
        tuple(header),
        [tuple(row) if review else tuple(map(_text, row)) for row in rows],
        caption="Neurons" if review else "",
        sortable=review,
    )
    return [*blocks, table, Text(about)]


def _text(cell: Cell) -> Cell:
    """The text of a number, which only tables that sort need."""
    return cell.text if isinstance(cell, Number) else cell


def _measures(imaging: Segmentation, i: int) -> list[Cell]:
    region, train = imaging.region_coordinates_[i], imaging.spike_trains_[i]
    row, column = region.mean(axis=0).tolist()
    peak = float(np.max(imaging.traces_[i]))
    spikes = int(np.count_nonzero(train > _CLEAR * np.max(train, initial=0.0)))
    return [
        str(i + 1),
        Number(row, f"{row:.1f}"),
        Number(column, f"{column:.1f}"),
        Number(len(region), str(len(region))),
        Number(peak, f"{peak:.3g}"),
        Number(spikes, str(spikes)),
    ]


def _quality(quality: Quality, i: int) -> list[Cell]:
    snr, correlation = float(quality.snr[i]), float(quality.correlation[i])
    doubtful = bool(quality.doubtful[i])
    return [
        Number(snr, f"{snr:.1f}"),
        Number(correlation, f"{correlation:.2f}"),
        Number(doubtful, "doubtful" if doubtful else ""),
    ]


def _choice(imaging: Segmentation, quality: Quality | None, i: int) -> Choice:
    row, column = centres_of(imaging.region_coordinates_)[i].tolist()
    accepted = quality is None or not quality.doubtful[i]
    about: dict[str, str | int | float] = {
        "id": i + 1,
        "row": round(row, 3),
        "column": round(column, 3),
    }
    return Choice(f"accept neuron {i + 1}", bool(accepted), about)


def _choices(imaging: Segmentation, movie: str) -> Choices:
    height, width = imaging.mean_image_.shape
    about: dict[str, Any] = {
        "format": DECISIONS,
        "movie": movie,
        "frames": int(imaging.traces_.shape[1]),
        "height": int(height),
        "width": int(width),
    }
    return Choices("decisions.json", "neurons", "accepted", about)


def neuron_names(count: int) -> list[str]:
    """The names of the estimated neurons: their numbers, from 1."""
    return [str(i + 1) for i in range(count)]


def label_names(matches: Iterable[tuple[int, int]], count: int) -> list[str]:
    """The names of the labelled regions.

    Examples
    --------
    >>> from thinrank.report.calcium_movie import label_names
    >>> label_names([(4, 1)], 3)
    ['a', '5', 'b']
    """
    neurons = {label: neuron for neuron, label in matches}
    names, missed = [], 0
    for label in range(count):
        if label in neurons:
            names.append(str(neurons[label] + 1))
        else:
            names.append(_letters(missed))
            missed += 1
    return names


def _letters(index: int) -> str:
    """The letters of an index: a, b to z, then aa, ab and so on."""
    more, letter = divmod(index, len(_LETTERS))
    return (_letters(more - 1) if more else "") + _LETTERS[letter]
