"""The command line."""

import re

import pytest
from typer.testing import CliRunner

import thinrank as tr
from thinrank.cli import app

runner = CliRunner()


def test_version():
    result = runner.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert tr.__version__ in result.output


@pytest.mark.slow
def test_demo_finds_the_supports_and_names_its_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = runner.invoke(app, ["demo", "--seed", "1"])
    assert result.exit_code == 0
    assert result.output.endswith("The report is in thinrank-demo.html\n")
    assert "<html" in (tmp_path / "thinrank-demo.html").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["thinrank-demo.html"]
    for side in ("predictors", "responses"):
        _, true, found = re.search(rf"│ ({side})\s*│ ([\d ]+)│ ([\d ]+)│", result.output).groups()
        assert len(true.split()) == 10
        assert true.split() == found.split()
    assert result.output.count("10 / 10 / 10") == 2
    error = float(re.search(r"error, spectral\s*│\s*([\d.]+)", result.output).group(1))
    assert 0 < error < 0.12
    assert "Converged" in result.output


def test_bad_option_is_a_usage_error():
    result = runner.invoke(app, ["demo", "--seed", "-1"])
    assert result.exit_code == 2


def test_shell_completion_is_there():
    result = runner.invoke(app, ["--help"])
    assert result.exit_code == 0
    assert "--install-completion" in result.output
