"""Theorem 1 and its three lemmas, run as tests on instances that satisfy their conditions."""

import math

import numpy as np
import pytest

import thinrank as tr

ITERATIONS = 150


def instance(seed, *, thresholded, noise=1e-4):
    """A well-conditioned problem with a start at the edge of the allowed ball."""
    rng = np.random.default_rng(seed)
    n, p, k, r = 40, 10, 9, 2
    X = np.linalg.qr(rng.standard_normal((n, p)))[0] * n**0.5 * rng.uniform(0.9, 1.1, p)
    rows, columns = (3, 3) if thresholded else (p, k)
    U, V = np.zeros((p, r)), np.zeros((k, r))
    U[rng.permutation(p)[:rows]] = np.linalg.qr(rng.standard_normal((rows, r)))[0]
    V[rng.permutation(k)[:columns]] = np.linalg.qr(rng.standard_normal((columns, r)))[0]
    scale = rng.uniform(0.3, 3.0)  # the constants must hold in all units of Y
    theta = scale * (U * [1.3, 1.0]) @ V.T
    Y = X @ theta + scale * noise * rng.standard_normal((n, k))
    loss = tr.losses.LeastSquares(X, Y)
    limits = {"row_sparsity": 6, "column_sparsity": 6} if thresholded else {}
    direction = rng.standard_normal((p, k))
    return loss, theta, limits, direction / np.linalg.norm(direction)


def iterates(loss, theta0, constants, step, count=ITERATIONS):
    """Z⁰, Z¹, … of Algorithm 1."""
    solver = tr.solvers.GDT(step=step).sized(constants.rank, constants.rows, constants.columns)
    state = solver.init(loss, tr.Factors.from_theta(theta0, constants.rank))
    found = [state.factors]
    for _ in range(count):
        state = solver.step(loss, state)
        found.append(state.factors)
    return found


@pytest.mark.parametrize("printed", [False, True])
@pytest.mark.parametrize("thresholded", [False, True])
@pytest.mark.parametrize("seed", [30000, 30001])
def test_theorem_one_and_its_lemmas(seed, thresholded, printed):
    """Noise is such that the floor matters.

    Without thresholding all conditions hold, so that the theorem applies. With it, β < 1 needs c
    in the millions, but the lemmas do not need it.
    """
    loss, theta, limits, direction = instance(seed, thresholded=thresholded)
    constants = tr.theory.constants(loss, theta, printed=printed, **limits)
    start = theta + 0.999 * constants.start_radius * direction
    conditions = tr.theory.check_conditions(constants, theta, start)
    found = iterates(loss, start, constants, conditions.step)
    truth = tr.Factors.from_theta(theta, 2)
    distances = [z.distance(truth) for z in found]
    assert max(distances) <= constants.radius  # lemma on the start, and no step leaves the ball
    for before, after, z in zip(distances[:-1], distances[1:], found[:-1], strict=True):
        assert conditions.step <= constants.step_limit(z)  # lemma on the step size
        assert after**2 <= constants.one_step(before, conditions.step)  # one-step contraction
    if thresholded:
        assert (constants.ratio, constants.xi_squared) == (2.0, 3.0)
        assert [name for name, *_, holds in conditions.items if not holds] == ["β", "e_stat"]
        return
    assert conditions.hold, str(conditions)
    bound = constants.bound(distances[0], conditions.step, ITERATIONS)
    assert np.all(np.square(distances) <= bound)
    errors = [np.sum((z.theta - theta) ** 2) for z in found]
    assert np.all(errors <= constants.theta_bound(distances[0], conditions.step, ITERATIONS))
    assert distances[-1] < 0.9 * distances[0]  # and the run moved


def test_a_step_that_is_too_long_breaks_the_contraction():
    """The inequality can fail: it does for a step 300 times too long."""
    loss, theta, limits, direction = instance(30000, thresholded=False)
    constants = tr.theory.constants(loss, theta, **limits)
    start = theta + 0.999 * constants.start_radius * direction
    step = 300 * tr.theory.check_conditions(constants, theta, start).step
    assert not tr.theory.check_conditions(constants, theta, start, step).hold
    truth = tr.Factors.from_theta(theta, 2)
    distances = [z.distance(truth) for z in iterates(loss, start, constants, step, 2)]
    assert distances[1] ** 2 > constants.one_step(distances[0], step)


def test_the_solver_has_the_step_of_the_theorem():
    """Where the start has every row, μ and L of the solver are those of the theorem."""
    loss, theta, limits, _ = instance(30001, thresholded=False)
    constants = tr.theory.constants(loss, theta, **limits)
    factors = tr.Factors.from_theta(theta, 2)
    rule = tr.solvers.GDT(step="theory").step_rule
    assert math.isclose(rule.first(loss, factors, 1.0), constants.largest_step(factors))


def test_deterministic_version_without_noise_converges_to_the_minimiser():
    """With Θ̂ for Θ* and no residual, e_stat is 0 and the bound goes to 0."""
    loss, theta, limits, direction = instance(30002, thresholded=False, noise=0.0)
    constants = tr.theory.constants(loss, theta, **limits)
    assert constants.statistical_error.value < 1e-12
    start = theta + 0.999 * constants.start_radius * direction
    step = tr.theory.check_conditions(constants, theta, start).step
    first = tr.Factors.from_theta(start, 2).distance(tr.Factors.from_theta(theta, 2))
    bound = constants.bound(first, step, 100_000)
    assert bound[-1] < 1e-6 * bound[0]


def test_constants_by_hand():
    """Orthogonal X with μ = L = 1, σ₁ = 2, σᵣ = 1."""
    X = 2 * np.eye(4)
    theta = np.diag([2.0, 1.0, 0.0, 0.0])
    loss = tr.losses.LeastSquares(X, X @ theta)
    found = tr.theory.constants(loss, theta, row_sparsity=3, column_sparsity=3)
    assert (found.mu, found.smooth, found.mu_min) == pytest.approx((1, 1, 1 / 16))
    assert (found.sigma_1, found.sigma_r) == pytest.approx((2, 1))
    assert found.ratio == 1.5
    assert found.xi_squared == pytest.approx(1 + 2 / 0.5**0.5)
    assert found.radius == pytest.approx((1 / 40) ** 0.5)
    assert found.start_radius == pytest.approx((1 / 40 / found.xi_squared) ** 0.5 / 5)
    factors = tr.Factors.from_theta(theta, 2)
    step = found.largest_step(factors)
    assert step == pytest.approx(1 / 16 / 4 / 4)  # ‖Z‖² = 2σ₁ = 4, 2(μ + L) = 4
    assert found.beta(step) == pytest.approx(found.xi_squared * (1 - 0.8 * step / 16))
    edge = found.smallest_ratio(step)
    for c, contracts in ((0.999 * edge, False), (1.001 * edge, True)):
        assert ((1 + 2 / (c - 1) ** 0.5) * (1 - 0.8 * step / 16) < 1) == contracts
    assert np.isinf(found.bound(0.1, step, 3)[1:]).all()
    assert "c = 1.5" in str(found)
    printed = tr.theory.constants(loss, theta, printed=True)
    assert printed.radius == pytest.approx(1 / 40)
    assert printed.beta(step) == pytest.approx(1 - 0.4 * step / 16)
    assert "as printed" in str(printed)


def test_wrong_arguments():
    X, theta = np.eye(3), np.diag([1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="row_sparsity must be None or larger than that of the t"):
        tr.theory.constants(X, theta, row_sparsity=1)
    with pytest.raises(ValueError, match="truth must not be zero"):
        tr.theory.constants(X, np.zeros((3, 3)))
    alone = tr.theory.constants(X, theta)
    assert alone.statistical_error is None
    with pytest.raises(ValueError, match="pass a loss to constants"):
        alone.bound(0.1, 0.01, 3)
