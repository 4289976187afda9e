"""Names that look like markup are text on every page; the report of a model has its own test."""

import base64

import matplotlib.figure
import pytest
from page_parser import ParsedPage, assert_self_contained

from thinrank.report.document import (
    Choice,
    Number,
    Page,
    Picture,
    Points,
    Section,
    Table,
    Text,
)

HOSTILE = "<script>document.title='taken'</script>"
IMAGE = '"><img src=x onerror=alert(1)>'


@pytest.mark.parametrize("name", [HOSTILE, IMAGE])
def test_every_part_of_a_page(name):
    figure = matplotlib.figure.Figure((3, 2))
    figure.subplots().set_title(name, parse_math=False)
    cells = (name, Number(1.0, name), Choice(name, True, {"id": name}))
    table = Table((name, "b", "c"), [cells], caption=name, note=name)
    blocks = [
        Section(name),
        Text(name),
        Text(name, stress=True),
        Points((name,), caution=True),
        Points((name,)),
        table,
        Picture("picture", figure, name, alternative=name, table=table),
    ]
    page = ParsedPage(Page(name, blocks, contents=True).html())
    assert_self_contained(page)
    assert not page.named("script")
    assert page.text.count(name.split("=")[0]) >= 12
    (image,) = page.named("img")
    drawing = base64.b64decode(image["src"].partition(",")[2]).decode("utf-8")
    assert "<script" not in drawing
    assert "<img" not in drawing
