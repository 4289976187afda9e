"""Figures of neurons: contours on an image, footprints beside labels, traces with spikes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thinrank.calcium.windows import inside
from thinrank.core.imports import import_optional
from thinrank.report.document import WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ESTIMATED, LABELLED = "#ff4d5e", "#4fc3f7"  # colors that are visible on a dark image
_TRACE, _SPIKE, _REFERENCE = "#0b3c5d", "#c8102e", "#b5b5b5"  # colors on a white background
_NUMBERED = 80  # number of regions above which their numbers would cover the image
_POINTS = 1200  # points of a drawn trace, more than a page can resolve
_NUMBER_SIZE = 9  # points, the size of the text beside the figures
_TICKS = 0.25  # fraction of the height of a trace's axis that its spikes take


@dataclass(frozen=True)
class RegionPanel:
    """Regions that are drawn on one copy of an image."""

    title: str  # title of the panel
    regions: Sequence[np.ndarray]  # (n_pixels, 2) rows and columns of each region
    names: Sequence[str]  # number or letter of each region
    color: str  # color of outlines and names


@dataclass(frozen=True)
class Pair:
    """A labelled region and the estimated one, in windows around the same pixel."""

    title: str  # title of the pair
    image: np.ndarray  # (height, width) mean of the movie
    labelled: np.ndarray  # (height, width) the labelled region
    footprint: np.ndarray  # (height, width) the estimated footprint
    estimated: np.ndarray  # (height, width) the estimated region; all False if none was found


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
    figure = _figure(height)
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, panel in zip(axes, panels, strict=True):
        _show(axis, image, "gray")
        axis.set_title(panel.title)
        for name, full in zip(panel.names, panel.regions, strict=True):
            region = inside(full, image.shape)  # labels may be of a larger or another movie
            outline(axis, region, panel.color)
            if len(panel.regions) <= _NUMBERED and len(region):
                _write(axis, region.mean(axis=0), name, panel.color)
    return figure


def _write(axis: Axes, center: np.ndarray, name: str, color: str) -> None:
    """Write a name on an image, with a dark edge so that it is legible on bright pixels too."""
    edge = import_optional("matplotlib.patheffects").withStroke(linewidth=2.2, foreground="black")
    axis.text(
        center[1],
        center[0],
        name,
        color=color,
        fontsize=_NUMBER_SIZE,
        fontweight="bold",
        ha="center",
        va="center",
        path_effects=[edge],
    )


def side_by_side(pairs: Sequence[Pair]) -> Figure:
    """Draw labelled regions in the upper row, and the estimated ones in the lower row."""
    side = WIDTH / max(len(pairs), 5)
    figure = _figure(2 * side + 0.35)
    axes = figure.subplots(2, max(len(pairs), 5), squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for (upper, lower), pair in zip(axes.T, pairs, strict=False):
        _show(upper, pair.image, "gray")
        outline(upper, np.argwhere(pair.labelled), LABELLED)
        upper.set_title(pair.title, fontsize=_NUMBER_SIZE)
        _show(lower, pair.footprint, "magma")
        outline(lower, np.argwhere(pair.estimated), ESTIMATED)
        outline(lower, np.argwhere(pair.labelled), LABELLED, dashed=True)
        if not pair.estimated.any():
            lower.set_title("not found", fontsize=_NUMBER_SIZE)
    return figure


def traces(lines: Sequence[Trace], frame_rate: float) -> Figure:
    """Draw the footprint and the trace of each neuron, with ticks for its spikes."""
    figure = _figure(0.5 + 0.62 * len(lines))
    axes = figure.subplots(len(lines), 2, squeeze=False, width_ratios=[1, 12])
    for (left, right), line in zip(axes, lines, strict=True):
        _show(left, line.footprint, "magma")
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


def _figure(height: float) -> Figure:
    figure: Figure = import_optional("matplotlib.figure").Figure(
        (WIDTH, height), layout="constrained"
    )
    return figure


def _show(axis: Axes, image: np.ndarray, colors: str) -> None:
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
