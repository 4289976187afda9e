"""Figures in the README and the guide are those of the records that they are taken from."""

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
REAL_DATA_PAGE = (ROOT / "docs" / "guide" / "real_data.md").read_text()
RECORDS = ROOT / "docs" / "benchmarks"


def tables(text):
    """Every Markdown table of a text: one dictionary per row, with the headings as keys."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        heading, _, *rows = (
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in block.splitlines()
        )
        found.append([dict(zip(heading, row, strict=True)) for row in rows])
    return found


def table_with(text, *headings):
    """The one table that has all these headings."""
    (table,) = (t for t in tables(text) if set(headings) <= set(t[0]))
    return table


def number(cell):
    """The leading number of a cell, of an error in bold type or with a count in brackets."""
    return float(re.match(r"\**(-?[\d.]+)", cell)[1])


def in_brackets(cell):
    return float(re.search(r"\(([\d.]+)\)", cell)[1])


def words(text):
    """The text with every run of white space replaced by one space: lines may break anywhere."""
    return " ".join(text.split())


@pytest.fixture(scope="module")
def real_data():
    return (RECORDS / "real_data.md").read_text()


@pytest.fixture(scope="module")
def errors(real_data):
    return table_with(real_data, "set", "n × p → k", "thinrank")


@pytest.fixture(scope="module")
def seconds(real_data):
    table = table_with(real_data, "set", "thinrank: rank, s")
    return {
        row["set"]: {
            name.removesuffix(": rank, s"): float(cell.split(",")[1])
            for name, cell in row.items()
            if name != "set"
        }
        for row in table
    }


def predictors(row):
    return int(re.search(r"× (\d+) →", row["n × p → k"])[1])


def samples(row):
    return int(row["n × p → k"].split()[0])


def test_table_of_the_readme():
    """What is selected: the same cells as in the record that its command writes."""
    headings = ("effects", "method", "predictors: found, false", "rank")
    record = (RECORDS / "selected.md").read_text()
    assert table_with(README, *headings) == table_with(record, *headings)
    assert "Means of 10 draws." in record
    assert "Command: `python benchmarks/selected.py`" in record


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 120


def test_bold_type_of_the_record(errors):
    for row in errors:
        methods = list(row.items())[2:]
        bold = [number(cell) for _, cell in methods if cell.startswith("**")]
        assert bold == [min(number(cell) for _, cell in methods)]


def test_summary_of_the_record(real_data, errors):
    """Geometric means and percentages follow from the table above them."""
    large = [row for row in errors if samples(row) >= 40]
    assert f"Summary of the {len(large)} sets with n ≥ 40" in real_data
    wide = [row for row in large if predictors(row) >= 100]
    for name in ("thinrank", 'thinrank, "thinnest"'):
        for other in ("RidgeCV", "MultiTaskLassoCV"):
            ratios = [number(row[name]) / number(row[other]) for row in large]
            stated = re.search(
                rf"- {name}: error over that of {other}, geometric mean ([\d.]+)", real_data
            )[1]
            assert float(stated) == pytest.approx(np.exp(np.mean(np.log(ratios))), abs=2e-4)
        kept = [in_brackets(row[name]) / predictors(row) for row in wide]
        stated = re.search(
            rf"- {name}: predictors kept, for the {len(wide)} sets with p ≥ 100, mean ([\d.]+) %",
            real_data,
        )[1]
        assert float(stated) == pytest.approx(100 * np.mean(kept), abs=0.06)


def test_sentences_of_the_guide(real_data, errors):
    """The sentences below the tables of the page "On real data"."""
    page = words(REAL_DATA_PAGE)
    by_set = {row["set"]: row for row in errors}
    said = re.search(
        r"RidgeCV is the most accurate on (\w+) and (\w+),.*? the elastic net on (\w+) and (\w+), "
        r"the lasso on (\w+) and (\w+)\.",
        page,
    ).groups()
    best = ["RidgeCV"] * 2 + ["MultiTaskElasticNetCV"] * 2 + ["MultiTaskLassoCV"] * 2
    for name, method in zip(said, best, strict=True):
        assert by_set[name][method].startswith("**"), (name, method)

    ridge, lasso = re.search(
        r"error of thinrank is ([\d.]+) % above that of RidgeCV and ([\d.]+) % above that of the "
        r"lasso on average",
        page,
    ).groups()
    for stated, method in ((ridge, "RidgeCV"), (lasso, "MultiTaskLassoCV")):
        mean = re.search(
            rf"- thinrank: error over that of {method}, geometric mean ([\d.]+)", real_data
        )
        assert float(stated) == round(100 * (float(mean[1]) - 1), 1)

    stated = re.search(
        r"Of 100 predictors or more it keeps (\d+) % on average, the lasso (\d+) %", page
    ).groups()
    wide = [row for row in errors if samples(row) >= 40 and predictors(row) >= 100]
    for percentage, method in zip(stated, ("thinrank", "MultiTaskLassoCV"), strict=True):
        kept = np.mean([in_brackets(row[method]) / predictors(row) for row in wide])
        assert int(percentage) == round(100 * kept)


def test_every_record_is_on_a_page():
    """Records that no page includes would go out of date unnoticed."""
    pages = "".join(page.read_text() for page in (ROOT / "docs").glob("*/*.md"))
    included = set(re.findall(r"```\{include\} \.\./benchmarks/(\S+)", pages))
    assert {path.name for path in RECORDS.glob("*.md")} == included


def test_make_bench_writes_every_record():
    makefile = (ROOT / "Makefile").read_text()
    written = set(re.findall(r"--markdown \$\(RESULTS\)/(\S+\.md)", makefile))
    assert {path.name for path in RECORDS.glob("*.md")} == written


def test_links_of_the_readme():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        if not target.startswith("http"):
            assert (ROOT / target.split("#")[0]).exists(), target
