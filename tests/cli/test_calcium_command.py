"""From a movie on disk to a folder, and from a bad one to a message and no folder."""

import csv
import html
import json
import re
import sys
from dataclasses import replace

import h5py
import numpy as np
import pytest
import tifffile
from messy_files import run as run_command

from thinrank.calcium import (
    CalciumImaging,
    make_movie,
    read_regions,
    select_neurons,
    write_regions,
)
from thinrank.calcium.pipeline import Neurons

FILES = [
    "deconvolved.csv", "dff.csv", "f0.csv", "fluorescence.csv", "footprints.tif", "neuropil.csv",
    "page.html", "quality.csv", "regions.json", "spikes.csv", "summary.json", "traces.csv",
]  # fmt: skip


@pytest.fixture(scope="module")
def small():
    return make_movie(120, (40, 40), 3, n_close_pairs=1, random_state=80101)


@pytest.fixture(scope="module")
def film(small, tmp_path_factory):
    path = tmp_path_factory.mktemp("film") / "film.npy"
    np.save(path, small[0])
    return path


@pytest.fixture(scope="module")
def first(film, small, tmp_path_factory):
    """The output and the folder of a first run, with all files."""
    folder = tmp_path_factory.mktemp("first")
    write_regions(folder / "labels.json", small[1].regions)
    options = ("--labels", folder / "labels.json", "--suite2p", "--neuropil", 0.5)
    result = run(film, "--frame-rate", 7, "-o", folder / "deep" / "out", *options)
    assert result.code == 0, result.output
    return result, folder / "deep" / "out"


@pytest.fixture(scope="module")
def fitted(small):
    return CalciumImaging(7.0).fit(small[0])


@pytest.fixture
def quick_fit(fitted, monkeypatch):
    """A fit that is already there."""
    copy = CalciumImaging(7.0)
    vars(copy).update(vars(fitted))
    monkeypatch.setattr(CalciumImaging, "fit", lambda self, *_, **__: vars(self).update(vars(copy)))
    return copy


@pytest.fixture
def no_page(monkeypatch):
    monkeypatch.setattr("thinrank.report.write_movie_page", lambda analysis, path: None)


@pytest.fixture
def no_fit(monkeypatch):
    def fit(*args, **kwargs):
        raise AssertionError("fitted in vain")

    monkeypatch.setattr(CalciumImaging, "fit", fit)


def run(*arguments):
    done = run_command("calcium", *arguments)
    done.output = done.out + done.err
    return done


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def words(result):
    return " ".join(result.output.replace("│", " ").split())


def header(path):
    with path.open() as file:
        return next(csv.reader(file))


def test_from_movie_to_neurons(first):
    result, out = first
    assert "3 neurons; 3 of 3 labeled regions found" in result.output
    assert names(out) == sorted([*FILES, "suite2p"])
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["neurons"], summary["frames"], summary["height"]) == (3, 120, 40)
    assert (summary["neurons_found"], summary["numbers_before"]) == (3, [1, 2, 3])
    assert summary["scores"]["combined"] == 1
    assert {*FILES, "suite2p/plane0/spks.npy"} <= set(summary["files"])
    assert len(read_regions(out / "regions.json")) == 3
    for name in ("traces.csv", "dff.csv"):
        assert header(out / name) == ["frame", "time", "neuron_1", "neuron_2", "neuron_3"]
    with (out / "quality.csv").open() as file:
        assert all(float(row["score"]) > 0.5 for row in csv.DictReader(file))
    stored = np.load(out / "suite2p" / "plane0" / "F.npy")
    raw = np.loadtxt(out / "fluorescence.csv", delimiter=",", skiprows=1)[:, 2:].T
    np.testing.assert_allclose(raw, stored, rtol=1e-5)
    ops = np.load(out / "suite2p" / "plane0" / "ops.npy", allow_pickle=True).item()
    assert ops["neucoeff"] == 0.5
    assert "3 of 3 labeled regions found" in (out / "page.html").read_text(encoding="utf-8")
    assert names(out.parent) == ["out"]


def test_an_array_of_a_file_and_given_sizes(tmp_path, small):
    with h5py.File(tmp_path / "film.h5", "w") as file:
        file["raw/images"], file["other"] = small[0], small[0][:, :9]
    command = (tmp_path / "film.h5", "--frame-rate", 7, "-o", tmp_path / "out")
    result = run(*command)
    assert result.code == 3
    assert "raw/images" in result.output
    sizes = ("--rank", 3, "--rows", 12, "--columns", 200, "--decay", 0.8)
    sizes += ("--smoothing", 1, "--neuron-radius", 6)
    result = run(*command, "--dataset", "raw/images", *sizes)
    assert result.code == 0, result.output
    page = (tmp_path / "out" / "page.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["decay"] == 0.8
    cells = {"row sparsity": 12, "column sparsity": 200, "pixels kept": 200}
    cells |= {"smoothing": "1.0", "neuron radius": "6.0"}
    for name, value in cells.items():
        pattern = rf'<td class="words">{name}</td>\s*<td class="words">{value}</td>'
        assert re.search(pattern, page), name


@pytest.mark.slow
def test_simulated_movie(tmp_path):
    result = run("--simulate", "-o", tmp_path / "out")
    assert result.code == 0, result.output
    assert "12 of 12 labeled regions found" in result.output
    assert "simulated movie (seed 0)" in (tmp_path / "out" / "summary.json").read_text()


def bad_files(folder):
    """Every kind of bad movie, with a word of what is to be said about it."""
    frames = np.random.default_rng(0).integers(0, 99, (20, 16, 16)).astype(np.uint16)
    tifffile.imwrite(folder / "truncated.tif", frames)
    content = (folder / "truncated.tif").read_bytes()
    (folder / "truncated.tif").write_bytes(content[: len(content) // 2])
    (folder / "corrupt.tif").write_bytes(b"II*\0" + b"\xff" * 200)
    (folder / "empty.tif").write_bytes(b"")
    np.save(folder / "constant.npy", np.ones((20, 16, 16)))
    (folder / "film.avi").write_bytes(b"RIFF")
    return {
        "truncated.tif": "truncated",
        "corrupt.tif": "corrupt",
        "empty.tif": "empty",
        "constant.npy": "constant",
        "film.avi": "unknown file type",
    }


def test_bad_movies_are_named_and_leave_nothing(tmp_path):
    made = bad_files(tmp_path)
    for name, word in made.items():
        result = run(tmp_path / name, "--frame-rate", 7, "-o", tmp_path / "new" / "out")
        assert result.code == 3, (name, result.output)
        assert name in result.output
        assert word in result.output, (name, result.output)
        assert "Traceback" not in result.output
    assert names(tmp_path) == sorted(made)


@pytest.mark.usefixtures("no_fit")
def test_missing_files_and_libraries_are_said_before_the_fit(tmp_path, film, monkeypatch):
    out = ("--frame-rate", 7, "-o", tmp_path / "out")
    result = run(tmp_path / "none.tif", *out)
    assert (result.code, "none.tif" in result.output) == (2, True)
    result = run(film, *out, "--labels", tmp_path / "none.json")
    assert (result.code, "none.json" in result.output) == (2, True)
    for library, option in (("tifffile", ()), ("pynwb", ("--nwb",))):
        monkeypatch.setitem(sys.modules, library, None)
        result = run(film, *out, *option)
        assert result.code == 1
        assert "pip install '.[" in result.output
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give either a movie or --simulate"),
        (("film.npy", "--simulate"), "give either a movie or --simulate"),
        (("film.npy",), "frames per second is required"),
        (("film.npy", "--subject", "mouse"), "--subject: is for the NWB file; give --nwb too"),
        (("film.npy", "--frame-rate", "7", "--rank", "many"), "a whole number or auto"),
        (("film.npy", "--frame-rate", "7", "--decay", "slow"), "a number or estimate"),
        (("film.npy", "--frame-rate", "7", "--baseline", "mean"), "--baseline"),
        (("film.npy", "--frame-rate", "7", "--rank", "0"), "the smaller of --rows and --columns"),
        (("film.npy", "--frame-rate", "7", "--neuropil", "3"), "--neuropil"),
        (("film.npy", "--frame-rate", "1e308"), "--frame-rate must be above 0 and below 1e+09"),
        (
            ("film.npy", "--frame-rate", "7", "--neuron-radius", "1e9"),
            "--neuron-radius must be at most 400 pixels",
        ),
    ],
)
def test_usage_errors(film, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "film.npy").symlink_to(film)
    result = run(*arguments)
    assert result.code == 2
    assert message in words(result)
    assert names(tmp_path) == ["film.npy"]


def decisions_of(page, rejected):
    """What the script of the page would save."""
    text = page.read_text(encoding="utf-8")
    about = json.loads(html.unescape(re.search(r'data-choices="([^"]*)"', text)[1]))
    neurons = [
        json.loads(html.unescape(found)) for found in re.findall(r'data-choice="([^"]*)"', text)
    ]
    return about | {"neurons": [n | {"accepted": n["id"] not in rejected} for n in neurons]}


def test_decisions_of_the_page_are_fed_back(film, first, tmp_path, quick_fit):
    last = select_neurons(quick_fit, [2])
    found = (last.sparse_footprints_, last.spike_trains_, last.traces_, last.region_coordinates_)
    quality = replace(last.quality_, score=np.array([0.4]), fault=("too long",))
    vars(quick_fit).update(vars(select_neurons(quick_fit, [0, 1])))
    quick_fit.rejected_ = Neurons(*found, last.fluorescence_, quality)
    out = tmp_path / "out"
    result = run(film, "--frame-rate", 7, "-o", out, "--labels", first[1] / "regions.json")
    assert "1 rejected for not looking like neurons;" in words(result)
    page = (out / "page.html").read_text("utf-8")
    assert len(re.findall(r"<input[^>]* checked>", page)) == 2
    assert "beside the labeled ones and the candidates that do not look like neurons. A" in page
    decisions = decisions_of(out / "page.html", rejected={2})
    (tmp_path / "decisions.json").write_text(json.dumps(decisions))
    accept = ("--accept", tmp_path / "decisions.json", "--overwrite")
    result = run(film, "--frame-rate", 7, "-o", out, *accept)
    assert result.code == 0, result.output
    assert "2 neurons accepted, 1 rejected" in result.output
    before, after = read_regions(first[1] / "regions.json"), read_regions(out / "regions.json")
    assert [region.tolist() for region in after] == [before[0].tolist(), before[2].tolist()]
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["neurons"], summary["numbers_before"]) == (2, [1, 3])
    for name in ("traces.csv", "dff.csv"):
        assert header(out / name)[2:] == ["neuron_1", "neuron_2"]
    decisions["neurons"] = decisions["neurons"][1:]  # neurons without a decision are left out
    (tmp_path / "decisions.json").write_text(json.dumps(decisions))
    result = run(film, "--frame-rate", 7, "-o", out, *accept)
    assert "1 of the neurons is not in" in result.output
    assert json.loads((out / "summary.json").read_text())["numbers_before"] == [3]


@pytest.mark.usefixtures("quick_fit")
@pytest.mark.parametrize(
    ("change", "code", "fault"),
    [
        (None, 2, "there is no such file"),
        ({"width": 41}, 3, "made for a movie of 120 frames of 40 × 41 pixels"),
    ],
)
def test_decisions_that_do_not_fit(film, first, tmp_path, change, code, fault):
    path = tmp_path / "decisions.json"
    if change is not None:
        path.write_text(json.dumps(decisions_of(first[1] / "page.html", ()) | change))
    result = run(film, "--frame-rate", 7, "-o", tmp_path / "out", "--accept", path)
    assert result.code == code, result.output
    assert "decisions.json" in result.output
    assert fault in words(result)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("quick_fit")
def test_labels_far_outside_the_movie(film, tmp_path):
    """Their outline would need an image of 8 · 10¹⁸ bytes."""
    far = '[{"coordinates": [[2, 2], [1000000000, 1000000000]]}, {"coordinates": [[99, 99]]}]'
    (tmp_path / "far.json").write_text(far)
    command = (film, "--frame-rate", 7, "-o", tmp_path / "out", "--labels", tmp_path / "far.json")
    result = run(*command)
    assert result.code == 0, result.output
    assert "1 of the 2 labeled regions is outside the frames of 40 × 40 pixels" in words(result)
    (tmp_path / "far.json").write_text(f'[{{"coordinates": [[{10**30}, 1]]}}]')
    assert run(*command, "--overwrite").code == 3


@pytest.mark.usefixtures("quick_fit", "no_page")
def test_frame_rate_of_scanimage(film, tmp_path):
    about = "SI.VERSION_MAJOR = 5\nSI.hRoiManager.scanFrameRate = 7.5"
    tifffile.imwrite(tmp_path / "scan.tif", np.load(film), software=about)
    result = run(tmp_path / "scan.tif", "-o", tmp_path / "out")
    assert result.code == 0, result.output
    assert "scan.tif: 7.5 frames per second, from the metadata of ScanImage" in words(result)
    tifffile.imwrite(tmp_path / "plain.tif", np.load(film))
    result = run(tmp_path / "plain.tif", "-o", tmp_path / "other")
    assert result.code == 2
    assert "frames per second is required" in words(result)


def test_motion(tmp_path):
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(30061)
    texture = gaussian_filter(rng.standard_normal((40, 48)), 1.5)
    movie = make_movie(90, (40, 48), 2, n_close_pairs=0, random_state=30062)[0]
    movie += (4 * texture / texture.std()).astype(np.float32)
    moves = rng.integers(-1, 2, (90, 2)).tolist()
    moved = np.stack([np.roll(f, by, (0, 1)) for f, by in zip(movie, moves, strict=True)])
    np.save(tmp_path / "moved.npy", moved)
    result = run(tmp_path / "moved.npy", "--frame-rate", 7, "-o", tmp_path / "out")
    assert result.code == 0, result.output
    assert "note: The frames of the movie shift by about 0." in words(result)
    assert "--register" in result.output
    still = ("--frame-rate", 7, "-o", tmp_path / "still", "--register")
    result = run(tmp_path / "moved.npy", *still)
    assert result.code == 0, result.output
    assert "shift by" not in result.output
    page = (tmp_path / "still" / "page.html").read_text(encoding="utf-8")
    assert re.search(r"shifts of frames</td>\s*<td[^>]*>0\.\d+ rows, 0\.\d+ columns", page)
