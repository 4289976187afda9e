"""The page of one calcium movie: contours on an image, footprints, traces and spikes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.calcium import CalciumImaging, Quality, Scores, match_regions
from thinrank.calcium.decisions import DECISIONS, centres_of
from thinrank.calcium.fluorescence import LEAST_CORRELATION, LEAST_SNR
from thinrank.calcium.imaging import with_rejected
from thinrank.calcium.regions import inside, window
from thinrank.core.files import write_text
from thinrank.core.imports import import_optional
from thinrank.report.document import (
    WIDTH,
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
    drawing,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ESTIMATED, LABELLED, _REJECTED = (
    "#ff4d5e",
    "#4fc3f7",
    "#ffd54f",
)  # colors that are visible on a dark image
_TRACE, _SPIKE, _REFERENCE = "#0b3c5d", "#c8102e", "#b5b5b5"  # colors on a white background
_NUMBERED = 80  # number of regions above which their numbers would cover the image
_POINTS = 1200  # points of a drawn trace, more than a page can resolve
_NUMBER_SIZE = 9  # points, the size of the text beside the figures
_TICKS = 0.25  # fraction of the height of a trace's axis that its spikes take
_TRACES_PER_FIGURE = 10
_MOST_TRACES = 100  # drawn in total; all neurons are in the table and in the files
_LETTERS = "abcdefghjkmnpqrstuvwxyz"  # without i, l and o, which look like digits
EXPLANATION = (
    "A number stands for the same neuron in every panel, table and file. Labeled regions that "
    "were not found have letters."
)
_CLEAR = 0.2  # fraction of a neuron's largest spike from which the table counts a spike


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
        Scores of the estimated regions against the labeled ones.
    settings : dict of str to str, default={}
        Settings of the fit by name, for the last table.
    review : bool, default=False
        Whether neurons can be accepted or rejected on the page, and the decisions saved.
    """

    name: str
    imaging: CalciumImaging
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
        If matplotlib is not installed.
    """
    import_optional("matplotlib")
    with drawing():
        content = movie_page(analysis).html()
    write_text(path, content)


def movie_page(analysis: MovieAnalysis) -> Page:
    """The page of a movie."""
    page = Page(f"Neurons in {analysis.name}")
    page.add(Text(_verdict(analysis), stress=True), *_places(analysis), *_agreement(analysis))
    if len(analysis.imaging.traces_):
        page.add(*_activity(analysis))
    if len(with_rejected(analysis.imaging)[0].traces_):
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
        f"{text}; {scores.n_matched} of {scores.n_labelled} labeled regions found, "
        f"combined score {scores.combined:.2f}."
    )


def _places(analysis: MovieAnalysis) -> list[Block]:
    estimated, labelled = analysis.imaging.region_coordinates_, analysis.labelled
    panels = [RegionPanel("estimated", estimated, neuron_names(len(estimated)), ESTIMATED)]
    caption = "Mean of the movie, and outlines of the estimated regions with their numbers"
    if labelled is not None:
        names = label_names(match_regions(estimated, labelled), len(labelled))
        panels.insert(0, RegionPanel("labelled", labelled, names, LABELLED))
        caption += f", beside the labeled ones. {EXPLANATION[:-1]}"
    found, count = with_rejected(analysis.imaging)
    if len(found.region_coordinates_) > count:
        rejected = found.region_coordinates_[count:]
        names = neuron_names(len(found.region_coordinates_))[count:]
        panels.append(RegionPanel("rejected", rejected, names, _REJECTED))
        caption += ", and of the candidates that do not look like neurons"
    figure = contours(np.asarray(analysis.imaging.mean_image_, dtype=float), panels)
    return [Section("Regions"), Picture("contours", figure, f"{caption}.")]


def _agreement(analysis: MovieAnalysis) -> list[Block]:
    if analysis.labelled is None or analysis.scores is None:
        return []
    return [
        Section("Comparison with the labels"),
        score_table({"centers within 5 pixels": analysis.scores}),
        Text(
            "NeuroFinder's scores. Recall: fraction of the labeled regions that were found. "
            "Precision: fraction of the estimated regions that match a labeled one. Combined: "
            "their harmonic mean. Inclusion and exclusion: number of pixels in both a labelled "
            "region and its match, divided by the size of the labeled region and of the match. "
            "Pixel AUC: probability that a pixel in a labeled region has more energy in the fit "
            "than one outside. The labels were not used in the fit."
        ),
    ]


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


def _neurons(imaging: CalciumImaging, movie: str, review: bool) -> list[Block]:
    """The section with one row per neuron, and then per rejected candidate."""
    imaging, count = with_rejected(imaging)
    quality: Quality | None = getattr(imaging, "quality_", None)
    centers = centres_of(imaging.region_coordinates_).tolist()
    largest = np.max(imaging.spike_trains_, axis=1, initial=0.0, keepdims=True)
    columns: dict[str, list[Cell]] = {
        "neuron": list(neuron_names(len(centers))),
        "row": [Number(row, f"{row:.1f}") for row, _ in centers],
        "column": [Number(column, f"{column:.1f}") for _, column in centers],
        "pixels": [Number(len(region), str(len(region))) for region in imaging.region_coordinates_],
        "peak": [Number(peak, f"{peak:.3g}") for peak in np.max(imaging.traces_, axis=1).tolist()],
        "clear spikes": [
            Number(count, str(count))
            for count in np.sum(imaging.spike_trains_ > _CLEAR * largest, axis=1).tolist()
        ],
    }
    about = (
        "Row and column of the center, number of pixels of the region, maximum of the trace, and "
        f"number of spikes larger than {_CLEAR:.0%} of the neuron's largest spike."
    )
    if quality is not None:
        columns |= {
            "SNR": [Number(snr, f"{snr:.1f}") for snr in quality.snr.tolist()],
            "correlation": [Number(r, f"{r:.2f}") for r in quality.correlation.tolist()],
            "doubtful": [Number(bad, "doubtful" if bad else "") for bad in quality.doubtful],
        }
        if quality.score is not None:
            columns["score"] = [Number(score, f"{score:.2f}") for score in quality.score.tolist()]
            columns["rejected"] = list(quality.reasons(count))
            about += (
                " The score says how much a footprint looks like a neuron; candidates below 0.5 "
                "are rejected, with the reason."
            )
        about += (
            " SNR is the height of the largest transient in the raw light, in standard deviations "
            "of its noise; correlation is that of the trace with the raw light, from which the "
            f"neuropil was regressed out. Neurons with an SNR below {LEAST_SNR:g} or a correlation "
            f"below {LEAST_CORRELATION:g} are doubtful."
        )
    blocks: list[Block] = [Section("Neurons")]
    if review:
        accepted = np.arange(len(centers)) < count
        if quality is not None:
            accepted &= ~quality.doubtful
        columns["accept"] = [
            Choice(
                f"accept neuron {i + 1}",
                bool(accepted[i]),
                {"id": i + 1, "row": round(row, 3), "column": round(column, 3)},
            )
            for i, (row, column) in enumerate(centers)
        ]
        about += (
            " The button above the table saves the ticked neurons as decisions.json; the same "
            "command with `--accept decisions.json` and another folder then writes these only."
        )
        height, width = map(int, imaging.mean_image_.shape)
        movie_words = {"format": DECISIONS, "movie": movie, "frames": imaging.traces_.shape[1]}
        saved: dict[str, Any] = movie_words | {"height": height, "width": width}
        blocks.append(Choices("decisions.json", "neurons", "accepted", saved))
    rows = list(zip(*columns.values(), strict=True))
    return [*blocks, Table(tuple(columns), rows, caption="Neurons", sortable=True), Text(about)]


def neuron_names(count: int) -> list[str]:
    """The names of the estimated neurons: their numbers, from 1."""
    return [str(i + 1) for i in range(count)]


def label_names(matches: Iterable[tuple[int, int]], count: int) -> list[str]:
    """The names of the labeled regions.

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


@dataclass(frozen=True)
class RegionPanel:
    """Regions that are drawn on one copy of an image."""

    title: str  # title of the panel
    regions: Sequence[np.ndarray]  # (n_pixels, 2) rows and columns of each region
    names: Sequence[str]  # number or letter of each region
    color: str  # color of outlines and names


@dataclass(frozen=True)
class Trace:
    """The activity of a neuron."""

    title: str  # label at the left
    footprint: np.ndarray  # (height, width) shown at the left of the trace
    values: np.ndarray  # (n_frames,) the trace
    spikes: np.ndarray  # (n_frames,) size of the spike in each frame; 0 if there is none
    # (n_frames,) the measured fluorescence, drawn behind the trace on its own scale
    light: np.ndarray | None = None


def contours(image: np.ndarray, panels: Sequence[RegionPanel]) -> Figure:
    """Draw an image in several panels, each with the outlines and names of some regions.

    Shapes: ``image`` (height, width).
    """
    height = min(1.2 * WIDTH, WIDTH / len(panels) * image.shape[0] / image.shape[1]) + 0.3
    figure = new_figure(height)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, panel in zip(axes, panels, strict=True):
        show(axis, image, "gray")
        axis.set_title(panel.title)
        for name, full in zip(panel.names, panel.regions, strict=True):
            region = inside(full, image.shape)  # labels may be of a larger or another movie
            outline(axis, region, panel.color)
            if len(panel.regions) <= _NUMBERED and len(region):
                _write(
                    axis, region, name, panel.color, min(_NUMBER_SIZE, 60 / len(panel.names) + 4)
                )
    return figure


def _write(axis: Axes, region: np.ndarray, name: str, color: str, size: float) -> None:
    """Write a name beside an outline, with a dark edge so that it is legible on bright pixels too.

    The upper right corner of the region is where the text begins: it covers no outline of its own.
    """
    edge = import_optional("matplotlib.patheffects").withStroke(linewidth=1.5, foreground="black")
    row = region[:, 0].min()
    column = region[region[:, 0] <= row + 1, 1].max()
    axis.text(column + 1, row, name, color=color, fontsize=size, va="bottom", path_effects=[edge])


def traces(lines: Sequence[Trace], frame_rate: float) -> Figure:
    """Draw the footprint and the trace of each neuron, with ticks for its spikes."""
    figure = new_figure(0.5 + 0.62 * len(lines))
    axes = figure.subplots(len(lines), 2, squeeze=False, width_ratios=[1, 12])
    for (left, right), line in zip(axes, lines, strict=True):
        show(left, line.footprint, "magma")
        left.set_ylabel(line.title, fontsize=_NUMBER_SIZE, rotation=0, ha="right", va="center")
        if line.light is not None:
            times, values = _thinned(_on_scale(line.light, line.values))
            right.plot(times / frame_rate, values, color=_REFERENCE, lw=0.5)
        times, values = _thinned(line.values)
        right.plot(times / frame_rate, values, color=_TRACE, lw=0.8)
        frames = np.flatnonzero(line.spikes > 0)
        heights = line.spikes[frames] / np.max(line.spikes, initial=0.0)
        marks = right.get_xaxis_transform()  # x in data units, y as a fraction of the axis
        right.vlines(
            frames / frame_rate, 0.0, _TICKS * heights, color=_SPIKE, lw=0.8, transform=marks
        )
        right.margins(y=0.05)
        low, high = right.get_ylim()
        right.set_ylim(low - _TICKS / (1 - _TICKS) * (high - low), high)  # room for the ticks
        right.set_xlim(0, max(len(line.values) - 1, 1) / frame_rate)
        right.tick_params(labelleft=False, left=False, labelbottom=False)
        right.spines["left"].set_visible(False)
    axes[-1, 1].tick_params(labelbottom=True)
    axes[-1, 1].set_xlabel("seconds")
    return figure


def outline(axis: Axes, region: np.ndarray, color: str, dashed: bool = False) -> None:
    """Draw the outline of a region."""
    if not len(region):
        return
    first = region.min(axis=0) - 1
    mask = np.zeros(region.max(axis=0) - first + 2)
    mask[tuple((region - first).T)] = 1
    rows, columns = np.arange(mask.shape[0]) + first[0], np.arange(mask.shape[1]) + first[1]
    style = "dashed" if dashed else "solid"
    axis.contour(columns, rows, mask, [0.5], colors=[color], linewidths=1.2, linestyles=style)


def show(axis: Axes, image: np.ndarray, colors: str) -> None:
    """Show an image with limits at percentiles, so that a few bright pixels do not dominate."""
    low, high = np.percentile(image, [1, 99.7])
    top = high if high > low else float(np.max(image)) or 1.0
    axis.imshow(image, cmap=colors, vmin=low, vmax=top, interpolation="nearest")
    axis.set_autoscale_on(False)  # an outline at the edge must not widen the image
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)


def _on_scale(light: np.ndarray, trace: np.ndarray) -> np.ndarray:
    """Light with the unit in which its deviations from the trace are smallest."""
    fit = float(light @ trace) / max(float(light @ light), np.finfo(float).tiny)
    # where the two do not agree, the maxima do: the light would be a flat line otherwise
    unit = float(np.max(np.abs(trace))) / max(float(np.max(np.abs(light))), np.finfo(float).tiny)
    return light * max(fit, unit)


def _thinned(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return frames and values; for a long trace, minimum and maximum of each stretch."""
    if len(values) <= _POINTS:
        return np.arange(len(values)), values
    stretches = np.array_split(np.arange(len(values)), _POINTS // 2)
    ends = [sorted((s[np.argmin(values[s])], s[np.argmax(values[s])])) for s in stretches]
    frames = np.concatenate(ends)
    return frames, values[frames]
