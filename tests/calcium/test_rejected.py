"""What does not look like a neuron is kept with a score and a reason."""

import csv
import json

import numpy as np
import pytest
from scipy.signal import lfilter

import thinrank as tr
from thinrank.calcium import CalciumImaging, export_results, make_movie


@pytest.fixture(scope="module")
def imaging():
    """Four neurons and a dendrite, a bar of 3 × 30 pixels."""
    movie, _ = make_movie(300, (64, 64), 4, n_close_pairs=0, random_state=30013)
    spikes = np.zeros(300)
    spikes[[20, 90, 91, 160, 250]] = 6.0
    row = int(np.median(movie.std(axis=0).argmin(axis=0)))  # leave the neurons alone
    bar = np.zeros((64, 64))
    bar[row : row + 3, 17:47] = 1
    course = lfilter([1.0], [1.0, -6 / 7], spikes)
    return CalciumImaging(7).fit(movie + (course[:, None, None] * bar).astype(np.float32))


def test_a_bar_is_rejected(imaging, tmp_path):
    count, rejected = imaging.n_neurons_, imaging.rejected_
    assert count == 4
    assert (imaging.quality_.score >= 0.5).all()
    assert "too long" in rejected.quality.fault
    assert (rejected.quality.score < 0.5).all()
    tr.save(imaging, tmp_path / "model")
    loaded = tr.load(tmp_path / "model")
    assert loaded.rejected_.quality.fault == rejected.quality.fault


def test_rejected_candidates_are_in_the_files(imaging, tmp_path):
    export_results(imaging, tmp_path / "out", suite2p=True, nwb=True, metadata={"subject": "m1"})
    with open(tmp_path / "out" / "quality.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    count, faults = imaging.n_neurons_, imaging.rejected_.quality.fault
    assert [row["rejected"] for row in rows] == [""] * count + list(faults)
    assert len(json.loads((tmp_path / "out" / "regions.json").read_text())) == count
    cells = np.load(tmp_path / "out" / "suite2p" / "plane0" / "iscell.npy")
    assert cells[:, 0].tolist() == [1] * count + [0] * len(faults)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["rejected"] == len(faults)
    assert summary["radius"] == pytest.approx(imaging.radius_, abs=1e-3)
    pynwb = pytest.importorskip("pynwb")
    with pynwb.NWBHDF5IO(tmp_path / "out" / "regions.nwb", "r") as io:
        file = io.read()
        assert file.subject.subject_id == "m1"
        table = file.processing["ophys"]["ImageSegmentation"]["PlaneSegmentation"]
        assert list(table["rejected"][:]) == [row["rejected"] for row in rows]


def test_the_radius_is_used_as_it_is_given(imaging):
    movie, truth = make_movie(200, (48, 48), 4, n_close_pairs=1, random_state=80000)
    given = CalciumImaging(7, neuron_radius=3.4).fit(movie)
    assert given.radius_ == 3.4
    assert given.score(truth.regions).combined == 1.0
    small, _ = make_movie(300, (48, 48), 6, n_close_pairs=0, footprint_sd=1.2, amplitude=6.0)
    assert CalciumImaging(7).fit(small).radius_ == pytest.approx(1.2 / 3 * imaging.radius_, rel=0.3)
