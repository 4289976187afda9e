"""What must not matter: units, the scale of the weights, what is constant."""

import numpy as np
import pytest

import thinrank as tr

pytestmark = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")

OPTIONS = {
    "default": {},
    "criterion": {"criterion": "pic", "ridge": 0.0},
    "given": {"rank": 2, "row_sparsity": 4, "column_sparsity": 5},
    "given with ridge": {"rank": 2, "row_sparsity": 4, "column_sparsity": None, "ridge": 0.2},
}


@pytest.fixture(scope="module")
def small():
    X, Y, _ = tr.datasets.make_two_way_sparse(50, 12, 7, 2, 4, 5, correlation=0.5, random_state=4)
    return X, Y


@pytest.fixture(scope="module", params=OPTIONS)
def case(request, small):
    X, Y = small
    options = OPTIONS[request.param]
    weight = np.random.default_rng(5).uniform(0.3, 3, len(X))
    return (
        options,
        weight,
        {weighted: fit(X, Y, options, weight if weighted else None) for weighted in (False, True)},
    )


def fit(X, Y, options, weight=None):
    return tr.SparseReducedRankRegressor(**options).fit(X, Y, sample_weight=weight)


def assert_same(moved, reference, coef=None):
    np.testing.assert_array_equal(moved.row_support_, reference.row_support_)
    np.testing.assert_array_equal(moved.column_support_, reference.column_support_)
    assert moved.rank_ == reference.rank_ > 0
    coef = moved.coef_ if coef is None else coef
    np.testing.assert_allclose(coef, reference.coef_, rtol=1e-6, atol=1e-6)


def test_units_of_every_predictor_and_response(small, case):
    X, Y = small
    options, _, references = case
    rng = np.random.default_rng(0)
    of_x, of_y = 10 ** rng.uniform(-3, 3, X.shape[1]), 10 ** rng.uniform(-3, 3, Y.shape[1])
    of_x *= rng.choice([-1, 1], X.shape[1])
    moved = fit(X * of_x, Y * of_y, options)
    assert_same(moved, references[False], moved.coef_ * of_x / of_y[:, None])


def rare_predictors(seed):
    """Zeros and a few ones: in most training parts some predictors are identical."""
    rng = np.random.default_rng(seed)
    X = (rng.random((40, 30)) < rng.uniform(0.03, 0.12, 30)).astype(float)
    coef = np.zeros((30, 5))
    coef[::7] = 2 * rng.standard_normal((5, 1)) * rng.standard_normal((1, 5))
    return X, X @ coef + 0.5 * rng.standard_normal((40, 5))


@pytest.mark.parametrize("seed", [1, 17])
def test_units_do_not_decide_between_identical_predictors(seed):
    """Which of them a fold takes decides about the error on its held-out rows."""
    X, Y = rare_predictors(seed)
    rng = np.random.default_rng(100 + seed)
    of_x, of_y = 10 ** rng.uniform(-3, 3, X.shape[1]), 10 ** rng.uniform(-3, 3, Y.shape[1])
    of_x *= rng.choice([-1, 1], X.shape[1])
    reference, moved = fit(X, Y, {}), fit(X * of_x, Y * of_y, {})
    assert reference.rank_ > 0
    largest = np.max(np.abs(reference.coef_))
    coef = moved.coef_ * of_x / of_y[:, None]
    np.testing.assert_allclose(coef, reference.coef_, rtol=0, atol=1e-7 * largest)


def test_scale_of_the_weights(small, case):
    X, Y = small
    scale = 1 / 40
    options, weight, references = case
    assert_same(fit(X, Y, options, scale * weight), references[True])
    assert_same(fit(X, Y, options, np.full(len(X), scale)), references[False])


def test_constant_responses_and_predictors(small, case):
    X, Y = small
    options, _, references = case
    constant_X, constant_Y = np.full((len(X), 3), 7.0), np.full((len(X), 12), -2.5)
    wide, many = np.hstack([constant_X, X]), np.hstack([Y, constant_Y])
    est = fit(wide, many, options)
    rows, columns = np.arange(3, 15), np.arange(7)
    reference = references[False]
    np.testing.assert_array_equal(est.row_support_, rows[reference.row_support_])
    np.testing.assert_array_equal(est.column_support_, columns[reference.column_support_])
    np.testing.assert_allclose(est.coef_[np.ix_(columns, rows)], reference.coef_, atol=1e-6)
    others = np.setdiff1d(np.arange(19), columns)
    np.testing.assert_allclose(est.predict(wide)[:, others], -2.5)
