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
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, cast

from thinrank.core.imports import import_optional

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

    text: str  # the text
    stress: bool = False  # whether to emphasize it as the main result of the page

    def _html(self) -> str:
        """The escaped HTML; each kind of block has this method."""
        return f"<p{' class=stress' * self.stress}>{_code(self.text)}</p>"


@dataclass(frozen=True)
class Section:
    """A heading of the second level."""

    title: str

    @property
    def anchor(self) -> str:
        """Where links of the same page lead."""
        return "section-" + re.sub(r"\W+", "-", self.title.lower())

    def _html(self) -> str:
        return f'<h2 id="{self.anchor}">{_code(self.title)}</h2>'


@dataclass(frozen=True)
class Points:
    """A list of sentences, shown literally because they may contain names from data."""

    items: tuple[str, ...]  # the sentences
    caution: bool = False  # whether they are warnings

    def _html(self) -> str:
        items = "\n".join(f"<li>{escape(item)}</li>" for item in self.items)
        return f'<ul class="points{" caution" * self.caution}">\n{items}\n</ul>'


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

    header: tuple[str, ...]  # names of the columns
    rows: list[tuple[Cell, ...]]
    left: int = 1  # number of leading columns that are left-aligned
    caption: str = ""  # what the table shows; required if it is sortable
    note: str = ""  # a remark below the table
    sortable: bool = False  # whether the reader can sort and filter the rows
    # whether text is shown as it is, for names from data; otherwise backticks enclose code
    literal: bool = False

    def _html(self) -> str:
        shown = escape if self.literal else _code
        sides = [("words", "number")[j >= self.left] for j in range(len(self.header))]
        names = zip(sides, self.header, strict=True)
        head = "".join(f'<th scope="col" class="{side}">{shown(name)}</th>' for side, name in names)
        rows = ("".join(map(self._cell, sides, row)) for row in self.rows)
        body = "\n".join(f"<tr>{row}</tr>" for row in rows)
        frame, kind = '<div class="wide">', ""
        if self.sortable:
            frame = '<div class="wide sortable" role="region" tabindex="0" aria-label="{}">'
            frame, kind = frame.format(escape(self.caption)), " data-sortable"
        caption = f"<caption>{shown(self.caption)}</caption>\n" if self.caption else ""
        note = f'\n<p class="note">{_code(self.note)}</p>' if self.note else ""
        return (
            f"{frame}\n<table{kind}>\n{caption}<thead><tr>{head}</tr></thead>\n"
            f"<tbody>\n{body}\n</tbody>\n</table></div>{note}"
        )

    def _cell(self, side: str, cell: Cell) -> str:
        """A cell; tables are sorted by the attribute with the exact number."""
        kind = ' class="words"' if side == "words" else ""
        match cell:
            case Number(value, text):
                exact = "" if math.isnan(value) else f' data-v="{value:.9g}"'
                return f"<td{kind}{exact}>{escape(text)}</td>"
            case Choice(label, chosen, about):
                data = f'aria-label="{escape(label)}" data-choice="{escape(json.dumps(about))}"'
                return f'<td{kind}><input type="checkbox" {data}{" checked" * chosen}></td>'
        return f"<td{kind}>{escape(cell) if self.literal else _code(cell)}</td>"


@dataclass(frozen=True)
class Picture:
    """A plot."""

    name: str  # name, of which there is one on the page
    figure: Figure  # the plot
    description: str  # caption
    alternative: str = ""  # for readers who do not see the plot; "": the first sentence
    table: Table | None = None  # the plotted numbers, which the page shows on demand
    literal: bool = False  # whether the caption is shown as it is; otherwise backticks enclose code

    def _html(self) -> str:
        content = drawn(self.figure)
        form = "png" if content.startswith(_PNG) else "svg+xml"
        source = f"data:image/{form};base64,{base64.b64encode(content).decode('ascii')}"
        narrow = " class=narrow" if self.figure.get_figwidth() < _NARROW else ""
        caption = escape(self.description) if self.literal else _code(self.description)
        details = ""
        if self.table:
            details = (
                f"<details><summary>Show as a table</summary>\n{self.table._html()}\n</details>\n"
            )
        return (
            f'<figure{narrow}>\n<img src="{source}" '
            f'alt="{escape(self.alternative or self.description.partition(". ")[0])}">\n'
            f"<figcaption>{caption}</figcaption>\n{details}</figure>"
        )


@dataclass(frozen=True)
class Choices:
    """Buttons that tick all boxes of the page or none, and save the choices as a JSON file."""

    file_name: str  # name of the file
    entry: str  # name of the list of choices in the file
    key: str  # name of the entry of each choice that is true if its box is ticked
    about: dict[str, str | int | float]  # other entries of the file, of texts and numbers

    def _html(self) -> str:
        return (
            f'<div class="choices" data-choices="{escape(json.dumps(self.about))}" '
            f'data-file="{escape(self.file_name)}" data-entry="{escape(self.entry)}" '
            f'data-key="{escape(self.key)}"></div>\n<noscript><p class="note">Choices are saved '
            "by a script, which this browser does not run.</p></noscript>"
        )


Block = Text | Points | Section | Table | Picture | Choices


@dataclass
class Page:
    """A title and its blocks, from top to bottom."""

    title: str  # the title
    blocks: list[Block] = field(default_factory=list)  # the contents
    contents: bool = False  # whether the page begins with links to its sections
    origin: str = ""  # a line below the title: data, date, version

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        self.blocks.extend(blocks)

    def html(self) -> str:
        """The page with its style and its pictures, as one file.

        A content security policy forbids every request and every script but the page's own, so
        that names from data cannot do anything even if they look like markup.
        """
        style, script = _part("style.css"), ""
        if any(isinstance(block, Table) and block.sortable for block in self.blocks):
            script = _part("tables.js")
        if any(isinstance(block, Choices) for block in self.blocks):
            script += _part("choices.js")
        rules = ["default-src 'none'", "img-src data:", f"style-src {_hash(style)}"]
        rules += [f"script-src {_hash(script)}"] if script else []
        parts = [f'<main id="content"{" class=report" * self.contents}>']
        parts.append(f"<h1>{_code(self.title)}</h1>")
        if self.origin:
            parts.append(f'<p class="note">{escape(self.origin)}</p>')
        if self.contents:
            sections = [block for block in self.blocks if isinstance(block, Section)]
            links = (f'<li><a href="#{s.anchor}">{_code(s.title)}</a></li>' for s in sections)
            parts.append('<nav class="contents" aria-label="Contents"><ul>')
            parts += [*links, "</ul></nav>"]
        parts += [block._html() for block in self.blocks]
        parts += ["</main>", *([f"<script>{script}</script>"] if script else [])]
        policy = "; ".join([*rules, "base-uri 'none'", "form-action 'none'"])
        return _FRAME.format(policy, escape(self.title), style, "\n".join(parts))


_FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{}</title>
<style>{}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
{}
</body>
</html>
"""


@contextmanager
def drawing() -> Iterator[None]:
    """Use the style of pages inside the context; matplotlib's settings are restored on exit."""
    matplotlib = import_optional("matplotlib")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """A figure that pyplot does not know, so that nothing is left open."""
    figure = import_optional("matplotlib.figure").Figure
    return cast("Figure", figure((width, height), layout="constrained"))


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


def _part(name: str) -> str:
    """A file of the folder ``page``, which is part of the package."""
    return files("thinrank.report").joinpath("page", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _code(text: str) -> str:
    """Escape the text and turn backticks into code elements."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))
