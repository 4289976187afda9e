"""Options of the command for what is written: decisions, doubtful neurons, motion, suite2p."""

import csv
import html
import json
import re
import sys

import numpy as np
import pytest
import tifffile
from typer.testing import CliRunner

from thinrank.calcium import Quality, make_movie, read_regions
from thinrank.cli import app
from thinrank.cli import calcium as command

runner = CliRunner()


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "film.npy"
    np.save(path, make_movie(120, (40, 40), 3, n_close_pairs=1, random_state=30060)[0])
    return path


@pytest.fixture(scope="module")
def first(film, tmp_path_factory):
    """The results of a first run, with all files."""
    out = tmp_path_factory.mktemp("first") / "out"
    result = run(film, "--frame-rate", 7, "-o", out, "--suite2p", "--neuropil", 0.5)
    assert result.exit_code == 0, result.output
    return out


@pytest.fixture
def no_page(monkeypatch):
    """Figures take longer than everything else."""
    monkeypatch.setattr(command, "write_movie_page", lambda analysis, path: path.touch())


def run(*arguments):
    return runner.invoke(app, ["calcium", *map(str, arguments)])


def words(result):
    return " ".join(result.output.replace("│", " ").split())


def decisions_of(page, rejected):
    """What the script of the page would save."""
    text = page.read_text(encoding="utf-8")
    about = json.loads(html.unescape(re.search(r'data-choices="([^"]*)"', text)[1]))
    neurons = [
        json.loads(html.unescape(found)) for found in re.findall(r'data-choice="([^"]*)"', text)
    ]
    return about | {"neurons": [n | {"accepted": n["id"] not in rejected} for n in neurons]}


def test_all_files(first):
    with (first / "dff.csv").open() as file:
        assert next(csv.reader(file)) == ["frame", "time", "neuron_1", "neuron_2", "neuron_3"]
    with (first / "quality.csv").open() as file:
        quality = list(csv.DictReader(file))
    assert [row["doubtful"] for row in quality] == ["0"] * 3
    stored = np.load(first / "suite2p" / "plane0" / "F.npy")
    assert stored.shape == (3, 120)
    raw = np.loadtxt(first / "fluorescence.csv", delimiter=",", skiprows=1)[:, 2:].T
    np.testing.assert_allclose(raw, stored, rtol=1e-5)
    ops = np.load(first / "suite2p" / "plane0" / "ops.npy", allow_pickle=True).item()
    assert ops["neucoeff"] == 0.5
    summary = json.loads((first / "summary.json").read_text())
    assert "suite2p/plane0/spks.npy" in summary["files"]
    assert (summary["neurons_found"], summary["numbers_before"]) == (3, [1, 2, 3])


def test_decisions_of_the_page_are_fed_back(film, first, tmp_path, no_page):
    decisions = decisions_of(first / "page.html", rejected={2})
    assert decisions["movie"].endswith("film.npy")
    (tmp_path / "decisions.json").write_text(json.dumps(decisions))
    out = tmp_path / "out"
    result = run(film, "--frame-rate", 7, "-o", out, "--accept", tmp_path / "decisions.json")
    assert result.exit_code == 0, result.output
    assert "2 neurons accepted, 1 rejected" in result.output
    before, after = read_regions(first / "regions.json"), read_regions(out / "regions.json")
    assert [region.tolist() for region in after] == [before[0].tolist(), before[2].tolist()]
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["neurons"], summary["numbers_before"]) == (2, [1, 3])
    for name in ("traces.csv", "dff.csv"):
        with (out / name).open() as file:
            assert next(csv.reader(file))[2:] == ["neuron_1", "neuron_2"]
    traces = np.loadtxt(out / "traces.csv", delimiter=",", skiprows=1)
    whole = np.loadtxt(first / "traces.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(traces[:, 3], whole[:, 4])


def test_neurons_without_a_decision_are_left_out(film, first, tmp_path, no_page):
    decisions = decisions_of(first / "page.html", rejected=())
    decisions["neurons"] = decisions["neurons"][1:]
    (tmp_path / "decisions.json").write_text(json.dumps(decisions))
    accept = ("--accept", tmp_path / "decisions.json")
    result = run(film, "--frame-rate", 7, "-o", tmp_path / "out", *accept)
    assert result.exit_code == 0, result.output
    assert "1 of the neurons is not in" in result.output
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["numbers_before"] == [2, 3]


@pytest.mark.parametrize(
    ("change", "code", "fault"),
    [
        (None, 2, "there is no such file"),
        ("[]", 3, "expected the decisions that the page"),
        ({"width": 41}, 3, "made for a movie of 120 frames of 40 × 41 pixels"),
        ({"neurons": [{"id": 1, "row": 0, "column": 0, "accepted": True}]}, 3, "no neuron 1"),
    ],
)
def test_decisions_that_do_not_fit(film, first, tmp_path, change, code, fault):
    path = tmp_path / "decisions.json"
    if isinstance(change, str):
        path.write_text(change)
    elif change is not None:
        path.write_text(json.dumps(decisions_of(first / "page.html", ()) | change))
    result = run(film, "--frame-rate", 7, "-o", tmp_path / "out", "--accept", path)
    assert result.exit_code == code, result.output
    assert "decisions.json" in result.output
    assert fault in words(result)
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_doubtful_neurons(film, tmp_path, monkeypatch):
    fit = command.CalciumImaging.fit

    def doubted(self, *args, **kwargs):
        fit(self, *args, **kwargs)
        self.quality_ = Quality(np.array([5.0, 1.0, 5.0]), self.quality_.correlation)
        return self

    monkeypatch.setattr(command.CalciumImaging, "fit", doubted)
    result = run(film, "--frame-rate", 7, "-o", tmp_path / "all")
    assert "1 doubtful neuron: marked; see quality.csv" in result.output
    page = (tmp_path / "all" / "page.html").read_text(encoding="utf-8")
    assert "3 neurons, 1 of them doubtful," in page
    assert len(re.findall(r"<input[^>]* checked>", page)) == 2
    assert json.loads((tmp_path / "all" / "summary.json").read_text())["doubtful"] == [2]
    result = run(film, "--frame-rate", 7, "-o", tmp_path / "some", "--hide-doubtful")
    assert "1 doubtful neuron: left out (--hide-doubtful)" in result.output
    assert len(read_regions(tmp_path / "some" / "regions.json")) == 2


def test_frame_rate_of_scanimage(film, tmp_path, no_page):
    about = "SI.VERSION_MAJOR = 5\nSI.hRoiManager.scanFrameRate = 7.5"
    tifffile.imwrite(tmp_path / "scan.tif", np.load(film), software=about)
    result = run(tmp_path / "scan.tif", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "scan.tif: 7.5 frames per second, from the metadata of ScanImage" in words(result)
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["frame_rate"] == 7.5
    tifffile.imwrite(tmp_path / "plain.tif", np.load(film))
    result = run(tmp_path / "plain.tif", "-o", tmp_path / "other")
    assert result.exit_code == 2
    assert "frames per second is required" in words(result)
    (tmp_path / "bad.tif").write_bytes(b"II*\0" + b"\xff" * 50)
    result = run(tmp_path / "bad.tif", "-o", tmp_path / "other")
    assert (result.exit_code, "corrupt" in result.output) == (3, True)
    result = run(tmp_path / "none.tif", "-o", tmp_path / "other")
    assert (result.exit_code, "no such file" in result.output) == (2, True)


def test_motion(tmp_path, monkeypatch):
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(30061)
    texture = gaussian_filter(rng.standard_normal((40, 48)), 1.5)
    movie = make_movie(90, (40, 48), 2, n_close_pairs=0, random_state=30062)[0]
    movie += (4 * texture / texture.std()).astype(np.float32)
    moves = rng.integers(-1, 2, (90, 2)).tolist()
    moved = np.stack([np.roll(f, by, (0, 1)) for f, by in zip(movie, moves, strict=True)])
    np.save(tmp_path / "moved.npy", moved)
    with monkeypatch.context() as patch:
        patch.setattr(command, "write_movie_page", lambda analysis, path: path.touch())
        result = run(tmp_path / "moved.npy", "--frame-rate", 7, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "note: The frames of the movie shift by about 0." in words(result)
    assert "--register" in result.output
    still = ("--frame-rate", 7, "-o", tmp_path / "still", "--register")
    result = run(tmp_path / "moved.npy", *still)
    assert result.exit_code == 0, result.output
    assert "shift by" not in result.output
    page = (tmp_path / "still" / "page.html").read_text(encoding="utf-8")
    assert re.search(r"shifts of frames</td>\s*<td[^>]*>0\.\d+ rows, 0\.\d+ columns", page)
    monkeypatch.setitem(sys.modules, "skimage.registration", None)
    result = run(tmp_path / "moved.npy", *still, "--overwrite")
    assert (result.exit_code, "thinrank[register]" in result.output) == (1, True)


@pytest.mark.parametrize("share", ["-1", "3"])
def test_shares_of_neuropil_that_make_no_sense(film, share):
    result = run(film, "--frame-rate", 7, "--neuropil", share)
    assert result.exit_code == 2
    assert "--neuropil" in result.output
