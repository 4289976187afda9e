"""The Axes of a plot: given or new, the room in it, and what is written where nothing is drawn."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from thinrank.core.imports import import_optional
from thinrank.plot.colours import GREY, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Height of a line of text in units of the font size, with a little space.
_LINE = 1.25
_LARGEST, _SMALLEST = 9.0, 5.5  # font sizes of names, in points


def axes_of(ax: Axes | None, width: float = 6.4, height: float = 4.4) -> Axes:
    """The given Axes, or those of a new pyplot figure."""
    axes = import_optional("matplotlib.axes").Axes
    if ax is None:
        pyplot = import_optional("matplotlib.pyplot")
        return pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    if not isinstance(ax, axes):
        raise TypeError(f"ax must be a matplotlib Axes or None, got {type(ax).__name__}")
    return ax


def check_count(name: str, value: Any, least: int = 1) -> int:
    """The value of an argument that is a number of things; a ValueError unless it is one."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """The value of an argument that is one of some words; a ValueError unless it is one."""
    if not (isinstance(value, str) and value in choices):
        known = ", ".join(f'"{choice}"' for choice in choices)
        raise ValueError(f"{name} must be one of {known}, got {value!r}")
    return value


def room(ax: Axes, which: str) -> int:
    """Number of the smallest labels that fit along an axis."""
    return max(int(_points(ax, which) / (_LINE * _SMALLEST)), 1)


def font_size(ax: Axes, which: str, count: int) -> float:
    """The largest font size, in points, in which ``count`` labels fit along an axis."""
    return min(max(_points(ax, which) / (_LINE * max(count, 1)), _SMALLEST), _LARGEST)


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Width and height of the Axes in points.

    A layout that is computed when the figure is drawn may still change them a little.
    """
    figure: Any = ax.figure.figure  # also of the Axes of a subfigure
    box = ax.get_window_extent()
    return 72 * box.width / figure.dpi, 72 * box.height / figure.dpi


def _points(ax: Axes, which: str) -> float:
    """Length of an axis in points."""
    return size_in_points(ax)[0 if which == "x" else 1]


def name_axis(ax: Axes, which: str, places: Sequence[float], labels: Sequence[str]) -> None:
    """Put names at positions of an axis, as they are written and in a size that fits."""
    size = font_size(ax, which, len(labels))
    if which == "y":
        ax.set_yticks(list(places), list(labels), fontsize=size, parse_math=False)
        return
    each = _points(ax, "x") / max(len(labels), 1)
    longest = max((len(label) for label in labels), default=0)
    flat = 0.65 * size * longest < each  # 0.65: mean width of a character, in font sizes
    ax.set_xticks(
        list(places),
        list(labels),
        fontsize=size,
        parse_math=False,
        rotation=0 if flat else 90,
        ha="center",
        va="top",
    )


def write_instead(ax: Axes, message: str) -> Axes:
    """Write a message into empty Axes, where there is nothing to draw."""
    ax.set_axis_off()
    ax.text(
        0.5,
        0.5,
        "\n".join(textwrap.wrap(message, 44)),
        ha="center",
        va="center",
        color=INK,
        transform=ax.transAxes,
        parse_math=False,
    )
    return ax


def open_frame(ax: Axes) -> None:
    """Remove the upper and right line of the frame."""
    ax.spines[["top", "right"]].set_visible(False)
    for spine in ax.spines.values():
        spine.set_edgecolor(GREY)


def whole_numbers(ax: Axes, which: str) -> None:
    """Put ticks at whole numbers only."""
    ruler = ax.xaxis if which == "x" else ax.yaxis
    ruler.set_major_locator(import_optional("matplotlib.ticker").MaxNLocator(integer=True))


def log_scale(
    ax: Axes, which: str, low: float, high: float, *, ratio: float = 10.0, with_zero: bool = False
) -> bool:
    """Use a logarithmic scale with plain numbers if the values span more than a ratio."""
    if not 0 < ratio * low < high:
        return False
    ticker = import_optional("matplotlib.ticker")
    ruler = ax.xaxis if which == "x" else ax.yaxis
    digits = (1.0,) if high > 300 * low else (1.0, 2.0, 5.0)
    if with_zero:
        (ax.set_xscale if which == "x" else ax.set_yscale)("symlog", linthresh=1.0)
        powers = [10.0**i for i in range(len(f"{high:.0f}"))]
        ruler.set_major_locator(
            ticker.FixedLocator([0.0, *(digit * power for power in powers for digit in digits)])
        )
    else:
        ax.set(**{f"{which}scale": "log"})
        ruler.set_major_locator(ticker.LogLocator(subs=digits))
    ruler.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    ruler.set_minor_locator(ticker.NullLocator())
    return True
