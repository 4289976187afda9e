"""Pages in a real browser: nothing is requested, nothing fails, tables sort and filter."""

import numpy as np
import pandas as pd
import pytest
from small_movies import perfect_fit

import thinrank as tr
from thinrank.calcium import score_regions
from thinrank.report import MovieAnalysis, write_movie_page

SORTABLE = "table[data-sortable]"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    rng = np.random.default_rng(0)
    X, Y, _ = tr.datasets.make_two_way_sparse(
        60, 15, 8, rank=2, row_sparsity=5, column_sparsity=5, random_state=2
    )
    names = ["<script>document.title = 'taken'</script>", "<img src=x onerror=alert(1)>"]
    X = pd.DataFrame(X, columns=[*names, *(f"gene {i}" for i in range(13))])
    Y = pd.DataFrame(
        Y + 0.1 * rng.standard_normal(Y.shape), columns=[f"trait-{i}" for i in "abcdefgh"]
    )
    est = tr.SparseReducedRankRegressor(2, None, 5).fit(X, Y)
    return tr.report.write(est, tmp_path_factory.mktemp("report") / "report.html", X=X, Y=Y)


@pytest.fixture
def open_page(browser):
    """Open a file, and check at the end that nothing was requested and nothing failed."""
    contexts, problems, requests = [], [], []

    def visit(path, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.absolute().as_uri())
        return page

    yield visit
    for context in contexts:
        context.close()
    assert problems == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in requests if url.startswith("file:")]) >= len(contexts)


def column(page, table, index):
    """The texts of the visible cells of a column."""
    return table.locator(f"tbody tr:visible td:nth-child({index + 1})").all_inner_texts()


def first_table(page):
    return page.locator(SORTABLE).first


def test_names_from_data_stay_text(open_page, report):
    page = open_page(report)
    assert page.title() == "What predicts what"
    assert "<script>" in page.inner_text("main")
    assert page.locator("script").count() == 1
    assert page.locator("img:not([src^='data:image/'])").count() == 0


def test_pictures_are_shown(open_page, report):
    page = open_page(report)
    widths = page.eval_on_selector_all("img", "images => images.map(i => i.naturalWidth)")
    assert len(widths) >= 4
    assert all(width > 100 for width in widths)


@pytest.mark.parametrize("kind", ["report", "movie_page"])
@pytest.mark.parametrize("width", [400, 800, 1400])
def test_texts_of_figures_are_readable(kind, width, open_page, request):
    page = open_page(request.getfixturevalue(kind), viewport={"width": width, "height": 800})
    for image in page.locator("img").all():
        # per inch of the figure; the smallest texts have 7 points
        inches = float(image.get_attribute("width")) / 96
        assert image.evaluate("e => e.getBoundingClientRect().width") / inches * 7 / 72 >= 9
        frame = image.locator("xpath=..")
        assert frame.evaluate("e => e.scrollWidth <= e.clientWidth") or width < 800


def test_numbers_sort_as_numbers(open_page, report):
    page = open_page(report)
    table = first_table(page)
    heading = table.locator("th").nth(2)
    for direction in ("descending", "ascending"):
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == direction
        values = [float(text) for text in column(page, table, 2)]
        assert len(values) > 20
        assert min(values) < 0 < max(values)
        assert values == sorted(values, reverse=direction == "descending")
    assert table.locator("th[aria-sort]").count() == 1


def test_gene_2_comes_before_gene_10(open_page, report):
    page = open_page(report)
    table = first_table(page)
    table.locator("th button").nth(0).click()
    numbers = [int(n.split()[1]) for n in column(page, table, 0) if n.startswith("gene")]
    assert len(set(numbers)) > 1
    assert numbers == sorted(numbers)


def test_filter_shows_the_rows_with_all_words(open_page, report):
    page = open_page(report)
    table = first_table(page)
    total = len(column(page, table, 0))
    box = page.get_by_label("Filter").first
    wanted = column(page, table, 1)[0]
    box.fill(wanted.upper())
    table.locator("th button").nth(3).focus()  # sorting keeps the filter
    page.keyboard.press("Enter")
    values = [float(text) for text in column(page, table, 3)]
    assert values == sorted(values, reverse=True)
    assert set(column(page, table, 1)) == {wanted}
    shown = len(column(page, table, 1))
    assert page.locator(".filter output").first.inner_text() == f"{shown} of {total} rows"
    box.fill("no such name")
    assert column(page, table, 0) == []
    box.fill("")
    assert len(column(page, table, 0)) == total


def test_the_rows_that_are_shown_can_be_downloaded(open_page, report):
    page = open_page(report)
    table = first_table(page)
    wanted = column(page, table, 1)[0]
    page.get_by_label("Filter").first.fill(wanted)
    with page.expect_download() as caught:
        page.get_by_role("button", name="Download as CSV").first.click()
    assert caught.value.suggested_filename == "coefficients.csv"
    found = pd.read_csv(caught.value.path(), encoding="utf-8-sig")
    assert list(found.columns) == table.locator("th").all_inner_texts()
    assert set(found.response) == {wanted}
    exact = table.locator("tbody tr:visible td:nth-child(3)").evaluate_all(
        "cells => cells.map(cell => Number(cell.dataset.v))"
    )
    np.testing.assert_array_equal(found.coefficient, exact)


def test_on_a_phone_the_names_stay_in_sight(open_page, report):
    page = open_page(report, viewport={"width": 400, "height": 800})
    frame = page.locator(".wide:has(tbody)").first
    name = frame.locator("tbody td").first
    before = name.bounding_box()["x"]
    frame.evaluate("e => { e.scrollLeft = e.scrollWidth; }")
    assert name.bounding_box()["x"] == pytest.approx(before, abs=2)
    assert name.bounding_box()["width"] <= 200


def background(page):
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return [int(part) for part in colour[4:-1].split(",")]


def ink(page):
    colour = page.evaluate("getComputedStyle(document.body).color")
    return [int(part) for part in colour[4:-1].split(",")]


@pytest.fixture(scope="module")
def movie_page(tmp_path_factory):
    imaging, truth = perfect_fit(80100)
    scores = score_regions(truth.regions, truth.regions)
    path = tmp_path_factory.mktemp("movie") / "page.html"
    write_movie_page(MovieAnalysis("film.tif", imaging, truth.regions, scores), path)
    return path


@pytest.mark.parametrize("kind", ["report", "movie_page"])
def test_light_dark_and_print(kind, open_page, request):
    path = request.getfixturevalue(kind)
    page = open_page(path, color_scheme="light")
    assert min(background(page)) > 240
    assert max(ink(page)) < 60
    page.emulate_media(color_scheme="dark")
    assert max(background(page)) < 60
    assert min(ink(page)) > 200
    page.emulate_media(media="print", color_scheme="dark")
    assert min(background(page)) > 240
    assert max(ink(page)) < 60
    assert page.locator(".filter:visible").count() == 0
    for frame in page.locator(".wide").all():
        assert frame.evaluate("e => getComputedStyle(e).overflowY") == "visible"


@pytest.mark.parametrize("kind", ["report", "movie_page"])
def test_a_narrow_window_does_not_scroll_sideways(kind, open_page, request):
    page = open_page(request.getfixturevalue(kind), viewport={"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
