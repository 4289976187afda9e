"""A model is written completely or not at all, and nothing of the user is overwritten."""

import os
import stat
import subprocess
import sys

import numpy as np
import pytest

import thinrank as tr


def factors(number):
    return tr.Factors(np.full((3, 1), float(number)), np.ones((2, 1)))


def number_of(path):
    return tr.load(path).U[0, 0]


def contents(path):
    return sorted(each.name for each in path.iterdir())


def test_the_two_files(tmp_path):
    tr.save(factors(1), tmp_path / "deep" / "model")
    assert contents(tmp_path / "deep") == ["model"]
    assert contents(tmp_path / "deep" / "model") == ["arrays.npz", "model.json"]


def test_the_same_model_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        tr.save(factors(1), str(tmp_path / name))
    for file in ("model.json", "arrays.npz"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


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


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
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


KILLED = """
import os, sys
import numpy as np
import thinrank as tr

rename = os.rename

def kill_before_the_second(source, target):
    if ".partial" in str(source):
        os._exit(9)
    rename(source, target)

os.rename = kill_before_the_second
tr.save(tr.Factors(np.full((3, 1), 2.0), np.ones((2, 1))), sys.argv[1], overwrite=True)
"""


def test_a_kill_between_the_two_renames_leaves_a_model(tmp_path):
    path = tmp_path / "model"
    tr.save(factors(1), path, extra={"note": "mine"})
    (path / "report.html").write_text("mine")
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)]).returncode == 9
    assert not path.exists()
    assert number_of(path) == 1
    assert tr.persistence.read_extra(path) == {"note": "mine"}
    with pytest.raises(FileExistsError, match="contains a model already"):
        tr.save(factors(3), path)
    tr.save(factors(3), path, overwrite=True)
    assert number_of(path) == 3
    assert (path / "report.html").read_text() == "mine"
    assert contents(tmp_path) == ["model"]


SAVING = """
import sys
import numpy as np
import thinrank as tr

for _ in range(12):
    number = float(sys.argv[2])
    tr.save(tr.Factors(np.full((3, 1), number), np.ones((2, 1))), sys.argv[1], overwrite=True)
"""


def test_two_processes_that_save_to_one_folder_leave_a_model_at_any_time(tmp_path):
    path = tmp_path / "model"
    tr.save(factors(1), path)
    (path / "report.html").write_text("mine")
    command = [sys.executable, "-c", SAVING, str(path)]
    writers = [subprocess.Popen([*command, number]) for number in "12"]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen.add(number_of(path))
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen == {1.0, 2.0}
    assert contents(path) == ["arrays.npz", "model.json", "report.html"]
    assert contents(tmp_path) == ["model"]
