"""The Norwegian paper data are complete, and come in the forms of scikit-learn."""

import sys

import numpy as np
import pytest

import thinrank as tr


def test_shapes_names_and_the_first_row():
    paper = tr.datasets.load_norwegian_paper()
    assert paper.data.shape == (29, 9)
    assert paper.target.shape == (29, 13)
    assert len(paper.feature_names) == 9
    assert paper.target_names == [f"Y{i}" for i in range(1, 14)]
    assert paper.frame is None
    assert "29" in paper.DESCR
    assert np.isfinite(paper.data).all()
    assert np.isfinite(paper.target).all()
    np.testing.assert_array_equal(paper.data[0], [1, 0, -1, 1, 0, 1, 0, -1, 0])
    np.testing.assert_array_equal(paper.target[0, [0, 12]], [33.8792, 24.8111])


def test_predictors_are_what_their_names_say():
    paper = tr.datasets.load_norwegian_paper()
    column = dict(zip(paper.feature_names, paper.data.T, strict=True))
    assert set(np.unique(paper.data[:, :3])) == {-1, 0, 1}
    for a in ("X1", "X2", "X3"):
        np.testing.assert_array_equal(column[f"{a}^2"], column[a] ** 2)
    for a, b in (("X1", "X2"), ("X1", "X3"), ("X2", "X3")):
        np.testing.assert_array_equal(column[f"{a}*{b}"], column[a] * column[b])


def test_two_arrays():
    paper = tr.datasets.load_norwegian_paper()
    X, Y = tr.datasets.load_norwegian_paper(return_X_y=True)
    np.testing.assert_array_equal(X, paper.data)
    np.testing.assert_array_equal(Y, paper.target)


def test_calls_share_no_memory():
    tr.datasets.load_norwegian_paper().data[:] = 7
    assert tr.datasets.load_norwegian_paper().data.max() == 1


def test_frames():
    paper = tr.datasets.load_norwegian_paper()
    frames = tr.datasets.load_norwegian_paper(as_frame=True)
    assert list(frames.data) == paper.feature_names
    assert list(frames.target) == paper.target_names
    assert list(frames.frame) == paper.feature_names + paper.target_names
    np.testing.assert_array_equal(frames.data, paper.data)
    X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    assert X.equals(frames.data)
    assert Y.equals(frames.target)
    est = tr.SparseReducedRankRegressor(3, 6, None).fit(X, Y)
    assert list(est.feature_names_in_) == paper.feature_names


def test_frames_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"Data frames need pandas.*thinrank\[frames\]"):
        tr.datasets.load_norwegian_paper(as_frame=True)
