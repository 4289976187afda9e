"""The look of the figures of studies: one color and one marker per method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from thinrank.core.files import atomic_file
from thinrank.core.imports import import_optional
from thinrank.plot.canvas import apart, size_in_points
from thinrank.report.document import WIDTH, as_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHODS = ("GDT", "pursuit", "DPP", "TSVD", "EEA", "RCGL", "JRRS", "MTL", "oracle", "null")
"""Methods in the order of tables and plots."""

COLOURS = dict(
    zip(
        METHODS,
        (
            "#0b3c5d",
            "#c8102e",
            "#e08e0b",
            "#4fa3d9",
            "#12805c",
            "#b565a7",
            "#7a5c2e",
            "#7d7d7d",
            "#a8a8a8",
            "#a8a8a8",
        ),
        strict=True,
    )
)
MARKERS = dict(zip(METHODS, "osD^vPX*|_", strict=True))


def panels(count: int = 1, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    """Return a figure that spans the page, and its axes, side by side."""
    figure = import_optional("matplotlib.figure").Figure(
        figsize=(WIDTH, height), layout="constrained"
    )
    axes = figure.subplots(1, count, squeeze=False)[0]
    for axis in axes:
        axis.grid(True, which="major")
    return figure, list(axes)


def in_order(methods: Sequence[str]) -> list[str]:
    """Sort methods as in :data:`METHODS`; unknown ones come last, in the given order."""
    known = [method for method in METHODS if method in methods]
    return known + [method for method in dict.fromkeys(methods) if method not in METHODS]


def count_iterations(axis: Axes) -> None:
    """Label the horizontal axis as iterations, with ticks at whole numbers."""
    axis.set_xlabel("iteration")
    axis.xaxis.set_major_locator(import_optional("matplotlib.ticker").MaxNLocator(integer=True))


def value_scale(axis: Axes, which: str, low: float, high: float) -> str:
    """Use a logarithmic scale with plain tick labels if the values span more than a factor of 3."""
    if not 0 < 3 * low < high:
        return ""
    ticker = import_optional("matplotlib.ticker")
    axis.set(**{f"{which}scale": "log"})
    ruler = axis.xaxis if which == "x" else axis.yaxis
    wide = high > 1000 * low
    ruler.set_major_locator(ticker.LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    ruler.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    ruler.set_minor_locator(ticker.NullLocator())
    return " (log scale)"


def label_ends(axis: Axes, ends: Sequence[tuple[float, float, str, str]], gap: float = 10) -> None:
    """Write a label at the end of each line, shifted vertically where labels would overlap."""
    axis.get_xlim(), axis.get_ylim()  # updates the limits
    inside, height = axis.transAxes.inverted(), size_in_points(axis)[1]
    for x in dict.fromkeys(end[0] for end in ends):
        here = [end for end in ends if end[0] == x]
        places = [inside.transform(axis.transData.transform(end[:2]))[1] * height for end in here]
        for end, old, new in zip(here, places, apart(places, gap, 0.0, height), strict=True):
            axis.annotate(
                end[2],
                end[:2],
                xytext=(7, new - old),
                textcoords="offset points",
                va="center",
                color=end[3],
                fontsize=8,
                annotation_clip=False,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.6},
            )


def store(figure: Figure, folder: Path, name: str) -> bytes:
    """Write ``name.png`` and ``name.svg`` into the folder and return the SVG."""
    drawing = as_svg(figure)
    with atomic_file(folder / f"{name}.svg") as place:
        place.write_bytes(drawing)
    with atomic_file(folder / f"{name}.png") as place:
        figure.savefig(place, format="png", dpi=160, metadata={"Software": None})
    return drawing
