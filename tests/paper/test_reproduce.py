"""The command that reproduces the experiments of the paper."""

import json
import sys

import pytest
from paper.__main__ import main
from typer.testing import CliRunner

from thinrank.cli import app

COMMAND = ["figure-no-sparsity", "--quick", "--jobs", "1", "--out"]


def test_one_study_and_again(tmp_path, monkeypatch, capsys):
    command = [*COMMAND, str(tmp_path)]
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "matplotlib", None)
        assert main(command) == 1
    assert ".[plot]" in capsys.readouterr().out
    for jobs_run in (1, 0):
        assert main(command) == 0
        assert "figure-no-sparsity: 1 records" in capsys.readouterr().out
        folder = tmp_path / "figure-no-sparsity"
        assert json.loads((folder / "summary.json").read_text())["jobs_run_now"] == jobs_run
    names = {path.name for path in folder.iterdir()}
    assert {"records.csv", "page.md", "convergence.svg"} <= names
    assert (tmp_path / "index.md").is_file()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["table9"], "there is no study 'table9'"),
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
