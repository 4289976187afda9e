"""The search of the built documentation finds the page that answers a question."""

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
