"""Write a page and its figures to files."""

from __future__ import annotations

from pathlib import Path

from thinrank.core.files import write_text
from thinrank.report.html import render_html
from thinrank.report.markdown import render_markdown
from thinrank.report.page import Page
from thinrank.report.style import store


def write_page(page: Page, folder: Path, stem: str) -> None:
    """Write a page as Markdown and as HTML, and its figures to the same folder."""
    drawings = {
        picture.name: store(picture.figure, folder, picture.name) for picture in page.pictures
    }
    write_text(folder / f"{stem}.md", render_markdown(page))
    write_text(folder / f"{stem}.html", render_html(page, drawings))
