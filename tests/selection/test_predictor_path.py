"""Paths of fits with more and more predictors, against fits one by one."""

import numpy as np
import pytest

import thinrank as tr
from thinrank.selection.predictor_path import _default_counts

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
        np.testing.assert_allclose(strengths, np.linalg.norm(standardised, axis=1), atol=1e-10)
        assert np.count_nonzero(strengths) == count
    frame = found.to_frame()
    assert frame.index.tolist() == [1, 3, 6]
    assert frame.shape[1] == np.count_nonzero(found.strengths.any(axis=0))


def test_numbers_on_a_default_path():
    """All up to twice the chosen number, and at least ten; a few of many."""
    assert _default_counts(3, 100) == list(range(1, 11))
    assert _default_counts(6, 100) == list(range(1, 13))
    assert _default_counts(6, 7) == list(range(1, 8))
    many = _default_counts(50, 1000)
    assert many[0] == 1
    assert many[-1] == 100
    assert 50 in many
    assert len(many) <= 17
    assert np.all(np.diff(many[-5:]) > np.diff(many[:5]))


@pytest.mark.parametrize("counts", [[0], [P + 1], [2.0], [True], []])
def test_bad_numbers(data, est, counts):
    with pytest.raises(ValueError, match="row_sparsities must"):
        tr.selection.path(est, *data, row_sparsities=counts)


def test_all_predictors_may_be_asked_for(data, est):
    found = tr.selection.path(est, *data, row_sparsities=[P])
    assert np.count_nonzero(found.strengths) == P
