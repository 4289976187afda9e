"""Names that look like markup are text on every page; the report of a model has its own test."""

import matplotlib.figure
import pytest
from page_parser import ParsedPage, assert_self_contained
from paper.markdown import write_page

from thinrank.report.document import (
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

HOSTILE = "<script>document.title='taken'</script>"
IMAGE = '"><img src=x onerror=alert(1)>'


def read(path):
    page = ParsedPage(path.read_text(encoding="utf-8"))
    assert_self_contained(page)
    assert not page.named("script")
    assert all(image["src"].startswith("data:") for image in page.named("img"))
    return page


@pytest.mark.parametrize("name", [HOSTILE, IMAGE])
def test_every_part_of_a_page(tmp_path, name):
    figure = matplotlib.figure.Figure((3, 2))
    figure.subplots().set_title(name, parse_math=False)
    cells = (name, Link(name, "other"), Number(1.0, name), Verdict(name, True))
    table = Table((name, "b", "c", "d"), [cells], caption=name, note=name)
    blocks = [
        Section(name),
        Text(name),
        Text(name, stress=True),
        Points((name,), caution=True),
        Points((name,)),
        table,
        Picture("picture", figure, name, alternative=name, table=table),
    ]
    write_page(Page(name, blocks, up=Link(name, "up"), contents=True), tmp_path, "page")
    assert read(tmp_path / "page.html").text.count(name.split("=")[0]) >= 15
    markdown = (tmp_path / "page.md").read_text(encoding="utf-8")
    for tag in ("<script", "<img"):
        assert tag not in markdown.replace(f"\\{tag}", "")
        assert tag not in (tmp_path / "picture.svg").read_text(encoding="utf-8")
