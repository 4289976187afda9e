"""A model is written completely or not at all, and nothing of the user is overwritten."""

import os
import stat
import warnings
from multiprocessing import get_context

import numpy as np
import pytest

import thinrank as tr

posix = pytest.mark.skipif(os.name != "posix", reason="permissions and forks of POSIX")


def factors(number):
    return tr.Factors(np.full((3, 1), float(number)), np.ones((2, 1)))


def number_of(path):
    return tr.load(path).U[0, 0]


def contents(path):
    return sorted(each.name for each in path.iterdir())


def test_two_files_whose_bytes_depend_on_the_model_only(tmp_path):
    for name in ("a", "b"):
        tr.save(factors(1), str(tmp_path / name / "model"))
        assert contents(tmp_path / name) == ["model"]
    first, second = tmp_path / "a" / "model", tmp_path / "b" / "model"
    assert contents(first) == ["arrays.npz", "model.json"]
    for file in contents(first):
        assert (first / file).read_bytes() == (second / file).read_bytes()


def test_a_model_is_replaced_only_if_asked(tmp_path):
    path = tmp_path / "model"
    tr.save(factors(1), path)
    (path / "report.html").write_text("mine")
    with pytest.raises(FileExistsError, match="contains a model already; use overwrite=True"):
        tr.save(factors(2), path)
    assert number_of(path) == 1
    tr.save(factors(2), path, overwrite=True)
    assert number_of(path) == 2
    assert contents(path) == ["arrays.npz", "model.json", "report.html"]
    assert (path / "report.html").read_text() == "mine"
    assert contents(tmp_path) == ["model"]


@pytest.mark.parametrize("file", ["thesis.tex", "model.json"])
@pytest.mark.parametrize("overwrite", [True, False])
def test_other_folders_are_never_replaced(file, overwrite, tmp_path):
    (tmp_path / file).write_text("{}")
    with pytest.raises(FileExistsError, match="not a model of thinrank"):
        tr.save(factors(1), tmp_path, overwrite=overwrite)
    assert contents(tmp_path) == [file]


def test_empty_folders_are_used_and_files_are_never_replaced(tmp_path):
    (tmp_path / "empty").mkdir()
    tr.save(factors(1), tmp_path / "empty")
    assert number_of(tmp_path / "empty") == 1
    (tmp_path / "model").write_text("mine")
    with pytest.raises(FileExistsError, match="is a file"):
        tr.save(factors(1), tmp_path / "model", overwrite=True)
    assert (tmp_path / "model").read_text() == "mine"


def test_a_link_to_a_model_stays_a_link(tmp_path):
    tr.save(factors(1), tmp_path / "model")
    (tmp_path / "latest").symlink_to(tmp_path / "model")
    tr.save(factors(2), tmp_path / "latest", overwrite=True)
    assert (tmp_path / "latest").is_symlink()
    assert number_of(tmp_path / "model") == 2


@posix
def test_permissions_are_those_of_other_new_files(tmp_path):
    (tmp_path / "plain").mkdir()
    tr.save(factors(1), tmp_path / "model")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "model")]
    assert modes[0] == modes[1]


@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()])
@pytest.mark.parametrize(("step", "call"), [("fsync", 0), ("fsync", 1), ("rename", 0)])
@pytest.mark.parametrize("exists", [True, False])
def test_an_interruption_leaves_what_was_there(step, call, error, exists, tmp_path, monkeypatch):
    path = tmp_path / "model"
    if exists:
        tr.save(factors(1), path)
    real, calls = getattr(os, step), []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == call + 1:
            raise error
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, step, interrupted)
        with pytest.raises(type(error)):
            tr.save(factors(2), path, overwrite=True)
    assert contents(tmp_path) == (["model"] if exists else [])
    if exists:
        assert number_of(path) == 1


def test_a_rename_that_fails_restores_the_model(tmp_path, monkeypatch):
    path = tmp_path / "model"
    tr.save(factors(1), path)
    real = os.rename

    def rename(source, target):
        if ".partial" in str(source):
            raise OSError("the folder is on another disk")
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(OSError, match="another disk"):
        tr.save(factors(2), path, overwrite=True)
    assert contents(tmp_path) == ["model"]
    assert number_of(path) == 1


def forked(work):
    """Start a copy of this process for a piece of work; importing the package would take longer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks of a process with threads
        process = get_context("fork").Process(target=work)
        process.start()
    return process


def save_and_die_between_the_renames(path):
    rename = os.rename

    def kill_before_the_second(source, target):
        if ".partial" in str(source):
            os._exit(9)
        rename(source, target)

    os.rename = kill_before_the_second
    tr.save(factors(2), path, overwrite=True)


@posix
def test_a_kill_between_the_two_renames_leaves_a_model(tmp_path):
    path = tmp_path / "model"
    tr.save(factors(1), path, extra={"note": "mine"})
    (path / "report.html").write_text("mine")
    process = forked(lambda: save_and_die_between_the_renames(path))
    process.join()
    assert process.exitcode == 9
    assert not path.exists()
    assert number_of(path) == 1
    assert tr.persistence.read_extra(path) == {"note": "mine"}
    with pytest.raises(FileExistsError, match="contains a model already"):
        tr.save(factors(3), path)
    tr.save(factors(3), path, overwrite=True)
    assert number_of(path) == 3
    assert (path / "report.html").read_text() == "mine"
    assert contents(tmp_path) == ["model"]


@posix
def test_two_processes_that_save_to_one_folder_leave_a_model_at_any_time(tmp_path):
    path = tmp_path / "model"
    tr.save(factors(1), path)
    (path / "report.html").write_text("mine")
    writers = [
        forked(lambda n=n: [tr.save(factors(n), path, overwrite=True) for _ in range(12)])
        for n in (1, 2)
    ]
    seen = set()
    while any(writer.is_alive() for writer in writers):
        seen.add(number_of(path))
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert seen <= {1.0, 2.0}
    assert contents(path) == ["arrays.npz", "model.json", "report.html"]
    assert contents(tmp_path) == ["model"]
