"""Missing cells of X, and columns of categories of data frames."""

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

import thinrank as tr

GIVEN = {"rank": 2, "row_sparsity": 4, "column_sparsity": 4}


@pytest.fixture(scope="module")
def data():
    X, Y, truth = tr.datasets.make_two_way_sparse(60, 10, 5, 2, 4, 4, random_state=0, signal=2.0)
    holes = np.random.default_rng(0).uniform(size=X.shape) < 0.1
    return np.where(holes, np.nan, X), Y, truth


@pytest.fixture(scope="module")
def frame(data):
    X, Y, _ = data
    table = pd.DataFrame(np.nan_to_num(X), columns=[f"x{j}" for j in range(10)])
    site = np.random.default_rng(1).choice(["north", "south", "south", "west"], 60)
    table.insert(2, "site", pd.Categorical(site))
    return table, Y + 2.0 * (site == "west")[:, None]


def test_given_sizes_are_a_fit_to_means(data):
    X, Y, truth = data
    est = tr.SparseReducedRankRegressor(**GIVEN, impute="mean").fit(X, Y)
    pipe = make_pipeline(SimpleImputer(), tr.SparseReducedRankRegressor(**GIVEN)).fit(X, Y)
    np.testing.assert_allclose(est.coef_, pipe[-1].coef_)
    np.testing.assert_allclose(est.predict(X), pipe.predict(X))
    np.testing.assert_allclose(est.imputed_means_, np.nanmean(X, axis=0))
    np.testing.assert_array_equal(est.row_support_, truth.row_support)


@pytest.mark.parametrize("kind", ["forced", "family"])
def test_a_search_with_forced_predictors_or_a_family(data, kind):
    X, Y, truth = data
    est = tr.SparseReducedRankRegressor(impute="mean", always_keep=[0], cv=KFold(3))
    if kind == "family":
        given = {"rank": 2, "row_sparsity": 4, "ridge": 0.05, "exchange": False}
        est = tr.SparseReducedRankGLM("huber", **given, impute="mean", cv=KFold(3))
    est.fit(X, Y)
    assert set(truth.row_support) <= set(est.row_support_)
    assert est.held_out_r2_.mean() > 0.3


def test_held_out_error_of_a_split_by_hand(data):
    X, Y, _ = data
    train, test = np.arange(40), np.arange(40, 60)
    est = tr.SparseReducedRankRegressorCV(
        [5], [10], [5], [0.05], cv=[(train, test)], standardize=False, impute="mean"
    ).fit(X, Y)
    fill = SimpleImputer().fit(X[train])
    A, B = fill.transform(X[train]), fill.transform(X[test])
    moved, center = A - A.mean(axis=0), Y[train] - Y[train].mean(axis=0)
    theta = np.linalg.solve(moved.T @ moved / 40 + 0.05 * np.eye(10), moved.T @ center / 40)
    error = Y[test] - Y[train].mean(axis=0) - (B - A.mean(axis=0)) @ theta
    assert est.best_score_ == pytest.approx(-np.mean(error**2))


def test_the_summary_counts_the_cells(data):
    X, Y, _ = data
    est = tr.SparseReducedRankRegressor(**GIVEN, impute="mean").fit(X, Y)
    count = np.isnan(X).sum()
    assert f"{count} missing cells were replaced by the mean" in " ".join(
        str(est.summary()).split()
    )
    complete = tr.SparseReducedRankRegressor(**GIVEN, impute="mean").fit(np.nan_to_num(X), Y)
    assert not any("replaced" in caution for caution in complete.summary().cautions)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X: np.where(np.arange(10) == 3, np.nan, X), "without an observed cell.*: 3"),
        (lambda X: np.where(np.arange(10) == 3, np.inf, X), "infinity"),
        (lambda X: tr.designs.Blocks([X]), "infinity|NaN|impute"),
    ],
)
def test_what_cannot_be_imputed(data, change, words):
    X, Y, _ = data
    with pytest.raises(ValueError, match=words):
        tr.SparseReducedRankRegressor(**GIVEN, impute="mean").fit(change(X), Y)


def test_other_ways_are_refused(data):
    with pytest.raises(ValueError, match='impute must be "mean" or None'):
        tr.SparseReducedRankRegressor(**GIVEN, impute="median").fit(*data[:2])


def test_categories_are_encoded(frame, tmp_path):
    table, Y = frame
    est = tr.SparseReducedRankRegressor(**GIVEN, always_keep=["site"]).fit(table, Y)
    assert est.feature_categories_ == {"site": ["south", "north", "west"]}
    assert list(est.feature_names_in_[1:5]) == ["x1", "site=north", "site=west", "x2"]
    by_hand = table.assign(
        **{"site=north": table.site == "north", "site=west": table.site == "west"}
    )[list(est.feature_names_in_)].astype(float)
    other = tr.SparseReducedRankRegressor(**GIVEN, always_keep=["site=north", "site=west"])
    np.testing.assert_allclose(est.coef_, other.fit(by_hand, Y).coef_)
    tr.save(est, tmp_path / "model")
    again = tr.load(tmp_path / "model")
    for rows in (table, table.assign(site=table.site.astype(str)), by_hand, table[::-1][::-1]):
        np.testing.assert_allclose(again.predict(rows), est.predict(table))
    np.testing.assert_allclose(est.predict(table[:1]), est.predict(table)[:1])
    with pytest.raises(ValueError, match="category 'east' in row 0 of the column 'site'"):
        est.predict(table.assign(site="east"))


def test_a_missing_category_is_imputed_by_fractions(frame):
    table, Y = frame[0].copy(), frame[1]
    table.loc[3, "site"] = np.nan
    with pytest.raises(ValueError, match="site=north"):
        tr.SparseReducedRankRegressor(**GIVEN).fit(table, Y)
    est = tr.SparseReducedRankRegressor(**GIVEN, impute="mean").fit(table, Y)
    known = table.site.dropna()
    assert est.imputed_means_[2] == pytest.approx(np.mean(known == "north"))


def test_a_fit_to_numbers_forgets_the_categories(frame):
    table, Y = frame
    est = tr.SparseReducedRankRegressor(**GIVEN, impute="mean").fit(table, Y)
    est.set_params(impute=None).fit(table.drop(columns="site"), Y)
    assert not hasattr(est, "feature_categories_")
    assert not hasattr(est, "imputed_means_")
