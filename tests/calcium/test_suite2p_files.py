"""The files of suite2p have what its readers look for."""

import json

import numpy as np
import pytest

from thinrank.calcium import CalciumImaging, export_results, make_movie, select_neurons


@pytest.fixture(scope="module")
def imaging():
    movie, _ = make_movie(120, (40, 44), 3, n_close_pairs=1, random_state=30042)
    fitted = CalciumImaging(7).fit(movie)
    return select_neurons(fitted, range(fitted.n_neurons_))  # without rejected candidates


def written(imaging, folder):
    export_results(imaging, folder, suite2p=True)
    return folder / "suite2p" / "plane0"


@pytest.fixture(scope="module")
def plane(imaging, tmp_path_factory):
    return written(imaging, tmp_path_factory.mktemp("files") / "out")


def test_pixels_of_each_cell(imaging, plane):
    stat = np.load(plane / "stat.npy", allow_pickle=True)
    assert len(stat) == imaging.n_neurons_ > 1
    for n, cell in enumerate(stat):
        region = imaging.region_coordinates_[n]
        np.testing.assert_array_equal(np.column_stack([cell["ypix"], cell["xpix"]]), region)
        assert cell["npix"] == len(region) == len(cell["lam"])
        np.testing.assert_allclose(cell["lam"], imaging.footprints_[n][tuple(region.T)])
        assert cell["med"] in region.tolist()
        assert {"compact", "footprint", "npix_norm", "overlap", "skew", "std"} <= set(cell)
    shared = sum(cell["overlap"].sum() for cell in stat)
    counts = np.zeros((40, 44), dtype=int)
    for region in imaging.region_coordinates_:
        counts[tuple(region.T)] += 1
    assert shared == counts[counts > 1].sum()


def test_traces_and_settings(imaging, plane):
    light = imaging.fluorescence_
    for name, values in (("F", light.raw), ("Fneu", light.neuropil), ("spks", light.deconvolved)):
        stored = np.load(plane / f"{name}.npy")
        assert stored.dtype == np.float32
        np.testing.assert_array_equal(stored, values)
    cells = np.load(plane / "iscell.npy")
    assert cells[:, 0].tolist() == [1] * imaging.n_neurons_
    np.testing.assert_allclose(cells[:, 1], imaging.quality_.correlation, rtol=1e-6)
    ops = np.load(plane / "ops.npy", allow_pickle=True).item()
    assert (ops["Ly"], ops["Lx"], ops["fs"], ops["nframes"]) == (40, 44, 7.0, 120)
    assert ops["neucoeff"] == np.median(light.coefficient)
    assert ops["tau"] == pytest.approx(-1 / (7 * np.log(1 - 1 / 7)))
    np.testing.assert_array_equal(ops["meanImg"], imaging.mean_image_)
    assert ops["Vcorr"].shape == (40, 44)
    assert (plane.parents[1] / ops["save_path"]) == plane
    image = ops["meanImgE"]  # suite2p combines planes by it
    assert image.shape == imaging.mean_image_.shape
    assert image.dtype == np.float32
    assert 0 <= image.min() < 0.5 < image.max() <= 1


def test_no_neuron(imaging, tmp_path):
    place = written(select_neurons(imaging, []), tmp_path / "out")
    assert np.load(place / "stat.npy", allow_pickle=True).shape == (0,)
    assert np.load(place / "iscell.npy").shape == (0, 2)


def test_shapes_of_a_disc_and_an_ellipse(imaging, tmp_path):
    rows, columns = np.mgrid[:40, :44]
    shaped = select_neurons(imaging, [0, 1])
    shaped.region_coordinates_ = [
        np.argwhere((rows - 20) ** 2 + (columns - 20) ** 2 <= 8**2),
        np.argwhere(((rows - 20) / 12) ** 2 + ((columns - 20) / 6) ** 2 <= 1),
    ]
    disc, ellipse = np.load(written(shaped, tmp_path / "out") / "stat.npy", allow_pickle=True)
    assert disc["med"] == ellipse["med"] == [20, 20]
    assert disc["radius"] == pytest.approx(8, rel=0.05)
    assert ellipse["radius"] == pytest.approx(12, rel=0.05)
    assert disc["aspect_ratio"] == pytest.approx(1, abs=0.01)
    assert ellipse["aspect_ratio"] == pytest.approx(4 / 3, rel=0.02)
    assert disc["compact"] == pytest.approx(1, abs=0.02)
    assert ellipse["compact"] > 1.05


def test_folders_inside_results_are_protected_too(imaging, tmp_path):
    out = tmp_path / "out"
    export_results(imaging, out, suite2p=True)
    files = json.loads((out / "summary.json").read_text())["files"]
    assert "suite2p/plane0/stat.npy" in files
    export_results(imaging, out, suite2p=True, overwrite=True)
    (out / "suite2p" / "plane0" / "redcell.npy").write_bytes(b"by hand")
    with pytest.raises(FileExistsError, match=r"it holds suite2p/plane0/redcell\.npy"):
        export_results(imaging, out, suite2p=True, overwrite=True)
