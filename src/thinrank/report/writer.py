"""Write a page and its figures to files."""

from __future__ import annotations

from pathlib import Path

from thinrank.report.html import render_html
from thinrank.report.markdown import render_markdown
from thinrank.report.page import Page
from thinrank.report.style import store

__all__ = ["write_page"]


def write_page(page: Page, folder: Path, stem: str) -> None:
    """Write a page as Markdown and as HTML, and its figures to the same folder.

    Parameters
    ----------
    page : Page
        What to write.
    folder : Path
        An existing folder.
    stem : str
        Name of the two files without suffix.
    """
    drawings = {
        picture.name: store(picture.figure, folder, picture.name) for picture in page.pictures
    }
    (folder / f"{stem}.md").write_text(render_markdown(page), encoding="utf-8")
    (folder / f"{stem}.html").write_text(render_html(page, drawings), encoding="utf-8")
