"""Movies and labelled regions: TIFF, NumPy, HDF5, NWB and JSON files, whole and damaged."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import tifffile
from fuzz_bytes import damaged
from fuzz_tables import array_of_any_type
from fuzz_trial import Trial, unchanged

from thinrank.calcium import read_regions, score_regions
from thinrank.calcium.movie import open_movie

_SUFFIXES = (".tif", ".tiff", ".npy", ".npz", ".h5", ".hdf5", ".nwb", ".TIF", ".avi", "")


def read_a_movie(trial: Trial) -> None:
    """Write a movie, damage it in a part of the cases, and read all of its lines."""
    if trial.chance(0.1):
        movie: Any = _array_movie(trial)
    else:
        movie = trial.folder / ("movie" + trial.choice(_SUFFIXES))
        _write(trial, movie)
        if trial.chance(0.5):
            movie.write_bytes(damaged(trial, movie.read_bytes()))
        trial.note(f"{movie.name}: {movie.read_bytes()[:300]!r}")
    dataset = None if trial.chance(0.8) else trial.choice(("data", "a/b", "", "/", "..", "movie"))
    trial.note(f"dataset={dataset!r}")
    with unchanged(trial.folder), open_movie(movie, dataset) as source:
        for line in range(0, source.shape[1], 3):
            source.lines(line, line + 3)


def _array_movie(trial: Trial) -> Any:
    frames = _frames(trial)
    match trial.number(0, 3):
        case 0:
            return frames.tolist()
        case 1:
            return np.ma.masked_array(frames)
        case 2:
            return trial.choice((None, 3, {}, [], [[1], [2, 3]], b"movie"))
    return frames


def _frames(trial: Trial) -> np.ndarray:
    if trial.chance(0.15):
        return array_of_any_type(trial)
    shape = (trial.number(1, 6), trial.number(1, 5), trial.number(1, 5))
    kind = trial.choice(("f4", "f8", "u1", "u2", "i4", ">u2", "f2"))
    return (100 * trial.rng.random(shape)).astype(kind)


def _write(trial: Trial, path: Path) -> None:
    suffix = path.suffix.lower()
    if suffix in (".h5", ".hdf5"):
        _write_hdf5(trial, path)
    elif suffix == ".nwb":
        _write_nwb(trial, path)
    else:
        path.write_bytes(_content(trial, suffix))


def _content(trial: Trial, suffix: str) -> bytes:
    out, frames = io.BytesIO(), np.asarray(_frames(trial))
    if suffix == ".npz":
        names = trial.choice((("movie",), ("data", "other"), ("a", "b"), ()))
        np.savez(out, **{name: _frames(trial) for name in names})
    elif suffix in (".tif", ".tiff") and frames.dtype.kind in "uif" and frames.size:
        options = trial.choice(
            ({}, {"bigtiff": True}, {"compression": "zlib"}, {"metadata": None}, {"imagej": True})
        )
        try:
            tifffile.imwrite(out, frames, **options)
        except ValueError:  # types that this kind of TIFF does not have
            out = io.BytesIO()
            tifffile.imwrite(out, np.ones((4, 3, 3), dtype="u2"))
    else:
        np.save(out, frames, allow_pickle=True)
    return out.getvalue()


def _write_hdf5(trial: Trial, path: Path) -> None:
    with h5py.File(path, "w") as file:
        for name in trial.choice((("movie",), ("data", "other"), ("a/b",), ())):
            frames = _frames(trial)
            if frames.dtype.kind not in "uif":
                frames = np.ones((4, 3, 3))
            chunked = {} if trial.chance(0.5) or not frames.size or not frames.ndim else {
                "chunks": True, "compression": "gzip"}  # fmt: skip
            file.create_dataset(name, data=frames, **chunked)
        match trial.number(0, 7):
            case 0:
                file["text"] = "words"
            case 1:
                file["link"] = h5py.SoftLink(trial.choice(("/link", "/movie", "/missing")))
            case 2:
                file["away"] = h5py.ExternalLink("other.h5", "/movie")
            case 3:
                layout = h5py.VirtualLayout((4, 3, 3), dtype="f8")
                layout[:] = h5py.VirtualSource("other.h5", "movie", (4, 3, 3))
                file.create_virtual_dataset("virtual", layout)
            case 4:
                file.create_dataset("outside", (4, 3, 3), "u1", external=[("x.raw", 0, 36)])
            case 5:
                file["nothing"] = h5py.Empty("f4")


def _write_nwb(trial: Trial, path: Path) -> None:
    with h5py.File(path, "w") as file:
        for name in trial.choice((("one",), ("one", "two"), ())):
            group = file.create_group(f"acquisition/{name}")
            group.attrs["neurodata_type"] = trial.choice(("TwoPhotonSeries", "Other", b"\xff", 3))
            if trial.chance(0.9):
                group["data"] = trial.choice((np.ones((4, 3, 3)), np.ones(3), np.ones((0, 3, 3))))


def read_some_regions(trial: Trial) -> None:
    """Write labelled regions, read them, and compare them with others."""
    path = trial.folder / "regions.json"
    data = json.dumps(regions_of_any_form(trial)).encode(
        "utf-8" if trial.chance(0.95) else "utf-16"
    )
    if trial.chance(0.3):
        data = damaged(trial, data)
    if trial.chance(0.03):
        data = trial.choice((b"[" * 50_000, b'{"a":' * 50_000, b"9" * 9000))
    path.write_bytes(data)
    trial.note(f"{data[:400]!r}")
    with unchanged(trial.folder):
        regions = read_regions(path)
    score_regions(regions, [np.array([[1, 1], [1, 2]])])


def regions_of_any_form(trial: Trial) -> Any:
    """Regions in the format of NeuroFinder, some of them odd."""
    regions: list[Any] = []
    for _ in range(trial.number(0 if trial.chance(0.1) else 1, 4)):
        pixels: Any = trial.rng.integers(0, 9, (trial.number(1, 5), 2)).tolist()
        if trial.chance(0.12):
            pixels = trial.choice(_ODD_PIXELS)
        region: Any = {"coordinates": pixels, "id": 1}
        if trial.chance(0.05):
            region = trial.choice((None, 3, "text", [], {}, {"coordinate": pixels}, [pixels]))
        regions.append(region)
    if trial.chance(0.1):
        return trial.choice((None, {}, {"regions": regions}, "text", 1.5, [regions]))
    return regions


_ODD_PIXELS = (
    [], [[]], [1, 2], [[1]], [[1, 2, 3]], [[1, 2], [3]], [[1.5, 2]], [["1", "2"]], [[None, 1]],
    [[-1, -1]], [[1e300, 1]], [[2**70, 1]], [[10**9, 10**9]], {"a": 1}, "text", [[True, False]],
    [[float("nan"), 1]], [[float("inf"), 1]], [[[1, 2]]], 7, [[1, 2]] * 300, [[2**62, 2**62]],
)  # fmt: skip
