"""Render a page as self-contained HTML."""

from __future__ import annotations

import base64
import re
from importlib.resources import files
from typing import Any

from thinrank.core.extras import import_optional
from thinrank.report.page import Link, Page, Picture, Section, Table, Text

__all__ = ["render_html"]


def render_html(page: Page, drawings: dict[str, bytes]) -> str:
    """Render a page as HTML that includes its style and its pictures.

    Parameters
    ----------
    page : Page
        The page.
    drawings : dict of str to bytes
        SVG of each picture, by the picture's name.

    Returns
    -------
    document : str
        The HTML document.
    """
    jinja2 = import_optional("jinja2")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["code"] = _with_code
    source = files("thinrank.report").joinpath("page.html.j2").read_text(encoding="utf-8")
    blocks = [_plain(block, drawings) for block in page.blocks]
    document: str = environment.from_string(source).render(title=page.title, blocks=blocks)
    return document + "\n"


def _plain(block: Any, drawings: dict[str, bytes]) -> dict[str, Any]:
    """Return a block as a dict for the template."""
    match block:
        case Section(title):
            return {"kind": "section", "title": title}
        case Text(text, stress):
            return {"kind": "text", "text": text, "stress": stress}
        case Picture(name, _, description):
            data = base64.b64encode(drawings[name]).decode("ascii")
            source = f"data:image/svg+xml;base64,{data}"
            return {"kind": "picture", "source": source, "description": description}
        case Table(header, rows, left):
            cells = [[_cell(cell) for cell in row] for row in rows]
            return {"kind": "table", "header": header, "rows": cells, "left": left}
    raise TypeError(f"a page cannot hold {type(block).__name__}")


def _cell(cell: str | Link) -> dict[str, str]:
    if isinstance(cell, Link):
        return {"text": cell.text, "link": f"{cell.target}.html"}
    return {"text": cell, "link": ""}


def _with_code(text: str) -> Any:
    """Escape the text and turn backticks into code elements."""
    markupsafe = import_optional("markupsafe")
    escaped = str(markupsafe.escape(text))
    return markupsafe.Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", escaped))
