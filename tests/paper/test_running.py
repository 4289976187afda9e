"""Running, resuming and running in processes: the records are the same."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from paper.__main__ import main
from paper.study import Job, StudyError, load_records, run_study
from tiny import FAILING, TINY, jobs
from typer.testing import CliRunner

from thinrank.cli import app

HERE = Path(__file__).parent
VOLATILE = ("seconds", "versions", "day")  # may differ between two runs of a job


def comparable(records):
    return [{name: r[name] for name in r if name not in VOLATILE} for r in records]


def finished(out):
    """The number of jobs whose records are on disk."""
    return len(list((out / "tiny" / "records").glob("[0-9a-f]*.json")))


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The records of an uninterrupted run in this process."""
    return comparable(run_study(TINY, tmp_path_factory.mktemp("reference")))


def test_records_and_files(tmp_path):
    assert load_records(tmp_path, "tiny") == []
    records = run_study(TINY, tmp_path, quick=True)
    assert len(records) == 16
    assert {"study", "size", "seed", "method", "versions", "day"} <= records[0].keys()
    assert "thinrank" in records[0]["versions"]
    assert load_records(tmp_path, "tiny") == records
    rows = pd.read_csv(tmp_path / "tiny" / "records.csv")
    assert rows["largest"][0] == pytest.approx(records[0]["largest"], rel=1e-14)
    assert json.loads(rows["values"][0]) == pytest.approx(records[0]["values"])
    summary = json.loads((tmp_path / "tiny" / "summary.json").read_text())
    assert summary["jobs"] == summary["jobs_run_now"] == 8
    assert summary["command"] == "make reproduce STUDY=tiny QUICK=1"
    libraries = [name for name in summary["machine"].split("; ") if "openblas" in name]
    assert all(name.endswith(" 1 threads") for name in libraries), libraries


def test_finished_jobs_are_not_run_again(tmp_path, monkeypatch, reference):
    log = tmp_path / "log"
    monkeypatch.setenv("TINY_LOG", str(log))
    run_study(TINY, tmp_path)
    assert len(log.read_text().split()) == 8
    key = jobs(False)[3].key("tiny")
    (tmp_path / "tiny" / "records" / f"{key}.json").unlink()
    assert comparable(run_study(TINY, tmp_path)) == reference
    assert log.read_text().split()[8:] == [key]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_kill_and_resume(tmp_path, monkeypatch, reference):
    """Kill -9 in the middle: nothing finished is run again, and the result is the same."""
    out, log = tmp_path / "out", tmp_path / "log"
    code = (
        "from tiny import TINY; from paper.study import run_study; "
        f"run_study(TINY, {str(out)!r}, 2)"
    )
    path = os.pathsep.join([str(HERE), *filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": path, "TINY_SECONDS": "0.4", "TINY_LOG": str(log)}
    victim = subprocess.Popen([sys.executable, "-c", code], env=environment)
    folder, deadline = out / "tiny" / "records", time.monotonic() + 300
    while len(list(folder.glob("[0-9a-f]*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    time.sleep(2)  # workers that were in the middle of a job are gone by now, or done
    saved = {path.stem for path in folder.glob("[0-9a-f]*.json")}
    assert 2 <= len(saved) < 8
    before = len(log.read_text().split())
    monkeypatch.setenv("TINY_LOG", str(log))
    resumed = run_study(TINY, out)
    again = set(log.read_text().split()[before:])
    assert not again & saved
    assert again | saved == {job.key("tiny") for job in jobs(False)}
    assert comparable(resumed) == comparable(load_records(out, "tiny")) == reference


def test_a_failure_does_not_stop_the_others(tmp_path):
    with pytest.raises(StudyError, match=r"2 of 8 jobs failed.*seed 2.*not welcome"):
        run_study(FAILING, tmp_path)
    assert load_records(tmp_path, "tiny") == []
    assert finished(tmp_path) == 6
    assert len(run_study(TINY, tmp_path)) == 16


def test_interruption_keeps_what_is_finished(tmp_path):
    calls = []

    def interrupted(job):
        calls.append(job)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return [{"method": "none"}]

    with pytest.raises(KeyboardInterrupt):
        run_study(dataclasses.replace(TINY, run=interrupted), tmp_path)
    assert finished(tmp_path) == 3


def test_the_key_of_a_job_is_the_same_for_ever():
    job = Job({"setting": "row_strong", "n": 50}, 7)
    assert job.key("table1") == "ba85c05d8046150a1a8d57c7"
    same = Job({"n": np.int64(50), "setting": "row_strong"}, np.int64(7))
    assert same.key("table1") == job.key("table1")
    others = [Job({"n": 50}, 7), Job(job.cell, 8)]
    assert len({job.key("table2"), *(other.key("table1") for other in [job, *others])}) == 4


# ---------------------------------------------------------------- the command

COMMAND = ["figure-no-sparsity", "--quick", "--jobs", "1", "--out"]


def test_one_study_and_again(tmp_path, monkeypatch):
    command = [*COMMAND, str(tmp_path)]
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"\.\[plot\]"):
            main(command)
    for jobs_run in (1, 0):
        assert main(command) == 0
        folder = tmp_path / "figure-no-sparsity"
        assert json.loads((folder / "summary.json").read_text())["jobs_run_now"] == jobs_run
    names = {path.name for path in folder.iterdir()}
    assert {"records.csv", "page.md", "convergence.svg"} <= names
    assert (tmp_path / "index.md").is_file()


def test_an_unknown_study(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["table9"])
    assert "there is no study table9; choose from table1, " in capsys.readouterr().err


def test_the_old_command_says_where_the_experiments_are():
    result = CliRunner().invoke(app, ["reproduce", "table1", "--quick"])
    assert result.exit_code == 2
    assert "make reproduce STUDY=table1" in result.output
