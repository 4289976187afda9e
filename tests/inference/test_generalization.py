"""Nested cross-validation: its formula, its partitions, its options."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import KFold

import thinrank as tr

generalization = tr.inference.generalization


@pytest.fixture(scope="module")
def data():
    X, Y, _ = tr.datasets.make_two_way_sparse(40, 6, 3, 1, 3, 2, random_state=0)
    return X, Y


def test_formula_with_three_folds(data):
    """Nested cross-validation of Bates, Hastie and Tibshirani, written out."""
    X, y = data[0], data[1][:, 0]
    trained = []

    class Recorded(LinearRegression):
        def fit(self, X_train, y_train):
            trained.append([int(np.flatnonzero(y == each)[0]) for each in y_train])
            return super().fit(X_train, y_train)

    found = generalization(Recorded(), X, y, cv=3, n_repeats=1, metric="mse")
    folds = [np.setdiff1d(np.arange(40), rows) for rows in trained if len(rows) > 20]

    def losses(tested, *left_out):
        train = np.setdiff1d(np.arange(40), np.concatenate([folds[f] for f in left_out]))
        fit = LinearRegression().fit(X[train], y[train])
        return (y[folds[tested]] - fit.predict(X[folds[tested]])) ** 2

    outer = [losses(f, f) for f in range(3)]
    means, squares = [], []
    for f in range(3):
        inner = np.concatenate([losses(g, f, g) for g in range(3) if g != f])
        means.append(inner.mean())
        noise = outer[f].var(ddof=1) / len(outer[f])
        squares.append((inner.mean() - outer[f].mean()) ** 2 - noise)
    flat = np.concatenate(outer)
    variance = flat.var(ddof=1) / 40
    size = (np.mean(means) - flat.mean()) ** 2  # due to the numbers of rows
    expected = np.clip(2 / 3 * (np.mean(squares) - size), variance, 3 * variance)
    assert found.cv_estimate == pytest.approx(flat.mean())
    assert found.standard_error == pytest.approx(expected**0.5)
    assert found.inflation == pytest.approx((expected / variance) ** 0.5)
    assert found.estimate == pytest.approx(np.mean(means) - 4 / 3 * (np.mean(means) - flat.mean()))


def test_number_of_fits_and_progress(data):
    records = []
    found = generalization(LinearRegression(), *data, cv=4, n_repeats=2, callback=records.append)
    assert found.n_fits == 2 * (4 + 6)  # without one fold, and without two
    assert [record.iteration for record in records] == list(range(1, 21))


def test_r2_is_one_minus_standardised_error(data):
    X, Y = data
    r2 = generalization(LinearRegression(), X, Y, n_repeats=2)
    scaled = Y / Y.std(axis=0, ddof=1)
    mse = generalization(LinearRegression(), X, scaled, n_repeats=2, metric="mse")
    assert r2.estimate == pytest.approx(1 - mse.estimate)
    assert r2.lower == pytest.approx(1 - mse.upper)
    np.testing.assert_allclose(r2.response_upper, 1 - mse.response_lower)
    assert 1 <= r2.inflation <= 5**0.5 + 1e-12
    assert r2.cv_lower < r2.cv_estimate < r2.cv_upper
    frame = r2.to_frame()
    assert frame.index.tolist() == ["all responses", "y0", "y1", "y2"]
    assert "R² on new data" in str(r2)
    assert "independent" in repr(r2)


def test_own_metric_and_seeds(data):
    X, Y = data

    def absolute(true, predicted):
        return np.abs(true - predicted).mean(axis=1)

    first, again, other = (
        generalization(
            LinearRegression(), X, Y, n_repeats=1, metric=absolute, random_state=s, n_jobs=jobs
        )
        for s, jobs in ((0, 1), (0, 2), (1, 1))
    )
    assert first.metric == "absolute"
    assert first.estimate == pytest.approx(again.estimate)
    assert first.estimate != pytest.approx(other.estimate)
    assert first.response_names == []
    with pytest.raises(ValueError, match="one loss per row"):
        generalization(LinearRegression(), X, Y, metric=lambda true, predicted: 1.0)


def test_groups_stay_together(data):
    X, Y = data
    groups = np.repeat(np.arange(20), 2)
    seen = []

    def loss(true, predicted):
        seen.append({tuple(row) for row in true})
        return np.sum((true - predicted) ** 2, axis=1)

    found = generalization(LinearRegression(), X, Y, cv=4, n_repeats=1, groups=groups, metric=loss)
    assert found.n_groups == 20
    for rows in seen:
        assert all((tuple(Y[2 * g]) in rows) == (tuple(Y[2 * g + 1]) in rows) for g in range(20))


def test_coverage_of_the_error_of_the_fit():
    hits = []
    for seed in range(25):
        rng = np.random.default_rng(740_000 + seed)
        X = rng.standard_normal((60, 5))
        y = X[:, 0] + rng.standard_normal(60)
        found = generalization(LinearRegression(), X, y, cv=4, n_repeats=1, metric="mse")
        fit = LinearRegression().fit(X, y)
        own = 1 + np.sum((fit.coef_ - np.eye(5)[0]) ** 2) + fit.intercept_**2
        hits.append(found.lower <= own <= found.upper)
    assert np.mean(hits) >= 0.84


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 2}, "cv must be an integer from 3 to 20 .folds"),
        ({"cv": KFold(3)}, "cv must be an integer from 3 to 20 .*groups= keeps rows"),
        ({"metric": "mae"}, "metric must be"),
        ({"level": 0}, "level must be"),
        ({"n_repeats": 0}, "n_repeats must be"),
        ({"groups": [1, 2]}, "one entry per row"),
        ({"groups": [None] * 40}, "groups must not have missing"),
    ],
)
def test_wrong_arguments(data, options, message):
    with pytest.raises(ValueError, match=message):
        generalization(LinearRegression(), *data, **options)


def test_missing_and_constant_responses(data):
    X, Y = data
    with pytest.raises(ValueError, match="must be complete"):
        generalization(LinearRegression(), X, np.where(Y[0, 0] == Y, np.nan, Y))
    with pytest.raises(ValueError, match="same number of rows"):
        generalization(LinearRegression(), X[:-1], Y)
    found = generalization(RidgeCV(), X, np.column_stack([Y[:, 0], np.ones(40)]), n_repeats=1, cv=3)
    assert np.isnan(found.response_estimate[1])
    assert found.estimate == pytest.approx(found.response_estimate[0])
    frames = pd.DataFrame(X), pd.DataFrame(Y, index=range(39, -1, -1))
    with pytest.raises(ValueError, match="same names in another order"):
        generalization(LinearRegression(), *frames)
    with pytest.raises(ValueError, match="at least 6 rows"):
        generalization(LinearRegression(), X[:5], Y[:5])
