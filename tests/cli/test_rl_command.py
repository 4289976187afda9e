"""Learning decision processes from the command line."""

import importlib.util
import re

import pytest
from typer.testing import CliRunner

from thinrank.cli import app
from thinrank.rl import comparison

runner = CliRunner()
SMALL = ["rl", "--tasks", "3", "--features", "10", "--states", "12", "--states", "24"]

# few samples: the models are as thick as these allow
pytestmark = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")


@pytest.fixture(scope="module", autouse=True)
def _few_iterations():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "_ITERATIONS", 2)
        yield


def errors(output, method):
    """The numbers in the row of a method."""
    (row,) = re.findall(rf"│ {method} +│(.*)│", output)
    return [float(cell) for cell in row.split("│")]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    out = tmp_path_factory.mktemp("rl") / "figure.png"
    return runner.invoke(app, [*SMALL, "--out", str(out)]), out


@pytest.fixture
def few(monkeypatch):
    """Two of the methods."""
    methods = comparison._methods()
    chosen = {name: methods[name] for name in ("pursuit", "ridge")}
    monkeypatch.setattr(comparison, "_methods", lambda: chosen)


def test_table_and_figure(small):
    result, out = small
    assert result.exit_code == 0, result.output
    assert "3 tasks, 10 features × 3 actions, 10 of the 30 rows" in result.output
    for method in ("GDT", "pursuit", "group lasso", "lasso", "ridge"):
        *found, seconds = errors(result.output, method)
        assert len(found) == 2
        assert min(found) >= 0
        assert seconds > 0
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("few")
def test_the_seed_decides(small, tmp_path):
    again = runner.invoke(app, [*SMALL, "--out", str(tmp_path / "again.svg")])
    assert errors(again.output, "pursuit")[:2] == errors(small[0].output, "pursuit")[:2]
    assert b"<svg" in (tmp_path / "again.svg").read_bytes()


@pytest.mark.usefixtures("few")
def test_the_other_family(tmp_path):
    command = [*SMALL, "--family", "optimal-value", "--repeats", "2"]
    result = runner.invoke(app, [*command, "--out", str(tmp_path / "rl.pdf")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "rl.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.usefixtures("few")
def test_without_the_extra_the_table_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = runner.invoke(app, [*SMALL, "--out", str(tmp_path / "rl.png")])
    assert result.exit_code == 0
    assert "thinrank[report]" in result.output
    assert "Value error" in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--family", "cubic"], "linear, optimal-value"),
        (["--out", "rl.txt"], ".png, .svg, .pdf"),
        (["--out", "no/such/folder/rl.png"], "no folder"),
        (["--tasks", "2"], "--tasks"),
        (["--states", "0"], "--states"),
        (["--states", "2001"], "--states"),
        (["--seed", "-1"], "--seed"),
    ],
)
def test_bad_options_are_usage_errors(options, told):
    result = runner.invoke(app, ["rl", *options])
    assert result.exit_code == 2
    assert told in re.sub(r"[\s│]+", " ", result.output)
