"""One look for every plot: a colour and a marker for each method, quiet axes."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.report.extra import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "MARKERS", "METHODS", "drawing", "in_order", "label_ends", "panels", "store"]

METHODS = ("GDT", "pursuit", "DPP", "TSVD", "EEA", "RCGL", "JRRS", "MTL", "oracle", "null")
"""Every method, in the order of the pages."""

COLOURS = dict(
    zip(
        METHODS,
        (
            "#0b3c5d",  # GDT: the darkest
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

_WIDTH = 7.2  # inches, the width of a page
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
    "svg.hashsalt": "thinrank",  # the same records give the same file
}


@contextmanager
def drawing() -> Iterator[None]:
    """Draw in the house style; matplotlib's settings are as before on leaving."""
    matplotlib = require("matplotlib")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def panels(count: int = 1, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    """Return a figure as wide as a page and its axes, side by side."""
    figure = require("matplotlib.figure").Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.subplots(1, count, squeeze=False)[0]
    for axis in axes:
        axis.grid(True, which="major")
    return figure, list(axes)


def in_order(methods: Sequence[str]) -> list[str]:
    """Return the methods in the order of the pages; unknown ones last, as they come."""
    known = [method for method in METHODS if method in methods]
    return known + [method for method in dict.fromkeys(methods) if method not in METHODS]


def label_ends(axis: Axes, ends: Sequence[tuple[float, float, str, str]], gap: float = 10) -> None:
    """Write each label at the end of its line, moved apart where they would overlap.

    Parameters
    ----------
    axis : Axes
        Where; its scales and limits must be set.
    ends : sequence of (x, y, label, colour)
        Last points of the lines.
    gap : float, default=10
        Least distance of two labels in points.
    """
    figure: Any = axis.figure
    scale = 72.0 / figure.dpi
    heights = [axis.transData.transform((x, y))[1] * scale for x, y, _, _ in ends]
    order = np.argsort(heights)
    placed = np.array(heights)[order]
    for i in range(1, len(placed)):
        placed[i] = max(placed[i], placed[i - 1] + gap)
    if len(placed):
        placed -= np.mean(placed - np.array(heights)[order])
    for rank, i in enumerate(order):
        x, y, label, colour = ends[i]
        axis.annotate(
            label,
            (x, y),
            xytext=(7, placed[rank] - heights[i]),
            textcoords="offset points",
            va="center",
            color=colour,
            fontsize=8,
            annotation_clip=False,
        )


def store(figure: Figure, folder: Path, name: str) -> bytes:
    """Write ``name.png`` and ``name.svg`` into the folder and return the SVG."""
    figure.savefig(folder / f"{name}.png", format="png", dpi=160, metadata={"Software": None})
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    lines = buffer.getvalue().decode("utf-8").splitlines()
    drawing = ("\n".join(line.rstrip() for line in lines) + "\n").encode("utf-8")
    (folder / f"{name}.svg").write_bytes(drawing)
    return drawing
