"""Every loss × solver × step rule × array library through minimize."""

from functools import cache

import numpy as np
import pytest

import thinrank as tr
from thinrank.losses import Custom, Denoising, GeneralizedLinear, LeastSquares, PerTask
from thinrank.losses.families import Bernoulli, Gaussian
from thinrank.solvers import GDT

RANK, ROWS, COLUMNS = 2, 5, 4
ITERATIONS = 4


@cache
def data():
    X, Y, truth = tr.datasets.make_two_way_sparse(
        n_samples=30, n_features=15, n_targets=9, rank=2, row_sparsity=4, column_sparsity=3
    )
    rng = np.random.default_rng(0)
    M = truth.theta + 0.1 * rng.standard_normal(truth.shape)
    return X, Y, rng.integers(0, 3, len(X)), M, rng.uniform(0.5, 1.5, M.shape)


def weighted_denoising(library, dtype):
    """A loss of the user: every entry with its own weight."""
    _, _, _, M, W = data()
    M, W = library.array(M, dtype), library.array(W, dtype)

    def full_gradient(theta):
        residual = W * (theta - M)
        return 0.5 * library.xp.sum(residual * (theta - M)), residual

    def value_and_gradient(factors):
        value, full = full_gradient(factors.theta)
        return value, full @ factors.V, full.T @ factors.U

    return Custom(
        value_and_gradient,
        (M.shape[0], M.shape[1]),
        full_gradient=full_gradient,
        smoothness=1.5,
        like=M,
    )


def observed():
    """Which entries of Y are observed."""
    return np.random.default_rng(1).uniform(size=data()[1].shape) > 0.2


LOSSES = {
    "direct": lambda X, Y, weight, M: LeastSquares(X, Y, form="direct"),
    "gram": lambda X, Y, weight, M: LeastSquares(X, Y, form="gram"),
    "weights and ridge": lambda X, Y, weight, M: LeastSquares(
        X, Y, sample_weight=weight, ridge=0.1
    ),
    "denoising": lambda X, Y, weight, M: Denoising(M),
    "per task": lambda X, Y, weight, M: PerTask(X, Y[:, 0], [i % 9 for i in range(len(data()[0]))]),
    "missing entries": lambda X, Y, weight, M: GeneralizedLinear(
        X, Y, Gaussian(), entry_weight=1.0 * observed(), ridge=0.1
    ),
    "binary": lambda X, Y, weight, M: GeneralizedLinear(
        X, (np.asarray(data()[1]) > 0) * 1.0, Bernoulli(), sample_weight=weight, ridge=0.1
    ),
    "custom": None,
}

NAMED = {
    cls.name: cls
    for cls in (getattr(tr.solvers, name) for name in tr.solvers.__all__)
    if hasattr(cls, "sized")
}
# a new solver takes part without any change here
SOLVERS = [{"solver": name} for name in NAMED if name != "gdt"] + [
    {"solver": "gdt", "step": step, "update": update}
    for update, step in (
        ("simultaneous", "auto"),
        ("simultaneous", "theory"),
        ("sequential", "backtracking"),
        ("sequential", 0.005),
    )
]


def loss_of(kind, library, dtype):
    if kind == "custom":
        return weighted_denoising(library, dtype)
    X, Y, weight, M, _ = data()
    return LOSSES[kind](*(library.array(x, dtype) for x in (X, Y, weight, M)))


def solver_of(settings):
    if settings["solver"] != "gdt":
        return settings["solver"]
    options = {"max_iter": ITERATIONS, "tol": 0} | settings
    return GDT(**{name: value for name, value in options.items() if name != "solver"})


def solve(kind, library, dtype, settings):
    return tr.minimize(
        loss_of(kind, library, dtype),
        rank=RANK,
        row_sparsity=ROWS,
        column_sparsity=COLUMNS,
        solver=solver_of(settings),
    )


@pytest.fixture(scope="module")
def references():
    """Answers of NumPy in float64, by loss and settings: each is computed once."""
    return {}


@pytest.fixture
def reference(references, numpy_library):
    def look_up(kind, settings):
        key = (kind, *settings.items())
        if key not in references:
            references[key] = solve(kind, numpy_library, "float64", settings)
        return references[key]

    return look_up


@pytest.mark.parametrize("settings", SOLVERS, ids=lambda s: "-".join(map(str, s.values())))
@pytest.mark.parametrize("kind", LOSSES)
def test_contract(library, reference, dtype, kind, settings):
    needed = {"curvature"} if settings.get("step") == "theory" else NAMED[settings["solver"]].needs
    missing = needed - loss_of(kind, library, dtype).capabilities
    if missing:
        with pytest.raises(TypeError, match=f"needs a loss with the capability '{min(missing)}'"):
            solve(kind, library, dtype, settings)
        return
    answer = solve(kind, library, dtype, settings)
    factors = answer.factors
    library.check(factors.U, factors.V, dtype=dtype)
    assert factors.rank <= RANK
    assert factors.row_support.shape[0] <= ROWS
    assert factors.column_support.shape[0] <= COLUMNS
    assert type(answer.value) is float
    assert np.isfinite(answer.value)
    assert answer.n_iter == len(answer.history)
    assert answer.value == pytest.approx(answer.history.objectives[-1])
    for factor in (factors.U, factors.V):
        assert np.all(np.isfinite(library.numpy(factor)))
    # the value is that of the factors that come back, and the same on every library
    value = loss_of(kind, library, dtype).value_and_gradient(factors)[0]
    assert value == pytest.approx(answer.value, rel=1e-4 if dtype == "float32" else 1e-7)
    expected = reference(kind, settings).value
    assert answer.value == pytest.approx(expected, rel=1e-2 if dtype == "float32" else 1e-6)
