"""A page: its blocks, and the one HTML file that needs no other file and no network."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

from thinrank.core.imports import import_optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 7.2  # of a figure that spans the page, in inches
# A plot of thousands of points takes more as SVG than the rest of a page; as PNG it does not.
_MOST_BYTES = 300_000
_DPI = 160  # sharp at the width of the page on a screen with two pixels per CSS pixel
_PNG = b"\x89PNG"  # the first bytes of a PNG file
_STYLE = {
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
    "lines.markersize": 5.0,
    "legend.frameon": False,
    "svg.hashsalt": "thinrank",  # so that the same numbers give the same file
}


@dataclass(frozen=True)
class Text:
    """A paragraph. Backticks enclose code; everything else is literal."""

    text: str
    stress: bool = False  # whether to emphasize it as the main result of the page

    def _html(self) -> str:
        """The escaped HTML; each kind of block has this method."""
        text = re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(self.text))
        return f"<p{' class=stress' * self.stress}>{text}</p>"


@dataclass(frozen=True)
class Section:
    """A heading of the second level."""

    title: str

    @property
    def anchor(self) -> str:
        """Where links of the same page lead."""
        return "section-" + re.sub(r"\W+", "-", self.title.lower())

    def _html(self) -> str:
        return f'<h2 id="{self.anchor}">{escape(self.title)}</h2>'


@dataclass(frozen=True)
class Points:
    """A list of sentences."""

    items: tuple[str, ...]
    caution: bool = False  # whether they are warnings

    def _html(self) -> str:
        items = "\n".join(f"<li>{escape(item)}</li>" for item in self.items)
        return f'<ul class="points{" caution" * self.caution}">\n{items}\n</ul>'


@dataclass(frozen=True)
class Number:
    """A table cell with a number, which is shown rounded and sorts by its exact value."""

    value: float  # NaN for a missing one, which is shown as an empty cell
    text: str


@dataclass(frozen=True)
class Choice:
    """A table cell with a box that the reader can tick."""

    label: str  # what is chosen, for readers who do not see the table
    chosen: bool  # whether the box is ticked at first
    about: dict[str, str | int | float]  # what :class:`Choices` saves with it


Cell = str | Number | Choice


@dataclass(frozen=True)
class Table:
    """A table; its first ``left`` columns hold text, the others numbers."""

    header: tuple[str, ...]
    rows: list[tuple[Cell, ...]]
    left: int = 1  # number of leading columns that are left-aligned
    caption: str = ""  # what the table shows; required if it is sortable
    note: str = ""  # a remark below the table
    sortable: bool = False  # whether the reader can sort, filter and download the rows

    def _html(self) -> str:
        sides = [("words", "number")[j >= self.left] for j in range(len(self.header))]
        names = zip(sides, self.header, strict=True)
        head = "".join(f'<th scope="col" class="{side}">{escape(n)}</th>' for side, n in names)
        rows = ("".join(map(self._cell, sides, row)) for row in self.rows)
        body = "\n".join(f"<tr>{row}</tr>" for row in rows)
        frame, kind, caption = '<div class="wide">', "", escape(self.caption)
        if self.sortable:
            region = f'role="region" tabindex="0" aria-label="{caption}"'
            frame, kind = f'<div class="wide sortable" {region}>', " data-sortable"
        caption = f"<caption>{caption}</caption>\n" if caption else ""
        note = f'\n<p class="note">{escape(self.note)}</p>' if self.note else ""
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
        return f"<td{kind}>{escape(cell)}</td>"


@dataclass(frozen=True)
class Picture:
    """A plot; the first sentence of its caption is for readers who do not see it."""

    name: str  # name, of which there is one on the page
    figure: Figure
    caption: str

    def _html(self) -> str:
        content = drawn(self.figure)
        form = "png" if content.startswith(_PNG) else "svg+xml"
        source = f"data:image/{form};base64,{base64.b64encode(content).decode('ascii')}"
        alternative, width = self.caption.partition(". ")[0], self.figure.get_figwidth()
        return (
            # its own size, in which text is readable; a narrow screen scrolls
            f'<figure><div class="wide">\n<img src="{source}" width="{96 * width:.0f}" '
            f'alt="{escape(alternative)}">\n</div>\n'
            f"<figcaption>{escape(self.caption)}</figcaption></figure>"
        )


@dataclass(frozen=True)
class Choices:
    """Buttons that tick all boxes of the page or none, and save the choices as a JSON file."""

    file_name: str
    entry: str  # name of the list of choices in the file
    key: str  # name of the entry of each choice that is true if its box is ticked
    about: dict[str, str | int | float]  # other entries of the file

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

    title: str
    blocks: list[Block] = field(default_factory=list)
    origin: str = ""  # a line below the title: data, date, version

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        self.blocks.extend(blocks)

    def html(self) -> str:
        """The page with its style, its script and its pictures, as one file.

        A content security policy forbids every request and every script but the page's own, so
        that names from data cannot do anything even if they look like markup.
        """
        style, script = _part("style.css"), _part("page.js")
        parts = [f"<h1>{escape(self.title)}</h1>"]
        if self.origin:
            parts.append(f'<p class="note">{escape(self.origin)}</p>')
        sections = [block for block in self.blocks if isinstance(block, Section)]
        links = (f'<li><a href="#{each.anchor}">{escape(each.title)}</a></li>' for each in sections)
        parts.append(f'<nav aria-label="Contents"><ul>{"".join(links)}</ul></nav>')
        parts += [block._html() for block in self.blocks]
        policy = (
            f"default-src 'none'; img-src data:; style-src {_hash(style)}; "
            f"script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
        )
        return _FRAME.format(policy, escape(self.title), style, "\n".join(parts), script)


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
<main id="content">
{}
</main>
<script>{}</script>
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


def picture(name: str, draw: Callable[..., Any], caption: str, width: float = WIDTH) -> Picture:
    """What a function of ``tr.plot`` draws, in the height that it chooses."""
    figure = new_figure(1.0, width)
    draw(ax=figure)
    return Picture(name, figure, caption)


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
        # the figure has a note, and a table of the page the names
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
