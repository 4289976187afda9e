"""Yeast: which transcription factors drive the cell cycle, and how well they predict it."""

import numpy as np
import pytest

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
