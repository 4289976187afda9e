"""Losses compute the same on both sides of the limits that choose how, and say what is wrong."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logit

from thinrank import Factors
from thinrank.designs import Blocks, as_design
from thinrank.forms import block_moments
from thinrank.forms.block_moments import BlockMoments
from thinrank.losses import (
    Custom,
    Denoising,
    GeneralizedLinear,
    LeastSquares,
    PerTask,
    least_squares,
    per_task,
    profile,
)
from thinrank.losses.block_least_squares import BlockLeastSquares
from thinrank.losses.families import Bernoulli, Gaussian, Huber, Multinomial, Poisson
from thinrank.losses.families.base import Family
from thinrank.losses.families.medians import weighted_median
from thinrank.losses.quadratic import Quadratic

N, P, K, R = 30, 8, 4, 2


def data(seed=30_301):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, P)), rng.standard_normal((N, K)) + 1


def point(rows=P, seed=1):
    rng = np.random.default_rng(seed)
    U = np.zeros((P, R))
    U[:rows] = rng.standard_normal((rows, R))
    return Factors(U, rng.standard_normal((K, R)))


# --------------------------------------------------------------------------- least squares


@pytest.mark.parametrize("rows", [1, 2, P])
@pytest.mark.parametrize("large", [0, N * P, N * P + 1])
@pytest.mark.parametrize("few", [1, 4])
def test_products_from_the_columns_in_use(monkeypatch, rows, large, few):
    X, Y = data()
    expected = LeastSquares(X, Y, ridge=0.2).value_and_gradient(point(rows))
    monkeypatch.setattr(least_squares, "_LARGE", large)
    monkeypatch.setattr(least_squares, "_FEW", few)
    loss = LeastSquares(X, Y, ridge=0.2)
    asked = []
    original = type(loss.X).columns
    monkeypatch.setattr(
        type(loss.X), "columns", lambda self, index: asked.append(1) or original(self, index)
    )
    U, V = point(rows).U, point(rows).V
    np.testing.assert_allclose(loss._scores(U), X @ U, atol=1e-12)
    assert bool(asked) == (large <= N * P and few * rows <= P)
    for found, other in zip(loss.value_and_gradient(Factors(U, V)), expected, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("limit", [P - 1, P, P + 1])
def test_the_largest_eigenvalue_is_exact_up_to_a_size(monkeypatch, limit):
    X, Y = data()
    monkeypatch.setattr(least_squares, "_EXACT_SPECTRUM", limit)
    monkeypatch.setattr(Quadratic, "smoothness", lambda self: -1.0)
    loss = LeastSquares(X, Y, ridge=0.5)
    exact = np.linalg.eigvalsh(X.T @ X / N)[-1] + 0.5
    assert loss.smoothness() == pytest.approx(exact if limit >= P else -1.0)


@pytest.mark.parametrize("most", [0, 2, 3, 5])
@pytest.mark.parametrize("weighted", [True, False])
def test_products_of_row_blocks_for_many_predictors(monkeypatch, most, weighted):
    """With X twice instead of XᵀX, if that is for more predictors than the limit."""
    X, Y = data()
    weight = np.linspace(0.5, 2, N) if weighted else None
    monkeypatch.setattr(block_moments, "_CHEAP_GRAM", 0)
    monkeypatch.setattr(block_moments, "_GRAM_PER_TARGET", 0)
    monkeypatch.setattr(block_moments, "_FURTHER", 0)
    monkeypatch.setattr(block_moments, "_MOST_PREDICTORS", most)
    moments = BlockMoments(Blocks([X[:11], X[11:]]), Y, weight, center=False, scale=False)
    loss = BlockLeastSquares(moments, np.arange(K), None, 0.3)
    whole = LeastSquares(X, Y, sample_weight=weight, ridge=0.3)
    for found, other in zip(
        loss.value_and_gradient(point(3)), whole.value_and_gradient(point(3)), strict=True
    ):
        np.testing.assert_allclose(found, other, rtol=1e-10, atol=1e-12)
    assert len(moments._place) == (6 if most >= 3 else 0)  # and as many promising ones
    assert not moments.too_many(np.arange(most))
    assert moments.too_many(np.arange(P)) == (P - len(moments._place) > most)


# --------------------------------------------------------------------------- constants


def test_what_losses_without_samples_say():
    M = np.arange(6.0).reshape(2, 3)
    assert Denoising(M).samples == 1.0
    assert Denoising(M).magnitude == np.sum(M**2)
    assert Custom(lambda factors: (0.0, factors.U, factors.V), (2, 3)).magnitude == 0.0


@pytest.mark.parametrize("family", [None, "poisson", Poisson])
def test_a_family_is_an_object(family):
    X, Y = data()
    with pytest.raises(TypeError, match="family must be an object of tr"):
        GeneralizedLinear(X, Y, family)


@pytest.mark.parametrize("name", ["ridge", "least_ridge"])
@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf"), "0.1", None])
def test_ridges_are_finite_and_not_negative(name, value):
    X, Y = data()
    with pytest.raises(ValueError, match=f"{name} must be a finite non-negative number, got "):
        GeneralizedLinear(X, Y, Gaussian(), **{name: value})
    assert getattr(GeneralizedLinear(X, Y, Gaussian(), **{name: 0}), name) == 0.0


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_all_predictors_as_an_array(convert):
    X, Y = data()
    loss = GeneralizedLinear(as_design(convert(X)), Y, Gaussian())
    np.testing.assert_array_equal(loss.everything(), X)


def test_points_begin_at_the_free_coefficients_of_zero():
    """So that a value does not depend on the points before, not even in the last bit."""
    X, Y = data()
    Y, free = (Y > 1).astype(float), np.ones((N, 1))
    loss = GeneralizedLinear(X, Y, Bernoulli(), free=free)
    assert loss._first_free is loss.null.free
    assert GeneralizedLinear(X, Y, Bernoulli())._first_free is None
    values = [loss.value(point(seed=seed)) for seed in (1, 2, 3)]
    again = GeneralizedLinear(X, Y, Bernoulli(), free=free)
    assert [again.value(point(seed=seed)) for seed in (3, 2, 1)] == values[::-1]


# --------------------------------------------------------------------------- tasks


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 1, 0], [2, 0, 2], [3, 3, 3]])
def test_number_of_tasks(labels):
    loss = PerTask(np.eye(3), [1.0, 2.0, 3.0], labels)
    assert loss.shape == (3, max(labels) + 1)
    assert loss.samples == 3 / len(set(labels))
    assert list(loss.counts) == list(np.bincount(labels))
    assert PerTask(np.eye(3), [1.0, 2.0, 3.0], labels, 5).shape == (3, 5)


@pytest.mark.parametrize(("labels", "tasks"), [([0, 1, 2], 2), ([0, 0, 0], 0), ([4, 0, 0], 4)])
def test_tasks_beyond_the_last(labels, tasks):
    message = f"integers from 0 to n_tasks − 1 = {tasks - 1}, got {max(labels)}$"
    with pytest.raises(ValueError, match=message):
        PerTask(np.eye(3), [1.0, 2.0, 3.0], labels, tasks)


def test_tasks_without_any_rows():
    loss = PerTask(np.zeros((0, 3)), np.zeros(0), np.zeros(0, int), 2)
    assert (loss.samples, loss.magnitude) == (0.0, 0.0)
    value, *gradients = loss.value_and_gradient(Factors(np.ones((3, 1)), np.ones((2, 1))))
    assert value == 0.0
    assert all((gradient == 0).all() for gradient in gradients)


@pytest.mark.parametrize("ridge", [0.0, 0.4])
@pytest.mark.parametrize("most", [P - 1, P])
def test_relative_curvatures_of_tasks(monkeypatch, ridge, most):
    """The largest eigenvalues of H̄⁻¹Hₜ; the number of tasks where that would take long."""
    X, Y = data()
    task = np.arange(N) % 3
    monkeypatch.setattr(per_task, "_MAX_ROWS", most)
    loss = PerTask(X, Y[:, 0], task, 4, ridge=ridge)
    grams = [X[task == t].T @ X[task == t] / 10 for t in range(3)]
    mean = sum(grams) / 3 + ridge * np.eye(P)
    expected = []
    for gram in (*grams, 0 * mean):
        values = np.linalg.eigvals(np.linalg.solve(mean, gram + ridge * np.eye(P)))
        expected.append(min(max(np.max(values.real) * (1 + 1e-6), 1e-6), 3.0))
    found = loss._relative_curvatures(None)
    np.testing.assert_allclose(found, expected if most >= P else 4 * [3.0], rtol=1e-9)
    few = np.array([1, 4])
    own = np.linalg.solve(mean[np.ix_(few, few)], grams[0][np.ix_(few, few)] + ridge * np.eye(2))
    largest = min(np.max(np.linalg.eigvals(own).real) * (1 + 1e-6), 3.0)
    assert loss._relative_curvatures(few)[0] == pytest.approx(largest, rel=1e-9)


def test_curvatures_are_kept_for_some_sets_of_rows(monkeypatch):
    monkeypatch.setattr(per_task, "_MAX_CACHED", 2)
    X, Y = data()
    loss = PerTask(X, Y[:, 0], np.arange(N) % 3)
    computed = []
    original = loss._computed_curvatures
    loss._computed_curvatures = lambda rows: computed.append(rows) or original(rows)
    sets = [np.array([i]) for i in range(4)]
    for i, total in ((0, 1), (0, 1), (1, 2), (2, 3), (0, 3), (1, 3), (3, 4), (0, 5)):
        assert loss._relative_curvatures(sets[i]) is loss._relative_curvatures(sets[i])
        assert len(computed) == total


# --------------------------------------------------------------------------- families


class Squares(Family):
    """A family that defines what it must, and nothing else."""

    name = "squares"
    quadratic = True

    def value(self, y, eta):
        return 0.5 * (y - eta) ** 2

    def value_and_derivatives(self, y, eta):
        return self.value(y, eta), eta - y, 0 * y + 3.0

    def mean(self, eta):
        return eta

    def link(self, mean):
        return mean

    def null_link(self, y, weight=None):
        return y[0]

    def _valid(self, y):
        return y == y


def test_derivatives_follow_from_those_computed_together():
    _, Y = data()
    eta = Y[::-1]
    family = Squares()
    np.testing.assert_array_equal(family.derivative(Y, eta), eta - Y)
    np.testing.assert_array_equal(family.curvature(Y, eta), np.full(Y.shape, 3.0))
    np.testing.assert_array_equal(family.weight_for_fit(Y, eta), np.full(Y.shape, 3.0))
    np.testing.assert_array_equal(family.hessian_product(Y, eta, Y), 3 * Y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_links_of_probabilities_near_the_ends(dtype):
    """Those of the nearest numbers inside."""
    below = np.nextafter(dtype(1), dtype(0))
    found = Bernoulli().link(np.array([1.0, below, 0.5, 0.25], dtype))
    assert found.dtype == dtype
    expected = logit(np.array([below, below, 0.5, 0.25], np.float64))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    least = Bernoulli().link(np.array([0.0], dtype))[0]
    assert np.isfinite(least)
    assert least < -80


def test_medians_of_columns_with_and_without_weight():
    x = np.array([[1.0, 5.0, np.nan], [3.0, np.nan, np.nan], [10.0, 7.0, np.nan]])
    weight = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    np.testing.assert_array_equal(weighted_median(x, weight), [3.0, 6.0, 0.0])
    np.testing.assert_array_equal(weighted_median(x[:, 2:], weight[:, 2:]), [0.0])


@pytest.mark.parametrize("size", [1.0, 1e10, 1e-10])
def test_scales_of_residuals_that_are_rounding_errors(size):
    """The deviations are compared with the largest response of the same column."""
    y = size * np.array([[1.0, 3.0], [2.0, 5.0], [3.0, 4.0], [4.0, 1.0]])
    eta = y.copy()
    eta[0, 0] *= 1 + 1e-16
    eta[:, 1] += size * np.array([-0.1, 0.1, 0.2, -0.2])
    family = Huber().fitted_to(y, eta, None, 0)
    assert family.scale[0] == 1.0
    assert family.scale[1] == pytest.approx(1.4826 * 0.15 * size, rel=1e-3)


def test_entries_times_weights_for_newton_and_for_fits():
    """Huber's loss has two curvatures: that of Newton's method and that of quadratic models."""
    y, eta = data()[1], data(5)[1]
    weight = np.linspace(0.5, 2, N)[:, None]
    for family in (Huber(0.5, np.full(K, 0.7)), Gaussian(), Poisson()):
        value, derivative, curvature = family.for_fit(np.abs(y), eta)
        newton = family.for_newton(np.abs(y), curvature)
        found = profile._entries(family, np.abs(y), weight, eta, family.prepared(np.abs(y)))
        expected = (value * weight, derivative * weight, curvature * weight, newton * weight)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13)


def test_a_categorical_response_without_curvature_stays():
    free = np.ones((N, 1))
    slope, nothing = np.ones((1, 3)), np.zeros((N, 3))
    np.testing.assert_array_equal(profile._block_newton(free, slope, nothing), 0 * slope)
    tiny = profile._block_newton(free, 1e-150 * slope, np.full((N, 3), 1e-150))
    assert np.isfinite(tiny).all()


def test_newton_steps_are_those_of_the_second_derivatives():
    """For numbers of responses and for categories, with several free predictors."""
    rng = np.random.default_rng(3)
    free = rng.standard_normal((N, 2))
    slope, weights = rng.standard_normal((2, K)), rng.uniform(0.1, 1, (N, K))
    step = profile._newton(free, slope, weights)
    for j in range(K):
        hessian = (free * weights[:, j : j + 1]).T @ free
        np.testing.assert_allclose(step[:, j], np.linalg.solve(hessian, slope[:, j]), rtol=1e-9)
    one = profile._newton(free[:, :1], slope[:1], weights)
    np.testing.assert_allclose(one, slope[:1] / ((free[:, :1] ** 2).T @ weights))
    family, y = Multinomial(3), np.eye(3)[rng.integers(0, 3, N)]
    eta = free @ rng.standard_normal((2, 3))
    _, derivative, curvature = family.for_fit(y, eta)
    slope = free.T @ derivative
    step = profile._block_newton(free, slope, curvature)
    # the second derivative along the step is the slope
    change = free.T @ family.hessian_product(y, eta, free @ step)
    np.testing.assert_allclose(change, slope, atol=1e-8)
    np.testing.assert_allclose(step.sum(axis=1), 0, atol=1e-8)


@pytest.mark.parametrize("weight", [None, np.full((N, 1), 2.0), np.full((N, K), 0.5)])
def test_number_of_entries_counts_weights(weight):
    expected = N * K * (1.0 if weight is None else weight[0, 0])
    assert profile._number_of_entries(data()[1], weight) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("family", "total", "expected"),
    [(Poisson(), 0.0, True), (Poisson(), 9.9e-9, True), (Poisson(), 1.1e-8, False),
     (Gaussian(), 0.0, False), (Huber(), 0.0, False)],
)  # fmt: skip
def test_perfect_fits(family, total, expected):
    assert profile.is_perfect(family, total, 10.0) is expected


def test_functions_without_second_derivatives_have_hessian_zero(torch):
    """Linear ones, and those whose gradient depends on other parameters only."""
    from thinrank.losses.differentiated import Differentiated

    slope = torch.tensor(3.0, requires_grad=True)
    theta, direction = torch.ones(2, 3, dtype=torch.float64), torch.ones(2, 3, dtype=torch.float64)
    for function in (lambda theta: theta.sum(), lambda theta: (slope * theta).sum()):
        made = Differentiated(function, (2, 3), "theta", theta[0, :0])
        assert (made.hessian_product(theta, direction) == 0).all()
        assert tuple(made.hessian_product(theta, direction).shape) == (2, 3)
    square = Differentiated(lambda theta: (theta**2).sum(), (2, 3), "theta", theta[0, :0])
    assert (square.hessian_product(theta, direction) == 2).all()
