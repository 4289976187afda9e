"""Whatever goes wrong, a command says so in one line and has an exit code."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from messy_files import SIZES, environment, exit_code, in_child, run, write_pair

import thinrank as tr
from thinrank.calcium import CalciumImaging, make_movie
from thinrank.rl import MultiTaskFQI

FIT = ("fit", "X.csv", "Y.csv", "-o", "m")
MOVIE = ("calcium", "film.npy", "--frame-rate", "7")


@pytest.fixture(scope="module")
def film():
    return make_movie(60, (24, 24), 1, n_close_pairs=0, random_state=80101)[0]


@pytest.fixture
def here(tmp_path, monkeypatch, film):
    monkeypatch.chdir(tmp_path)
    write_pair(tmp_path)
    np.save(tmp_path / "film.npy", film)
    return tmp_path


@pytest.fixture
def no_work(monkeypatch):
    """Computations that fail the test: errors must come before them."""

    def work(*args, **kwargs):
        raise AssertionError("computed in vain")

    for estimator in (CalciumImaging, tr.SparseReducedRankRegressor):
        monkeypatch.setattr(estimator, "fit", work)
    monkeypatch.setattr(MultiTaskFQI, "fit_batch", work)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("calcium", "film.npy", "--frame-rate", "7", "-o", "/"), "/ exists and is not empty"),
        ((*MOVIE, "-o", "X.csv/out"), "is a file, not a folder"),
        ((*MOVIE, "--labels", "deep.json"), None),
        (("rl", "--out", "X.csv/rl"), "is a file, not a folder"),
        (("rl", "--out", "folder.png"), "folder.png exists and is not empty"),
        (("demo", "--out", "X.csv/demo.html"), "there is no folder"),
    ],
)
def test_errors_before_the_work(here, command, told):
    (here / "deep.json").write_text("[" * 100_000)
    (here / "folder.png").mkdir()
    (here / "folder.png" / "mine.txt").touch()
    before = sorted(here.iterdir())
    result = run(*command)
    assert result.code == (3 if told is None else 2)
    assert (told or "nested too deeply") in result.error
    assert sorted(here.iterdir()) == before


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    "command",
    [
        ("rl", "--out", "{}/rl"),
        (*MOVIE, "-o", "{}/neurons"),
        ("fit", "X.csv", "Y.csv", "-o", "{}/m"),
        ("demo", "--out", "{}/demo.html"),
    ],
)
def test_a_place_that_cannot_be_written_to_is_said_before_the_work(here, monkeypatch, command):
    place = here / "locked"
    place.mkdir(mode=0o555)
    if os.access(place, os.W_OK):  # permissions do not bind the administrator
        place = "/proc" if os.path.isdir("/proc/self") else pytest.skip("everything is writable")
    result = run(*(each.format(place) for each in command))
    assert result.code == 2
    assert "write to" in result.error
    assert str(place) in result.error


def test_an_unknown_error_says_how_to_see_more(here, monkeypatch):
    def fail(*args, **kwargs):
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr(CalciumImaging, "fit", fail)
    result = run(*MOVIE)
    assert (result.code, "ZeroDivisionError: a fault of ours" in result.error) == (1, True)
    assert "--debug shows where" in result.error
    assert "Traceback" in run(*MOVIE, "--debug").err


def test_too_little_memory_says_how_much_and_what_to_do(here, monkeypatch):
    def large(*args, **kwargs):
        np.empty((10**7, 10**7))

    monkeypatch.setattr(tr.SparseReducedRankRegressor, "fit", large)
    result = run(*FIT)
    assert result.code == 1
    assert "not enough memory: Unable to allocate 728. TiB" in result.error
    assert "THINRANK_MEMORY_GIB" in result.error

    def plain(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(tr.SparseReducedRankRegressor, "fit", plain)
    result = run(*FIT)
    assert "more was refused; use less data" in result.error
    assert not (here / "m").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space")
def test_a_limit_of_the_memory(here):
    """Files of 2 GiB that take no place on the disk; the process may use 1 GiB more than now."""
    for name in ("film.npy", "X.npy"):
        shape = (512, 1024, 1024) if name == "film.npy" else (4096, 1 << 17)
        with open(name, "wb") as file:
            head = {"descr": "<f4", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, head)
            file.truncate(file.tell() + 4 * 2**29)

    def limited():
        import resource  # not on Windows

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + 2**30
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        told = [run(*MOVIE), run("fit", "X.npy", "Y.csv", "-o", "m", *SIZES)]
        good = [t.code == 1 and "not enough memory" in t.err for t in told]
        if not all(good):
            (here / "told").write_text("\n".join(t.err for t in told))
        return 0 if all(good) else 1

    assert in_child(limited) == 0, (here / "told").read_text()
    assert not (here / "neurons").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_standard_output_on_a_full_disk(tmp_path):
    def full():
        sys.stdout = open("/dev/full", "w")  # noqa: SIM115
        with open(tmp_path / "errors", "w") as sys.stderr:
            return exit_code("--version")

    assert in_child(full) == 1
    (line,) = (tmp_path / "errors").read_text().splitlines()
    assert line == "thinrank: standard output: No space left on device"


def test_ctrl_c_during_an_import(here):
    code = (
        "import signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'numpy':\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from thinrank.__main__ import run\n"
        "run()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "inspect", "m"],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr.startswith("thinrank: interrupted")
    assert "Traceback" not in done.stderr
