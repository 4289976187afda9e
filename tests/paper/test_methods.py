"""The simulated settings, and methods on one small draw."""

import numpy as np
import pytest

import thinrank as tr
from thinrank.paper import gdt, methods, simulation
from thinrank.solvers.reduced_rank import reduced_rank_regression
from thinrank.studies.judge import score_coefficients


@pytest.fixture
def sample():
    return simulation.draw("twoway_strong", 0)


@pytest.mark.parametrize("distribution", simulation.DISTRIBUTIONS)
def test_errors_have_unit_variance(distribution):
    errors = simulation.errors(np.random.default_rng(0), (400, 1000), distribution)
    assert abs(errors.mean()) < 0.01
    assert errors.var() == pytest.approx(1, abs=0.05)


def test_unknown_distribution():
    with pytest.raises(ValueError, match="distribution must be one of"):
        simulation.errors(np.random.default_rng(0), (2, 2), "cauchy")


def test_draws_differ_in_their_errors_alone():
    one, other = (simulation.draw("row_weak", 3, name) for name in ("normal", "uniform"))
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.truth.theta, other.truth.theta)
    assert one.columns_free
    assert not np.allclose(one.Y, other.Y)


def test_closed_form_has_the_rank_and_no_better_neighbour(rng):
    X, Y = rng.standard_normal((30, 6)), rng.standard_normal((30, 5))
    best = reduced_rank_regression(X, Y, 2).theta
    assert np.linalg.matrix_rank(best) == 2
    answer = tr.minimize(tr.losses.LeastSquares(X, Y), rank=2, tol=1e-10, max_iter=50_000)
    assert np.sum((Y - X @ best) ** 2) / 60 == pytest.approx(answer.value, rel=1e-6)


def test_quick_methods_on_one_draw(sample):
    answers = methods.fit_methods(
        simulation.simulated_task(sample), ["pursuit", "JRRS", "oracle", "null"]
    )
    scores = {
        name: score_coefficients(a.theta, sample.truth, sample.X) for name, a in answers.items()
    }
    assert scores["oracle"]["spectral"] < 0.1
    assert scores["pursuit"]["spectral"] < 1.3 * scores["oracle"]["spectral"]
    assert scores["JRRS"]["spectral"] < 0.3
    assert scores["null"]["spectral"] == 1
    assert all(answer.seconds > 0 for answer in answers.values())


def test_methods_do_not_see_the_truth(sample):
    blind = simulation.simulated_task(sample)
    object.__setattr__(blind, "truth", None)
    answers = methods.fit_methods(blind, ["pursuit", "MTL"])
    seeing = methods.fit_methods(simulation.simulated_task(sample), ["pursuit", "MTL"])
    for name, answer in answers.items():
        np.testing.assert_array_equal(answer.theta, seeing[name].theta)
    with pytest.raises(ValueError, match="needs the true coefficients"):
        methods.oracle(blind)


def test_sizes_are_searched_in_turn(sample):
    setting = simulation.simulated_task(sample)
    asked = []

    def held_out(sizes):
        asked.append(sizes)
        return abs(sizes[1] - 9) + abs(sizes[2] - 14) + abs(sizes[0] - 8)

    best = gdt.choose_sizes(held_out, setting)
    assert best[1:] == (9, 14)
    assert len(asked) == len(set(asked)) < 40


def test_gdt_centres(rng):
    X, Y, truth = tr.datasets.make_two_way_sparse(60, 12, 6, 2, 4, 4, noise=0.01, random_state=1)
    theta, intercept = gdt.FixedDataGDT(X + 5, Y - 3, intercept=True).fit((2, 4, 4))
    np.testing.assert_allclose(theta, truth.theta, atol=0.02)
    np.testing.assert_allclose(intercept, -3 - 5 * theta.sum(axis=0), atol=0.02)
