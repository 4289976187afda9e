"""The page of a calcium movie."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from page_parser import ParsedPage, assert_self_contained
from small_movies import perfect_fit

from thinrank.calcium import score_regions
from thinrank.report.calcium_movie import MovieAnalysis, movie_page, write_movie_page
from thinrank.report.document import Picture, drawing


@pytest.fixture(scope="module")
def analysis():
    imaging, _ = perfect_fit(80100)
    settings = {"command": "`thinrank calcium film.tif`", "version": "thinrank 0"}
    return MovieAnalysis("film.tif", imaging, settings=settings)


def with_labels(analysis, labelled):
    energy = np.arange(analysis.imaging.mean_image_.size).reshape(
        analysis.imaging.mean_image_.shape
    )
    scores = score_regions(analysis.imaging.region_coordinates_, labelled, energy=energy)
    settings = analysis.settings
    return MovieAnalysis("film.tif", analysis.imaging, labelled, scores, settings)


def blocks(page, kind):
    return [block for block in page.blocks if isinstance(block, kind)]


def test_page_of_a_movie_needs_no_other_file(analysis, tmp_path):
    write_movie_page(analysis, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "3 neurons in 60 frames of 40 × 44 pixels." in text
    assert_self_contained(ParsedPage(text))
    sources = re.findall(r'src="([^"]{0,30})', text)
    assert len(sources) == 2
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_table_of_neurons(analysis):
    with drawing():
        page = ParsedPage(movie_page(analysis).html())
    for i, row in enumerate(page.table("neuron")[1:]):
        region, imaging = analysis.imaging.region_coordinates_[i], analysis.imaging
        assert row[0] == str(i + 1)
        assert float(row[1]) == pytest.approx(region[:, 0].mean(), abs=0.06)
        assert float(row[2]) == pytest.approx(region[:, 1].mean(), abs=0.06)
        assert row[3] == str(len(region))
        assert float(row[4]) == pytest.approx(imaging.traces_[i].max(), rel=0.01)
        assert row[5] == str(np.count_nonzero(imaging.spike_trains_[i]))


def test_labelled_beside_estimated(analysis):
    labelled = [*analysis.imaging.region_coordinates_[:2], np.array([[0, 0], [0, 1]])]
    with drawing():
        page = movie_page(with_labels(analysis, labelled))
    assert [p.name for p in blocks(page, Picture)] == ["contours", "traces_1"]
    assert len(blocks(page, Picture)[0].figure.axes) == 2
    shown = ParsedPage(page.html())
    assert "2 of 3 labeled regions found, combined score 0.67" in shown.text
    header, row = shown.table("regions")
    assert header[-2:] == ["exclusion", "pixel AUC"]
    assert row[:-1] == ["centers within 5 pixels", *"332", *["0.67"] * 3, "1.00", "1.00"]


def test_one_number_per_neuron_in_all_panels(analysis):
    regions = analysis.imaging.region_coordinates_
    labelled = [np.array([[0, 0], [0, 1]]), regions[2], regions[0]]
    with drawing():
        page = movie_page(with_labels(analysis, labelled))
    contours, traces = (picture.figure for picture in blocks(page, Picture))
    left, right = ([text.get_text() for text in axis.texts] for axis in contours.axes)
    assert left == ["m1", "3", "1"]
    assert right == ["1", "2", "3"]
    assert [axis.get_ylabel() for axis in traces.axes[::2]] == ["1", "2", "3"]


def test_no_neuron(analysis):
    empty = SimpleNamespace(**vars(analysis.imaging))
    empty.region_coordinates_ = []
    for name in ("footprints_", "traces_", "spike_trains_"):
        setattr(empty, name, getattr(analysis.imaging, name)[:0])
    nothing = MovieAnalysis("film.tif", empty)
    with drawing():
        page = movie_page(with_labels(nothing, analysis.imaging.region_coordinates_))
    assert "No neurons in 60 frames" in page.html()
    assert [p.name for p in blocks(page, Picture)] == ["contours"]


def test_many_neurons_fill_several_pictures(analysis):
    many = SimpleNamespace(**vars(analysis.imaging))
    for name in ("footprints_", "traces_", "spike_trains_"):
        setattr(many, name, np.concatenate([getattr(many, name)] * 4))
    many.region_coordinates_ = many.region_coordinates_ * 4
    with drawing():
        page = movie_page(MovieAnalysis("film.tif", many))
    names = [p.name for p in blocks(page, Picture)]
    assert names == ["contours", "traces_1", "traces_2"]
    assert len(blocks(page, Picture)[1].figure.axes) == 20
    assert len(blocks(page, Picture)[2].figure.axes) == 4
