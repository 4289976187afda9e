"""What the README and the guide show is what a reader gets."""

import ast
import contextlib
import doctest
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from thinrank.cli import app

ROOT = Path(__file__).parent.parent
PAGES = sorted((*ROOT.glob("docs/guide/*.md"), *ROOT.glob("docs/contribute/*.md")))
SLOW = {"other_losses", "reinforcement_learning", "report"}  # each takes more than five seconds


def test_readme_example_prints_what_it_says():
    text = (ROOT / "README.md").read_text()
    code, printed = re.search(
        r"```python\n(.*?)```\s+prints\s+```text\n(.*?)```", text, re.S
    ).groups()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    assert out.getvalue() == printed


def test_the_commands_of_the_readme_run_as_they_are(tmp_path, monkeypatch):
    """On two files as the README describes them, the second in another order."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    index = pd.Index([f"s{i}" for i in range(40)], name="sample")
    X = pd.DataFrame(rng.standard_normal((40, 5)), index, list("abcde"))
    Y = X[["a", "b"]].set_axis(["u", "v"], axis=1) + 0.3 * rng.standard_normal((40, 2))
    for name, frame in {"X": X, "Y": Y.iloc[::-1], "NEW": X[:5]}.items():
        frame.to_csv(f"{name}.csv")
    commands = re.findall(r"^thinrank (.*)$", (ROOT / "README.md").read_text(), re.M)
    assert [command.split()[0] for command in commands] == ["fit", "report", "predict"]
    for command in commands:
        result = CliRunner().invoke(app, command.split())
        assert result.exit_code == 0, result.output
    assert Path("model/report.html").is_file()
    assert list(pd.read_csv("predictions.csv")["sample"]) == list(index[:5])


def test_the_example_of_the_front_page_runs():
    text = (ROOT / "docs" / "index.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.S)
    found = {}
    exec(code, found)
    assert len(found["est"].row_support_) == len(found["truth"].row_support)


def test_the_readme_has_no_other_code():
    """A second Python example needs a test of its own."""
    assert (ROOT / "README.md").read_text().count("```python") == 1


def _page(path):
    """A page of the guide, marked if it is to run again when PyTorch is installed."""
    marks = [pytest.mark.arrays] if "import torch" in path.read_text(encoding="utf-8") else []
    if path.stem in SLOW:
        marks.append(pytest.mark.slow)
    return pytest.param(path, marks=marks, id=path.stem)


@pytest.mark.parametrize("page", [_page(path) for path in PAGES])
def test_guide(page, request):
    if request.node.get_closest_marker("arrays"):
        request.getfixturevalue("torch")
    failures, _ = doctest.testfile(str(page), module_relative=False)
    assert failures == 0


def test_the_summary_on_the_page_about_factors_is_what_is_printed():
    page = (ROOT / "docs" / "guide" / "reading_the_factors.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"`print\(summary\)` prints\n\n```text\n(.*?)```", page, re.S)
    found = {}
    for example in doctest.DocTestParser().get_examples(page)[:4]:
        exec(example.source, found)
    assert f"{found['summary']}\n" == shown


def test_the_guide_is_short():
    assert len(list((ROOT / "docs" / "guide").glob("*.md"))) <= 24


def test_old_addresses_lead_to_pages_that_exist():
    """The anchors, too: those of headings, as MyST makes them."""
    source = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    (block,) = re.findall(r"^REDIRECTS = (\{.*?^\})", source, re.M | re.S)
    for old, new in ast.literal_eval(block).items():
        assert not (ROOT / "docs" / f"{old}.md").exists()
        place, _, anchor = new.partition("#")
        page = ((ROOT / "docs" / old).parent / place).resolve().with_suffix(".md")
        titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
        slugs = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
        assert not anchor or anchor in slugs, new


def test_the_recipes_name_files_that_exist():
    """Files to edit, in the first column of the tables; names with <…> are files to add."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipes = text[text.index("## Recipes") : text.index("## Tests")]
    cells = re.findall(r"^\| (`.*?) \|", recipes, re.M)
    paths = {path for cell in cells for path in re.findall(r"`([^`<]+\.[a-z]+)`", cell)}
    assert len(paths) > 20
    missing = [
        path
        for path in sorted(paths)
        if not (ROOT / "src" / "thinrank" / path).is_file() and not (ROOT / path).is_file()
    ]
    assert not missing
