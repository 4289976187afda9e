"""A page: its blocks, and the one HTML file that needs no other file and no network."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar

from thinrank.core.imports import how_to_install, import_optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 7.2
"""Width in inches of a figure that spans the page."""

_NARROW = 6.5  # inches; a figure below this width is not stretched to that of the page
# A plot of thousands of points takes more as SVG than the rest of a page; as PNG it does not.
_MOST_BYTES = 300_000
_DPI = 160  # sharp at the width of the page on a screen with two pixels per CSS pixel
_PNG = b"\x89PNG"  # the first bytes of a PNG file
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
    "svg.hashsalt": "thinrank",  # so that the same numbers give the same file
}


@dataclass(frozen=True)
class Text:
    """A paragraph. Backticks enclose code; everything else is literal."""

    kind: ClassVar[str] = "text"
    text: str  # the text
    stress: bool = False  # whether to emphasize it as the main result of the page


@dataclass(frozen=True)
class Section:
    """A heading of the second level."""

    kind: ClassVar[str] = "section"
    title: str


@dataclass(frozen=True)
class Points:
    """A list of sentences, shown literally because they may contain names from data."""

    kind: ClassVar[str] = "points"
    items: tuple[str, ...]  # the sentences
    caution: bool = False  # whether they are warnings


@dataclass(frozen=True)
class Number:
    """A table cell with a number, which is shown rounded and sorts by its exact value."""

    value: float  # the number; NaN for a missing one, which is shown as an empty cell
    text: str  # what is shown


@dataclass(frozen=True)
class Choice:
    """A table cell with a box that the reader can tick."""

    label: str  # what is chosen, for readers who do not see the table
    chosen: bool  # whether the box is ticked at first
    about: dict[str, str | int | float]  # what :class:`Choices` saves with it, of texts and numbers


Cell = str | Number | Choice


@dataclass(frozen=True)
class Table:
    """A table; its first ``left`` columns hold text, the others numbers."""

    kind: ClassVar[str] = "table"
    header: tuple[str, ...]  # names of the columns
    rows: list[tuple[Cell, ...]]
    left: int = 1  # number of leading columns that are left-aligned
    caption: str = ""  # what the table shows; required if it is sortable
    note: str = ""  # A remark below the table
    sortable: bool = False  # whether the HTML page lets the reader sort and filter the rows
    # whether text is shown as it is, for names from data; otherwise backticks enclose code
    literal: bool = False


@dataclass(frozen=True)
class Picture:
    """A plot."""

    kind: ClassVar[str] = "picture"
    name: str  # name, of which there is one on the page
    figure: Figure  # the plot
    description: str  # caption, and alternative text if there is no other
    alternative: str = ""  # alternative text for readers who do not see the plot
    table: Table | None = None  # the plotted numbers, which the HTML page shows on demand
    literal: bool = False  # whether the caption is shown as it is; otherwise backticks enclose code


@dataclass(frozen=True)
class Choices:
    """Buttons that tick all boxes of the page or none, and save the choices as a JSON file."""

    kind: ClassVar[str] = "choices"
    file_name: str  # name of the file
    entry: str  # name of the list of choices in the file
    key: str  # name of the entry of each choice that is true if its box is ticked
    about: dict[str, str | int | float]  # other entries of the file, of texts and numbers


Block = Text | Points | Section | Table | Picture | Choices


@dataclass
class Page:
    """A title and its blocks, from top to bottom."""

    title: str  # the title
    blocks: list[Block] = field(default_factory=list)  # the contents
    contents: bool = False  # whether the HTML page begins with links to its sections
    origin: str = ""  # a line below the title: data, date, version

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        self.blocks.extend(blocks)

    @property
    def pictures(self) -> list[Picture]:
        """The plots on the page."""
        return [block for block in self.blocks if isinstance(block, Picture)]

    @property
    def is_sortable(self) -> bool:
        """Whether a table of the page can be sorted."""
        tables = [block for block in self.blocks if isinstance(block, Table)]
        tables += [picture.table for picture in self.pictures if picture.table]
        return any(table.sortable for table in tables)

    @property
    def has_choices(self) -> bool:
        """Whether the reader can save choices."""
        return any(isinstance(block, Choices) for block in self.blocks)


def check_libraries() -> None:
    """Raise an ImportError, before work that would be lost, if a library of pages is missing."""
    for library in ("matplotlib", "jinja2"):
        try:
            import_optional(library)
        except ImportError as error:  # matplotlib alone comes with the extra "plot" too
            raise ImportError(
                f"Pages need {library}, which is not installed; {how_to_install('report')}"
            ) from error


@contextmanager
def drawing() -> Iterator[None]:
    """Use the style of pages inside the context; matplotlib's settings are restored on exit."""
    matplotlib = import_optional("matplotlib")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def as_svg(figure: Figure) -> str:
    """A plot as SVG; the layout is computed once and kept for other formats."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    lines = buffer.getvalue().decode("utf-8").splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def drawn(figure: Figure) -> bytes:
    """A plot as SVG, or as PNG if the SVG would be large."""
    with warnings.catch_warnings():
        # the figure has a note, and the table beside it the names
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        svg = as_svg(figure).encode("utf-8")
        if len(svg) <= _MOST_BYTES:
            return svg
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    return buffer.getvalue()


def render_html(page: Page) -> str:
    """Render a page as HTML that includes its style and its pictures.

    A content security policy forbids every request and every script but the page's own, so that
    names from data cannot do anything even if they look like markup.
    """
    jinja2, markup = import_optional("jinja2"), import_optional("markupsafe").Markup
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"code": _with_code, "cell": _cell, "exact": _exact, "json": json.dumps}
    style = _template("style.css")
    scripts = {"tables.js": page.is_sortable, "choices.js": page.has_choices}
    script = "\n".join(_template(name) for name, needed in scripts.items() if needed)
    document: str = environment.get_template("page.html.j2").render(
        page=page,
        sources={picture.name: _source(drawn(picture.figure)) for picture in page.pictures},
        narrow=_NARROW,
        style=markup(style),
        script=markup(script),
        policy=_policy(style, script),
    )
    return document.strip() + "\n"


def _template(name: str) -> str:
    """A file of the folder ``templates``, which is part of the package."""
    return files("thinrank.report").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """A policy that allows this style, this script, pictures in the file, nothing else."""
    rules = ["default-src 'none'", "img-src data:", f"style-src {_hash(style)}"]
    if script:
        rules.append(f"script-src {_hash(script)}")
    return "; ".join([*rules, "base-uri 'none'", "form-action 'none'"])


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _source(drawing: bytes) -> str:
    kind = "png" if drawing.startswith(_PNG) else "svg+xml"
    return f"data:image/{kind};base64,{base64.b64encode(drawing).decode('ascii')}"


def _exact(cell: Cell) -> str:
    """The attribute with the exact number of a cell, by which tables are sorted."""
    known = isinstance(cell, Number) and not math.isnan(cell.value)
    return f"{cell.value:.9g}" if isinstance(cell, Number) and known else ""


def _cell(cell: Cell, literal: bool) -> Any:
    """The contents of a cell as escaped HTML."""
    markup = import_optional("markupsafe").Markup
    match cell:
        case Number(_, text):
            return text
        case Choice(label, chosen, about):
            box = markup('<input type="checkbox" aria-label="{}" data-choice="{}"{}>')
            return box.format(label, json.dumps(about), markup(" checked") if chosen else "")
    return cell if literal else _with_code(cell)


def _with_code(text: str) -> Any:
    """Escape the text and turn backticks into code elements."""
    markupsafe = import_optional("markupsafe")
    escaped = str(markupsafe.escape(text))
    return markupsafe.Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", escaped))
