"""What is written can be read back, and a folder of results is whole or not there."""

import csv
import json
import os
import sys
from types import SimpleNamespace

import numpy as np
import pynwb
import pytest
import tifffile

from thinrank.calcium import (
    Fluorescence,
    Quality,
    export_results,
    read_regions,
    write_regions,
)
from thinrank.calcium.pipeline import some_of

SUMMARY = "summary.json"


@pytest.fixture
def imaging(rng):
    """Two neurons in 9 frames of 6 × 8 pixels."""
    footprints = np.zeros((2, 6, 8))
    footprints[0, 1:3, 1:4], footprints[1, 3:6, 5:7] = 0.5, 0.25
    trains = np.zeros((2, 9))
    trains[0, [2, 5]], trains[1, 8] = (1.5, 0.25), 2.0
    raw, neuropil, level = rng.random((3, 2, 9)).astype(np.float32) + 1
    level[1, 3] = -1  # no ratio to it
    return SimpleNamespace(
        frame_rate=4.0,
        decay_=0.75,
        radius_=2.0,
        fluorescence_=Fluorescence(raw, neuropil, level, raw / 2, 0.7),
        quality_=Quality(np.array([5.0, 1.5]), np.array([0.75, 0.5])),
        mean_image_=rng.random((6, 8)),
        footprints_=footprints,
        traces_=rng.standard_normal((2, 9)),
        spike_trains_=trains,
        region_coordinates_=[np.argwhere(footprint) for footprint in footprints],
    )


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_regions_there_and_back(tmp_path, imaging):
    path = tmp_path / "regions.json"
    write_regions(path, imaging.region_coordinates_)
    content = json.loads(path.read_text())
    assert [region["id"] for region in content] == [1, 2]
    assert content[0]["coordinates"] == [[1, 1], [1, 2], [1, 3], [2, 1], [2, 2], [2, 3]]
    for written, read in zip(imaging.region_coordinates_, read_regions(path), strict=True):
        assert np.array_equal(written, read)
    path.write_text('[{"coordinates": [[3, 4], [3, 5]]}, {"id": 7, "coordinates": [[0, 0]]}]')
    assert [region.tolist() for region in read_regions(path)] == [[[3, 4], [3, 5]], [[0, 0]]]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[{", "not JSON"),
        ("{}", "expected a list of at least one region"),
        ('[{"id": 1}]', "each region must be"),
        ('[{"coordinates": []}]', r"each region must be.*regions\[0\]"),
        ('[{"coordinates": [[1, 2, 3]]}]', r"got shape \(1, 3\)"),
        ('[{"coordinates": [[1, 2.5]]}]', "whole numbers"),
        ('[{"coordinates": [[1, 2], [3]]}]', "each region must be"),
    ],
)
def test_bad_region_files_are_named(tmp_path, text, fault):
    path = tmp_path / "labels.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=rf"labels\.json: .*{fault}"):
        read_regions(path)


def test_spikes_and_footprints(tmp_path, imaging):
    export_results(imaging, tmp_path / "out")
    with (tmp_path / "out" / "spikes.csv").open() as file:
        rows = [[float(cell) for cell in row.values()] for row in csv.DictReader(file)]
    assert rows == [[1, 2, 0.5, 1.5], [1, 5, 1.25, 0.25], [2, 8, 2, 2]]
    pages = tifffile.imread(tmp_path / "out" / "footprints.tif")
    assert pages.dtype == np.float32
    assert np.array_equal(pages, imaging.footprints_)


def test_light_and_quality(tmp_path, imaging):
    light = imaging.fluorescence_
    raw, neuropil, level = light.raw, light.neuropil, light.baseline
    export_results(imaging, tmp_path / "out", nwb=True)
    written = {"fluorescence": raw, "neuropil": neuropil, "f0": level, "deconvolved": raw / 2}
    for name, values in (written | {"dff": imaging.fluorescence_.dff}).items():
        with (tmp_path / "out" / f"{name}.csv").open() as file:
            rows = list(csv.DictReader(file))
        cells = [[row[f"neuron_{n}"] for row in rows] for n in (1, 2)]
        assert (cells[1][3] == "") == (name == "dff")
        read = np.array([[float(cell or "nan") for cell in line] for line in cells])
        np.testing.assert_allclose(read, values, rtol=1e-5)
    with (tmp_path / "out" / "quality.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows[0] | {"snr": "5", "correlation": "0.75", "pixels": "6", "row": "1.50"} == rows[0]
    with pynwb.NWBHDF5IO(tmp_path / "out" / "regions.nwb", "r") as file:
        session = file.read()
        assert "time of writing" in session.session_description
        module = session.processing["ophys"]
        written = module["Fluorescence"].roi_response_series
        expected = {
            "RoiResponseSeries": imaging.traces_,
            "raw": raw,
            "neuropil": neuropil,
            "baseline": level,
            "deconvolved": raw / 2,
            "spikes": imaging.spike_trains_,
        }
        assert set(written) == set(expected)
        for name, values in expected.items():
            np.testing.assert_allclose(written[name].data[:], values.T, rtol=1e-6)
        ratio = module["DfOverF"]["dff"]
        np.testing.assert_allclose(ratio.data[:], imaging.fluorescence_.dff.T, rtol=1e-6)
        assert "0.7 * neuropil" in ratio.description
        regions = module["ImageSegmentation"]["PlaneSegmentation"]
        assert np.array(regions["image_mask"][:]) == pytest.approx(imaging.footprints_)
        series = written["RoiResponseSeries"]
        assert series.rate == regions.imaging_plane.imaging_rate == 4.0
        assert series.rois.data[:].tolist() == [0, 1]
        assert regions["snr"][:].tolist() == [5.0, 1.5]
    assert not pynwb.validate(path=str(tmp_path / "out" / "regions.nwb"))


@pytest.mark.parametrize(("library", "extra"), [("tifffile", "calcium"), ("pynwb", "nwb")])
def test_message_names_the_extra(tmp_path, imaging, monkeypatch, library, extra):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"{library}.*'\.\[{extra}\]"):
        export_results(imaging, tmp_path / "out", nwb=True)
    assert names(tmp_path) == []


def test_everything(tmp_path, imaging):
    export_results(imaging, tmp_path / "deep" / "out")
    folder = tmp_path / "deep" / "out"
    assert {"footprints.tif", "regions.json", "quality.csv", "dff.csv"} <= set(names(folder))
    summary = json.loads((folder / SUMMARY).read_text())
    assert summary["files"] == names(folder)
    assert (summary["neurons"], summary["frames"], summary["decay"]) == (2, 9, 0.75)
    assert (summary["height"], summary["width"]) == (6, 8)
    assert names(tmp_path / "deep") == ["out"]
    mask = os.umask(0)
    os.umask(mask)
    assert folder.stat().st_mode & 0o777 == 0o777 & ~mask


def test_no_neuron_at_all(tmp_path, imaging):
    imaging.footprints_ = np.zeros((0, 6, 8))
    imaging.traces_ = imaging.spike_trains_ = np.zeros((0, 9))
    imaging.region_coordinates_ = []
    imaging.fluorescence_ = some_of(imaging.fluorescence_, np.arange(0))
    imaging.quality_ = some_of(imaging.quality_, np.arange(0))
    export_results(imaging, tmp_path / "out", nwb=True)
    assert not {"footprints.tif", "regions.nwb"} & set(names(tmp_path / "out"))
    assert json.loads((tmp_path / "out" / "regions.json").read_text()) == []


def neurons(folder):
    return json.loads((folder / SUMMARY).read_text())["neurons"]


@pytest.mark.parametrize("error", [PermissionError("not here"), KeyboardInterrupt()])
@pytest.mark.parametrize("earlier", [False, True])
def test_an_error_leaves_what_was_there(tmp_path, imaging, monkeypatch, error, earlier):
    out = tmp_path / "new" / "out"
    if earlier:
        export_results(imaging, out)
        imaging.decay_ = 0.5
    rename = os.rename

    def refuse(source, target):
        if ".partial" in str(source):
            raise error
        return rename(source, target)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(type(error)):
        export_results(imaging, out, overwrite=True)
    assert names(tmp_path) == (["new"] if earlier else [])
    if earlier:
        assert names(tmp_path / "new") == ["out"]
        assert json.loads((out / SUMMARY).read_text())["decay"] == 0.75


def test_overwriting_is_asked_for(tmp_path, imaging):
    out = tmp_path / "real"
    out.mkdir()  # an empty folder is filled
    export_results(imaging, out)
    imaging.region_coordinates_ = imaging.region_coordinates_[:1]
    imaging.quality_ = some_of(imaging.quality_, np.arange(1))
    imaging.fluorescence_ = some_of(imaging.fluorescence_, np.arange(1))
    imaging.footprints_, imaging.traces_ = imaging.footprints_[:1], imaging.traces_[:1]
    with pytest.raises(FileExistsError, match="exists and is not empty"):
        export_results(imaging, out)
    assert neurons(out) == 2
    (tmp_path / "link").symlink_to(out)
    export_results(imaging, tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert neurons(out) == 1
    assert names(tmp_path) == ["link", "real"]


def test_what_is_not_ours_is_never_removed(tmp_path, imaging):
    out = tmp_path / "out"
    export_results(imaging, out)
    (out / "notes.txt").write_text("a day's work")
    with pytest.raises(FileExistsError, match=r"it holds notes\.txt, which was not written by"):
        export_results(imaging, out, overwrite=True)
    (tmp_path / "photographs").mkdir()
    for i in range(5):
        (tmp_path / "photographs" / f"{i}.jpg").touch()
    with pytest.raises(FileExistsError, match=r"0\.jpg, 1\.jpg, 2\.jpg, …"):
        export_results(imaging, tmp_path / "photographs", overwrite=True)
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError, match="is a file, not a folder"):
        export_results(imaging, tmp_path / "file", overwrite=True)
    with pytest.raises(NotADirectoryError, match="file is a file, not a folder"):
        export_results(imaging, tmp_path / "file" / "out")
