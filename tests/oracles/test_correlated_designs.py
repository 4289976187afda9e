"""Pursuit from its default start where predictors are correlated, badly scaled or grouped."""

import numpy as np
import pytest

import thinrank as tr

# correlation, signal, largest mean relative Frobenius error allowed
CEILINGS = [
    (0.0, 1.0, 0.064),
    (0.5, 1.0, 0.064),
    (0.8, 1.0, 0.076),
    (0.95, 1.0, 0.135),
    (0.0, 0.3, 0.212),
    (0.5, 0.3, 0.22),
    (0.8, 0.3, 0.285),
    (0.95, 0.3, 0.57),
]


@pytest.mark.parametrize(
    ("correlation", "signal", "ceiling", "problems"),
    [
        *((*CEILINGS[i], 3) for i in (3, 6)),
        *(pytest.param(*each, 10, marks=pytest.mark.slow) for each in CEILINGS),
    ],
)
def test_autoregressive_designs(correlation, signal, ceiling, problems):
    errors = []
    for seed in range(problems):
        X, Y, truth = tr.datasets.make_two_way_sparse(
            100, 400, 60, 4, 12, 12, signal=signal, correlation=correlation, random_state=seed
        )
        est = tr.SparseReducedRankRegressor(4, 15, 15, solver="pursuit").fit(X, Y)
        theta = truth.theta
        errors.append(np.linalg.norm(est.factors_.theta - theta) / np.linalg.norm(theta))
    print(f"ρ={correlation} signal={signal}: {np.mean(errors):.4f} (at most {ceiling})")
    assert np.mean(errors) <= ceiling


def test_groups_of_correlated_predictors():
    """Ten groups of ten predictors, correlation 0.9 within a group, one active in each."""
    errors = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = np.sqrt(0.9) * np.repeat(rng.standard_normal((100, 10)), 10, axis=1)
        X += np.sqrt(0.1) * rng.standard_normal((100, 100))
        theta = np.zeros((100, 20))
        theta[::10] = rng.standard_normal((10, 3)) @ rng.standard_normal((3, 20))
        Y = X @ theta + rng.standard_normal((100, 20))
        est = tr.SparseReducedRankRegressor(3, 12, None, solver="pursuit").fit(X, Y)
        errors.append(np.linalg.norm(est.factors_.theta - theta) / np.linalg.norm(theta))
    assert np.mean(errors) < 0.25


@pytest.mark.parametrize("solver", ["pursuit", "gdt"])
def test_norwegian_paper(solver):
    paper = tr.datasets.load_norwegian_paper(as_frame=False)
    X, Y, names = paper.data, paper.target, paper.feature_names
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    scale = X.std(axis=0)  # responses stay in their units, in which the minimum is known
    X = X / scale
    est = tr.SparseReducedRankRegressor(3, 6, None, solver=solver, standardize=False).fit(X, Y)
    assert np.sum((Y - est.predict(X)) ** 2) == pytest.approx(195.962, abs=1e-3)
    discarded = set(names) - {names[i] for i in est.row_support_}
    assert discarded == {"X1^2", "X1*X2", "X2*X3"}
