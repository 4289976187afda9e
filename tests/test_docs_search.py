"""The built documentation in a browser: its search answers questions, and its pages fit."""

from pathlib import Path

import pytest

BUILT = Path(__file__).parent.parent / "docs" / "_build" / "html"
# What people type, and the pages of which one must be among the first results.
QUESTIONS = {
    "missing values": {"guide/missing_values.html"},
    "p-value": {"guide/questions.html"},
    "plot": {"guide/plots.html"},
    "save": {"guide/saving.html", "api/generated/thinrank.save.html"},
    "categorical": {"guide/categorical_predictors.html"},
    "glmnet": {"guide/questions.html"},
}
FIRST = 5


@pytest.mark.parametrize("words", QUESTIONS)
def test_the_right_page_is_among_the_first_results(browser, words):
    assert (BUILT / "search.html").is_file(), "the documentation is not built; run make docs"
    page = browser.new_page()
    page.goto(f"{(BUILT / 'search.html').as_uri()}?q={words.replace(' ', '+')}")
    page.wait_for_selector("#search-results li a")
    page.wait_for_function(
        "document.querySelector('.search-summary')?.textContent.includes('page')"
    )
    found = page.eval_on_selector_all("#search-results li a", "links => links.map(a => a.href)")
    places = [link.split("#")[0].split("?")[0].removeprefix(f"{BUILT.as_uri()}/") for link in found]
    page.close()
    assert set(places[:FIRST]) & QUESTIONS[words], places[:FIRST]


def test_pages_fit_a_phone_and_paper(browser):
    """Nothing scrolls the window sideways, and on paper nothing is beyond the edge."""
    beyond = """() => Array.from(document.querySelectorAll("article *"))
        .filter(e => e.getBoundingClientRect().right > innerWidth + 2)
        .map(e => e.textContent.slice(0, 40))"""
    page, requests = browser.new_page(), []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: pytest.fail(message.text))
    for path in sorted(BUILT.glob("guide/*.html")):
        if 'http-equiv="refresh"' in path.read_text(encoding="utf-8"):
            continue
        page.set_viewport_size({"width": 400, "height": 800})
        page.emulate_media(media="screen")
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, path.stem
        page.set_viewport_size({"width": 718, "height": 1000})
        page.emulate_media(media="print")
        assert page.evaluate(beyond) == [], path.stem
    page.close()
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
