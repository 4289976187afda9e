"""Running, resuming and running elsewhere: the records are the same."""

import csv
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from paper.studies import StudyError, load_records, run_study, stable
from tiny import FAILING, TINY, jobs

HERE = Path(__file__).parent


def comparable(records):
    return [stable(record) for record in records]


@pytest.fixture
def reference(tmp_path):
    """The records of an uninterrupted serial run."""
    return comparable(run_study(TINY, tmp_path / "reference", executor="serial"))


def test_records_and_files(tmp_path):
    assert load_records(tmp_path, "tiny") == []
    records = run_study(TINY, tmp_path, executor="serial", quick=True)
    assert len(records) == 16
    assert {"study", "size", "seed", "method", "host", "versions", "started"} <= records[0].keys()
    assert "thinrank" in records[0]["versions"]
    assert load_records(tmp_path, "tiny") == records
    with (tmp_path / "tiny" / "records.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["largest"]) == records[0]["largest"]
    assert json.loads(rows[0]["values"]) == records[0]["values"]
    summary = json.loads((tmp_path / "tiny" / "summary.json").read_text())
    assert summary["jobs"] == summary["jobs_finished"] == summary["jobs_run_now"] == 8
    assert summary["command"] == "python -m paper tiny --quick"
    assert summary["machine"]["cores"] >= 1
    blas = [name for name in summary["machine"]["libraries"] if "openblas" in name]
    assert all(name.endswith(" 1 threads") for name in blas), blas


def test_finished_jobs_are_not_run_again_and_torn_ones_are(tmp_path, monkeypatch):
    log = tmp_path / "log"
    monkeypatch.setenv("TINY_LOG", str(log))
    first = run_study(TINY, tmp_path, executor="serial")
    assert len(log.read_text().split()) == 8
    torn = tmp_path / "tiny" / "records" / f"{jobs(False)[3].key}.json"
    torn.write_text(torn.read_text()[:50])
    second = run_study(TINY, tmp_path, executor="serial")
    assert log.read_text().split()[8:] == [jobs(False)[3].key]
    assert comparable(second) == comparable(first)


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("distributed"), reason="Dask is not installed")
@pytest.mark.filterwarnings("ignore")
def test_dask(tmp_path, reference):
    assert comparable(run_study(TINY, tmp_path, jobs=2, executor="dask")) == reference


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_kill_and_resume(tmp_path, monkeypatch, reference):
    """Kill -9 in the middle: nothing finished is run again, and the result is the same."""
    out, log = tmp_path / "out", tmp_path / "log"
    code = (
        "from tiny import TINY; from paper.studies import run_study; "
        f"run_study(TINY, {str(out)!r}, jobs=2)"
    )
    path = os.pathsep.join([str(HERE), *filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": path, "TINY_SECONDS": "0.4", "TINY_LOG": str(log)}
    victim = subprocess.Popen([sys.executable, "-c", code], env=environment)
    folder, deadline = out / "tiny" / "records", time.monotonic() + 300
    while len(list(folder.glob("[0-9a-f]*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    saved = {path.stem for path in folder.glob("[0-9a-f]*.json")}
    assert 2 <= len(saved) < 8
    time.sleep(0.6)  # workers that were in the middle of a job are gone by now, or done
    before = len(log.read_text().split())
    monkeypatch.setenv("TINY_LOG", str(log))
    resumed = run_study(TINY, out, executor="serial")
    again = set(log.read_text().split()[before:])
    assert not again & saved
    assert again | saved == {job.key for job in jobs(False)}
    assert comparable(resumed) == reference
    assert comparable(load_records(out, "tiny")) == reference


def test_a_failure_does_not_stop_the_others(tmp_path):
    with pytest.raises(StudyError, match=r"2 of 8 jobs of tiny failed.*seed 2.*not welcome"):
        run_study(FAILING, tmp_path, executor="serial")
    assert len(load_records(tmp_path, "tiny")) == 12
    assert len(run_study(TINY, tmp_path, executor="serial")) == 16


def test_interruption_keeps_what_is_finished(tmp_path, monkeypatch):
    calls = []

    def interrupted(job):
        calls.append(job)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return [{"method": "none"}]

    study = type(TINY)("tiny", "", "", jobs, interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_study(study, tmp_path, executor="serial")
    assert len(load_records(tmp_path, "tiny")) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"study": TINY, "executor": "threads"}, "executor must be one of"),
        ({"study": TINY, "jobs": 0}, "jobs must be at least 1"),
    ],
)
def test_clear_errors(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        run_study(out=tmp_path, **options)
