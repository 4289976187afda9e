"""The calcium study in its small version, and its page."""

import json

import numpy as np
import pytest
import synthetic_records as synthetic
from paper.calcium import make_page
from paper.calcium.images import from_text
from paper.calcium.labelled_movies import load
from paper.calcium.study import AFTER, BEFORE
from paper.markdown import render_markdown
from paper.studies.executors import run_job

from paper import find_study
from thinrank.report.document import drawing

STUDY = find_study("calcium")


def records_of(job):
    records = run_job(STUDY, job)
    json.dumps(records, allow_nan=False)
    return records


def kinds(records, kind):
    return [record for record in records if record["kind"] == kind]


def test_without_data_a_movie_is_simulated(monkeypatch):
    monkeypatch.delenv("THINRANK_DATA", raising=False)
    job = STUDY.jobs(True)[0]
    assert job.cell["movie"] == "simulated, small"
    records = records_of(job)
    (sizes,) = kinds(records, "sizes")
    assert (sizes["frames"], sizes["height"], sizes["width"]) == (300, 48, 48)
    assert sizes["rank_fitted"] <= sizes["rank"] == 10
    assert sizes["active_frames"] <= sizes["rows"]
    assert sizes["active_pixels"] <= sizes["columns"]
    assert sizes["rank_rsc"] >= 1
    found = {(r["stage"], r["labels"]): r for r in kinds(records, "scores")}
    assert set(found) == {(stage, x) for stage in (BEFORE, AFTER) for x in ("strong", "all")}
    assert found[AFTER, "all"]["combined"] >= found[BEFORE, "all"]["combined"]
    assert load("simulated").movie.shape == (559, 135, 131)  # that of the full version
    (picture,) = kinds(records, "picture")
    assert from_text(picture["estimated"]).max() == sizes["neurons"]
    regions = kinds(records, "region")
    assert [r["place"] for r in regions] == [1, 2, 3, 4]
    assert sorted((r["significance"] for r in regions), reverse=True) == [
        r["significance"] for r in regions
    ]
    for region in regions:
        assert from_text(region["labelled"]).sum() > 20
        assert len(region["trace_labelled"]) == 300
        if region["found"]:
            assert region["distance"] < 5
            assert region["correlation"] > 0.3
            assert from_text(region["footprint"]).shape == (29, 29)


def test_known_neurons():
    job = STUDY.jobs(True)[1]
    before, after = records_of(job)
    assert (before["stage"], after["stage"]) == (BEFORE, AFTER)
    assert after["n_labelled"] == 4
    assert after["combined"] > before["combined"]
    assert after["traces_close"] <= after["traces"] == after["n_matched"]
    assert 0.5 < after["pixel_auc"] <= 1


def test_the_public_movie(data_dir):
    if not (data_dir / "calcium").is_dir():
        pytest.skip("no movies in THINRANK_DATA")
    crop = load("NeuroFinder 00.00, crop")
    assert crop.movie.shape == (559, 135, 131)
    assert (len(crop.regions), len(crop.strong)) == (44, 17)
    pixels = {tuple(p) for i in crop.strong for p in crop.regions[i].tolist()}
    assert len(pixels) == 1281
    assert np.all(np.diff(crop.significance[crop.order]) <= 0)


def shown(records):
    with drawing():
        return render_markdown(make_page("calcium", records))


def test_study_in_numbers():
    text = shown(synthetic.calcium(missed=1))
    assert (
        "4 of the 5 most significant labelled regions are found; 75.0 % of the 200 pixels of the 4 "
        "significant regions are kept; mean combined score on movies with known neurons: 0.75 at "
        "amplitude 3, 0.38 at amplitude 1.5." in text
    )
    assert (
        "The movie here is a public one with labels (NeuroFinder 00.00, crop): 559 frames" in text
    )
    assert "| k | 10 | 19.0 | ✗ not found |  |  |  |  |" in text
    assert "| 3 | 20 | 18.0 | ✓ found | 1.25 | 0.80 | 0.90 | 0.95 |" in text
    assert (
        "| peak SNR from 8, before separation | 10 | 20 | 5 | 0.50 | 0.25 | 0.33 | 0.70 | 0.60 |"
        in text
    )
    assert "| rank by the criterion of Bunea et al. | 30 |" in text
    assert "| pixels of significant regions kept | 75.0% of 200 |" in text
    assert "| 3, after separation | 0.50 ± 0.00 |" in text
    assert "| 0.75 ± 0.01 | 0.70 ± 0.00 | 0.60 ± 0.00 | 18 of 20 | 2 |" in text


def test_study_says_which_movie_and_which_parts():
    text = shown(synthetic.calcium(movie="simulated"))
    assert "The movie here is a simulated one, because no real one was available" in text
    known = [r for r in synthetic.calcium() if r["part"] == "known"]
    assert "Movies with known neurons" in shown(known)
    labelled = [r for r in synthetic.calcium() if r["part"] == "labelled"]
    assert "Movies with known neurons" not in shown(labelled)
