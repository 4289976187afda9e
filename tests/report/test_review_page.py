"""Accepting and rejecting neurons on the page of a movie."""

import json

import numpy as np
import pytest
from page_parser import ParsedPage, assert_self_contained
from small_movies import perfect_fit

from thinrank.calcium import Fluorescence, Quality, accepted_neurons, read_decisions
from thinrank.report import MovieAnalysis, write_movie_page

HOSTILE = '"><script>document.title="taken"</script><img src=x onerror=alert(1)>.tif'


@pytest.fixture(scope="module")
def analysis():
    imaging, truth = perfect_fit(30070)
    raw = truth.traces.astype(np.float32) + 10
    imaging.fluorescence_ = Fluorescence(raw, 0 * raw, 0 * raw + 10, raw, 0.7)
    imaging.quality_ = Quality(np.array([9.0, 1.0, 5.0]), np.array([0.9, 0.1, 0.5]))
    return MovieAnalysis(HOSTILE, imaging, review=True)


def test_a_box_for_every_neuron(analysis, tmp_path):
    write_movie_page(analysis, tmp_path / "page.html")
    page = ParsedPage((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert_self_contained(page)
    assert len(page.named("script")) == 1
    assert HOSTILE in page.text
    assert "3 neurons in 60 frames" in page.text
    rows = page.table("neuron")
    assert rows[0][6:] == ["SNR", "correlation", "accept"]
    assert rows[2][6:8] == ["1.0", "0.10"]
    boxes = page.named("input")
    assert [json.loads(box["data-choice"])["id"] for box in boxes] == [1, 2, 3]
    assert ["checked" in box for box in boxes] == [True, True, True]
    (bar,) = [part for part in page.named("div") if "data-choices" in part]
    about = json.loads(bar["data-choices"])
    assert about["movie"] == HOSTILE
    assert (about["frames"], about["height"], about["width"]) == (60, 40, 44)


def test_a_page_without_review_has_no_boxes(analysis, tmp_path):
    plain = MovieAnalysis("film.tif", analysis.imaging)
    write_movie_page(plain, tmp_path / "page.html")
    page = ParsedPage((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert not page.named("input")


@pytest.mark.browser
def test_decisions_are_saved(analysis, tmp_path, browser):
    write_movie_page(analysis, tmp_path / "page.html")
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    problems = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto((tmp_path / "page.html").absolute().as_uri())
    assert page.title() == f"Neurons in {HOSTILE}"
    assert page.locator(".choices output").inner_text() == "3 of 3 accepted"
    page.get_by_label("accept neuron 2").uncheck()
    assert page.locator(".choices output").inner_text() == "2 of 3 accepted"
    page.get_by_role("button", name="Tick all").click()
    assert page.locator(".choices output").inner_text() == "3 of 3 accepted"
    page.get_by_label("accept neuron 1").uncheck()
    page.get_by_role("button", name="SNR").click()  # sorts the rows
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save decisions.json").click()
    assert saved.value.suggested_filename == "decisions.json"
    saved.value.save_as(tmp_path / "decisions.json")
    context.close()
    decisions = read_decisions(tmp_path / "decisions.json")
    assert (*decisions.numbers,) == (1, 2, 3)
    assert (*decisions.accepted,) == (False, True, True)
    regions = analysis.imaging.region_coordinates_
    assert accepted_neurons(decisions, regions, (60, 40, 44)).tolist() == [1, 2]
    assert problems == []
