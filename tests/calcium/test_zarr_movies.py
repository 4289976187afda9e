"""Movies in Zarr folders, whole and damaged."""

import json

import numpy as np
import pytest
import zarr

from thinrank.calcium import CalciumImaging, MovieError
from thinrank.calcium.readers import open_movie


@pytest.fixture
def movie(rng):
    return rng.integers(1, 4000, (12, 9, 7)).astype(np.uint16)


def write(path, movie, version=3, chunks=(4, 9, 7)):
    settings = {"shape": movie.shape, "chunks": chunks, "dtype": movie.dtype}
    zarr.create_array(str(path), zarr_format=version, **settings)[:] = movie
    return path


def write_group(path, movie, version=3, name="scan/raw"):
    group = zarr.open_group(str(path), mode="w", zarr_format=version)
    array = group.create_array(name, shape=movie.shape, dtype=movie.dtype)
    array[:] = movie
    group.create_array("times", shape=(12,), dtype="f8")
    return group


def frames_of(path, dataset=None):
    with open_movie(path, dataset) as opened:
        return opened.lines(0, opened.shape[1])


@pytest.mark.parametrize("version", [2, 3])
def test_arrays_and_groups(tmp_path, movie, version):
    write(tmp_path / "a.zarr", movie, version)
    write_group(tmp_path / "g.zarr", movie, version)
    for name, dataset in (("a.zarr", None), ("g.zarr", None), ("g.zarr", "scan/raw")):
        np.testing.assert_array_equal(frames_of(tmp_path / name, dataset), movie)


def test_five_axes_as_in_ome_zarr(tmp_path, movie):
    write_group(tmp_path / "g.zarr", movie[:, None, None], name="0")
    np.testing.assert_array_equal(frames_of(tmp_path / "g.zarr"), movie)


def test_a_large_movie_is_read_in_parts(tmp_path, movie, monkeypatch):
    write(tmp_path / "a.zarr", movie)
    monkeypatch.setenv("THINRANK_MEMORY_GIB", "1e-7")  # 107 bytes
    with open_movie(tmp_path / "a.zarr") as opened:
        np.testing.assert_array_equal(opened.lines(2, 5), movie[:, 2:5])
        np.testing.assert_array_equal(opened.lines(2, 5, slice(3, 6)), movie[3:6, 2:5])


def test_the_right_array_is_asked_for(tmp_path, movie):
    group = write_group(tmp_path / "g.zarr", movie)
    group.create_array("other", shape=(5, 4, 4), dtype="f4")
    with pytest.raises(MovieError, match=r"several movies.*scan/raw"):
        frames_of(tmp_path / "g.zarr")
    with pytest.raises(MovieError, match="has no unique dataset 'third'"):
        frames_of(tmp_path / "g.zarr", "third")
    write(tmp_path / "a.zarr", movie)
    with pytest.raises(MovieError, match="dataset must be None"):
        frames_of(tmp_path / "a.zarr", "raw")


def test_damaged_folders_are_named(tmp_path, movie):
    path = write(tmp_path / "a.zarr", movie)
    chunk = sorted((path / "c").rglob("*"))[-1]
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[:20])
    with pytest.raises(MovieError, match=r"a\.zarr: .*cannot be read to the end"):
        CalciumImaging(frame_rate=7).fit(path)
    chunk.unlink()
    with pytest.warns(UserWarning, match="1 of 3 chunks are not stored and are read as 0"):
        assert frames_of(path).shape == (12, 9, 7)
    (path / "zarr.json").write_text("{")
    with pytest.raises(MovieError, match=r"a\.zarr: is corrupt or not a Zarr array"):
        frames_of(path)


@pytest.mark.parametrize("place", ["filters", "compressor"])
def test_filters_that_run_code_are_refused(tmp_path, movie, place):
    path = write(tmp_path / "a.zarr", movie, version=2)
    about = json.loads((path / ".zarray").read_text())
    unsafe = {"id": "pickle", "protocol": 5}
    about[place] = [{"id": "zlib", "level": 1}, unsafe] if place == "filters" else unsafe
    (path / ".zarray").write_text(json.dumps(about))
    with pytest.raises(MovieError, match="pickle"):
        frames_of(path)
