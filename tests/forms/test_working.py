"""The quadratic form of working responses against dense algebra."""

import numpy as np
import pytest

from thinrank import Factors
from thinrank.designs import Dense
from thinrank.forms import Moments
from thinrank.forms.working import WorkingForm

N, P, K, R = 12, 5, 3, 2


class Problem:
    """A form, and everything that it is made of as dense matrices."""

    def __init__(self, ridge, weighted):
        rng = np.random.default_rng(0)
        self.ridge = ridge
        self.X = rng.standard_normal((N, P))
        self.weight = rng.uniform(0.5, 2, N) if weighted else np.ones(N)
        self.n = self.weight.sum()
        self.factors = Factors(rng.standard_normal((P, R)), rng.standard_normal((K, R)))
        self.scale = rng.uniform(0.5, 2, K)
        # derivatives of the entries with respect to XΘ, without weights
        self.slopes = rng.standard_normal((N, K))
        self.value = rng.uniform(1, 2, K)

    def form(self, ridge=None):
        root = np.sqrt(self.weight)[:, None]
        weighted = Dense(root * self.X)
        fitted = self.X @ self.factors.theta * self.scale
        bare = Moments(weighted, Dense(np.zeros((N, 1))), self.n, "direct").form()
        return WorkingForm(
            bare,
            weighted,
            self.factors,
            root * (fitted - self.slopes / self.scale),
            self.scale,
            self.ridge if ridge is None else ridge,
            value=self.value,
            slope=np.sum(self.weight[:, None] * self.slopes * (self.X @ self.factors.theta), axis=0)
            / self.n,
            fitted=np.sum((root * fitted) ** 2, axis=0) / self.n,
            samples=float(self.n),
            observations=float(N * K),
        )

    def matrix(self, ridge):
        H = self.X.T @ (self.weight[:, None] * self.X) / self.n
        return H + ridge / np.mean(self.scale**2) * np.eye(P)

    def explicit(self, theta, ridge):
        """f(Θ₀) + ⟨∇f(Θ₀), Θ − Θ₀⟩ + ½⟨Φ − Φ₀, H(Φ − Φ₀)⟩."""
        at = self.factors.theta
        value = self.value.sum() + ridge / 2 * np.sum(at**2)
        gradient = self.X.T @ (self.weight[:, None] * self.slopes) / self.n + ridge * at
        change = (theta - at) * self.scale
        quadratic = np.sum(change * (self.matrix(ridge) @ change))
        return value + np.sum(gradient * (theta - at)) + quadratic / 2


def value(form, theta):
    phi = theta * form.column_scale
    H, C = form.gram(np.arange(P)), form.cross_columns(0, K)
    return 0.5 * form.constant - np.sum(C * phi) + 0.5 * np.sum(phi * (H @ phi))


every_problem = pytest.mark.parametrize(
    ("ridge", "weighted"), [(0.0, False), (0.4, False), (0.0, True), (0.4, True)]
)


@every_problem
def test_the_form_is_the_quadratic_function(ridge, weighted):
    problem = Problem(ridge, weighted)
    form = problem.form()
    rng = np.random.default_rng(1)
    for theta in (np.zeros((P, K)), problem.factors.theta, *rng.standard_normal((5, P, K))):
        assert value(form, theta) == pytest.approx(problem.explicit(theta, ridge), rel=1e-11)


@every_problem
def test_all_parts_belong_to_one_form(ridge, weighted):
    problem = Problem(ridge, weighted)
    form, H = problem.form(), problem.matrix(ridge)
    rows, others = np.array([0, 3, 4]), np.array([1, 2])
    C = form.cross_columns(0, K)
    np.testing.assert_allclose(form.diagonal(), np.diag(H))
    np.testing.assert_allclose(form.gram(rows), H[np.ix_(rows, rows)])
    np.testing.assert_allclose(form.gram_between(rows, others), H[np.ix_(rows, others)], atol=1e-13)
    np.testing.assert_allclose(form.cross_rows(rows), C[rows])
    np.testing.assert_allclose(form.cross_columns(1, 3), C[:, 1:3])
    by_row, by_column = form.cross_norms()
    np.testing.assert_allclose(by_row, np.sum(C**2, axis=1))
    np.testing.assert_allclose(by_column, np.sum(C**2, axis=0))
    root, ridged = form.inverse_root(rows)
    assert not ridged
    np.testing.assert_allclose(root.T @ root, np.linalg.inv(H[np.ix_(rows, rows)]), rtol=1e-9)
    rng = np.random.default_rng(2)
    U, V = rng.standard_normal((3, R)), rng.standard_normal((K, R))
    np.testing.assert_allclose(form.gradient(rows, U, V), H[:, rows] @ U - C @ V, atol=1e-12)
    assert form.shape == (P, K)
    assert not form.exact


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("first", "second"), [(0.0, 0.4), (0.4, 0.0), (0.4, 2.0)])
def test_another_ridge_is_a_new_form(first, second, weighted):
    problem = Problem(first, weighted)
    form = problem.form()
    before = form.constant
    moved, new = form.with_ridge(second), problem.form(second)
    assert moved.constant == pytest.approx(new.constant, rel=1e-12)
    np.testing.assert_allclose(moved.gram(np.arange(P)), new.gram(np.arange(P)))
    np.testing.assert_allclose(moved.cross_columns(0, K), new.cross_columns(0, K))
    assert form.constant == before  # the form itself is unchanged


@pytest.mark.parametrize("weighted", [False, True])
def test_constants_are_the_values_at_zero_of_every_response(weighted):
    problem = Problem(0.0, weighted)
    form = problem.form()
    assert np.sum(form.constants) == pytest.approx(form.constant)
    assert 0.5 * form.constant == pytest.approx(problem.explicit(np.zeros((P, K)), 0.0))
    for j in range(K):
        theta = problem.factors.theta.copy()
        theta[:, j] = 0
        drop = problem.explicit(theta, 0.0) - problem.explicit(problem.factors.theta, 0.0)
        assert 0.5 * form.constants[j] - problem.value[j] == pytest.approx(drop)
