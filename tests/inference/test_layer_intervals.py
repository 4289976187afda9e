"""Intervals for singular values and left vectors."""

import numpy as np
import pytest

import thinrank as tr

SIZES = {"rank": 2, "row_sparsity": 4, "column_sparsity": 5}


def simulate(seed, n=80, p=8, k=5):
    rng = np.random.default_rng(seed)
    U, V, D = np.zeros((p, 2)), np.zeros((k, 2)), np.array([8.0, 3.0])
    U[:2, 0], U[2:4, 1] = [0.6, -0.8], [0.8, 0.6]
    V[:3, 0], V[3:, 1] = np.sqrt([0.5, 0.3, 0.2]), [0.6, 0.8]
    X = rng.standard_normal((n, p))
    noise = rng.standard_normal((n, k)) + 0.5 * rng.standard_normal((n, 1))
    return X, X @ (U * D) @ V.T + noise, U, D


def test_coverage_of_layers():
    hits = {"d": [], "u": [], "d·u": []}
    for seed in range(12):
        X, Y, U, D = simulate(730_000 + seed)
        est = tr.SparseReducedRankRegressor(**SIZES).fit(X, Y)
        for scaled in (False, True):
            found = tr.inference.confidence_intervals(
                est, X, Y, of="layers", predictors="all", scaled=scaled, rank=2
            )
            for layer in range(2):
                own = np.flatnonzero(found.index[:, 0] == layer)
                truth = U[:, layer] * (D[layer] if scaled else 1.0)
                truth = truth * np.sign(truth @ found.estimate[own[1:]])
                truth = np.concatenate([[D[layer]], truth])
                inside = (found.lower[own] <= truth) & (truth <= found.upper[own])
                hits["d"].append(inside[0])
                hits["d·u" if scaled else "u"].extend(inside[1:])
    assert np.mean(hits["d"]) > 0.85
    assert 0.9 < np.mean(hits["u"]) < 0.985
    assert 0.9 < np.mean(hits["d·u"]) < 0.985


def test_table_of_layers():
    X, Y, U, D = simulate(1)
    est = tr.SparseReducedRankRegressor(**SIZES).fit(X, Y)
    found = tr.inference.confidence_intervals(est, X, Y, of="layers")
    assert found.labels["quantity"][:5] == ["d", "u", "u", "u", "u"]
    assert np.isnan(found.p_value[0])
    np.testing.assert_allclose(found.estimate[0], D[0], rtol=0.1)
    largest = np.argmax(np.abs(U[:, 0]))
    assert found.estimate[1 + largest] > 0  # the sign of the layer
    assert "singular values" in str(found)
    with pytest.raises(ValueError, match="not for layers"):
        found.matrix()


def test_adjusting_for_all_predictors_agrees_with_the_supports():
    X, Y, *_ = simulate(2, n=400)
    est = tr.SparseReducedRankRegressor(**SIZES).fit(X, Y)
    few, all_ = (
        tr.inference.confidence_intervals(est, X, Y, of="layers", predictors="all", adjust=a)
        for a in ("supports", "all")
    )
    assert np.all(np.abs(few.estimate - all_.estimate) < 1.5 * few.standard_error)
    assert all_.standard_error.mean() > few.standard_error.mean()


def test_close_layers_are_remarked():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    Y = X + rng.standard_normal((60, 4))
    est = tr.SparseReducedRankRegressor(2, 4, 4).fit(X, Y)
    found = tr.inference.confidence_intervals(est, X, Y, of="layers", rank=2)
    assert any("layers 1 and 2 are close" in line for line in found.remarks)
