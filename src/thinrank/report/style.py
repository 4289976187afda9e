"""Common style of all plots: one colour and one marker per method."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinrank.core.files import atomic_file
from thinrank.core.imports import import_optional

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

WIDTH = 7.2
"""Width in inches of a figure that spans the page."""

_STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.labelcolor": "#1d1d1f",
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "lines.linewidth": 1.5,
    "lines.markersize": 5.0,
    "legend.frameon": False,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "thinrank",  # so that the same records give the same file
}


@contextmanager
def drawing() -> Iterator[None]:
    """Use the common style inside the context; matplotlib's settings are restored on exit."""
    matplotlib = import_optional("matplotlib")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


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
    figure: Any = axis.figure
    axis.get_xlim(), axis.get_ylim()  # updates the limits
    for x in dict.fromkeys(end[0] for end in ends):
        here = [end for end in ends if end[0] == x]
        heights = [axis.transData.transform(end[:2])[1] * 72 / figure.dpi for end in here]
        for end, height, place in zip(here, heights, _moved_apart(heights, gap), strict=True):
            axis.annotate(
                end[2],
                end[:2],
                xytext=(7, place - height),
                textcoords="offset points",
                va="center",
                color=end[3],
                fontsize=8,
                annotation_clip=False,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.6},
            )


def _moved_apart(heights: Sequence[float], gap: float) -> list[float]:
    """Return positions at least a gap apart, in the same order, each cluster around its mean."""
    clusters: list[list[int]] = []
    for i in sorted(range(len(heights)), key=lambda i: heights[i]):
        clusters.append([i])
        while len(clusters) > 1 and _reach(clusters[-2], heights, gap, 1) + gap > _reach(
            clusters[-1], heights, gap, -1
        ):
            clusters[-2:] = [clusters[-2] + clusters[-1]]
    places = [0.0] * len(heights)
    for cluster in clusters:
        low = _reach(cluster, heights, gap, -1)
        for rank, i in enumerate(cluster):
            places[i] = low + rank * gap
    return places


def _reach(cluster: list[int], heights: Sequence[float], gap: float, side: int) -> float:
    """Return the highest (side 1) or lowest (side −1) position of a cluster."""
    mean = sum(heights[i] for i in cluster) / len(cluster)
    return mean + side * gap * (len(cluster) - 1) / 2


def store(figure: Figure, folder: Path, name: str) -> bytes:
    """Write ``name.png`` and ``name.svg`` into the folder and return the SVG."""
    drawing = as_svg(figure)
    with atomic_file(folder / f"{name}.svg") as place:
        place.write_bytes(drawing)
    with atomic_file(folder / f"{name}.png") as place:
        figure.savefig(place, format="png", dpi=160, metadata={"Software": None})
    return drawing


def as_svg(figure: Figure) -> bytes:
    """Return a plot as SVG; the layout is computed once and kept for other formats."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    lines = buffer.getvalue().decode("utf-8").splitlines()
    return ("\n".join(line.rstrip() for line in lines) + "\n").encode("utf-8")
