"""What plots share: the Axes and the room in them, names as labels, fonts, colors, the model."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from thinrank import arrays
from thinrank.core.checks import positive_integer
from thinrank.core.imports import import_optional
from thinrank.estimators.base import FactorModel
from thinrank.estimators.summary import Findings, percent, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colors that color-blind readers can tell apart and that stay readable in print.
INK = "#1d1d1f"  # text and the most important marks
GRAY = "#6b6b6b"  # reference lines and remarks
QUIET = "#c4c4c4"  # marks that only give the context of others
ACCENT = "#0072b2"  # marks of a single kind
POSITIVE, NEGATIVE = "#b2182b", "#2166ac"
# Categories: the palette of Okabe and Ito (2008) without its yellow, which is hard to see on paper.
CATEGORIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

NAME_WIDTH = 28  # largest number of characters of a label
LARGE, SMALL, SMALLEST = 9.0, 8.0, 7.0  # font sizes in points; names have one between the ends
ROW = 1.5 * LARGE / 72  # height of a name in a new figure, in inches
_TALLEST = 9.0  # of a figure whose height follows from its names, in inches: a printed page
_HALF = 0.44  # half of the width of a column of bars; the distance between columns is 1
_LINE = 1.25  # height of a line of text, in font sizes

NO_FACTORS = "The rank is 0: there are no factors."
NO_COEFFICIENTS = "All coefficients are zero: no predictor was selected."
# what docstrings have in place of words in braces, and before their examples
_TEXTS = {
    "{est}": """est : estimator
        A fitted estimator, such as :class:`thinrank.SparseReducedRankRegressor`.""",
    "{decomposition}": """est : estimator
        A fitted decomposition of a bare matrix, such as :class:`thinrank.SparseSVD`.""",
    "{fit}": """>>> import thinrank as tr
    >>> X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    >>> est = tr.SparseReducedRankRegressor(2, 5, None).fit(X, Y)""",
    "{matrix}": """>>> import numpy as np, thinrank as tr
    >>> X = np.random.default_rng(0).standard_normal((60, 50))
    >>> X[::6, ::5] += 4""",
}
_AX = """
    ax : Axes, Figure or None, default=None
        The Axes to draw in, or an empty figure, which gets the height that names need; None for a
        new figure. In small Axes fewer names are shown, so that they can be read.

    Returns
    -------
    Axes
        The Axes.

"""
Plot = TypeVar("Plot", bound=Callable[..., Any])


def plot(draw: Plot) -> Plot:
    """A function that draws, with what all share: checks of numbers, fonts, parts of the text."""
    if draw.__doc__ is not None:  # python -OO removes it
        text = draw.__doc__
        for word, told in _TEXTS.items():
            text = text.replace(word, told)
        parameters, line, rest = text.partition("\n\n    Examples\n")
        draw.__doc__ = parameters + _AX + line.lstrip("\n") + rest

    @wraps(draw)
    def checked(*args: Any, **options: Any) -> Axes:
        for name, value in options.items():
            if name.startswith("max_"):
                positive_integer(name, value)
        return with_fonts(draw(*args, **options))

    return cast("Plot", checked)


def axes_of(ax: Any, width: float = 6.4, height: float = 4.4) -> Axes:
    """The given Axes, or those of a given or of a new pyplot figure, in inches."""
    if ax is None:
        pyplot = import_optional("matplotlib.pyplot")
        return pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    if isinstance(ax, import_optional("matplotlib.figure").Figure):
        ax.set_figheight(min(height, _TALLEST))
        return ax.add_subplot()
    if not isinstance(ax, import_optional("matplotlib.axes").Axes):
        raise TypeError(
            f"ax must be a matplotlib Axes, an empty Figure or None, got {type(ax).__name__}"
        )
    return ax


def fitted_model(est: Any) -> Findings:
    """Names, coefficients and loadings of a fitted estimator, as its summary has them."""
    if not isinstance(est, FactorModel):
        raise TypeError(
            "est must be a fitted estimator of thinrank, such as SparseReducedRankRegressor, got "
            f"{type(est).__name__}"
        )
    check_is_fitted(est, "factors_")
    return Findings(est)


def selected(model: Findings, standardized: bool = True) -> tuple[np.ndarray, ...]:
    """The predictors in use, the responses with a coefficient, and the coefficients of these."""
    columns = np.flatnonzero(np.any(model.coefficients != 0, axis=0))
    values = model.standardized if standardized else model.coefficients
    # a predictor of unknown scale, which is not in use, has no standardized coefficient
    return model.used, columns, np.nan_to_num(values[:, columns])


def loadings_of(model: Findings) -> tuple[np.ndarray, np.ndarray]:
    """Loadings of all predictors and of all responses on the factors, in standard deviations."""
    left = np.zeros((len(model.predictor_names), model.rank))
    left[model.selected] = model.predictor_loadings
    return left, model.response_loadings


def factor_title(model: Findings, index: int) -> str:
    """The name of a factor, with the share of the responses that it explains."""
    return f"factor {index + 1}\n{percent(float(model.shares[index]))} of {model.share_of}"


def shorten(name: object, width: int = NAME_WIDTH) -> str:
    """A name in one line, without its middle if it is long: long names often differ at the end."""
    return shortened(str(name), width)


def names_at(names: Sequence[object], index: Iterable[int], width: int = NAME_WIDTH) -> list[str]:
    """Short names of some positions; those that became equal have their position added."""
    index = list(index)
    short = [shorten(names[i], width) for i in index]
    times = Counter(short)
    return [
        text if times[text] == 1 else f"{shorten(names[i], width - len(f' [{i}]'))} [{i}]"
        for i, text in zip(index, short, strict=True)
    ]


def as_matrix(values: Any) -> np.ndarray:
    """Numbers of any library as a matrix of NumPy, with a column for those of one dimension."""
    dense = values.toarray() if issparse(values) else values
    matrix = arrays.to_numpy(dense) if arrays.is_array(dense) else np.asarray(dense)
    return (matrix[:, None] if matrix.ndim == 1 else matrix).astype(np.float64, copy=False)


def strongest(strength: np.ndarray, most: int) -> np.ndarray:
    """Positions of the largest values, at most ``most``, the largest first; zeros are left out."""
    order = np.argsort(-strength, kind="stable")[:most]
    return order[strength[order] > 0]


def shown_of(kind: str, shown: int, total: int) -> str:
    """The label of an axis of names, which says when some are not shown."""
    return kind if shown >= total else f"{kind} (strongest {shown:,} of {total:,} shown)"


def factor_positions(factors: Any, rank: int) -> list[int]:
    """Positions of factors, one or a sequence, after a check."""
    given = [factors] if isinstance(factors, Integral) else list(factors)
    for index in given:
        whole = isinstance(index, Integral) and not isinstance(index, bool)
        if not whole or not 0 <= int(index) < rank:
            last = f"from 0 to {rank - 1}" if rank else "(none, because the rank is 0)"
            raise ValueError(f"factors must be positions of factors {last}, got {index!r}")
    if not given:
        raise ValueError("factors must name at least one factor, got an empty sequence")
    return [int(index) for index in given]


def by_sign(values: np.ndarray) -> list[str]:
    """The colors of positive and negative values."""
    return [POSITIVE if value >= 0 else NEGATIVE for value in values]


def room(ax: Axes, which: str) -> int:
    """Number of the smallest labels that fit along an axis."""
    return max(int(size_in_points(ax)["xy".index(which)] / (_LINE * SMALLEST)), 1)


def font_size(ax: Axes, which: str, count: int) -> float:
    """The largest font size, in points, in which ``count`` labels fit along an axis."""
    length = size_in_points(ax)["xy".index(which)]
    return min(max(length / (_LINE * max(count, 1)), SMALLEST), LARGE)


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Width and height of the Axes in points, before the layout of the figure changes them."""
    figure: Any = ax.figure.figure  # also of the Axes of a subfigure
    box = ax.get_window_extent()
    return 72 * box.width / figure.dpi, 72 * box.height / figure.dpi


def name_axis(ax: Axes, which: str, places: Sequence[float], labels: Sequence[str]) -> None:
    """Put names at positions of an axis, as they are written and in a size that fits."""
    look: Any = {"fontsize": font_size(ax, which, len(labels)), "parse_math": False}
    if which == "y":
        ax.set_yticks(list(places), list(labels), **look)
        return
    longest = 0.65 * max(map(len, labels), default=0)  # mean width of a character, in font sizes
    flat = look["fontsize"] * longest * len(labels) < size_in_points(ax)[0]
    ax.set_xticks(list(places), list(labels), rotation=0 if flat else 90, va="top", **look)


def bar_columns(
    ax: Any,
    sides: Sequence[tuple[str, Sequence[str], np.ndarray, int]],
    titles: Sequence[str],
    nothing: str,
) -> Axes:
    """Bars of the largest values of each column, with the kinds of names above each other.

    ``sides``: a kind, its names, their values in all columns, and the most names to show. Bars are
    relative to the longest one of the column. ``nothing``: what to write without columns.
    """
    counts = [min(int(np.count_nonzero(v.any(axis=1))), most) for _, _, v, most in sides]
    rows = sum(counts) + 2 * len(sides)  # two empty ones above each kind, for its title
    width = min(max(2.6 + 1.5 * len(titles), 4.8), 11.0)
    ax = axes_of(ax, width, max(0.9 + ROW * rows, 2.6))
    if not titles:
        return write_instead(ax, nothing)
    share = min((room(ax, "y") - len(sides)) / sum(counts), 1.0)
    places: list[float] = []
    labels: list[str] = []
    for (kind, names, values, _), count in zip(sides, counts, strict=True):
        total = int(np.count_nonzero(values.any(axis=1)))
        shown = strongest(np.abs(values).max(axis=1), max(int(share * count), 1))
        main = np.argmax(np.abs(values[shown]), axis=1)
        shown = shown[np.lexsort((-values[shown, main], main))]  # by their main column
        heights = np.arange(len(shown)) + (places[-1] + 3 if places else 0.0)
        note = shown_of(kind, len(shown), total)
        style: Any = {"xytext": (0, 3), "textcoords": "offset points", "color": GRAY}
        ax.annotate(note, (-0.5, heights[0] - 0.5), fontsize=SMALL, **style)
        for x, column in enumerate(values.T):
            own = column[shown] / (float(np.abs(column).max()) or 1.0)
            ax.barh(heights, own * _HALF, left=x, height=0.75, color=by_sign(own))
            ax.plot([x, x], [heights[0] - 0.5, heights[-1] + 0.5], color=QUIET, lw=0.8)
        places += heights.tolist()
        labels += names_at(names, shown)
    ax.set_ylim(places[-1] + 0.6, -2)
    name_axis(ax, "y", places, labels)
    ax.set_xticks(range(len(titles)), list(titles), fontsize=LARGE)
    ax.xaxis.tick_top()
    ax.set_xlim(-0.55, len(titles) - 0.45)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def write_instead(ax: Axes, message: str) -> Axes:
    """Write a message into empty Axes, where there is nothing to draw."""
    ax.set_axis_off()
    style: Any = {"ha": "center", "va": "center", "color": INK, "parse_math": False}
    ax.text(0.5, 0.5, textwrap.fill(message, 44), transform=ax.transAxes, **style)
    return ax


def heat_map(
    ax: Axes, values: np.ndarray, limit: float, label: str = "", extend: str = "neither"
) -> None:
    """Positive values in red, negative ones in blue, with a color bar."""
    look: Any = {"cmap": "RdBu_r", "aspect": "auto", "interpolation": "nearest"}
    image = ax.imshow(values, vmin=-limit, vmax=limit, **look)
    ax.tick_params(length=0)
    ax.spines[:].set_edgecolor(GRAY)
    figure: Any = ax.get_figure()
    bar = figure.colorbar(image, ax=ax, shrink=0.8, aspect=25, extend=extend)
    bar.set_label(label.replace(" ", "\n"), fontsize=LARGE)  # narrow lines fit beside few rows
    bar.outline.set_visible(False)


def open_frame(ax: Axes) -> None:
    """Remove the upper and right line of the frame."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[:].set_edgecolor(GRAY)


def legend_of(ax: Axes, **options: Any) -> None:
    """A legend that shows names as they are: one with dollar signs is not a formula."""
    legend = ax.legend(**{"frameon": False, "fontsize": SMALL} | options)
    for text in legend.get_texts():
        text.set_parse_math(False)


def whole_numbers(ax: Axes) -> None:
    """Put horizontal ticks at whole numbers only."""
    ax.xaxis.set_major_locator(import_optional("matplotlib.ticker").MaxNLocator(integer=True))


def log_scale(ax: Axes, which: str, low: float, high: float, *, ratio: float = 10.0) -> bool:
    """Use a logarithmic scale with plain numbers if the values span more than a ratio."""
    if not 0 < ratio * low < high:
        return False
    ticker = import_optional("matplotlib.ticker")
    ruler = ax.xaxis if which == "x" else ax.yaxis
    digits = (1.0,) if high > 300 * low else (1.0, 2.0, 5.0)
    ax.set(**{f"{which}scale": "log"})
    ruler.set_major_locator(ticker.LogLocator(subs=digits))
    ruler.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    ruler.set_minor_locator(ticker.NullLocator())
    return True


def apart(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions at least a gap apart, close to the given ones, in their order and in the limits.

    If they do not fit, they are spaced evenly over the whole range.
    """
    count = len(places)
    order = np.argsort(places, kind="stable")
    steps = min(gap, (high - low) / max(count - 1, 1)) * np.arange(count)
    free = np.clip(np.asarray(places)[order] - steps, low, high - steps[-1:])
    # the mean of moving upwards only and downwards only keeps the gaps, too
    up, down = np.maximum.accumulate(free), np.minimum.accumulate(free[::-1])[::-1]
    found = np.empty(count)
    found[order] = (up + down) / 2 + steps
    return found.tolist()


def label_ends(ax: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Labels to the right of lines, moved apart, with a thin line to where they belong.

    ``ends``: the last point of a line, its label and its color.
    """
    height = size_in_points(ax)[1]
    inside = ax.transData + ax.transAxes.inverted()
    points = [float(inside.transform(end[:2])[1]) * height for end in ends]
    arrow = {"arrowstyle": "-", "color": QUIET, "linewidth": 0.6, "shrinkB": 2}
    look: Any = {"va": "center", "fontsize": SMALL, "parse_math": False, "annotation_clip": False}
    look |= {"textcoords": "axes fraction", "arrowprops": arrow}
    for end, place in zip(ends, apart(points, 1.3 * SMALL, 0.0, height), strict=True):
        ax.annotate(end[2], end[:2], xytext=(1.04, place / height), color=end[3], **look)


def with_fonts(ax: Axes) -> Axes:
    """Give texts a font that has their characters; where none is installed, a note says so."""
    every: list[Any] = ax.findobj(import_optional("matplotlib.text").Text)
    texts = [text for text in every if not text.get_text().isascii()]
    fonts = import_optional("matplotlib.font_manager")
    written = {c for text in texts for c in text.get_text() if not c.isspace()}
    lacking = written - _characters(fonts.findfont(fonts.FontProperties()))
    if not lacking:
        return ax
    for font in sorted(fonts.fontManager.ttflist, key=lambda e: ("Sans" not in e.name, e.name)):
        regular = font.style == "normal" and font.weight in (400, "normal", "regular")
        if regular and "Last Resort" not in font.name and lacking <= _characters(font.fname):
            for text in texts:
                text.set_fontfamily([*text.get_fontfamily(), font.name])
            return ax
    figure: Any = ax.figure.figure
    if not figure.get_supxlabel():
        note = "Boxes: characters that no installed font has"
        figure.supxlabel(note, x=0.01, ha="left", fontsize=SMALLEST, color=GRAY)
    return ax


@cache
def _characters(path: str) -> frozenset[str]:
    """The characters that a font file has."""
    font = import_optional("matplotlib.font_manager").get_font(path)
    return frozenset(map(chr, font.get_charmap()))
