"""Downloads from a local server: right and wrong checksums, and no network."""

import hashlib
import http.server
import socket
import sys
import threading

import pytest

import thinrank as tr
from thinrank.datasets import DownloadError, get_data_home, remote_files
from thinrank.datasets.remote_files import SOURCES, local_copy

CONTENTS = b"some bytes"


@pytest.fixture
def server(monkeypatch):
    """The address of a server that answers every request with CONTENTS, and the requests."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(404 if "gone" in self.path else 200)
            self.send_header("Content-Length", str(len(CONTENTS)))
            self.end_headers()
            self.wfile.write(CONTENTS)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}", requests
        running.shutdown()
        thread.join()


@pytest.fixture
def register(monkeypatch, tmp_path_factory):
    """A function that replaces the table of sources by one file at an address."""

    def replace(address, contents=CONTENTS):
        table = tmp_path_factory.mktemp("table") / "sources.txt"
        table.write_text(f"file.bin sha256:{hashlib.sha256(contents).hexdigest()} {address}\n")
        monkeypatch.setattr(remote_files, "SOURCES", table)

    return replace


def closed_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def test_download_once(register, tmp_path, server):
    address, requests = server
    register(f"{address}/file.bin")
    home = tmp_path / "new" / "folder"
    with pytest.raises(DownloadError, match=r"does not exist, and download_if_missing is False"):
        local_copy("file.bin", home, download_if_missing=False)
    assert requests == []
    path = local_copy("file.bin", home)
    assert path == home / "file.bin"
    assert path.read_bytes() == CONTENTS
    assert local_copy("file.bin", str(home)) == path
    assert local_copy("file.bin", home, download_if_missing=False) == path
    assert requests == ["/file.bin"]


def test_damaged_copy_is_replaced(register, tmp_path, server):
    register(f"{server[0]}/file.bin")
    (tmp_path / "file.bin").write_bytes(CONTENTS[:4])
    with pytest.raises(DownloadError, match=r"another checksum.*download_if_missing is False"):
        local_copy("file.bin", tmp_path, download_if_missing=False)
    assert local_copy("file.bin", tmp_path).read_bytes() == CONTENTS


def test_wrong_checksum_leaves_nothing(register, tmp_path, server):
    register(f"{server[0]}/file.bin", contents=b"other bytes")
    with pytest.raises(DownloadError, match=r"another checksum than expected; it was not kept"):
        local_copy("file.bin", tmp_path)
    register(f"{server[0]}/gone.bin")
    with pytest.raises(DownloadError, match=r"Could not download .*404"):
        local_copy("file.bin", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_offline_says_what_to_do(register, monkeypatch, tmp_path):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    address = f"http://127.0.0.1:{closed_port()}/file.bin"
    register(address)
    with pytest.raises(DownloadError) as caught:
        local_copy("file.bin", tmp_path)
    message = str(caught.value)
    assert message.startswith(f"Could not download {address} to {tmp_path / 'file.bin'}")
    assert f"download {address} on another machine and save it as file.bin" in message
    assert "data_home" in message
    assert "THINRANK_DATA_HOME" in message
    assert list(tmp_path.iterdir()) == []
    # and what the message says works
    (tmp_path / "file.bin").write_bytes(CONTENTS)
    assert local_copy("file.bin", tmp_path).read_bytes() == CONTENTS


def test_folder_of_the_data(monkeypatch, tmp_path):
    monkeypatch.setenv("THINRANK_DATA_HOME", str(tmp_path / "from variable"))
    assert get_data_home() == tmp_path / "from variable"
    assert get_data_home(tmp_path / "given") == tmp_path / "given"
    assert "~" not in str(get_data_home("~/data"))
    monkeypatch.delenv("THINRANK_DATA_HOME")
    assert "thinrank" in str(get_data_home())
    assert not (tmp_path / "given").exists()


def test_without_pooch(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"downloaded need pooch.*'\.\[data\]"):
        tr.datasets.fetch_nir(data_home=tmp_path)


def test_addresses_are_fixed_versions():
    """A branch would change under the checksum."""
    for line in SOURCES.read_text().splitlines()[1:]:
        _, checksum, address = line.split()
        host, _, _, commit, *rest = address.removeprefix("https://").split("/")
        assert host == "raw.githubusercontent.com"
        assert rest
        assert (len(commit), len(checksum)) == (40, len("sha256:") + 64)
        assert set(commit + checksum.removeprefix("sha256:")) <= set("0123456789abcdef")


@pytest.mark.parametrize("host", ["example.org", "192.0.2.1"])
def test_no_test_reaches_another_machine(host):
    """What all tests rely on: fits, pages and commands run in them without a network."""
    with pytest.raises(AssertionError, match=f"a connection to {host}"):
        socket.create_connection((host, 80), timeout=1)
