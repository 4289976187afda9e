"""The command that reproduces the experiments of the paper."""

import importlib.util
import json
import sys

import pytest
from paper.__main__ import main
from typer.testing import CliRunner

from thinrank.cli import app

COMMAND = ["figure-no-sparsity", "--quick", "--jobs", "1", "--out"]


def test_one_study_first_without_the_extra(tmp_path, monkeypatch, capsys):
    """Without it there are records, of which a later run makes the pages."""
    command = [*COMMAND, str(tmp_path)]
    with monkeypatch.context() as without:
        without.setattr(importlib.util, "find_spec", lambda name: None)
        assert main(command) == 0
    output = capsys.readouterr().out
    assert ".[report]" in output
    assert "figure-no-sparsity: 1 records" in output
    folder = tmp_path / "figure-no-sparsity"
    assert (folder / "records.csv").is_file()
    assert not (folder / "page.html").exists()
    assert main(command) == 0
    assert json.loads((folder / "summary.json").read_text())["jobs_run_now"] == 0
    assert (folder / "page.md").is_file()
    assert (folder / "page.html").is_file()
    assert (tmp_path / "index.html").is_file()


def test_without_dask_and_without_its_scheduler(tmp_path, monkeypatch, capsys):
    import dask
    import distributed  # noqa: F401  its settings would be lost at the end of the block

    command = [*COMMAND, str(tmp_path), "--executor", "dask"]
    with dask.config.set({"distributed.comm.timeouts.connect": "50ms"}):
        for address in ("tcp://127.0.0.1:1", "no-address"):
            assert main([*command, "--scheduler", address]) == 1
            assert f"there is no Dask scheduler at {address}" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(command) == 1
    assert ".[dask]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["table9"], "there is no study 'table9'"),
        (["table1", "--executor", "threads"], "invalid choice"),
        (["table1", "--jobs", "0"], "--jobs must be at least 1"),
        (["table1", "--out", __file__], "not a folder"),
        (["table1", "--out", f"{__file__}/out"], "not a folder"),
    ],
)
def test_usage_errors(capsys, arguments, told):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert told in capsys.readouterr().err


def test_the_old_command_says_where_the_experiments_are():
    result = CliRunner().invoke(app, ["reproduce", "table1", "--quick"])
    assert result.exit_code == 2
    assert "make reproduce STUDY=table1" in result.output
