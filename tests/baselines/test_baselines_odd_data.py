"""Baselines on data where order, rounding or near dependence used to decide."""

import numpy as np
import pytest

from thinrank import baselines

SELECT_ROWS = [baselines.MultiTaskGroupLasso, baselines.JointRankRowSelection]


def with_equal_columns(seed):
    """Columns of zeros and ones, several of which are the same in the rows of a split."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(15, 20)) > 0.5).astype(float)
    return X, X[:, :3] @ rng.normal(size=(3, 3)) + rng.normal(size=(15, 3)), rng


@pytest.mark.parametrize("make", SELECT_ROWS)
@pytest.mark.parametrize("seed", [700005, 700057])
def test_supports_do_not_depend_on_order_and_position(make, seed):
    X, Y, rng = with_equal_columns(seed)
    reference = make(cv=3, n_penalties=12).fit(X, Y)
    order = rng.permutation(20)
    permuted = make(cv=3, n_penalties=12).fit(X[:, order], Y)
    assert sorted(order[permuted.row_support_]) == reference.row_support_.tolist()
    np.testing.assert_allclose(permuted.coef_, reference.coef_[:, order], atol=1e-7)
    shifted = make(cv=3, n_penalties=12).fit(X + 300 * rng.normal(size=20), Y)
    assert shifted.row_support_.tolist() == reference.row_support_.tolist()
    np.testing.assert_allclose(shifted.coef_, reference.coef_, atol=1e-7)


def test_equal_columns_share_their_coefficient():
    X, Y, _ = with_equal_columns(0)
    X[:, 5], X[:, 6] = X[:, 0], -X[:, 0]
    theta = baselines.MultiTaskGroupLasso(0.05).fit(X, Y).coef_.T
    assert theta[0].any()
    np.testing.assert_allclose(theta[[5, 6]], [theta[0], -theta[0]], atol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [baselines.ReducedRankRegression(rank=2), baselines.JointRankRowSelection(2, penalty=0.01)],
)
def test_coefficients_of_nearly_equal_columns_are_moderate(estimator):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 8))
    X[:, 1] = X[:, 0] + 1e-8 * rng.normal(size=40)
    Y = X[:, [0, 2]] @ rng.normal(size=(2, 5)) + rng.normal(size=(40, 5))
    found = estimator.fit(X, Y)
    assert np.abs(found.coef_).max() < 10
    np.testing.assert_allclose(found.coef_[:, 0], found.coef_[:, 1], atol=1e-5)


@pytest.mark.parametrize("name", baselines.__all__)
def test_a_tolerance_is_a_number(name):
    make = getattr(baselines, name)
    for parameter in {"tol", "gamma"} & set(make().get_params()):
        for value in ("auto", "1e-4", None, -1.0):
            with pytest.raises(ValueError, match=f"^{parameter} must be a finite number"):
                make(**{parameter: value}).fit(np.eye(4), np.eye(4))
