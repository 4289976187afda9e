"""The calcium study in its small version, and its page."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import synthetic_records as synthetic
from paper.calcium import AFTER, BEFORE
from paper.pages import markdown
from paper.study import run_study

from paper import STUDIES
from thinrank.calcium import make_movie
from thinrank.report.document import drawing

STUDY = STUDIES["calcium"]


@pytest.fixture
def records(tmp_path):
    """The records of the first job of the small version."""

    def run():
        one = dataclasses.replace(STUDY, jobs=lambda quick: STUDY.jobs(quick)[:1])
        return run_study(one, tmp_path, quick=True)

    return run


def kinds(records, kind):
    return [record for record in records if record["kind"] == kind]


@pytest.fixture
def labelled_movie(tmp_path, monkeypatch):
    """A simulated movie in the place of the public one."""
    movie, truth = make_movie(
        300, (48, 48), 4, n_close_pairs=1, frame_rate=7.0, random_state=81_000
    )
    masks = [truth.labels == label for label in range(1, 5)]
    (tmp_path / "calcium").mkdir()
    path = tmp_path / "calcium" / "neurofinder0000_tiny_300x48x48.npz"
    peaks = truth.traces.max(axis=1)
    np.savez(path, movie=movie, masks=masks, peak_snr=8 * peaks / np.median(peaks))
    monkeypatch.setenv("THINRANK_DATA", str(tmp_path))


def test_a_labelled_movie(labelled_movie, records):
    records = records()
    (sizes,) = kinds(records, "sizes")
    assert (sizes["frames"], sizes["height"], sizes["width"]) == (300, 48, 48)
    assert sizes["rank_fitted"] <= sizes["rank"] == 10
    assert sizes["active_frames"] <= sizes["rows"]
    assert sizes["active_pixels"] <= sizes["columns"]
    assert sizes["rank_rsc"] >= 1
    found = {(r["stage"], r["labels"]): r for r in kinds(records, "scores")}
    assert set(found) == {(stage, x) for stage in (BEFORE, AFTER) for x in ("strong", "all")}
    assert found[AFTER, "all"]["combined"] >= found[BEFORE, "all"]["combined"]
    (picture,) = kinds(records, "picture")
    assert len(picture["regions_estimated"]) == sizes["neurons"]
    regions = kinds(records, "region")
    assert [r["place"] for r in regions] == [1, 2, 3, 4]
    assert np.all(np.diff([r["significance"] for r in regions]) <= 0)
    for region in regions:
        assert np.sum(region["labelled"]) > 20
        assert len(region["trace_labelled"]) == 300
        if region["found"]:
            assert region["distance"] < 5
            assert region["correlation"] > 0.3
            assert np.shape(region["footprint"]) == (29, 29)
    with drawing():
        every = pd.DataFrame([*records, *kinds(synthetic.calcium(), "known")])
        text = markdown("Calcium", STUDY.page(every))
    assert text.count("| ✓ found |") == sum(r["found"] for r in regions)


def test_known_neurons(monkeypatch, records):
    monkeypatch.delenv("THINRANK_DATA", raising=False)  # then there is no labeled movie
    before, after = records()
    assert (before["stage"], after["stage"]) == (BEFORE, AFTER)
    assert after["n_labelled"] == 4
    assert after["combined"] > before["combined"]
    assert after["traces_close"] <= after["traces"] == after["n_matched"]
    assert 0.5 < after["pixel_auc"] <= 1
