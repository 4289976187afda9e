"""Generalised linear models against scikit-learn, and their interface."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, PoissonRegressor

import thinrank as tr
from thinrank.core.warnings import SelectionWarning
from thinrank.losses.families import NegativeBinomial

FREE = {"rank": 1, "row_sparsity": None, "column_sparsity": None, "ridge": 0.0}
N, P, K = 120, 6, 4


def predictors(n=N, p=P, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) * rng.uniform(0.5, 3, p) + rng.standard_normal(p)


def linear(X, k=K, seed=1):
    rng = np.random.default_rng(seed)
    theta = np.zeros((X.shape[1], k))
    theta[:3] = 0.6 * rng.standard_normal((3, 1)) @ rng.standard_normal((1, k))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return Z @ theta + 0.2


def responses(name, X, k=K, seed=2):
    rng = np.random.default_rng(seed)
    eta = linear(X, k)
    if name == "bernoulli":
        return (rng.uniform(size=eta.shape) < 1 / (1 + np.exp(-eta))).astype(float)
    if name == "poisson":
        return rng.poisson(np.exp(eta)).astype(float)
    if name == "negative_binomial":
        return rng.negative_binomial(2, 2 / (2 + np.exp(eta))).astype(float)
    if name == "multinomial":
        shares = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
        return np.array([rng.choice(k, p=p) for p in shares])
    return eta + rng.standard_normal(eta.shape)


def logistic(C=np.inf):
    return LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12, max_iter=1000)


def poisson(alpha=0.0):
    return PoissonRegressor(alpha=alpha, solver="newton-cholesky", tol=1e-12, max_iter=1000)


@pytest.mark.parametrize(("name", "weighted"), [("bernoulli", True), ("poisson", False)])
def test_without_limits_it_is_scikit_learn(name, weighted):
    X = predictors()
    y = responses(name, X)[:, 0]
    weight = np.random.default_rng(0).uniform(0.5, 2, N) if weighted else None
    est = tr.SparseReducedRankGLM(name, **FREE).fit(X, y, weight)
    other = (logistic() if name == "bernoulli" else poisson()).fit(X, y, weight)
    np.testing.assert_allclose(est.coef_, np.ravel(other.coef_), rtol=1e-5, atol=1e-6)
    assert est.intercept_ == pytest.approx(np.ravel(other.intercept_)[0], rel=1e-5, abs=1e-6)
    means = other.predict_proba(X)[:, 1] if name == "bernoulli" else other.predict(X)
    np.testing.assert_allclose(est.predict(X), means, rtol=1e-5)
    if name == "poisson":
        assert est.score(X, y, weight) == pytest.approx(other.score(X, y, weight), abs=1e-8)


def test_many_responses_without_limits_are_separate_regressions():
    X = predictors(p=4)
    Y = np.column_stack([responses("bernoulli", X), responses("poisson", X)])
    family = ["bernoulli"] * K + ["poisson"] * K
    est = tr.SparseReducedRankGLM(family, 4, None, None, ridge=0.0, tol=1e-10).fit(X, Y)
    for j in range(2 * K):
        other = (logistic() if j < K else poisson()).fit(X, Y[:, j])
        np.testing.assert_allclose(est.coef_[j], np.ravel(other.coef_), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["bernoulli", "poisson"])
def test_with_a_ridge_it_is_scikit_learn_on_standardised_predictors(name):
    """The ridge is in units of the information of an entry without predictors."""
    X = predictors()
    y = responses(name, X)[:, 0]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    ridge = 0.2
    est = tr.SparseReducedRankGLM(name, **(FREE | {"ridge": ridge})).fit(X, y)
    information = y.mean() * (1 - y.mean()) if name == "bernoulli" else y.mean()
    if name == "bernoulli":  # scikit-learn has a sum over samples
        other = logistic(1 / (ridge * information * N)).fit(Z, y)
    else:
        other = poisson(ridge * information).fit(Z, y)
    np.testing.assert_allclose(
        est.coef_ * X.std(axis=0), np.ravel(other.coef_), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    "options",
    [
        {"rank": 1, "row_sparsity": 3, "column_sparsity": 3},
        {"criterion": "bic"},
        {"rank": 1, "row_sparsity": 2, "column_sparsity": 2, "always_keep": [4]},
    ],
)
@pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")
def test_squared_errors_are_the_regressor(options):
    X = predictors()
    Y = responses("gaussian", X)
    glm = tr.SparseReducedRankGLM("gaussian", **options).fit(X, Y)
    est = tr.SparseReducedRankRegressor(**options).fit(X, Y)
    np.testing.assert_allclose(glm.coef_, est.coef_, atol=1e-7)
    np.testing.assert_allclose(glm.intercept_, est.intercept_, atol=1e-7)
    assert glm.best_params_ == pytest.approx(est.best_params_)


def test_exposure_as_an_offset():
    """Counts with an exposure are rates with weights, in scikit-learn."""
    X = predictors()
    exposure = np.random.default_rng(0).uniform(0.2, 5, N)
    y = np.random.default_rng(1).poisson(exposure * np.exp(linear(X)[:, 0])).astype(float)
    est = tr.SparseReducedRankGLM("poisson", **FREE).fit(X, y, offset=np.log(exposure))
    other = poisson().fit(X, y / exposure, sample_weight=exposure)
    np.testing.assert_allclose(est.coef_, other.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        est.predict(X, np.log(exposure)), exposure * other.predict(X), rtol=1e-5
    )
    np.testing.assert_allclose(est.predict(X), other.predict(X), rtol=1e-5)
    expected = other.score(X, y / exposure, sample_weight=exposure)
    assert est.score(X, y, offset=np.log(exposure)) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("offset", [np.ones(3), np.ones((N, 2)), np.full(N, np.nan)])
def test_invalid_offsets(offset):
    X = predictors()
    est = tr.SparseReducedRankGLM("poisson", 1, 3, 3)
    with pytest.raises(ValueError, match="offset must"):
        est.fit(X, responses("poisson", X), offset=offset)
    est.fit(X, responses("poisson", X))
    with pytest.raises(ValueError, match="offset must"):
        est.predict(X, offset)


def mixed_frame(X):
    rng = np.random.default_rng(3)
    kinds = np.array(["red", "green", "blue"], dtype=object)[
        np.argmax(linear(X, 3, seed=1) + rng.gumbel(size=(len(X), 3)), axis=1)
    ]
    return pd.DataFrame(
        {
            "size": responses("gaussian", X)[:, 0],
            "hits": responses("poisson", X)[:, 1],
            "kind": kinds,
            "alive": responses("bernoulli", X)[:, 2],
        }
    )


MIXED = ["gaussian", "poisson", "multinomial", "bernoulli"]


def test_responses_of_different_families():
    X = predictors()
    frame = mixed_frame(X)
    frame.loc[0, "kind"] = None
    frame.loc[1, "size"] = np.nan
    est = tr.SparseReducedRankGLM(MIXED, 1, 3, None, ridge=0.0).fit(X, frame)
    assert est.target_columns_ == ["size", "hits", "kind=blue", "kind=green", "kind=red", "alive"]
    assert est.target_names_in_.tolist() == list(frame.columns)
    assert [None if c is None else list(c) for c in est.categories_] == [
        None,
        None,
        ["blue", "green", "red"],
        None,
    ]
    predicted = est.predict(X)
    assert predicted.shape == (N, 6)
    np.testing.assert_allclose(predicted[:, 2:5].sum(axis=1), 1)
    assert np.all((predicted[:, 5] > 0) & (predicted[:, 5] < 1))
    assert np.all(predicted[:, 1] > 0)
    assert 0 < est.score(X, frame) < 1


@pytest.mark.parametrize(
    ("family", "column", "value", "message"),
    [
        ("bernoulli", "alive", 2.0, "Response 'alive' must contain .*'bernoulli'.*2 was found"),
        ("poisson", "hits", -1.0, "Response 'hits' must contain .*'poisson'.*-1 was found"),
        ("poisson", "hits", np.inf, "infinity.*'hits'"),
        ("poisson", "kind", "red", "response 'kind' must contain numbers"),
        ("multinomial", "kind", 1.5, "y must have categories of one type, got float and str"),
    ],
)
def test_invalid_responses_are_named(family, column, value, message):
    X = predictors()
    frame = mixed_frame(X)[[column]].astype(object)
    frame.loc[5, column] = value
    with pytest.raises(ValueError, match=message):
        tr.SparseReducedRankGLM(family, 1, 3, None).fit(X, frame)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (["poisson"], "one family or one per response, got 1 families for 4 responses"),
        ("gamma", "family must be a Family or one of .*'gaussian', .* got 'gamma'"),
        (["poisson", "gamma", "poisson", "poisson"], "got 'gamma'"),
        (3, "family must be"),
    ],
)
def test_invalid_families(family, message):
    X = predictors()
    with pytest.raises(ValueError, match=message):
        tr.SparseReducedRankGLM(family, 1, 3, 3).fit(X, responses("poisson", X))


def test_categories():
    X = predictors()
    labels = np.array(["a", "b", "c", "d"], dtype=object)[responses("multinomial", X)]
    labels[3] = None
    est = tr.SparseReducedRankGLM("multinomial", 2, 3, None, ridge=0.0)
    with pytest.warns(UserWarning, match="1 of 120 rows"):
        est.fit(X, labels)
    assert est.coef_.shape == (4, P)
    np.testing.assert_allclose(est.predict(X).sum(axis=1), 1)
    few = clone(est).fit(np.delete(X, 3, axis=0), np.delete(labels, 3))
    np.testing.assert_allclose(est.predict(X), few.predict(X), atol=1e-4)
    labels[3] = "e"
    with pytest.raises(ValueError, match="has the category 'e', which fit did not have"):
        est.score(X, labels)
    some = np.where(labels == "e", "a", labels)
    assert 0 < est.score(X, some) < 1
    only = labels == "a"
    assert np.isfinite(est.score(X[only], labels[only]))
    with pytest.raises(ValueError, match="at least 2 categories"):
        clone(est).fit(X[only], labels[only])


def test_score_by_hand():
    X = predictors()
    Y = responses("poisson", X)
    est = tr.SparseReducedRankGLM("poisson", 1, 3, 3, ridge=0.0).fit(X, Y)

    def deviance(mean):
        seen = ~np.isnan(Y)
        y, mu = Y[seen], np.broadcast_to(mean, Y.shape)[seen]
        return 2 * np.sum(mu - y + np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / mu), 0))

    expected = 1 - deviance(est.predict(X)) / deviance(Y.mean(axis=0))
    assert est.score(X, Y) == pytest.approx(expected, abs=1e-9)
    Y[::7, 1] = np.nan
    expected = 1 - deviance(est.predict(X)) / deviance(np.nanmean(Y, axis=0))
    assert est.score(X, Y) == pytest.approx(expected, abs=1e-9)


def test_missing_entries_of_counts():
    X = predictors(p=4)
    Y = responses("poisson", X)
    seen = np.random.default_rng(0).uniform(size=Y.shape) > 0.2
    est = tr.SparseReducedRankGLM("poisson", 4, None, None, ridge=0.0, tol=1e-10)
    est.fit(X, np.where(seen, Y, np.nan))
    for j in range(K):
        other = poisson().fit(X[seen[:, j]], Y[seen[:, j], j])
        np.testing.assert_allclose(est.coef_[j], other.coef_, rtol=1e-4, atol=1e-5)
    hidden = clone(est).fit(X, np.where(seen, Y, -5.0), entry_weight=seen.astype(float))
    np.testing.assert_allclose(hidden.coef_, est.coef_, atol=1e-7)


def test_dispersions_are_estimated():
    X = predictors(n=400)
    Y = responses("negative_binomial", X)
    est = tr.SparseReducedRankGLM("negative_binomial", 1, 3, None, ridge=0.0).fit(X, Y)
    assert isinstance(est.family_, NegativeBinomial)
    assert np.all(np.abs(np.log(est.family_.dispersion / 0.5)) < 1)
    assert est.row_support_.tolist() == [0, 1, 2]
    assert 0 < est.score(X, Y) < 1


def test_a_column_of_zero_counts():
    X = predictors()
    Y = responses("poisson", X)
    Y[:, 1] = 0
    est = tr.SparseReducedRankGLM("poisson", 1, 3, None, ridge=0.0).fit(X, Y)
    assert np.all(np.isfinite(est.coef_))
    np.testing.assert_array_equal(est.coef_[1], 0)
    assert np.all(est.predict(X)[:, 1] < 0.01)
    assert np.isfinite(est.score(X, Y))
    rest = clone(est).fit(X, Y[:, [0, 2, 3]])
    np.testing.assert_allclose(est.coef_[[0, 2, 3]], rest.coef_, atol=1e-6)


@pytest.mark.parametrize("name", ["bernoulli", "poisson"])
def test_kept_predictors_are_not_shrunk(name):
    X = predictors()
    Y = responses(name, X)
    est = tr.SparseReducedRankGLM(name, 1, 2, None, ridge=1e7, always_keep=[0, 5]).fit(X, Y)
    for j in range(K):
        other = (logistic() if name == "bernoulli" else poisson()).fit(X[:, [0, 5]], Y[:, j])
        np.testing.assert_allclose(est.coef_[j, [0, 5]], np.ravel(other.coef_), atol=1e-4)
        assert est.intercept_[j] == pytest.approx(np.ravel(other.intercept_)[0], abs=1e-4)
    assert np.abs(est.coef_[:, 1:5]).max() < 1e-5


@pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")
def test_pure_noise():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 5)), rng.poisson(2.0, (60, 3)).astype(float)
    est = tr.SparseReducedRankGLM("poisson", cv=2).fit(X, Y)
    assert est.rank_ == 0
    np.testing.assert_allclose(est.predict(X), np.tile(Y.mean(axis=0), (60, 1)), rtol=1e-6)
    assert est.score(X, Y) == pytest.approx(0, abs=1e-8)
    assert est.transform(X).shape == (60, 0)
    assert est.best_params_["rank"] == 0
    given = tr.SparseReducedRankGLM("poisson", 0, 0, 0).fit(X, Y)
    np.testing.assert_allclose(given.predict(X), est.predict(X), rtol=1e-6)


def test_scores_need_matching_data():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((12, 3)), rng.poisson(1.0, (12, 2)).astype(float)
    est = tr.SparseReducedRankGLM("poisson", 1, 2, 2).fit(X, Y)
    with pytest.raises(ValueError, match="Y must have at least one response"):
        tr.SparseReducedRankGLM().fit(X, np.empty((12, 0)))
    for wrong in (Y[:5], Y[:, :1]):
        with pytest.raises(ValueError, match=r"predictions have shape \(12, 2\), Y has"):
            est.score(X, wrong)
    with pytest.raises(ValueError, match="sample_weight"):
        est.score(X, Y, sample_weight=np.ones(5))


def _overdispersed(rows=60, responses=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 6))
    mean = 5 * np.exp(0.5 * X[:, :1]) * rng.gamma(0.5, 2, (rows, responses))
    return X, rng.poisson(mean).astype(float)


def test_overdispersed_counts_are_told():
    X, Y = _overdispersed()
    with pytest.warns(SelectionWarning, match='overdispersed.*"negative_binomial"'):
        est = tr.SparseReducedRankGLM("poisson", 1, 2, None, ridge=0.1).fit(X, Y)
    assert any("overdispersed" in message for message in est.warnings_)
    poisson = np.random.default_rng(1).poisson(np.exp(1 + 0.5 * X[:, :1]) * np.ones((1, 5)))
    for family, counts in (("negative_binomial", Y), ("poisson", poisson)):
        est = tr.SparseReducedRankGLM(family, 1, 2, None, ridge=0.1).fit(X, counts)
        assert not any("overdispersed" in message for message in est.warnings_)
    hint = tr.SparseReducedRankGLM("gaussian", 1, 2, None, ridge=0.1).fit(X, Y).warnings_
    assert any("negative_binomial" in message for message in hint)


@pytest.mark.parametrize("family", ["poisson", "negative_binomial", "bernoulli"])
def test_extreme_counts_stay_finite(family):
    """Rare and huge counts with predictors that separate them, as in tables of species."""
    X, Y = _overdispersed(40, 8)
    X[:, 0] = X[:, 0] > 1.5  # a rare category
    Y[:, 0] = 0
    Y[3, 0] = 1e6
    Y[:, 1] = X[:, 0] * 1e4
    Y[:, 2] = np.arange(40) == 0
    Y = (Y > 0).astype(float) if family == "bernoulli" else Y
    with np.errstate(all="raise", under="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        est = tr.SparseReducedRankGLM(family, 1, "auto", None, cv=2).fit(X, Y)
    assert np.all(np.isfinite(est.coef_))
    assert np.all(np.isfinite(est.intercept_))
    assert np.all(np.isfinite(est.predict(10 * X)))


def test_offsets_that_are_no_linear_predictors():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((8, 3)), rng.poisson(1.0, (8, 2))
    with pytest.raises(ValueError, match=r"offset must be in units of .*1e.300"):
        tr.SparseReducedRankGLM("poisson", 1, 2, None).fit(X, Y, offset=np.full(8, 1e300))
