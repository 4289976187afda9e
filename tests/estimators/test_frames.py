"""Data frames of pandas and polars in and out, and errors about columns."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import thinrank as tr

pl = pytest.importorskip("polars")
N = 40
SIZES = {"rank": 1, "row_sparsity": 2, "column_sparsity": 2}


def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((N, 4)), columns=list("abcd"), index=range(100, 100 + N))
    Y = pd.DataFrame(rng.standard_normal((N, 3)), columns=["u", "v", "w"], index=X.index)
    Y["u"] += 2 * X.a
    Y["v"] -= X.a + X.b
    return X, Y


def test_factors_as_frames():
    X, Y = data()
    est = tr.SparseReducedRankRegressor(**SIZES).fit(X, Y)
    assert est.get_feature_names_out().tolist() == ["factor1"]
    scores = est.transform(X)
    assert isinstance(scores, np.ndarray)
    named = est.set_output(transform="pandas").transform(X)
    assert list(named.columns) == ["factor1"]
    assert named.index.equals(X.index)
    np.testing.assert_allclose(named.to_numpy(), scores)
    polars = est.set_output(transform="polars").transform(X)
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == ["factor1"]


def test_predictions_as_frames():
    X, Y = data()
    est = tr.SparseReducedRankRegressor(**SIZES).set_output(transform="pandas").fit(X, Y)
    assert isinstance(est.predict(X), np.ndarray)
    frame = est.predict_frame(X)
    assert list(frame.columns) == ["u", "v", "w"]
    assert frame.index.equals(X.index)
    np.testing.assert_allclose(frame.to_numpy(), est.predict(X))
    own = est.fit(pl.from_pandas(X), pl.from_pandas(Y)).predict_frame(pl.from_pandas(X))
    assert isinstance(own, pl.DataFrame)
    assert own.columns == ["u", "v", "w"]
    bare = tr.SparseReducedRankRegressor(1, 2, 1).fit(X.to_numpy(), Y["u"].to_numpy())
    assert list(bare.predict_frame(X.to_numpy()).columns) == ["y"]
    kinds = pd.Series(np.where(Y.u > 0, "up", "down"), name="kind")
    clf = tr.SparseReducedRankClassifier(1, 2, None, ridge=0.1).fit(X, kinds)
    labels = clf.predict_frame(X)
    assert list(labels.columns) == ["kind"]
    assert set(labels["kind"]) <= {"up", "down"}


@pytest.mark.parametrize("kind", ["object", "string", "date"])
def test_columns_that_are_no_numbers_are_named_with_a_remedy(kind):
    X, Y = data()
    values = pd.Series(["red", "blue"] * (N // 2), index=X.index)
    if kind == "date":
        values = pd.Series(pd.date_range("2020-01-01", periods=N), index=X.index)
    else:
        values = values.astype(kind)
    words = "dates or times" if kind == "date" else "text"
    bad = X.assign(colour=values)
    for est in (tr.SparseReducedRankRegressor(**SIZES), tr.SparseReducedRankGLM("poisson")):
        with pytest.raises(
            ValueError, match=rf"1 of its 5 columns: 'colour' \({words}\).*dtype category"
        ):
            est.fit(bad, Y)
    fitted = tr.SparseReducedRankRegressor(**SIZES).fit(X, Y)
    with pytest.raises(ValueError, match=r"'colour'.*dtype category"):
        fitted.predict(bad)
    with pytest.raises(ValueError, match=r"Y must contain numbers.*'colour'.*Classifier"):
        tr.SparseReducedRankRegressor(**SIZES).fit(X, Y.assign(colour=values))


def test_numbers_held_as_objects_or_flags_are_numbers():
    X, Y = data()
    odd = X.assign(
        a=X.a.astype(object), flag=np.arange(N) % 2 == 0, whole=pd.array(range(N), "Int64")
    )
    est = tr.SparseReducedRankRegressor(**SIZES).fit(odd, Y)
    assert est.n_features_in_ == 6


def test_missing_predictors_are_named_with_the_remedies():
    X, Y = data()
    X.iloc[3:6, 1] = np.nan
    X.iloc[0, 3] = np.inf
    message = (
        r"Input X contains NaN in 3 cells and infinity in 1 cell, in columns 'b' \(3\), 'd' \(1\).*"
        r"SimpleImputer.*drop.*allowed in Y"
    )
    estimators = [
        tr.SparseReducedRankRegressor(**SIZES),
        tr.SparseReducedRankRegressorCV(),
        tr.SparseReducedRankGLM("poisson"),
        tr.baselines.SeparateRidges(),
    ]
    for est in estimators:
        with pytest.raises(ValueError, match=message):
            est.fit(X, Y)
    with pytest.raises(ValueError, match=r"in columns 1 \(3\), 3 \(1\)"):
        tr.SparseReducedRankRegressor(**SIZES).fit(X.to_numpy(), Y)
    good, _ = data()
    fitted = tr.SparseReducedRankRegressor(**SIZES).fit(good, Y)
    with pytest.raises(ValueError, match=message):
        fitted.predict(X)
    with pytest.raises(ValueError, match=r"in column 'b' \(3\)"):
        fitted.predict(pl.from_pandas(X.fillna(np.nan)).with_columns(d=pl.lit(0.0)))


def test_missing_predictors_in_sparse_matrices_and_many_columns():
    X, Y = data()
    values = np.array(X)
    values[2, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN in 1 cell, in column 2 \(1\)"):
        tr.SparseReducedRankRegressor(**SIZES).fit(sparse.csc_array(values), Y)
    wide = np.full((N, 9), np.nan)
    with pytest.raises(ValueError, match="and 4 more"):
        tr.SparseReducedRankRegressor(**SIZES).fit(wide, Y)


@pytest.mark.parametrize("where", ["X", "Y"])
def test_repeated_names_are_refused(where):
    X, Y = data()
    if where == "X":
        X.columns = list("abca")
    else:
        Y.columns = ["u", "u", "w"]
    for est in (tr.SparseReducedRankRegressor(**SIZES), tr.SparseReducedRankGLM("gaussian")):
        with pytest.raises(ValueError, match=rf"{where} must have columns with different names"):
            est.fit(X, Y)


def test_names_that_are_no_strings_are_not_kept():
    X, Y = data()
    expected = tr.SparseReducedRankRegressor(**SIZES).fit(X, Y)
    for columns in (range(4), pd.MultiIndex.from_product([["a", "b"], ["c", "d"]])):
        est = tr.SparseReducedRankRegressor(**SIZES).fit(X.set_axis(columns, axis=1), Y)
        np.testing.assert_allclose(est.coef_, expected.coef_, rtol=1e-7)
        assert est.summary().predictor_names == ["x0", "x1", "x2", "x3"]
    several = Y.set_axis(pd.MultiIndex.from_product([["u"], [1, 2, 3]]), axis=1)
    est = tr.SparseReducedRankRegressor(**SIZES).fit(X, several)
    assert est.summary().response_names == ["y0", "y1", "y2"]


def test_rows_with_the_same_names_in_another_order():
    X, Y, _ = tr.datasets.make_two_way_sparse(20, 4, 3, 1, 2, 2, random_state=0)
    names = [f"gene {i}" for i in range(20)]
    X, Y = pd.DataFrame(X, index=names), pd.DataFrame(Y, index=names)
    est = tr.SparseReducedRankRegressor(1, 2, 2)
    with pytest.raises(ValueError, match=r"same names in another order.*Y\.loc\[X\.index\]"):
        est.fit(X, Y.iloc[::-1])
    with pytest.raises(ValueError, match="same names in another order"):
        est.fit(X.reset_index(drop=True), Y.reset_index(drop=True)[0].iloc[::-1])
    np.testing.assert_allclose(  # frames may be held by columns, and sums have another order
        est.fit(X, Y.iloc[::-1].loc[X.index]).coef_,
        est.fit(X.to_numpy(), Y.iloc[::1]).coef_,
        rtol=1e-7,
    )
    with pytest.warns(UserWarning, match="'gene 0' and 'trait 0' in row 0"):
        est.fit(X, Y.rename(index=lambda name: name.replace("gene", "trait")))
    est.fit(X, Y.reset_index(drop=True))  # numbers of rows are no names
