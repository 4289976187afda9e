"""Write the page and the figures of a study from its records."""

from __future__ import annotations

from pathlib import Path

from thinrank.core.extras import import_optional
from thinrank.paper.registry import find_page
from thinrank.report.page import Page, Text
from thinrank.report.provenance import QUICK, is_quick, provenance, read_summary
from thinrank.report.style import drawing
from thinrank.report.writer import write_page
from thinrank.studies import StudyRecord

__all__ = ["write_study"]


def write_study(name: str, records: list[StudyRecord], folder: Path | str) -> None:
    """Write the page and the figures of a study.

    Parameters
    ----------
    name : str
        Name of the study, such as ``"table1"``.
    records : list of dict
        Records of the study, from :func:`thinrank.studies.run_study` or
        :func:`thinrank.studies.load_records`.
    folder : path
        Folder of all results. Writes ``page.md``, ``page.html`` (self-contained) and every figure
        as PNG and SVG to ``folder/name``. If ``summary.json`` is there, the page shows the command
        and the machine from it.

    Raises
    ------
    ImportError
        If matplotlib or Jinja2 is not installed.
    ValueError
        If there is no such study.
    """
    make_page = find_page(name)
    for library in ("matplotlib", "jinja2"):
        import_optional(library)
    place = Path(folder) / name
    place.mkdir(parents=True, exist_ok=True)
    summary = read_summary(place)
    with drawing():
        if records:
            page: Page = make_page(name, records)
            if is_quick(summary):
                page.blocks.insert(1, Text(QUICK))
        else:
            page = Page(name, [Text("No replication of this study is finished.", stress=True)])
        page.add(*provenance(name, records, summary))
        write_page(page, place, "page")
