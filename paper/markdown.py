"""A page of a study as Markdown, and as HTML beside it."""

from __future__ import annotations

import re
from pathlib import Path

from paper.style import store
from thinrank.core.files import write_text
from thinrank.report.document import (
    Block,
    Cell,
    Choice,
    Choices,
    Link,
    Number,
    Page,
    Picture,
    Points,
    Section,
    Table,
    Text,
    Verdict,
    render_html,
)

_FRONT_MATTER = "---\norphan: true\n---"


def write_page(page: Page, folder: Path, stem: str) -> None:
    """Write a page as Markdown and as HTML, and its figures to the same folder."""
    drawings = {
        picture.name: store(picture.figure, folder, picture.name) for picture in page.pictures
    }
    write_text(folder / f"{stem}.md", render_markdown(page))
    write_text(folder / f"{stem}.html", render_html(page, drawings))


def render_markdown(page: Page) -> str:
    """Render a page as Markdown for GitHub and MyST; pictures are links to SVG files.

    The front matter marks the page as an orphan for Sphinx, so that the documentation builds
    without warnings whether or not a table of contents lists the page.
    """
    up = [f"[← {_escape(page.up.text)}]({page.up.target}.md)"] if page.up else []
    parts = [_FRONT_MATTER, f"# {_escape(page.title)}", *up, *map(_block, page.blocks)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _block(block: Block) -> str:
    match block:
        case Section(title):
            return f"## {_escape(title)}"
        case Text(text, stress):
            return f"**{_escape(text)}**" if stress else _escape(text)
        case Points(items):
            return "\n".join(f"- {_escape(item)}" for item in items)
        case Picture(name, _, description):
            caption = _escape(description)
            return f"![{caption}]({name}.svg)\n\n*{caption}*"
        case Table():
            return _table(block)
        case Choices():
            return ""  # needs the script of the HTML page


def _table(table: Table) -> str:
    rules = ["---" if i < table.left else "---:" for i in range(len(table.header))]
    rows = [table.header, *table.rows]
    lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    lines.insert(1, "| " + " | ".join(rules) + " |")
    return "\n".join(lines)


def _cell(cell: Cell) -> str:
    match cell:
        case Link(text, target):
            return f"[{_escape(text)}]({target}.md)"
        case Verdict(text):
            return f"{cell.mark} {_escape(text)}"
        case Number(_, text):
            return _escape(text)
        case Choice():
            return "yes" if cell.chosen else "no"
    return _escape(cell).replace("|", "\\|")


def _escape(text: str) -> str:
    """Escape Markdown markup outside of backticks."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(
        piece if piece.startswith("`") else re.sub(r"([\\*_\[\]<~])", r"\\\1", piece)
        for piece in pieces
    )
