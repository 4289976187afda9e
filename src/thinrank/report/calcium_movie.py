"""The page of one calcium movie: contours on an image, footprints, traces and spikes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.calcium import CalciumImaging, Quality, Scores, match_regions
from thinrank.calcium.decisions import DECISIONS
from thinrank.calcium.imaging import with_rejected
from thinrank.calcium.regions import centres_of, inside, window
from thinrank.core.files import write_text
from thinrank.core.imports import import_optional
from thinrank.plot.canvas import SMALLEST
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

# Colors that are visible on a dark image.
ESTIMATED, LABELLED, _REJECTED = "#ff4d5e", "#4fc3f7", "#ffd54f"
_TRACE, _SPIKE, _REFERENCE = "#0b3c5d", "#c8102e", "#b5b5b5"  # colors on a white background
_NUMBERED = 80  # number of regions above which their numbers would cover the image
_TICKS = 0.25  # fraction of the height of a trace's axis that its spikes take
_TRACES_PER_FIGURE = 10
_MOST_TRACES = 100  # drawn in total; all neurons are in the table and in the files
EXPLANATION = (
    "A number stands for the same neuron in every panel, table and file. Labeled regions that "
    "were not found are m1, m2 and so on."
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
        page.add(*_activity(analysis.imaging))
    if len(with_rejected(analysis.imaging)[0].traces_):
        page.add(*_neurons(analysis.imaging, analysis.name, analysis.review))
    page.add(Section("Settings"), Table(("item", "value"), list(analysis.settings.items()), left=2))
    return page


def score_table(rows: dict[str, Scores]) -> Table:
    """NeuroFinder's scores as a table with one row per name; pixel AUC if known."""
    columns = {name: name for name in ("recall", "precision", "combined", "inclusion", "exclusion")}
    if any(scores.pixel_auc is not None for scores in rows.values()):
        columns["pixel_auc"] = "pixel AUC"
    cells: list[tuple[Cell, ...]] = []
    for name, scores in rows.items():
        counts = (scores.n_labelled, scores.n_estimated, scores.n_matched)
        parts = [getattr(scores, column) for column in columns]
        texts = ["" if part is None or np.isnan(part) else f"{part:.2f}" for part in parts]
        cells.append((name, *map(str, counts), *texts))
    return Table(("regions", "labeled", "estimated", "matched", *columns.values()), cells)


def _verdict(analysis: MovieAnalysis) -> str:
    imaging = analysis.imaging
    height, width = imaging.mean_image_.shape
    count, frames = imaging.traces_.shape
    noun = "neuron" if count == 1 else "neurons"
    text = f"{count or 'No'} {noun} in {frames} frames of {height} × {width} pixels"
    if (scores := analysis.scores) is None:
        return f"{text}."
    return (
        f"{text}; {scores.n_matched} of {scores.n_labelled} labeled regions found, "
        f"combined score {scores.combined:.2f}."
    )


def _places(analysis: MovieAnalysis) -> list[Block]:
    estimated, labelled = analysis.imaging.region_coordinates_, analysis.labelled
    panels = [RegionPanel("estimated", estimated, neuron_names(len(estimated)), ESTIMATED)]
    others = []
    if labelled is not None:
        names = label_names(match_regions(estimated, labelled), len(labelled))
        panels.insert(0, RegionPanel("labeled", labelled, names, LABELLED))
        others.append("the labeled ones")
    found, count = with_rejected(analysis.imaging)
    candidates = found.region_coordinates_
    if len(candidates) > count:
        names = neuron_names(len(candidates))[count:]
        panels.append(RegionPanel("rejected", candidates[count:], names, _REJECTED))
        others.append("the candidates that do not look like neurons")
    caption = "Mean of the movie, and outlines of the estimated regions with their numbers"
    caption += f", beside {' and '.join(others)}." if others else "."
    if labelled is not None:
        caption += f" {EXPLANATION}"
    figure = contours(np.asarray(analysis.imaging.mean_image_, dtype=float), panels)
    return [Section("Regions"), Picture("contours", figure, caption)]


def _agreement(analysis: MovieAnalysis) -> list[Block]:
    if analysis.labelled is None or analysis.scores is None:
        return []
    return [
        Section("Comparison with the labels"),
        score_table({"centers within 5 pixels": analysis.scores}),
        Text(
            "NeuroFinder's scores. Recall: fraction of the labeled regions that were found. "
            "Precision: fraction of the estimated regions that match a labeled one. Combined: "
            "their harmonic mean. Inclusion and exclusion: number of pixels in both a labeled "
            "region and its match, divided by the size of the labeled region and of the match. "
            "Pixel AUC: probability that a pixel in a labeled region has more energy in the fit "
            "than one outside. The labels were not used in the fit."
        ),
    ]


def _activity(imaging: CalciumImaging) -> list[Block]:
    peaks = np.max(imaging.traces_, axis=1)
    drawn = np.sort(np.argsort(-peaks, kind="stable")[:_MOST_TRACES])
    blocks: list[Block] = [Section("Traces and spikes")]
    if len(drawn) < len(peaks):
        blocks.append(
            Text(
                f"The {len(drawn)} neurons with the highest peaks; the files hold all {len(peaks)}."
            )
        )
    light = getattr(imaging, "fluorescence_", None)
    for begin in range(0, len(drawn), _TRACES_PER_FIGURE):
        some = drawn[begin : begin + _TRACES_PER_FIGURE]
        caption = (
            f"Footprints and traces of neurons {some[0] + 1} to {some[-1] + 1}, each on its own "
            "scale. The heights of the red ticks are the sizes of the spikes, relative to the "
            "largest spike of the neuron."
            + ("" if light is None else " Gray: raw fluorescence minus neuropil and F0.")
        )
        name = f"traces_{begin // _TRACES_PER_FIGURE + 1}"
        blocks.append(Picture(name, traces(imaging, some), caption))
    return blocks


def _neurons(imaging: CalciumImaging, movie: str, review: bool) -> list[Block]:
    """The section with one row per neuron, and then per rejected candidate."""
    imaging, count = with_rejected(imaging)
    quality: Quality | None = getattr(imaging, "quality_", None)
    centers = centres_of(imaging.region_coordinates_).tolist()
    largest = np.max(imaging.spike_trains_, axis=1, initial=0.0, keepdims=True)
    columns: dict[str, list[Cell]] = {
        "neuron": list(neuron_names(len(centers))),
        "row": _cells([row for row, _ in centers], ".1f"),
        "column": _cells([column for _, column in centers], ".1f"),
        "pixels": _cells(map(len, imaging.region_coordinates_), "d"),
        "peak": _cells(np.max(imaging.traces_, axis=1), ".3g"),
        "clear spikes": _cells(np.sum(imaging.spike_trains_ > _CLEAR * largest, axis=1), "d"),
    }
    about = (
        "Row and column of the center, number of pixels of the region, maximum of the trace, and "
        f"number of spikes larger than {_CLEAR:.0%} of the neuron's largest spike."
    )
    if quality is not None:
        columns["SNR"] = _cells(quality.snr, ".1f")
        columns["correlation"] = _cells(quality.correlation, ".2f")
        if quality.score is not None:
            columns["score"] = _cells(quality.score, ".2f")
            columns["rejected"] = list(quality.reasons(count))
            about += (
                " The score says how much footprint and trace look like those of a neuron; "
                "candidates below 0.5 are rejected, with the reason."
            )
        about += (
            " SNR is the height of the largest transient in the raw light, in standard deviations "
            "of its noise; correlation is that of the trace with the raw light, from which the "
            "neuropil was regressed out."
        )
    blocks: list[Block] = [Section("Neurons")]
    if review:
        columns["accept"] = [
            Choice(
                f"accept neuron {i + 1}",
                i < count,
                {"id": i + 1, "row": round(row, 3), "column": round(column, 3)},
            )
            for i, (row, column) in enumerate(centers)
        ]
        about += (
            " The button above the table saves the ticked neurons as decisions.json; the same "
            "command with `--accept decisions.json` and another folder then writes these only."
        )
        height, width = map(int, imaging.mean_image_.shape)
        saved: dict[str, Any] = {"format": DECISIONS, "movie": movie}
        saved |= {"frames": imaging.traces_.shape[1], "height": height, "width": width}
        blocks.append(Choices("decisions.json", "neurons", "accepted", saved))
    rows = list(zip(*columns.values(), strict=True))
    return [*blocks, Table(tuple(columns), rows, caption="Neurons", sortable=True), Text(about)]


def _cells(values: Iterable[Any], form: str) -> list[Cell]:
    return [Number(float(value), f"{value:{form}}") for value in values]


def neuron_names(count: int) -> list[str]:
    """The names of the estimated neurons: their numbers, from 1."""
    return [str(i + 1) for i in range(count)]


def label_names(matches: Iterable[tuple[int, int]], count: int) -> list[str]:
    """The names of the labeled regions: those of their neurons, m1, m2, … if they were missed."""
    neurons = {label: neuron for neuron, label in matches}
    missed = [label for label in range(count) if label not in neurons]
    names = {label: f"m{i}" for i, label in enumerate(missed, start=1)}
    return [names.get(label) or str(neurons[label] + 1) for label in range(count)]


@dataclass(frozen=True)
class RegionPanel:
    """Regions that are drawn on one copy of an image."""

    title: str  # title of the panel
    regions: Sequence[np.ndarray]  # (n_pixels, 2) rows and columns of each region
    names: Sequence[str]  # number or letter of each region
    color: str  # color of outlines and names


def contours(image: np.ndarray, panels: Sequence[RegionPanel]) -> Figure:
    """Draw an image in several panels, each with the outlines and names of some regions."""
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
                _write(axis, region, name, panel.color)
    return figure


def _write(axis: Axes, region: np.ndarray, name: str, color: str) -> None:
    """Write a name from the upper right corner of a region on, where it covers no outline."""
    # a dark edge, so that the name is legible on bright pixels too
    edge = import_optional("matplotlib.patheffects").withStroke(linewidth=1.5, foreground="black")
    row = region[:, 0].min()
    column = region[region[:, 0] <= row + 1, 1].max()
    look: Any = {"color": color, "fontsize": SMALLEST, "va": "bottom", "path_effects": [edge]}
    axis.text(column + 1, row, name, **look)


def traces(imaging: CalciumImaging, neurons: np.ndarray) -> Figure:
    """Draw the footprint and the trace of some neurons, with ticks for their spikes."""
    figure = new_figure(0.5 + 0.62 * len(neurons))
    axes = figure.subplots(len(neurons), 2, squeeze=False, width_ratios=[1, 12])
    light, rate = getattr(imaging, "fluorescence_", None), imaging.frame_rate
    for (left, right), i in zip(axes, neurons, strict=True):
        trace, spikes = imaging.traces_[i], imaging.spike_trains_[i]
        times = np.arange(len(trace)) / rate
        center = imaging.region_coordinates_[i].mean(axis=0)
        show(left, window(imaging.footprints_[i], center), "magma")
        left.set_ylabel(str(i + 1), rotation=0, ha="right", va="center")
        if light is not None:
            raw = light.corrected[i] - light.baseline[i]
            right.plot(times, _on_scale(raw, trace), color=_REFERENCE, lw=0.5)
        right.plot(times, trace, color=_TRACE, lw=0.8)
        frames = np.flatnonzero(spikes > 0)
        heights = _TICKS * spikes[frames] / np.max(spikes, initial=0.0)
        marks = right.get_xaxis_transform()  # x in data units, y as a fraction of the axis
        right.vlines(frames / rate, 0.0, heights, color=_SPIKE, lw=0.8, transform=marks)
        right.margins(y=0.05)
        low, high = right.get_ylim()
        right.set_ylim(low - _TICKS / (1 - _TICKS) * (high - low), high)  # room for the ticks
        right.set_xlim(0, max(len(trace) - 1, 1) / rate)
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
