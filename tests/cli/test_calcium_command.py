"""From a movie on disk to a folder, and from a bad one to a message and no folder."""

import csv
import json
import re
import sys

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from thinrank.calcium import make_movie, read_regions, write_regions
from thinrank.cli import app, calcium

runner = CliRunner()


@pytest.fixture(scope="module")
def small():
    return make_movie(150, (40, 40), 3, n_close_pairs=1, random_state=80101)


@pytest.fixture
def film(tmp_path, small):
    np.save(tmp_path / "film.npy", small[0])
    return tmp_path / "film.npy"


def run(*arguments):
    return runner.invoke(app, ["calcium", *map(str, arguments)])


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_from_movie_to_neurons(tmp_path, film, small):
    write_regions(tmp_path / "labels.json", small[1].regions)
    out = tmp_path / "deep" / "out"
    result = run(film, "--frame-rate", 7, "-o", out, "--labels", tmp_path / "labels.json")
    assert result.exit_code == 0, result.output
    assert "3 neurons; 3 of 3 labelled regions found" in result.output
    assert names(out) == [
        "deconvolved.csv",
        "dff.csv",
        "f0.csv",
        "fluorescence.csv",
        "footprints.tif",
        "neuropil.csv",
        "page.html",
        "quality.csv",
        "regions.json",
        "spikes.csv",
        "summary.json",
        "traces.csv",
    ]
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["neurons"], summary["frames"], summary["height"]) == (3, 150, 40)
    assert summary["scores"]["combined"] == 1
    assert summary["files"] == names(out)
    assert len(read_regions(out / "regions.json")) == 3
    with (out / "traces.csv").open() as file:
        assert next(csv.reader(file)) == ["frame", "time", "neuron_1", "neuron_2", "neuron_3"]
    assert "3 of 3 labelled regions found" in (out / "page.html").read_text(encoding="utf-8")
    assert names(tmp_path / "deep") == ["out"]


def test_an_array_of_a_file(tmp_path, small):
    with h5py.File(tmp_path / "film.h5", "w") as file:
        file["raw/images"], file["other"] = small[0], small[0][:, :9]
    command = (tmp_path / "film.h5", "--frame-rate", 7, "-o", tmp_path / "out")
    result = run(*command)
    assert result.exit_code == 3
    assert "raw/images" in result.output
    result = run(*command, "--dataset", "raw/images")
    assert result.exit_code == 0, result.output
    assert "3 neurons" in result.output


def test_overwriting(tmp_path, film):
    command = (film, "--frame-rate", 7, "-o", tmp_path / "out")
    assert run(*command).exit_code == 0
    before = (tmp_path / "out" / "summary.json").stat().st_ino
    again = run(*command)
    assert again.exit_code == 2
    assert "exists and is not empty" in again.output
    assert (tmp_path / "out" / "summary.json").stat().st_ino == before
    assert run(*command, "--overwrite").exit_code == 0
    assert names(tmp_path) == ["film.npy", "out"]


def test_nothing_but_noise(tmp_path, rng):
    np.save(tmp_path / "noise.npy", rng.normal(10, 1, (60, 30, 30)))
    result = run(tmp_path / "noise.npy", "--frame-rate", 7, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "0 neurons" in result.output
    assert json.loads((tmp_path / "out" / "regions.json").read_text()) == []


def test_simulated_movie(tmp_path, monkeypatch, small):
    monkeypatch.setattr(calcium, "make_movie", lambda **_: small)
    result = run("--simulate", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "3 of 3 labelled regions found" in result.output
    assert "simulated movie (seed 0)" in (tmp_path / "out" / "summary.json").read_text()


def test_sizes_are_passed_on(tmp_path, film):
    sizes = ("--rank", 3, "--rows", 12, "--columns", 200, "--decay", 0.8)
    sizes += ("--smoothing", 1, "--neuron-radius", 6)
    assert run(film, "--frame-rate", 7, "-o", tmp_path / "out", *sizes).exit_code == 0
    page = (tmp_path / "out" / "page.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["decay"] == 0.8
    cells = {"row sparsity": 12, "column sparsity": 200, "pixels kept": 200}
    cells |= {"smoothing": "1.0", "neuron radius": "6.0"}
    for name, value in cells.items():
        pattern = rf'<td class="words">{name}</td>\s*<td class="words">{value}</td>'
        assert re.search(pattern, page), name


def bad_files(folder):
    """Every kind of bad movie, with a word of what is to be said about it."""
    import tifffile

    frames = np.random.default_rng(0).integers(0, 99, (20, 16, 16)).astype(np.uint16)
    made = {}

    def add(name, word, write):
        write(folder / name)
        made[name] = word

    add("corrupt.tif", "corrupt", lambda p: p.write_bytes(b"II*\0" + b"\xff" * 200))
    add("truncated.tif", "truncated", lambda p: tifffile.imwrite(p, frames))
    content = (folder / "truncated.tif").read_bytes()
    (folder / "truncated.tif").write_bytes(content[: len(content) // 2])
    add("empty.tif", "empty", lambda p: p.write_bytes(b""))
    add("empty.npy", "empty", lambda p: np.save(p, frames[:0]))
    colour = np.stack([frames] * 3, axis=-1).astype(np.uint8)
    add("colour.tif", "RGB", lambda p: tifffile.imwrite(p, colour, photometric="rgb"))
    add("one.tif", "single", lambda p: tifffile.imwrite(p, frames[0]))
    add("one.npy", "single", lambda p: np.save(p, frames[:1]))
    add("constant.npy", "constant", lambda p: np.save(p, np.ones((20, 16, 16))))
    holed = frames.astype(float)
    holed[3, 4, 5] = np.nan
    add("holed.npy", "NaN", lambda p: np.save(p, holed))
    add("film.avi", "unknown file type", lambda p: p.write_bytes(b"RIFF"))
    return made


def test_bad_movies_are_named_and_leave_nothing(tmp_path):
    made = bad_files(tmp_path)
    for name, word in made.items():
        result = run(tmp_path / name, "--frame-rate", 7, "-o", tmp_path / "new" / "out")
        assert result.exit_code == 3, (name, result.output)
        assert name in result.output
        assert word in result.output, (name, result.output)
        assert "Traceback" not in result.output
    assert names(tmp_path) == sorted(made)


def test_missing_files(tmp_path, film):
    result = run(tmp_path / "none.tif", "--frame-rate", 7, "-o", tmp_path / "out")
    assert (result.exit_code, "none.tif" in result.output) == (2, True)
    labels = ("--labels", tmp_path / "none.json")
    result = run(film, "--frame-rate", 7, "-o", tmp_path / "out", *labels)
    assert (result.exit_code, "none.json" in result.output) == (2, True)
    assert names(tmp_path) == ["film.npy"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_failures_while_writing_leave_nothing(tmp_path, film, monkeypatch, error):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(calcium, "write_summary", fail)
    result = run(film, "--frame-rate", 7, "-o", tmp_path / "out")
    assert result.exit_code == (130 if error is KeyboardInterrupt else 1)
    assert names(tmp_path) == ["film.npy"]


@pytest.mark.parametrize("library", ["tifffile", "matplotlib"])
def test_a_missing_library_is_said_before_the_fit(tmp_path, film, monkeypatch, library):
    def fit(*args, **kwargs):
        raise AssertionError("fitted in vain")

    monkeypatch.setattr(calcium.CalciumImaging, "fit", fit)
    monkeypatch.setitem(sys.modules, library, None)
    result = run(film, "--frame-rate", 7, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "pip install 'thinrank[" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give either a movie or --simulate"),
        (("film.npy", "--simulate"), "give either a movie or --simulate"),
        (("film.npy",), "frames per second is required"),
        (("film.npy", "--frame-rate", "7", "--rank", "many"), "a whole number or auto"),
        (("film.npy", "--frame-rate", "7", "--decay", "slow"), "a number or estimate"),
    ],
)
def test_usage_errors(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())


@pytest.mark.parametrize("setting", [("--baseline", "mean"), ("--rank", "0"), ("--decay", "2")])
def test_settings_that_make_no_sense(tmp_path, film, setting):
    result = run(film, "--frame-rate", 7, "-o", tmp_path / "out", *setting)
    assert result.exit_code == 2
    assert setting[0] in result.output
    assert names(tmp_path) == ["film.npy"]
