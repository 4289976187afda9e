"""Signals and full disks while the commands write: exit codes, and what is there afterwards."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from messy_files import SIZES, in_child, run, write_pair

import thinrank.report
from thinrank.calcium import CalciumImaging, make_movie
from thinrank.cli import calcium, reproduce
from thinrank.core import whole_file, whole_folder
from thinrank.rl.comparison import Comparison
from thinrank.studies import Job, Study

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

STUDY = Study(
    "tiny",
    "A tiny study",
    "Nothing.",
    lambda quick: [Job("tiny", {"size": 1}, seed) for seed in range(3)],
    lambda job: [{"method": "none", "value": float(job.seed)}],
)


@dataclass(frozen=True)
class Case:
    """A command, and what it writes."""

    command: tuple
    out: str
    again: tuple = ()


CASES = {
    "fit": Case(("fit", "X.csv", "Y.csv", "-o", "m", *SIZES), "m", ("--overwrite",)),
    "predict": Case(("predict", "ready", "X.csv", "-o", "p.csv"), "p.csv", ("--overwrite",)),
    "report": Case(("report", "ready"), "ready/report.html"),
    "calcium": Case(("calcium", "film.npy", "--frame-rate", "7"), "neurons", ("--overwrite",)),
    "rl": Case(("rl", "--states", "12", "--out", "rl.png"), "rl.png"),
    "reproduce": Case(("reproduce", "tiny", "--jobs", "1", "--out", "results"), "results"),
}


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """A model, a movie and its fit: what takes time is done once."""
    folder = tmp_path_factory.mktemp("ready")
    write_pair(folder)
    sources = (folder / "X.csv", folder / "Y.csv")
    assert run("fit", *sources, "-o", folder / "ready", *SIZES).code == 0
    movie, _ = make_movie(60, (24, 24), 1, n_close_pairs=0, random_state=80101)
    np.save(folder / "film.npy", movie)
    return folder, CalciumImaging(7.0).fit(movie)


@pytest.fixture
def here(ready, tmp_path, monkeypatch):
    """A folder with the inputs; the computations and figures are replaced by quick ones."""
    folder, fitted = ready
    for each in ("X.csv", "Y.csv", "film.npy"):
        (tmp_path / each).write_bytes((folder / each).read_bytes())
    (tmp_path / "ready").mkdir()
    for each in (folder / "ready").iterdir():
        (tmp_path / "ready" / each.name).write_bytes(each.read_bytes())
    monkeypatch.chdir(tmp_path)
    records = [{"method": "ridge", "states": 12, "value_error": 1.0, "seconds": 0.1}]
    monkeypatch.setattr(Comparison, "run", lambda self, begin: records)
    monkeypatch.setattr(
        CalciumImaging, "fit", lambda self, *_, **__: vars(self).update(vars(fitted))
    )
    write = whole_file.write_text
    monkeypatch.setattr(calcium, "write_movie_page", lambda analysis, path: write(path, "page"))
    monkeypatch.setattr(
        thinrank.report, "write", lambda est, path, **_: write(path, "page"), raising=False
    )
    monkeypatch.setattr(reproduce, "chosen_studies", list)
    monkeypatch.setattr(reproduce, "find_study", lambda name: STUDY)
    monkeypatch.setattr(reproduce, "write_study", lambda *_: None)
    monkeypatch.setattr(reproduce, "write_index", lambda *_: None)
    return tmp_path


def contents(folder):
    """Every file with its bytes."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def at_the_end_of_writing(monkeypatch, act):
    """Do something when everything is written and nothing has its name yet."""
    real_file, real_folder = whole_file._sync, whole_folder.sync_folder

    def sync_file(path):
        if "partial" in path.name and ".partial" not in str(path.parent):
            act()
        real_file(path)

    def sync_new_folder(path):
        if "partial" in path.name:
            act()
        real_folder(path)

    monkeypatch.setattr(whole_file, "_sync", sync_file)
    monkeypatch.setattr(whole_folder, "sync_folder", sync_new_folder)


def left_over(folder):
    names = [path.name for path in folder.rglob("*")]
    return [name for name in names if ".partial" in name or ".replaced" in name]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("number", "earlier"), [(signal.SIGINT, True), (signal.SIGTERM, False)])
def test_requests_to_end_leave_what_was_there(here, monkeypatch, name, number, earlier):
    case = CASES[name]
    command = case.command
    if earlier:
        assert run(*command).code == 0
        command += case.again
        if name == "reproduce":
            next((here / "results/tiny/records").iterdir()).unlink()
    before = contents(here)
    with monkeypatch.context() as patch:
        at_the_end_of_writing(patch, lambda: signal.raise_signal(number))
        result = run(*command)
    assert result.code == 128 + number
    said = "interrupted" if number == signal.SIGINT else "ended by SIGTERM"
    assert said in result.err
    assert "Traceback" not in result.err + result.out
    assert contents(here) == before
    assert left_over(here) == []


@pytest.mark.parametrize("name", CASES)
def test_after_kill_9_the_next_run_cleans_up(here, monkeypatch, name):
    case = CASES[name]
    assert run(*case.command).code == 0
    if name == "reproduce":
        next((here / "results/tiny/records").iterdir()).unlink()
    before = contents(here)

    def killed():
        at_the_end_of_writing(monkeypatch, lambda: os.kill(os.getpid(), signal.SIGKILL))
        return run(*case.command, *case.again).code

    assert in_child(killed) == -signal.SIGKILL
    assert left_over(here)
    now = contents(here)
    assert {path: now[path] for path in before} == before
    assert run(*case.command, *case.again).code == 0
    assert left_over(here) == []
    if name == "reproduce":
        assert len(list((here / "results/tiny/records").iterdir())) == 3


def test_kill_9_between_the_two_renames(here, monkeypatch):
    """The only moment at which the former folder does not have its name."""
    case = CASES["fit"]
    assert run(*case.command).code == 0
    (here / "m" / "mine.txt").write_text("dear")
    before = contents(here / "m")
    real = os.rename

    def killed():
        def rename(source, target):
            if "partial" in Path(source).name:
                os.kill(os.getpid(), signal.SIGKILL)
            real(source, target)

        monkeypatch.setattr(whole_folder.os, "rename", rename)
        return run(*case.command, "--overwrite").code

    assert in_child(killed) == -signal.SIGKILL
    assert not (here / "m").exists()
    refused = run(*case.command)  # without --overwrite
    assert refused.code == 2
    assert contents(here / "m") == before
    assert run(*case.command, "--overwrite").code == 0
    assert (here / "m" / "mine.txt").read_text() == "dear"
    assert left_over(here) == []


@pytest.mark.parametrize("name", ["fit", "rl"])
def test_a_full_disk_leaves_what_was_there(here, monkeypatch, name):
    case = CASES[name]

    def full():
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        at_the_end_of_writing(patch, full)
        before = contents(here)
        result = run(*case.command)
    assert (result.code, "No space left" in result.err) == (1, True)
    assert "free some space" in result.err
    assert contents(here) == before
    assert left_over(here) == []


@pytest.mark.parametrize("name", CASES)
def test_a_write_that_the_system_refuses(here, name):
    """A limit on the size of files: the system itself refuses a write, as a full disk does."""
    case = CASES[name]
    before = contents(here)

    def limited():
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        result = run(*case.command)
        shown = "File too large" in result.err and "Traceback" not in result.err
        return result.code if shown else 98

    assert in_child(limited) == 1
    assert contents(here) == before
    assert left_over(here) == []
