"""Neurons on a picture: the page of a movie, and that of the study."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
import synthetic_records as synthetic

from thinrank.calcium import make_movie, score_regions
from thinrank.report.calcium_movie import MovieStory, movie_page, write_movie_page
from thinrank.report.calcium_pictures import _thinned
from thinrank.report.markdown import render_markdown
from thinrank.report.page import Picture, Table
from thinrank.report.study import STUDIES
from thinrank.report.style import drawing


@pytest.fixture(scope="module")
def story():
    """What a perfect fit of a small movie would say."""
    movie, truth = make_movie(60, (40, 44), 3, n_close_pairs=1, random_state=80100)
    imaging = SimpleNamespace(
        frame_rate=7.0,
        decay_=truth.decay,
        mean_image_=movie.mean(axis=0),
        footprints_=truth.footprints,
        traces_=truth.traces,
        spike_trains_=3.0 * truth.spikes,
        region_coordinates_=truth.regions,
    )
    settings = {"command": "`thinrank calcium film.tif`", "version": "thinrank 0"}
    return MovieStory("film.tif", imaging, settings=settings)


def with_labels(story, labelled):
    energy = np.arange(story.imaging.mean_image_.size).reshape(story.imaging.mean_image_.shape)
    scores = score_regions(story.imaging.region_coordinates_, labelled, energy=energy)
    settings = story.settings
    return MovieStory("film.tif", story.imaging, labelled, scores, settings)


def blocks(page, kind):
    return [block for block in page.blocks if isinstance(block, kind)]


def test_page_of_a_movie_needs_no_other_file(story, tmp_path):
    write_movie_page(story, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "3 neurons in 60 frames of 40 × 44 pixels." in text
    assert not re.search(r"<(script|link|iframe)\b", text)
    sources = re.findall(r'src="([^"]{0,30})', text)
    assert len(sources) == 2
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_same_fit_same_page(story, tmp_path):
    write_movie_page(story, tmp_path / "first.html")
    write_movie_page(story, tmp_path / "second.html")
    assert (tmp_path / "first.html").read_bytes() == (tmp_path / "second.html").read_bytes()


def test_table_of_neurons(story):
    with drawing():
        page = movie_page(story)
    (neurons,) = [t for t in blocks(page, Table) if t.header[0] == "neuron"]
    for i, row in enumerate(neurons.rows):
        region, imaging = story.imaging.region_coordinates_[i], story.imaging
        assert row[0] == str(i + 1)
        assert float(row[1]) == pytest.approx(region[:, 0].mean(), abs=0.06)
        assert float(row[2]) == pytest.approx(region[:, 1].mean(), abs=0.06)
        assert row[3] == str(len(region))
        assert float(row[4]) == pytest.approx(imaging.traces_[i].max(), rel=0.01)
        assert row[5] == str(np.count_nonzero(imaging.spike_trains_[i]))


def test_labelled_beside_estimated(story):
    labelled = [*story.imaging.region_coordinates_[:2], np.array([[0, 0], [0, 1]])]
    with drawing():
        page = movie_page(with_labels(story, labelled))
    assert [p.name for p in blocks(page, Picture)] == ["contours", "labelled", "traces_1"]
    assert len(blocks(page, Picture)[0].figure.axes) == 2
    text = render_markdown(page)
    assert "2 of 3 labelled regions found, combined score 0.67" in text
    row = "| centres within 5 pixels | 3 | 3 | 2 | 0.67 | 0.67 | 0.67 | 1.00 | 1.00 | 0."
    assert row in text
    assert "| exclusion | pixel AUC |" in text


def test_nothing_is_labelled_where_neurons_are(story):
    with drawing():
        page = movie_page(with_labels(story, [np.array([[0, 0], [0, 1]])]))
    assert [p.name for p in blocks(page, Picture)] == ["contours", "traces_1"]


def test_no_neuron(story):
    empty = SimpleNamespace(**vars(story.imaging))
    empty.region_coordinates_ = []
    for name in ("footprints_", "traces_", "spike_trains_"):
        setattr(empty, name, getattr(story.imaging, name)[:0])
    nothing = MovieStory("film.tif", empty)
    with drawing():
        page = movie_page(with_labels(nothing, story.imaging.region_coordinates_))
    assert "No neurons in 60 frames" in render_markdown(page)
    assert [p.name for p in blocks(page, Picture)] == ["contours"]


def test_many_neurons_fill_several_pictures(story):
    many = SimpleNamespace(**vars(story.imaging))
    for name in ("footprints_", "traces_", "spike_trains_"):
        setattr(many, name, np.concatenate([getattr(many, name)] * 4))
    many.region_coordinates_ = many.region_coordinates_ * 4
    with drawing():
        page = movie_page(MovieStory("film.tif", many))
    names = [p.name for p in blocks(page, Picture)]
    assert names == ["contours", "traces_1", "traces_2"]
    assert len(blocks(page, Picture)[1].figure.axes) == 20
    assert len(blocks(page, Picture)[2].figure.axes) == 4


def test_a_long_trace_keeps_its_spikes(rng):
    trace = rng.standard_normal(50_000)
    trace[31_415] = 100.0
    frames, values = _thinned(trace)
    assert len(frames) == 1200
    assert np.all(np.diff(frames) > 0)
    assert (values.max(), frames[values.argmax()]) == (100.0, 31_415)
    assert np.array_equal(values, trace[frames])


def shown(records):
    with drawing():
        return render_markdown(STUDIES["calcium"]("calcium", records))


def test_study_in_numbers():
    text = shown(synthetic.calcium(missed=1))
    assert (
        "Of the 5 most significant labelled regions 4 are found; 75.0 % of the 200 pixels of the 4 "
        "significant regions are kept; mean combined score on movies with known neurons: 0.75 at "
        "amplitude 3, 0.38 at amplitude 1.5." in text
    )
    assert "Here is a public one with labels, NeuroFinder 00.00, crop: 559 frames" in text
    assert "| 10 | 19.0 | not found |  |  |  |  |" in text
    assert "| 20 | 18.0 | 3 | 1.25 | 0.80 | 0.90 | 0.95 |" in text
    assert (
        "| peak SNR from 8, before separation | 10 | 20 | 5 | 0.50 | 0.25 | 0.33 | 0.70 | 0.60 |"
        in text
    )
    assert "| rank by the criterion of Bunea et al. | 30 |" in text
    assert "| of the pixels in significant regions | 75.0% of 200 |" in text
    assert "| 3, after separation | 0.50 ± 0.00 |" in text
    assert "| 0.75 ± 0.01 | 0.70 ± 0.00 | 0.60 ± 0.00 | 18 of 20 | 2 |" in text


def test_study_says_which_movie_it_was():
    text = shown(synthetic.calcium(movie="simulated"))
    assert "Here is a simulated one, because no real one was at hand" in text


def test_study_in_parts():
    known = [r for r in synthetic.calcium() if r["part"] == "known"]
    assert "Movies with known neurons" in shown(known)
    labelled = [r for r in synthetic.calcium() if r["part"] == "labelled"]
    assert "Movies with known neurons" not in shown(labelled)
