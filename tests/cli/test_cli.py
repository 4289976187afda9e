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


@pytest.mark.parametrize("seed", [0, 1])
def test_demo_finds_the_supports(seed):
    result = runner.invoke(app, ["demo", "--seed", str(seed)])
    assert result.exit_code == 0
    assert result.output.count("10 / 10 / 10") == 2
    error = float(re.search(r"error, spectral\s*│\s*([\d.]+)", result.output).group(1))
    assert 0 < error < 0.12
    assert "Converged" in result.output


def test_bad_option_is_a_usage_error():
    result = runner.invoke(app, ["demo", "--seed", "-1"])
    assert result.exit_code == 2
