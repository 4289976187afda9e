"""What killed processes leave, and how it is cleaned up."""

import os
import subprocess
import sys

import pytest

from thinrank.core import unfinished
from thinrank.core.unfinished import FORMER, UNFINISHED, clear_unfinished, hidden_path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="asks for processes")


@pytest.fixture(scope="module")
def gone():
    """The number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def left(monkeypatch, target, kind, process):
    """A path as another process makes it."""
    with monkeypatch.context() as patch:
        patch.setattr(unfinished.os, "getpid", lambda: process)
        return hidden_path(target, kind)


def test_files_and_folders_of_a_process_that_is_gone_are_removed(tmp_path, monkeypatch, gone):
    target = tmp_path / "out.csv"
    left(monkeypatch, target, UNFINISHED, gone).write_text("half")
    folder = left(monkeypatch, target, UNFINISHED, gone)
    folder.mkdir()
    (folder / "half").write_text("")
    clear_unfinished(target)
    assert list(tmp_path.iterdir()) == []


def test_what_is_being_written_or_belongs_to_others_stays(tmp_path, monkeypatch, gone):
    target = tmp_path / "out.csv"
    there = [
        hidden_path(target, UNFINISHED),  # of this process
        left(monkeypatch, target, UNFINISHED, 1),  # of the first process of the machine
        left(monkeypatch, tmp_path / "other.csv", UNFINISHED, gone),
        left(monkeypatch, tmp_path / "out.cs", UNFINISHED, gone),
        tmp_path / ".out.csv.partial.csv",
        target,
    ]
    with monkeypatch.context() as patch:
        patch.setattr(unfinished, "_MACHINE", "123456")
        there.append(left(monkeypatch, target, UNFINISHED, gone))
    for path in there:
        path.write_text("mine")
    clear_unfinished(target)
    assert sorted(tmp_path.iterdir()) == sorted(there)


def test_whether_a_process_is_there(gone, monkeypatch):
    assert unfinished._is_running(os.getpid()) is True
    assert unfinished._is_running(gone) is False
    assert unfinished._is_running(2**70) is False

    def refused(process, number):
        raise PermissionError

    monkeypatch.setattr(unfinished.os, "kill", refused)
    assert unfinished._is_running(gone) is True  # the process of another user
    monkeypatch.setattr(unfinished.os, "name", "nt")
    assert unfinished._is_running(gone) is True


def test_former_contents_get_their_name_back(tmp_path, monkeypatch, gone):
    target = tmp_path / "model"
    former = left(monkeypatch, target, FORMER, gone)
    former.mkdir()
    (former / "model.json").write_text("former")
    clear_unfinished(target)
    assert (target / "model.json").read_text() == "former"
    assert not former.exists()


def test_former_contents_that_were_replaced_are_removed(tmp_path, monkeypatch, gone):
    target = tmp_path / "model"
    target.mkdir()
    left(monkeypatch, target, FORMER, gone).mkdir()
    clear_unfinished(target)
    assert list(tmp_path.iterdir()) == [target]


def test_links_are_not_followed(tmp_path, monkeypatch, gone):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "diary.txt").write_text("dear")
    link = left(monkeypatch, tmp_path / "out", UNFINISHED, gone)
    link.symlink_to(mine)
    clear_unfinished(tmp_path / "out")
    assert not link.is_symlink()
    assert (mine / "diary.txt").is_file()


def test_a_folder_that_is_not_there():
    clear_unfinished(unfinished.Path("/no/such/folder/out.csv"))


def test_what_cannot_be_removed_is_left(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()

    def refuse(*args, **options):
        raise PermissionError("not yours")

    monkeypatch.setattr("os.rmdir", refuse)
    monkeypatch.setattr("pathlib.Path.unlink", refuse)
    unfinished.remove(folder)
    unfinished.remove(tmp_path / "file")
    assert folder.exists()
