"""Signals and full disks while the commands write: exit codes, and what is there afterwards."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from messy_files import SIZES, in_child, run, write_pair

from thinrank.calcium import CalciumImaging, make_movie

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

COMMANDS = {
    "fit": ("fit", "X.csv", "Y.csv", "-o", "m", *SIZES),
    "predict": ("predict", "ready", "X.csv", "-o", "p.csv"),
    "report": ("report", "ready"),
    "calcium": ("calcium", "film.npy", "--frame-rate", "7"),
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
    """A folder with the inputs; the fit of the movie is already there."""
    folder, fitted = ready
    (tmp_path / "ready").mkdir()
    for each in ("X.csv", "Y.csv", "film.npy", "ready/model.json", "ready/arrays.npz"):
        (tmp_path / each).write_bytes((folder / each).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "thinrank.report.write_movie_page", lambda analysis, path: path.write_text("")
    )
    monkeypatch.setattr(
        CalciumImaging, "fit", lambda self, *_, **__: vars(self).update(vars(fitted))
    )
    return tmp_path


def contents(folder):
    """Every file with its bytes."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def when_renamed(monkeypatch, act):
    """Do something when everything is written and nothing has its name yet."""
    marks = ".partial", ".replaced"
    for name, real in (("replace", os.replace), ("rename", os.rename)):

        def rename(source, target, *args, real=real, **options):
            if any(mark in f"{Path(source).name} {Path(target).name}" for mark in marks):
                act()
            return real(source, target, *args, **options)

        monkeypatch.setattr(os, name, rename)


def left_over(folder):
    names = [path.name for path in folder.rglob("*")]
    return [name for name in names if ".partial" in name or ".replaced" in name]


@pytest.mark.parametrize(
    ("name", "number", "earlier"),
    [
        ("fit", signal.SIGINT, True),
        ("fit", signal.SIGTERM, False),
        ("predict", signal.SIGINT, True),
        ("report", signal.SIGTERM, False),
        ("calcium", signal.SIGINT, True),
    ],
)
def test_requests_to_end_leave_what_was_there(here, monkeypatch, name, number, earlier):
    command = COMMANDS[name]
    if earlier:
        assert run(*command).code == 0
        command += ("--overwrite",)
    before = contents(here)
    with monkeypatch.context() as patch:
        when_renamed(patch, lambda: signal.raise_signal(number))
        result = run(*command)
    assert result.code == 128 + number
    said = "interrupted" if number == signal.SIGINT else "ended by SIGTERM"
    assert said in result.err
    assert "Traceback" not in result.err + result.out
    assert contents(here) == before
    assert left_over(here) == []


@pytest.mark.parametrize("name", ["fit", "predict", "calcium"])
def test_a_write_that_the_system_refuses(here, name):
    """A limit on the size of files: the system itself refuses a write, as a full disk does."""
    before = contents(here)

    def limited():
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        result = run(*COMMANDS[name])
        shown = "File too large" in result.err and "Traceback" not in result.err
        return result.code if shown else 98

    assert in_child(limited) == 1
    assert contents(here) == before
    assert left_over(here) == []
