"""Gradient descent with hard thresholding, against Algorithm 1 written out literally."""

import numpy as np
import pytest

import thinrank as tr
from thinrank import Factors
from thinrank.losses import Custom, Denoising, LeastSquares
from thinrank.solvers import GDT, Constant

S1, S2, RANK = 6, 4, 3
SIZES = {"rank": RANK, "row_sparsity": S1, "column_sparsity": S2}


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
@pytest.mark.parametrize("iterations", [1, 12])
def test_line_by_line(library, iterations, update, form):
    X, Y, theta0 = data()
    eta = 0.01
    U, V = literal(X, Y, theta0, eta, iterations, update)
    loss = LeastSquares(library.array(X), library.array(Y), form=form)
    start = Factors.from_theta(library.array(theta0), RANK)
    solver = GDT(step=Constant(eta), update=update, max_iter=iterations, tol=0)
    seen = []
    answer = tr.minimize(loss, **SIZES, solver=solver, start=start, callback=seen.append)
    last = seen[-1].factors
    library.check(last.U, last.V)
    assert answer.n_iter == iterations
    # up to the signs of singular vectors, which Z Zᵀ does not see
    Z = np.vstack([library.numpy(last.U), library.numpy(last.V)])
    expected = np.vstack([U, V])
    np.testing.assert_allclose(Z @ Z.T, expected @ expected.T, atol=1e-9)
    np.testing.assert_allclose(library.numpy(answer.factors.theta), U @ V.T, atol=1e-9)
    value = np.sum((Y - X @ U @ V.T) ** 2) / 50
    assert answer.value == pytest.approx(value, rel=1e-9)


def test_a_start_is_balanced_and_not_changed():
    X, Y, theta0 = data()
    skew = Factors.from_theta(theta0, RANK)
    skew = Factors(100 * skew.U, skew.V / 100)
    U, V = skew.U.copy(), skew.V.copy()
    answers = [
        tr.minimize(LeastSquares(X, Y), **SIZES, solver=GDT(max_iter=5), start=start)
        for start in (skew, theta0)
    ]
    np.testing.assert_allclose(answers[0].factors.theta, answers[1].factors.theta, atol=1e-9)
    np.testing.assert_array_equal(skew.U, U)
    np.testing.assert_array_equal(skew.V, V)


def test_the_scale_of_a_loss_of_unknown_curvature_does_not_matter():
    X, Y, theta0 = data()
    known = LeastSquares(X, Y)
    iterates = []
    for scale in (1.0, 1e4):
        unknown = Custom(
            lambda factors, scale=scale: [scale * x for x in known.value_and_gradient(factors)],
            known.shape,
        )
        answer = tr.minimize(unknown, **SIZES, solver=GDT(max_iter=3, tol=0), start=theta0)
        iterates.append(answer.factors.theta)
    np.testing.assert_allclose(iterates[0], iterates[1], rtol=1e-6, atol=1e-9)


def test_a_tolerance_of_zero_uses_every_iteration():
    """Also at a minimum, where an iteration changes nothing."""
    M = np.zeros((4, 3))
    M[0, 0] = 4.0
    start = Factors(2 * np.eye(4)[:, :1], 2 * np.eye(3)[:, :1])
    for tol, iterations in ((0.0, 9), (1e-12, 1)):
        answer = tr.minimize(Denoising(M), rank=1, solver=GDT(tol=tol, max_iter=9), start=start)
        assert answer.n_iter == iterations
        np.testing.assert_allclose(answer.factors.theta, M, atol=1e-9)
