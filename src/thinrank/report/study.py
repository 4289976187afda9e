"""From the records of a study to its folder of pages and plots."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from thinrank.core.extras import import_optional
from thinrank.report.accuracy import accuracy_page
from thinrank.report.calcium import calcium_page
from thinrank.report.convergence import convergence_page
from thinrank.report.high_dimension import high_dimension_page
from thinrank.report.html import render_html
from thinrank.report.markdown import render_markdown
from thinrank.report.noise import noise_page
from thinrank.report.norway import norway_page
from thinrank.report.page import Page, Text
from thinrank.report.printed import table_names
from thinrank.report.provenance import QUICK, is_quick, provenance, read_summary
from thinrank.report.rl_blackjack import rl_blackjack_page
from thinrank.report.rl_sparse_family import rl_sparse_family_page
from thinrank.report.sensitivity import sensitivity_page
from thinrank.report.statistics import Record
from thinrank.report.style import drawing, store
from thinrank.report.timing import timing_page

__all__ = ["STUDIES", "write_page", "write_study"]

STUDIES: dict[str, Callable[[str, list[Record]], Page]] = {
    **dict.fromkeys(table_names(), accuracy_page),
    "table5": timing_page,
    "norway": norway_page,
    "calcium": calcium_page,
    "figure-no-error": convergence_page,
    "figure-no-sparsity": convergence_page,
    "figure-high-dimension": high_dimension_page,
    "sensitivity": sensitivity_page,
    "noise": noise_page,
    "rl-sparse-family": rl_sparse_family_page,
    "rl-blackjack": rl_blackjack_page,
}
"""The page of each study, in the order of the index."""


def write_study(name: str, records: list[Record], folder: Path) -> None:
    """Write the pages and plots of a study.

    Parameters
    ----------
    name : str
        Name of the study, such as ``"table1"``.
    records : list of dict
        What the study recorded, one flat dict a replication and method.
    folder : Path
        Folder of all results; the study gets ``folder/name`` with ``page.md``, ``page.html`` (which
        needs no other file) and each figure as PNG and SVG. A ``summary.json`` that lies there
        gives the command.

    Raises
    ------
    ImportError
        Without matplotlib or Jinja2.
    ValueError
        If there is no such study.
    """
    if name not in STUDIES:
        raise ValueError(f"no study is called {name!r}; there are {', '.join(STUDIES)}")
    for library in ("matplotlib", "jinja2"):
        import_optional(library)
    place = Path(folder) / name
    place.mkdir(parents=True, exist_ok=True)
    summary = read_summary(place)
    with drawing():
        if records:
            page = STUDIES[name](name, records)
            if is_quick(summary):
                page.blocks.insert(1, Text(QUICK))
        else:
            page = Page(name, [Text("No replication of this study is finished.", stress=True)])
        page.add(*provenance(name, records, summary))
        write_page(page, place, "page")


def write_page(page: Page, folder: Path, stem: str) -> None:
    """Write a page as Markdown and HTML, and its figures beside it."""
    drawings = {
        picture.name: store(picture.figure, folder, picture.name) for picture in page.pictures
    }
    (folder / f"{stem}.md").write_text(render_markdown(page), encoding="utf-8")
    (folder / f"{stem}.html").write_text(render_html(page, drawings), encoding="utf-8")
