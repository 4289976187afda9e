"""Files are complete or absent; what killed processes leave is cleaned up."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from thinrank.core.files import (
    FORMER,
    UNFINISHED,
    atomic_file,
    clear_unfinished,
    hidden_path,
    remove,
    write_text,
)

posix = pytest.mark.skipif(os.name != "posix", reason="modes of files and numbers of processes")


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "one" / "two" / "file.json"  # folders are made as needed
    write_text(path, "older")
    write_text(path, "old")

    def no_space(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="no space"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_an_interruption_leaves_nothing(tmp_path):
    def interrupted():
        with atomic_file(tmp_path / "table.csv") as place:
            assert place.suffix == ".csv"
            place.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


@posix
def test_others_may_read_the_file(tmp_path):
    old = os.umask(0o022)
    try:
        write_text(tmp_path / "page.html", "é")
    finally:
        os.umask(old)
    assert (tmp_path / "page.html").read_bytes() == "é".encode()
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o644


# --------------------------------------------------------------------------- killed processes


@pytest.fixture(scope="module")
def gone():
    """The number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


@pytest.fixture
def left(monkeypatch, gone):
    """Paths as another process makes them."""

    def path(target, kind, process=gone):
        with monkeypatch.context() as patch:
            patch.setattr(os, "getpid", lambda: process)
            return hidden_path(target, kind)

    return path


@posix
def test_files_and_folders_of_a_process_that_is_gone_are_removed(tmp_path, left):
    target = tmp_path / "out.csv"
    left(target, UNFINISHED).write_text("half")
    left(target, UNFINISHED, 2**70).write_text("no process has this number")
    folder = left(target, UNFINISHED)
    folder.mkdir()
    (folder / "half").write_text("")
    clear_unfinished(target)
    assert list(tmp_path.iterdir()) == []
    clear_unfinished(Path("/no/such/folder/out.csv"))


@posix
def test_what_is_being_written_or_belongs_to_others_stays(tmp_path, left):
    target = tmp_path / "out.csv"
    of_another_machine = left(target, UNFINISHED).name.replace(".out.csv.", ".out.csv.g")
    there = [
        hidden_path(target, UNFINISHED),  # of this process
        left(target, UNFINISHED, 1),  # of the first process of the machine
        left(tmp_path / "other.csv", UNFINISHED),
        left(tmp_path / "out.cs", UNFINISHED),
        tmp_path / of_another_machine,
        tmp_path / ".out.csv.partial.csv",
        target,
    ]
    for path in there:
        path.write_text("mine")
    clear_unfinished(target)
    assert sorted(tmp_path.iterdir()) == sorted(there)


@posix
def test_former_contents_get_their_name_back_unless_they_were_replaced(tmp_path, left):
    target = tmp_path / "model"
    former = left(target, FORMER)
    former.mkdir()
    (former / "model.json").write_text("former")
    clear_unfinished(target)
    assert (target / "model.json").read_text() == "former"
    left(target, FORMER).mkdir()
    clear_unfinished(target)
    assert list(tmp_path.iterdir()) == [target]


@posix
def test_links_are_not_followed_and_what_cannot_be_removed_is_left(tmp_path, left, monkeypatch):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "diary.txt").write_text("dear")
    link = left(tmp_path / "out", UNFINISHED)
    link.symlink_to(mine)
    clear_unfinished(tmp_path / "out")
    assert not link.is_symlink()
    assert (mine / "diary.txt").is_file()

    def refuse(*args, **options):
        raise PermissionError("not yours")

    monkeypatch.setattr("os.rmdir", refuse)
    monkeypatch.setattr("os.unlink", refuse)
    remove(mine)
    assert mine.exists()
