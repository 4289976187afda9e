"""The command that reproduces the experiments of the paper."""

import sys

import pytest
from typer.testing import CliRunner

from thinrank.cli import app, reproduce
from thinrank.paper import norway, study_names

runner = CliRunner()


@pytest.fixture
def pages(monkeypatch):
    """What would be written, without matplotlib."""
    calls = []
    monkeypatch.setattr(
        reproduce, "write_study", lambda name, records, out: calls.append((name, len(records)))
    )
    monkeypatch.setattr(reproduce, "write_index", lambda out: calls.append(("index", out)))
    return calls


def test_one_study(tmp_path, pages):
    command = ["reproduce", "figure-no-sparsity", "--quick", "--jobs", "1", "--out", str(tmp_path)]
    result = runner.invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "figure-no-sparsity: 1 records" in result.output
    assert pages == [("figure-no-sparsity", 1), ("index", tmp_path)]
    assert (tmp_path / "figure-no-sparsity" / "records.csv").is_file()
    assert len(list((tmp_path / "figure-no-sparsity" / "records").iterdir())) == 1
    assert runner.invoke(app, command).exit_code == 0  # from the cache


def test_one_study_with_its_page(tmp_path):
    command = ["reproduce", "figure-no-sparsity", "--quick", "--jobs", "1", "--out", str(tmp_path)]
    result = runner.invoke(app, command)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "figure-no-sparsity" / "page.md").is_file()
    assert (tmp_path / "figure-no-sparsity" / "page.html").is_file()


def test_norway_needs_no_files_of_the_user(tmp_path, pages, monkeypatch):
    monkeypatch.delenv("THINRANK_DATA", raising=False)
    monkeypatch.setattr(norway, "_METHODS", ("pursuit", "null"))
    command = ["reproduce", "norway", "--quick", "--executor", "serial", "--out", str(tmp_path)]
    result = runner.invoke(app, command)
    assert result.exit_code == 0, result.output
    assert pages == [("norway", 10), ("index", tmp_path)]


def test_without_the_extra_there_are_records_to_make_pages_of(tmp_path, monkeypatch):
    command = ["reproduce", "figure-no-sparsity", "--quick", "--jobs", "1", "--out", str(tmp_path)]
    with monkeypatch.context() as without:
        without.setattr(reproduce, "_LIBRARIES", ("no_such_library",))
        result = runner.invoke(app, command)
    assert result.exit_code == 0
    assert "thinrank[report]" in result.output
    assert (tmp_path / "figure-no-sparsity" / "records.csv").is_file()
    assert not (tmp_path / "figure-no-sparsity" / "page.html").exists()
    assert runner.invoke(app, command).exit_code == 0
    assert (tmp_path / "figure-no-sparsity" / "page.html").is_file()


def test_without_dask(tmp_path, pages, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    command = ["reproduce", "figure-no-sparsity", "--executor", "dask", "--out", str(tmp_path)]
    result = runner.invoke(app, command)
    assert result.exit_code == 1
    assert "thinrank[dask]" in result.output


@pytest.mark.parametrize(
    "arguments",
    [["table9"], ["table1", "--executor", "threads"], ["table1", "--jobs", "0"]],
)
def test_usage_errors(tmp_path, arguments):
    assert runner.invoke(app, ["reproduce", *arguments, "--out", str(tmp_path)]).exit_code == 2


def test_interruption(tmp_path, pages, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduce, "run_study", interrupt)
    result = runner.invoke(app, ["reproduce", "table1", "--out", str(tmp_path)])
    assert result.exit_code == 130
    assert "continues from there" in result.output


def test_all_means_all():
    assert reproduce.chosen_studies([]) == reproduce.chosen_studies(["all"]) == list(study_names())
    assert reproduce.chosen_studies(["noise", "table1", "noise"]) == ["noise", "table1"]
