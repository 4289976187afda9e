"""The instances of the guide page where a printed inequality of the paper does not hold."""

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
