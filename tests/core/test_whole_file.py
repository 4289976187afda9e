import os
import stat

import pytest

from thinrank.core.whole_file import whole_file, write_text


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "file.json"
    write_text(path, "old")

    def no_space(*args):
        raise OSError("no space left")

    monkeypatch.setattr("thinrank.core.whole_file.os.fsync", no_space)
    with pytest.raises(OSError, match="no space"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interruption_leaves_nothing(tmp_path):
    def interrupted():
        with whole_file(tmp_path / "table.csv") as place:
            assert place.suffix == ".csv"
            place.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_others_may_read_the_file(tmp_path):
    old = os.umask(0o022)
    try:
        write_text(tmp_path / "new" / "page.html", "é")
    finally:
        os.umask(old)
    written = tmp_path / "new" / "page.html"
    assert written.read_bytes() == "é".encode()
    assert stat.S_IMODE(written.stat().st_mode) == 0o644


def test_folders_are_made_as_needed(tmp_path):
    path = tmp_path / "one" / "two" / "page.html"
    write_text(path, "first")
    write_text(path, "second")
    assert path.read_text() == "second"


def test_the_name_is_on_disk_as_well_as_the_contents(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("thinrank.core.whole_file.sync_folder", synced.append)
    write_text(tmp_path / "page.html", "text")
    assert synced == [tmp_path]
