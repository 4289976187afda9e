"""Losses from functions in PyTorch: derivatives, what comes back, matrix sensing, errors."""

import sys

import numpy as np
import pytest

import thinrank as tr
from thinrank.losses import Custom


def logistic(torch, of, shape=(6, 5)):
    """Σ log(2·cosh(Θ)) − ⟨B, Θ⟩: smooth, convex, not quadratic; the Hessian at zero is 1."""
    B = torch.asarray(np.random.default_rng(0).uniform(-0.9, 0.9, shape))

    def of_theta(theta):
        return torch.sum(torch.log(2 * torch.cosh(theta))) - torch.sum(B * theta)

    def of_factors(U, V):
        return of_theta(U @ V.T)

    return of_theta if of == "theta" else of_factors


def point(torch, shape=(6, 5), rank=2):
    rng = np.random.default_rng(1)
    U, V = (torch.asarray(rng.standard_normal((size, rank))) for size in shape)
    return tr.Factors(U, V)


def quotients(function, at, h=1e-6):
    """The gradient by central differences, entry by entry."""
    out = np.zeros(tuple(at.shape))
    for place in np.ndindex(*out.shape):
        ahead, behind = at.clone(), at.clone()
        ahead[place] += h
        behind[place] -= h
        out[place] = (function(ahead) - function(behind)) / (2 * h)
    return out


@pytest.mark.parametrize("of", ["theta", "factors"])
@pytest.mark.parametrize("shape", [(6, 5), (3, 7)])
def test_derivatives_are_difference_quotients(torch, of, shape):
    loss = Custom.from_torch(logistic(torch, of, shape), shape, of=of)
    factors = point(torch, shape)
    U, V, theta = factors.U, factors.V, factors.theta
    value, by_u, by_v = loss.value_and_gradient(factors)
    full_value, full = loss.full_gradient(theta)
    assert type(value) is float
    assert value == pytest.approx(full_value, rel=1e-8)

    def at(U, V):
        return loss.value_and_gradient(tr.Factors(U, V))[0]

    np.testing.assert_allclose(by_u, quotients(lambda u: at(u, V), U), atol=1e-7)
    np.testing.assert_allclose(by_v, quotients(lambda v: at(U, v), V), atol=1e-7)
    np.testing.assert_allclose(
        full, quotients(lambda t: loss.full_gradient(t)[0], theta), atol=1e-7
    )
    np.testing.assert_allclose(by_u, full @ V, rtol=1e-8)
    np.testing.assert_allclose(by_v, full.T @ U, rtol=1e-8)


def sensing(torch, seed, of="theta", *, count=120, shape=(14, 12), scale=1.0):
    """A sparse matrix of rank 2 and Gaussian measurements of it without noise."""
    rng = np.random.default_rng(seed)
    truth = [np.zeros((size, 2)) for size in shape]
    for factor in truth:
        rows = rng.choice(len(factor), 4, replace=False)
        factor[rows] = rng.standard_normal((4, 2))
    truth = torch.asarray(truth[0] @ truth[1].T)
    A = torch.asarray(rng.standard_normal((count, *shape)))
    y = torch.tensordot(A, truth)

    def of_theta(theta):
        return scale * torch.mean((torch.tensordot(A, theta) - y) ** 2)

    def of_factors(U, V):
        return scale * torch.mean((torch.einsum("nij,ir,jr->n", A, U, V) - y) ** 2)

    function = of_theta if of == "theta" else of_factors
    return function, truth, A


@pytest.mark.parametrize("of", ["theta", "factors"])
def test_matrix_sensing_recovers_the_matrix(torch, of):
    """The default of ``minimize``."""
    for seed in range(700_000, 700_002):
        function, truth, _ = sensing(torch, seed, of)
        loss = Custom.from_torch(function, (14, 12), of=of)
        answer = tr.minimize(loss, rank=2, row_sparsity=4, column_sparsity=4)
        assert torch.linalg.norm(answer.factors.theta - truth) < 1e-6 * torch.linalg.norm(truth)
        assert not answer.factors.U.requires_grad


def test_the_largest_curvature_makes_convex_starts_available(torch):
    function, truth, A = sensing(torch, 700_000)
    loss = Custom.from_torch(function, (14, 12), smoothness="hessian")
    expected = 2 * np.linalg.norm(np.asarray(A).reshape(120, -1), 2) ** 2 / 120
    assert expected <= loss.smoothness() <= 1.01 * expected
    answer = tr.minimize(
        loss, rank=2, row_sparsity=4, column_sparsity=4, start=tr.starts.Lasso(penalty=0.05)
    )
    assert torch.linalg.norm(answer.factors.theta - truth) < 1e-6 * torch.linalg.norm(truth)


def test_capabilities_and_prototype(torch):
    function = logistic(torch, "theta")
    loss = Custom.from_torch(function, (6, 5))
    assert loss.capabilities == {"full_gradient"}
    assert loss.prototype.dtype == torch.float64
    known = Custom.from_torch(function, (6, 5), smoothness=1.0)
    assert known.capabilities == {"full_gradient", "smoothness"}
    single = torch.ones(3, dtype=torch.float32)
    loss = Custom.from_torch(lambda theta: torch.sum((theta - 1) ** 2), (6, 5), like=single)
    assert tr.minimize(loss, rank=1).factors.U.dtype == torch.float32


def test_gradients_inside_no_grad(torch):
    with torch.no_grad():
        loss = Custom.from_torch(logistic(torch, "theta"), (6, 5))
        assert tr.minimize(loss, rank=1).value < loss.full_gradient(torch.zeros(6, 5))[0]


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        ("no function", TypeError, "function must be callable, got str"),
        (lambda torch, theta: 3.0, TypeError, "must return a PyTorch tensor.*got float"),
        (lambda torch, theta: theta**2, ValueError, r"one entry.*got shape \(6, 5\)"),
        (
            lambda torch, theta: torch.sum(theta.detach() ** 2),
            ValueError,
            r"does not depend on its arguments.*detach\(\)",
        ),
        (
            lambda torch, theta: torch.sum(torch.sqrt(theta - theta)),
            ValueError,
            "gradient contains NaN or infinity",
        ),
    ],
)
def test_functions_that_cannot_be_used(torch, function, error, message):
    given = (lambda theta: function(torch, theta)) if callable(function) else function
    with pytest.raises(error, match=message):
        Custom.from_torch(given, (6, 5))


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"of": "U"}, ValueError, 'of must be "theta" or "factors", got \'U\''),
        ({"like": np.zeros(3)}, TypeError, "like must be a PyTorch tensor or None, got ndarray"),
        ({"smoothness": "auto"}, ValueError, 'smoothness must be .* "hessian" or None'),
    ],
)
def test_wrong_arguments(torch, keywords, error, message):
    given = {"function": logistic(torch, "theta"), "shape": (6, 5)}
    with pytest.raises(error, match=message):
        Custom.from_torch(**(given | keywords))


def test_integers_are_no_dtype_to_differentiate_in(torch):
    with pytest.raises(TypeError, match="like must have the dtype float32 or float64"):
        Custom.from_torch(torch.sum, (6, 5), like=torch.ones(2, dtype=torch.int64))


def test_what_is_no_function_of_the_matrix_is_refused(torch):
    with pytest.raises(ValueError, match=r"only through U @ V.T"):
        Custom.from_torch(lambda U, V: torch.sum(U**2) + torch.sum(V**2), (6, 5), of="factors")
    with pytest.raises(ValueError, match="must not be random"):
        Custom.from_torch(lambda theta: torch.sum(torch.rand(6, 5) * theta**2), (6, 5))
    with pytest.raises(ValueError, match="does not depend on V"):
        Custom.from_torch(lambda U, V: torch.sum(U**2), (6, 5), of="factors")


def test_another_dtype_in_the_function_is_explained(torch):
    M = torch.ones(6, 5, dtype=torch.float32)
    with pytest.raises(RuntimeError) as caught:
        Custom.from_torch(lambda theta: torch.sum(theta @ M.T), (6, 5))
    (note,) = caught.value.__notes__
    assert "theta is a tensor of dtype torch.float64 on cpu; like= sets both" in note


def test_an_infinite_value_is_an_error_at_zero_only(torch):
    """Elsewhere it means that a step was too long, and a shorter one is tried."""
    loss = Custom.from_torch(lambda theta: -torch.sum(torch.log(torch.abs(theta))), (3, 2))
    with pytest.raises(ValueError, match="finite at a matrix of zeros, got inf"):
        tr.minimize(loss, rank=1)
    target = torch.full((3, 2), 0.5, dtype=torch.float64)
    barrier = Custom.from_torch(
        lambda theta: torch.sum((theta - target) ** 2 - 1e-3 * torch.log(1 - theta)), (3, 2)
    )
    answer = tr.minimize(barrier, rank=1)
    assert answer.status.converged
    assert torch.max(torch.abs(answer.factors.theta - target)) < 0.01


def test_torch_that_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"need torch.*pip install '\.\[torch\]'"):
        Custom.from_torch(lambda theta: theta, (3, 2))
