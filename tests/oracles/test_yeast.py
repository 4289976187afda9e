"""Yeast: which transcription factors drive the cell cycle, and how well they predict it."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

import thinrank as tr


@pytest.fixture
def yeast(data_dir):
    with np.load(data_dir / "yeast_spls.npz", allow_pickle=False) as stored:
        return {name: stored[name] for name in ("X", "Y", "X_names", "confirmed_TFs")}


def test_few_predictors_with_the_confirmed_ones_among_them(yeast):
    X, Y = yeast["X"], yeast["Y"]
    assert X.shape == (542, 106)
    assert Y.shape == (542, 18)
    est = tr.SparseReducedRankRegressorCV(cv=5).fit(X, Y)
    chosen = {str(name).split("_")[0] for name in yeast["X_names"][est.row_support_]}
    confirmed = {str(name) for name in yeast["confirmed_TFs"]}
    assert len(confirmed) == 21
    assert len(est.row_support_) <= 50
    # far more than by chance
    assert len(chosen & confirmed) >= 2 * len(chosen) * len(confirmed) / X.shape[1]


@pytest.mark.slow
def test_nested_error(yeast):
    X, Y = yeast["X"], yeast["Y"]
    predicted, null = np.empty_like(Y), np.empty_like(Y)
    for train, test in KFold(10, shuffle=True, random_state=0).split(X):
        est = tr.SparseReducedRankRegressorCV(cv=5).fit(X[train], Y[train])
        predicted[test], null[test] = est.predict(X[test]), Y[train].mean(axis=0)
    assert np.mean((Y - null) ** 2) == pytest.approx(0.2338, abs=0.001)
    assert np.mean((Y - predicted) ** 2) <= 0.184
