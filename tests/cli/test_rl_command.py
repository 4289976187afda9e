"""Learning decision processes from the command line."""

import importlib.util
import re

import pytest
from typer.testing import CliRunner

from thinrank.cli import app

runner = CliRunner()
SMALL = ["rl", "--tasks", "3", "--features", "10", "--states", "12"]

# few samples: the models are as thick as these allow
pytestmark = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")


def errors(output, method):
    """The numbers in the row of a method."""
    (row,) = re.findall(rf"│ {method} +│(.*)│", output)
    return [float(cell) for cell in row.split("│")]


def test_table_and_figure(tmp_path):
    out = tmp_path / "[red]rl.png"  # a path with markup is printed as it is
    result = runner.invoke(app, [*SMALL, "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "3 tasks, 10 features × 3 actions, 10 of the 30 rows" in result.output
    for method in ("GDT", "pursuit", "group lasso", "lasso", "ridge"):
        error, seconds = errors(result.output, method)
        assert error >= 0
        assert seconds > 0
    assert f"The figure is in {out}" in result.output
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_other_family_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    command = [*SMALL, "--family", "optimal-value", "--out", str(tmp_path / "rl.png")]
    result = runner.invoke(app, command)
    assert result.exit_code == 0
    assert ".[report]" in result.output
    assert "Value error" in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--family", "cubic"], "linear, optimal-value"),
        (["--out", "rl.txt"], ".png, .svg, .pdf"),
        (["--out", "no/such/folder/rl.png"], "no folder"),
        (["--tasks", "2"], "--tasks"),
        (["--states", "2001"], "--states"),
        (["--features", "100000"], "--features"),
        (["--seed", "-1"], "--seed"),
    ],
)
def test_bad_options_are_usage_errors(options, told):
    result = runner.invoke(app, ["rl", *options])
    assert result.exit_code == 2
    assert told in re.sub(r"[\s│]+", " ", result.output)
