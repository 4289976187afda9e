"""Baselines on data where order, rounding or near dependence used to decide."""

import numpy as np
import pytest

from thinrank import baselines


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
