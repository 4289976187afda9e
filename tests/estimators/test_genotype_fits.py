"""Fits to PLINK files are those to the dosages with missing ones replaced by means."""

import numpy as np
import pandas as pd
import pytest
from bed_reader import to_bed

import thinrank as tr

N, P, K = 90, 120, 6
CAUSAL = [12, 55, 97]
SIZES = {"rank": 2, "row_sparsity": 3, "column_sparsity": 4}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The file, the dosages with means for missing ones, and responses as a data frame."""
    rng = np.random.default_rng(30_210)
    latent = rng.standard_normal((2, N, P))
    for j in range(1, P):  # linkage disequilibrium
        latent[..., j] = 0.8 * latent[..., j - 1] + 0.6 * latent[..., j]
    quantiles = rng.uniform(-2.3, 0, P)  # minor alleles from 0.01 to 0.5
    quantiles[CAUSAL], quantiles[[3, 70]] = -0.3, -10  # two are monomorphic
    G = np.sum(latent < quantiles, axis=0).astype(float)
    G[rng.random((N, P)) < 0.01] = np.nan
    D = np.where(np.isnan(G), np.nanmean(G, axis=0), G)
    theta = np.zeros((P, K))
    theta[np.ix_(CAUSAL, range(4))] = 2 * rng.standard_normal((3, 2)) @ rng.standard_normal((2, 4))
    names = {"iid": [f"s{i}" for i in range(N)], "sid": [f"rs{j}" for j in range(P)]}
    path = tmp_path_factory.mktemp("plink") / "x.bed"
    to_bed(path, G, properties=names)
    Y = pd.DataFrame(D @ theta + rng.standard_normal((N, K)), index=names["iid"])
    return path, D, Y


def check_equal(found, expected):
    np.testing.assert_array_equal(found.row_support_, expected.row_support_)
    np.testing.assert_array_equal(found.column_support_, expected.column_support_)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_given_sizes(study, weighted):
    path, D, Y = study
    weight = np.random.default_rng(30_211).uniform(0.5, 2, N) if weighted else None
    X = tr.designs.Genotypes(path)
    found = tr.SparseReducedRankRegressor(**SIZES).fit(X, Y, sample_weight=weight)
    expected = tr.SparseReducedRankRegressor(**SIZES).fit(D, Y.to_numpy(), sample_weight=weight)
    check_equal(found, expected)
    assert found.row_support_.tolist() == CAUSAL
    assert found.feature_names_in_[found.row_support_].tolist() == ["rs12", "rs55", "rs97"]
    np.testing.assert_allclose(found.predict(X), expected.predict(D), atol=1e-6)
    np.testing.assert_allclose(found.feature_scale_, expected.feature_scale_, atol=1e-12)
    assert "rs12" in str(found.summary())


def test_sizes_by_held_out_rows(study):
    path, D, Y = study
    found = tr.SparseReducedRankRegressor(cv=2, max_iter=20).fit(tr.designs.Genotypes(path), Y)
    expected = tr.SparseReducedRankRegressor(cv=2, max_iter=20).fit(D, Y.to_numpy())
    check_equal(found, expected)
    assert set(CAUSAL) <= set(found.row_support_)


def test_responses_are_matched_by_sample(study):
    path, _, Y = study
    X = tr.designs.Genotypes(path)
    est = tr.SparseReducedRankRegressor(**SIZES)
    few = Y.iloc[[5, 3, 60, *range(10, 50)]]
    for other in (few, Y.iloc[::-1]):
        with pytest.raises(ValueError, match=r"not the 90 samples of X .*X\.for_samples\(Y\.index"):
            est.fit(X, other)
    est.fit(X.for_samples(few.index), few)
    unknown = Y.rename(index={"s4": "NA12878"})
    with pytest.raises(ValueError, match=r"1 of 90 are not, such as 'NA12878'.* like 's0', 's1'"):
        X.for_samples(unknown.index)
    with pytest.raises(ValueError, match="X has 90, Y has 50"):
        est.fit(X, Y.to_numpy()[:50])
    est.fit(X, Y.reset_index(drop=True))  # without names rows are matched by position


def test_a_saved_model_predicts(study, tmp_path):
    path, _, Y = study
    X = tr.designs.Genotypes(path)
    est = tr.SparseReducedRankRegressor(**SIZES).fit(X, Y)
    tr.save(est, tmp_path / "model")
    np.testing.assert_allclose(tr.load(tmp_path / "model").predict(X), est.predict(X))
