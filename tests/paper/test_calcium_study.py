"""The calcium study in its small version, and its page."""

import json

import numpy as np
import pandas as pd
import pytest
from paper.calcium import AFTER, BEFORE
from paper.pages import markdown
from paper.study import plain

from paper import STUDIES
from thinrank.calcium import make_movie
from thinrank.report.document import drawing

STUDY = STUDIES["calcium"]


def records_of(job):
    records = [plain({**job.cell, **record}) for record in STUDY.run(job)]
    json.dumps(records, allow_nan=False)
    return records


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


def test_a_labelled_movie(labelled_movie):
    records = records_of(STUDY.jobs(True)[0])
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
        text = markdown("Calcium", STUDY.page(pd.DataFrame(records)))
    assert text.count("| ✓ found |") == sum(r["found"] for r in regions)


def test_known_neurons(monkeypatch):
    monkeypatch.delenv("THINRANK_DATA", raising=False)  # then there is no labeled movie
    before, after = records_of(STUDY.jobs(True)[0])
    assert (before["stage"], after["stage"]) == (BEFORE, AFTER)
    assert after["n_labelled"] == 4
    assert after["combined"] > before["combined"]
    assert after["traces_close"] <= after["traces"] == after["n_matched"]
    assert 0.5 < after["pixel_auc"] <= 1
