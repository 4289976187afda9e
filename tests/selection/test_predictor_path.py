"""Paths of fits with more and more predictors, against fits one by one."""

import numpy as np
import pytest

import thinrank as tr

N, P, K = 60, 14, 5


@pytest.fixture(scope="module")
def data():
    X, Y, _ = tr.datasets.make_two_way_sparse(
        N, P, K, rank=2, row_sparsity=4, column_sparsity=5, random_state=5
    )
    return X * np.linspace(0.2, 3, P), Y * np.linspace(1, 9, K)


@pytest.fixture(scope="module")
def est(data):
    return tr.SparseReducedRankRegressor(2, 5, None, ridge=0.1).fit(*data)


def test_every_point_is_a_fit_with_its_number_of_predictors(data, est):
    X, Y = data
    weight = np.linspace(0.5, 2, N)
    found = tr.selection.path(est, X, Y, row_sparsities=[6, 1, 3, 3], sample_weight=weight)
    assert found.row_sparsities.tolist() == [1, 3, 6]
    assert (found.chosen, found.rank) == (5, 2)
    assert found.names == [f"x{i}" for i in range(P)]
    for count, strengths, score in zip([1, 3, 6], found.strengths, found.scores, strict=True):
        alone = tr.SparseReducedRankRegressor(min(2, count), count, None, ridge=0.1)
        alone.fit(X, Y, sample_weight=weight)
        assert score == pytest.approx(alone.score(X, Y, sample_weight=weight))
        standardised = alone.factors_.theta * alone.feature_scale_[:, None] / alone.target_scale_
        np.testing.assert_allclose(strengths, np.linalg.norm(standardised, axis=1), atol=1e-9)
        assert np.count_nonzero(strengths) == count
    frame = found.to_frame()
    assert frame.index.tolist() == [1, 3, 6]
    assert frame.shape[1] == np.count_nonzero(found.strengths.any(axis=0))


def test_numbers_on_a_default_path(data, est):
    """All up to twice the chosen number, and at least ten; a few of many."""
    found = tr.selection.path(est, *data)
    assert found.row_sparsities.tolist() == list(range(1, 11))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((70, 60))
    wide = tr.SparseReducedRankRegressor(1, 25, None, ridge=0.1)
    Y = rng.standard_normal((70, 2))
    counts = tr.selection.path(wide.fit(X, Y), X, Y).row_sparsities
    assert (counts[0], counts[-1]) == (1, 50)
    assert 25 in counts
    assert len(counts) <= 17
    assert np.all(np.diff(counts[-4:]) > np.diff(counts[:4]))


def test_the_estimator_with_grids_has_the_same_path(data, est):
    grids = {"ranks": [2], "row_sparsities": [5], "column_sparsities": [None], "ridges": [0.1]}
    other = tr.SparseReducedRankRegressorCV(**grids, cv=3).fit(*data)
    paths = [tr.selection.path(each, *data, row_sparsities=[3, 1]) for each in (est, other)]
    np.testing.assert_allclose(paths[0].strengths, paths[1].strengths, rtol=1e-6)
    np.testing.assert_allclose(paths[0].scores, paths[1].scores, rtol=1e-7)


def test_a_path_needs_a_rank(data):
    X, Y = data
    noise = np.random.default_rng(0).standard_normal(Y.shape)
    with pytest.warns(tr.core.warnings.SelectionWarning):
        zero = tr.SparseReducedRankRegressor().fit(X, noise)
    assert zero.rank_ == 0
    with pytest.raises(ValueError, match="est has rank 0"):
        tr.selection.path(zero, X, noise)


@pytest.mark.parametrize("counts", [[0], [P + 1], [2.0], [True], []])
def test_bad_numbers(data, est, counts):
    with pytest.raises(ValueError, match="row_sparsities must"):
        tr.selection.path(est, *data, row_sparsities=counts)


def test_all_predictors_may_be_asked_for(data, est):
    found = tr.selection.path(est, *data, row_sparsities=[P])
    assert np.count_nonzero(found.strengths) == P
