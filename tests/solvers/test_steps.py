"""Step-size rules."""

import numpy as np
import pytest

import thinrank as tr
from thinrank import Factors
from thinrank.losses import Denoising, LeastSquares
from thinrank.solvers import GDT, Constant, Safeguarded, Theory


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ("auto", Safeguarded()),
        ("backtracking", Safeguarded(growth=2.0)),
        ("theory", Theory()),
        (0.25, Constant(0.25)),
        (np.float32(0.5), Constant(0.5)),
        (np.int64(2), Constant(2.0)),
        (Safeguarded(growth=1.1), Safeguarded(growth=1.1)),
    ],
)
def test_step_rules_by_name(given, rule):
    assert GDT(step=given).step_rule == rule


@pytest.mark.parametrize("given", ["fast", None, True, [0.1]])
def test_unknown_steps_are_refused(given):
    with pytest.raises(ValueError, match='step must be "auto", "theory", "backtracking" or a pos'):
        GDT(step=given)


@pytest.mark.parametrize("given", [0, -1.0, float("inf"), float("nan")])
def test_steps_are_positive(given):
    with pytest.raises(ValueError, match=f"step must be positive and finite, got {given!r}"):
        GDT(step=given)


def sparse_point(library):
    rng = np.random.default_rng(1)
    U, V = rng.standard_normal((8, 2)), rng.standard_normal((5, 2))
    U[[0, 3, 6]] = 0
    return U, V, Factors(library.array(U), library.array(V))


@pytest.mark.parametrize("scale", [0.01, 10.0])
def test_theory_is_the_formula(library, scale):
    rng = np.random.default_rng(0)
    X, Y = scale * rng.standard_normal((20, 8)), rng.standard_normal((20, 5))
    U, V, factors = sparse_point(library)
    active = X[:, [1, 2, 4, 5, 7]]
    values = np.linalg.eigvalsh(active.T @ active / 20)
    spectral = np.linalg.norm(np.vstack([U, V]), 2) ** 2
    expected = 1 / (16 * spectral) * min(1 / (2 * (values[0] + values[-1])), 1)
    loss = LeastSquares(library.array(X), library.array(Y))
    rule = Theory()
    step = rule.first(loss, factors, 1.0)
    assert type(step) is float
    assert step == pytest.approx(expected, rel=1e-8)
    assert rule.longer(step) == step


def problem(kind, seed):
    """A loss and a rough start of it."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((30, 20)), rng.standard_normal((30, 10))
    start = Factors(rng.standard_normal((20, 3)), rng.standard_normal((10, 3)))
    if kind == "columns in all units":
        X = X * 10 ** rng.uniform(-3, 3, 20)
    elif kind == "large responses":
        Y = 1e4 * Y
    elif kind == "collinear":
        X = X[:, :1] + 1e-3 * X
    elif kind == "far start":
        start = Factors(1e3 * start.U, 1e3 * start.V)
    elif kind == "tiny start":
        start = Factors(1e-4 * start.U, 1e-4 * start.V)
    elif kind == "denoising":
        return Denoising(10 * rng.standard_normal((20, 10)), ridge=0.1), start
    return LeastSquares(X, Y), start


PROBLEMS = [
    "plain",
    "columns in all units",
    "large responses",
    "collinear",
    "far start",
    "tiny start",
    "denoising",
]


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize(("update", "growth"), [("simultaneous", 1.02), ("sequential", 2.0)])
def test_safeguarded_never_lets_the_objective_rise(kind, update, growth):
    """Without a penalty of imbalance, which the history does not show."""
    loss, start = problem(kind, 0)
    solver = GDT(step=Safeguarded(growth=growth), update=update, balance=0.0, max_iter=60, tol=0)
    sizes = {"rank": 2, "row_sparsity": 6, "column_sparsity": 4}
    values = tr.minimize(loss, **sizes, start=start, solver=solver).history.objectives
    slack = 1e4 * np.finfo(float).eps * max(loss.magnitude, values[0])
    assert np.all(np.diff(values) <= slack)
    assert values[-1] < values[0]
    assert np.isfinite(values[-1])
