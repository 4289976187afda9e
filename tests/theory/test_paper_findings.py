"""The instances of the guide page where a printed inequality of the paper does not hold."""

import math

import numpy as np
import pytest

import thinrank as tr


def orthogonal_problem(theta):
    """X with XᵀX/n = I, so that μ = L = 1, and no noise."""
    X = len(theta) ** 0.5 * np.eye(len(theta))
    return tr.losses.LeastSquares(X, X @ theta)


def test_printed_radius_contains_the_stationary_point_zero():
    """I₀ as printed grows like σᵣ, distances like its root: at σ = 10⁴, Z = 0 is inside."""
    theta = np.zeros((3, 3))
    theta[0, 0] = 1e4
    loss = orthogonal_problem(theta)
    printed = tr.theory.constants(loss, theta, printed=True)
    corrected = tr.theory.constants(loss, theta)
    zero = tr.Factors(np.zeros((3, 1)), np.zeros((3, 1)))
    distance = zero.distance(tr.Factors.from_theta(theta, 1))
    assert corrected.radius < distance < printed.radius
    assert (distance, printed.radius) == pytest.approx((141.42, 250.0), rel=1e-4)
    # the gradient at zero vanishes: one step does not move, for any admissible step size
    value, gradient_u, gradient_v = loss.value_and_gradient(zero)
    assert value > 0
    assert not gradient_u.any()
    assert not gradient_v.any()
    step = printed.largest_step(tr.Factors.from_theta(theta, 1))
    assert distance**2 > printed.one_step(distance, step)


def test_a_step_of_the_printed_proof_is_false_where_the_curvature_is_small():
    """R₁₂ + T₁ₐ ≥ μ_min‖ZZᵀ − Z*Z*ᵀ‖² needs μL/(μ + L) ≥ 1, which μ = L = ½ violates."""
    mu = smooth = 0.5
    star = np.eye(3)[:, :2]
    turn = 0.05 * np.array([[0.0, 1.0], [-1.0, 0.0]])
    U, V = star @ (np.eye(2) + turn), star @ (np.eye(2) - turn)
    a = np.sum((U @ U.T - star @ star.T) ** 2)
    b = np.sum((V @ V.T - star @ star.T) ** 2)
    c = np.sum((U @ V.T - star @ star.T) ** 2)
    harmonic = mu * smooth / (mu + smooth)
    left = (a + b - 2 * c) / 8 + harmonic / 2 * c
    right = min(1, harmonic) / 8 * (a + b + 2 * c)
    assert left < 0 < right
    assert (left, right) == pytest.approx((-0.0025, 0.00125), rel=1e-2)


def test_the_deterministic_error_is_not_zero_without_sparsity():
    """At the best matrix of rank 1 the gradient does not vanish."""
    Y = np.diag([2.0, 1.0])
    loss = orthogonal_problem(Y)
    best = np.diag([2.0, 0.0])
    value, gradient = loss.full_gradient(best)
    assert value == pytest.approx(0.5)
    assert tr.theory.statistical_error(gradient, 2).value == pytest.approx(1.0)


@pytest.mark.parametrize(("condition", "ratio"), [(1, 1.0e8), (2, 4.2e8), (10, 1.0e10)])
def test_printed_contraction_needs_supports_of_millions(condition, ratio):
    """β < 1 with the largest admissible step, for orthogonal X: c must exceed 10⁸."""
    theta = np.diag([condition, 1.0, 0.0])
    constants = tr.theory.constants(orthogonal_problem(theta), theta, printed=True)
    step = constants.largest_step(tr.Factors.from_theta(theta, 2))
    assert constants.smallest_ratio(step) == pytest.approx(ratio, rel=0.05)


def test_printed_contraction_was_not_violated_at_random_points():
    """100 points within I₀, with noise from none to more than the theorem allows."""
    rng = np.random.default_rng(30020)
    ratios = []
    for _ in range(100):
        X = 5**0.5 * np.diag(rng.uniform(0.2, 2.0, 5))
        theta = np.zeros((5, 4))
        theta[:2, :2] = np.diag(rng.uniform(0.2, 2.0, 2))
        noise = 10 ** rng.uniform(-4, 0) * rng.standard_normal((5, 4))
        loss = tr.losses.LeastSquares(X, X @ theta + noise)
        constants = tr.theory.constants(loss, theta)
        printed = tr.theory.constants(loss, theta, printed=True)
        truth = tr.Factors.from_theta(theta, 2)
        du, dv = rng.standard_normal((5, 2)), rng.standard_normal((4, 2))
        size = rng.uniform() * constants.radius / math.hypot(*map(np.linalg.norm, (du, dv)))
        Z = tr.Factors(truth.U + size * du, truth.V + size * dv)
        step = constants.step_limit(Z)
        _, gradient_u, gradient_v = loss.value_and_gradient(Z)
        G = Z.U.T @ Z.U - Z.V.T @ Z.V
        moved = tr.Factors(Z.U - step * (gradient_u + Z.U @ G), Z.V - step * (gradient_v - Z.V @ G))
        after = moved.distance(truth)
        ratios.append(after**2 / printed.one_step(Z.distance(truth), step))
        assert after**2 <= constants.one_step(Z.distance(truth), step)
    assert max(ratios) <= 1
    assert max(ratios) > 0.9  # the bound is nearly attained where the step is short
