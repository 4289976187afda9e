"""Gradient descent with hard thresholding, against Algorithm 1 written out literally."""

import numpy as np
import pytest

from thinrank import Factors
from thinrank.losses import Custom, Denoising, LeastSquares
from thinrank.solvers.gdt import GDT
from thinrank.solvers.loop import run
from thinrank.solvers.steps import Constant, mean_curvature

S1, S2, RANK = 6, 4, 3


def hard_threshold(block, s):
    out = np.zeros_like(block)
    kept = np.argsort(-np.linalg.norm(block, axis=1), kind="stable")[:s]
    out[kept] = block[kept]
    return out


def literal(X, Y, theta0, eta, iterations, update):
    """Lines 3 to 9, with f = 1/(2n)‖Y − XUVᵀ‖² and g = ¼‖UᵀU − VᵀV‖²."""

    def gradient(U, V):
        return X.T @ (X @ U @ V.T - Y) / len(X)

    left, values, right = np.linalg.svd(theta0, full_matrices=False)  # line 3
    root = np.sqrt(values[:RANK])
    U, V = (
        hard_threshold(left[:, :RANK] * root, S1),
        hard_threshold(right[:RANK].T * root, S2),
    )  # line 4
    for _ in range(iterations):
        step_u = gradient(U, V) @ V + U @ (U.T @ U - V.T @ V)
        if update == "simultaneous":
            step_v = gradient(U, V).T @ U + V @ (V.T @ V - U.T @ U)
            V = hard_threshold(V - eta * step_v, S2)  # lines 6 and 7
            U = hard_threshold(U - eta * step_u, S1)  # lines 8 and 9
        else:  # the authors' script: U first, then V with the new U
            U = hard_threshold(U - eta * step_u, S1)
            step_v = gradient(U, V).T @ U + V @ (V.T @ V - U.T @ U)
            V = hard_threshold(V - eta * step_v, S2)
    return U, V


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 15))
    truth = np.zeros((15, 9))
    truth[:5, :4] = rng.standard_normal((5, 3)) @ rng.standard_normal((3, 4))
    Y = X @ truth + 0.3 * rng.standard_normal((25, 9))
    return X, Y, X.T @ Y / 25


@pytest.mark.parametrize("form", ["direct", "gram"])
@pytest.mark.parametrize("update", ["simultaneous", "sequential"])
@pytest.mark.parametrize("iterations", [1, 2, 12])
def test_line_by_line(library, iterations, update, form):
    X, Y, theta0 = data()
    eta = 0.01
    U, V = literal(X, Y, theta0, eta, iterations, update)
    loss = LeastSquares(library.array(X), library.array(Y), form=form)
    start = Factors.from_theta(library.array(theta0), RANK)
    solver = GDT(step=Constant(eta), update=update, max_iter=iterations, tol=0).sized(2, S1, S2)
    state, history, _ = run(solver, loss, start)
    library.check(state.factors.U, state.factors.V)
    assert len(history) == iterations
    # up to the signs of singular vectors, which Z Zᵀ does not see
    Z = np.vstack([library.numpy(state.factors.U), library.numpy(state.factors.V)])
    expected = np.vstack([U, V])
    np.testing.assert_allclose(Z @ Z.T, expected @ expected.T, atol=1e-12)
    value = np.sum((Y - X @ U @ V.T) ** 2) / 50
    assert history[-1].objective == pytest.approx(value, rel=1e-10)


def test_the_two_updates_differ():
    X, Y, theta0 = data()
    one, other = (literal(X, Y, theta0, 0.01, 3, u) for u in ("simultaneous", "sequential"))
    assert np.abs(one[0] - other[0]).max() > 1e-4


def test_init_balances_and_thresholds():
    X, Y, theta0 = data()
    skew = Factors.from_theta(theta0, RANK)
    skew = Factors(100 * skew.U, skew.V / 100)
    state = GDT().sized(2, S1, S2).init(LeastSquares(X, Y), skew)
    U, V = literal(X, Y, theta0, 0.0, 0, "simultaneous")
    Z, expected = np.vstack([state.factors.U, state.factors.V]), np.vstack([U, V])
    np.testing.assert_allclose(Z @ Z.T, expected @ expected.T, atol=1e-12)
    # U and V of a sparse start are no longer balanced: the penalty is in F, not in f
    gap = U.T @ U - V.T @ V
    assert state.penalized == pytest.approx(state.objective + 0.25 * np.sum(gap**2))
    assert state.penalized > state.objective


@pytest.mark.parametrize("balance", [0.0, 1.0, 7.0])
def test_gradients_of_the_penalized_objective(balance):
    X, Y, _ = data()
    loss, solver = LeastSquares(X, Y, ridge=0.1), GDT().sized(2, 15, 9)
    rng = np.random.default_rng(1)
    U, V = rng.standard_normal((15, 2)), rng.standard_normal((9, 2))
    state = solver._evaluate(loss, Factors(U, V), 1.0, balance)
    h = 1e-5
    for gradient, moved in ((state.gradient_u, "U"), (state.gradient_v, "V")):
        bump = h * rng.standard_normal(gradient.shape)

        def along(sign, bump=bump, moved=moved):
            there = Factors(U + sign * bump, V) if moved == "U" else Factors(U, V + sign * bump)
            return solver._evaluate(loss, there, 1.0, balance).penalized

        expected = (along(1) - along(-1)) / 2
        assert np.sum(gradient * bump) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("update", ["simultaneous", "sequential"])
def test_change_is_the_relative_step(update):
    X, Y, theta0 = data()
    loss, solver = LeastSquares(X, Y), GDT(update=update).sized(2, S1, S2)
    state = solver.init(loss, Factors.from_theta(theta0, RANK))
    new = solver.step(loss, state)
    before, after = (np.vstack([s.factors.U, s.factors.V]) for s in (state, new))
    expected = np.linalg.norm(after - before) / np.linalg.norm(before)
    assert new.change == pytest.approx(expected, rel=1e-12)


def test_states_are_not_changed_in_place():
    X, Y, theta0 = data()
    loss, solver = LeastSquares(X, Y), GDT().sized(2, S1, S2)
    state = solver.init(loss, Factors.from_theta(theta0, RANK))
    U, V = state.factors.U.copy(), state.factors.V.copy()
    solver.step(loss, state)
    np.testing.assert_array_equal(state.factors.U, U)
    np.testing.assert_array_equal(state.factors.V, V)


def test_without_limits_denoising_is_the_truncated_svd(library):
    # Eckart-Young: a problem whose answer is known
    rng = np.random.default_rng(2)
    basis_u = np.linalg.qr(rng.standard_normal((12, 5)))[0]
    basis_v = np.linalg.qr(rng.standard_normal((8, 5)))[0]
    M = (basis_u * [5, 4, 3, 0.3, 0.1]) @ basis_v.T
    best = (basis_u[:, :3] * [5, 4, 3]) @ basis_v[:, :3].T
    loss = Denoising(library.array(M))
    start = Factors(library.array(basis_u[:, :3] + 0.1), library.array(basis_v[:, :3]))
    state, _, status = run(GDT(tol=1e-10).sized(2, 12, 8), loss, start)
    assert status.converged
    np.testing.assert_allclose(library.numpy(state.factors.theta), best, atol=1e-7)
    assert state.objective == pytest.approx(0.5 * (0.3**2 + 0.1**2), rel=1e-6)


def test_the_weight_of_the_penalty():
    """1 as in the paper if the loss knows its curvature, else half of the mean curvature."""
    X, Y, theta0 = data()
    known, start = LeastSquares(X, Y), Factors.from_theta(theta0, RANK)
    solver = GDT().sized(2, S1, S2)
    assert solver.init(known, start).balance == 1.0
    assert GDT(balance=3.0).sized(2, S1, S2).init(known, start).balance == 3.0
    iterates = []
    for scale in (1.0, 1e4):
        unknown = Custom(
            lambda factors, scale=scale: [scale * x for x in known.value_and_gradient(factors)],
            known.shape,
        )
        state = solver.init(unknown, start)
        assert state.balance == pytest.approx(0.5 * mean_curvature(unknown, state.factors))
        iterates.append(solver.step(unknown, state).factors.theta)
    np.testing.assert_allclose(iterates[0], iterates[1], rtol=1e-8)


def test_balance_is_a_number_or_auto():
    with pytest.raises(ValueError, match="balance must be a finite non-negative number, got 'no'"):
        GDT(balance="no")


def test_a_tolerance_of_zero_uses_every_iteration():
    """Also at a minimum, where an iteration changes nothing."""
    M = np.zeros((4, 3))
    M[0, 0] = 4.0
    start = Factors(2 * np.eye(4)[:, :1], 2 * np.eye(3)[:, :1])
    for tol, iterations in ((0.0, 9), (1e-12, 1)):
        state, history, _ = run(GDT(tol=tol, max_iter=9).sized(1, 4, 3), Denoising(M), start)
        assert state.change == 0
        assert len(history) == iterations
        np.testing.assert_array_equal(state.factors.theta, M)
