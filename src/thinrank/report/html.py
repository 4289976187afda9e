"""Render a page as one HTML file that needs no other file and no network."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from importlib.resources import files
from typing import Any

from thinrank.core.imports import import_optional
from thinrank.report.page import (
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
)

_NARROW = 6.5  # inches; a figure below this width is not stretched to that of the page
_PNG = b"\x89PNG"  # the first bytes of a PNG file


def render_html(page: Page, drawings: dict[str, bytes]) -> str:
    """Render a page as HTML that includes its style and its pictures.

    A content security policy forbids every request and every script but the page's own, so that
    names from data cannot do anything even if they look like markup.
    """
    jinja2, markupsafe = import_optional("jinja2"), import_optional("markupsafe")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _with_code
    style = _template("style.css")
    scripts = {"tables.js": page.is_sortable, "choices.js": page.has_choices}
    script = "\n".join(_template(name) for name, needed in scripts.items() if needed)
    document: str = environment.get_template("page.html.j2").render(
        title=page.title,
        up=page.up,
        contents=page.contents,
        blocks=[_plain(block, drawings, i) for i, block in enumerate(page.blocks)],
        style=markupsafe.Markup(style),
        script=markupsafe.Markup(script),
        policy=_policy(style, script),
    )
    return document.strip() + "\n"


def _template(name: str) -> str:
    """Return a file of the folder ``templates``, which is part of the package."""
    return files("thinrank.report").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return a policy that allows this style, this script, pictures in the file, nothing else."""
    rules = ["default-src 'none'", "img-src data:", f"style-src {_hash(style)}"]
    if script:
        rules.append(f"script-src {_hash(script)}")
    return "; ".join([*rules, "base-uri 'none'", "form-action 'none'"])


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _plain(block: Any, drawings: dict[str, bytes], index: int) -> dict[str, Any]:
    """Return a block as a dict for the template."""
    match block:
        case Section(title):
            return {"kind": "section", "title": title, "anchor": f"section-{index}"}
        case Text(text, stress):
            return {"kind": "text", "text": text, "stress": stress}
        case Points(items, caution):
            return {"kind": "points", "items": items, "tone": "caution" if caution else ""}
        case Picture():
            return {
                "kind": "picture",
                "source": _source(drawings[block.name]),
                "description": block.alternative or block.description,
                "caption": block.description,
                "narrow": block.figure.get_figwidth() < _NARROW,
                "literal": block.literal,
                "table": None if block.table is None else _plain(block.table, drawings, index),
            }
        case Table():
            plain = {name: getattr(block, name) for name in block.__dataclass_fields__}
            rows = [[_cell(cell, block.literal) for cell in row] for row in block.rows]
            return plain | {"kind": "table", "rows": rows}
        case Choices():
            plain = {name: getattr(block, name) for name in block.__dataclass_fields__}
            return plain | {"kind": "choices", "about": json.dumps(block.about)}
    raise TypeError(f"a page cannot hold {type(block).__name__}")


def _source(drawing: bytes) -> str:
    kind = "png" if drawing.startswith(_PNG) else "svg+xml"
    return f"data:image/{kind};base64,{base64.b64encode(drawing).decode('ascii')}"


def _cell(cell: Cell, literal: bool) -> dict[str, Any]:
    """Return the contents of a cell as escaped HTML, and its exact number if it has one."""
    markup = import_optional("markupsafe").Markup
    match cell:
        case Link(text, target):
            link = markup('<a href="{}">{}</a>').format(f"{target}.html", _with_code(text))
            return {"html": link, "number": None}
        case Number(value, text):
            return {"html": text, "number": None if math.isnan(value) else f"{value:.9g}"}
        case Verdict(text, good):
            tone = {True: "good", False: "bad", None: "none"}[good]
            mark = markup('<span class="verdict {}"><span aria-hidden="true">{}</span> {}</span>')
            return {"html": mark.format(tone, cell.mark, text), "number": None}
        case Choice(label, chosen, about):
            box = markup('<input type="checkbox" aria-label="{}" data-choice="{}"{}>')
            ticked = markup(" checked") if chosen else ""
            return {"html": box.format(label, json.dumps(about), ticked), "number": None}
    return {"html": cell if literal else _with_code(cell), "number": None}


def _with_code(text: str) -> Any:
    """Escape the text and turn backticks into code elements."""
    markupsafe = import_optional("markupsafe")
    escaped = str(markupsafe.escape(text))
    return markupsafe.Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", escaped))
