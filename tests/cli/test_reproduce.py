"""The command that reproduces the experiments of the paper."""

import importlib.util
import json
import sys

import pytest
from typer.testing import CliRunner

from thinrank.cli import app

runner = CliRunner()
COMMAND = ["reproduce", "figure-no-sparsity", "--quick", "--jobs", "1", "--out"]


def test_one_study_first_without_the_extra(tmp_path, monkeypatch):
    """Without it there are records, of which a later run makes the pages."""
    command = [*COMMAND, str(tmp_path)]
    with monkeypatch.context() as without:
        without.setattr(importlib.util, "find_spec", lambda name: None)
        result = runner.invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "thinrank[report]" in result.output
    assert "figure-no-sparsity: 1 records" in result.output
    folder = tmp_path / "figure-no-sparsity"
    assert (folder / "records.csv").is_file()
    assert not (folder / "page.html").exists()
    assert runner.invoke(app, command).exit_code == 0
    assert json.loads((folder / "summary.json").read_text())["jobs_run_now"] == 0
    assert (folder / "page.md").is_file()
    assert (folder / "page.html").is_file()
    assert (tmp_path / "index.html").is_file()


def test_without_dask_and_without_its_scheduler(tmp_path, monkeypatch):
    import dask
    import distributed  # noqa: F401  its settings would be lost at the end of the block

    command = [*COMMAND, str(tmp_path), "--executor", "dask"]
    with dask.config.set({"distributed.comm.timeouts.connect": "50ms"}):
        for address in ("tcp://127.0.0.1:1", "no-address"):
            result = runner.invoke(app, [*command, "--scheduler", address])
            assert result.exit_code == 1
            assert f"there is no Dask scheduler at {address}" in result.output
            assert "Traceback" not in result.output
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = runner.invoke(app, command)
    assert result.exit_code == 1
    assert "thinrank[dask]" in result.output


@pytest.mark.parametrize(
    "arguments",
    [["table9"], ["table1", "--executor", "threads"], ["table1", "--jobs", "0"]],
)
def test_usage_errors(tmp_path, arguments):
    assert runner.invoke(app, ["reproduce", *arguments, "--out", str(tmp_path)]).exit_code == 2
    assert not list(tmp_path.iterdir())
