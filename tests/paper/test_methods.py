"""Marks on cases that can be worked out, and methods on one small draw."""

import numpy as np
import pytest

import thinrank as tr
from thinrank.studies import contestants, descent, simulation, task
from thinrank.studies.closed_form import reduced_rank_regression
from thinrank.studies.judge import judge


@pytest.fixture
def sample():
    return simulation.draw("twoway_strong", 0)


def test_the_truth_is_perfect(sample):
    marks = judge(sample.truth.theta, sample.truth, sample.X)
    assert marks["spectral"] == marks["frobenius"] == 0
    assert marks["prediction"] == marks["same_rows"] == 1
    assert (marks["rows"], marks["columns"], marks["rank"]) == (10, 10, 8)
    assert marks["exact"] is True


def test_zero_has_error_one(sample):
    marks = judge(0 * sample.truth.theta, sample.truth, sample.X)
    assert marks["spectral"] == marks["frobenius"] == 1
    assert marks["prediction"] == pytest.approx((1 + sample.truth.norm() ** 2 / 50) ** 0.5)
    assert (marks["rank"], marks["row_recall"], marks["row_precision"]) == (0, 0, None)
    assert marks["exact"] is False


def test_prediction_error_is_the_expectation(sample):
    rng = np.random.default_rng(0)
    theta = sample.truth.theta + 0.1 * rng.standard_normal(sample.truth.shape)
    marks = judge(theta, sample.truth, sample.X)
    X = rng.standard_normal((20_000, 100))
    residual = X @ (sample.truth.theta - theta) + rng.standard_normal((20_000, 50))
    assert marks["prediction"] == pytest.approx(np.sqrt(np.mean(residual**2)), rel=5e-3)
    fresh = np.concatenate([sample.X] * 200)
    noise = rng.standard_normal((len(fresh), 50))
    residual = fresh @ (sample.truth.theta - theta) + noise
    assert marks["same_rows"] == pytest.approx(np.sqrt(np.mean(residual**2)), rel=5e-3)


def test_supports_are_counted():
    truth = tr.Factors(np.array([[1.0], [1], [0], [0]]), np.array([[1.0], [0], [0]]))
    theta = np.zeros((4, 3))
    theta[1:, :2] = 1.0
    marks = judge(theta, truth, np.eye(4))
    assert (marks["rows"], marks["columns"], marks["rank"]) == (3, 2, 1)
    assert marks["row_precision"] == pytest.approx(1 / 3)
    assert (marks["row_recall"], marks["column_precision"], marks["column_recall"]) == (0.5, 0.5, 1)


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
    best = reduced_rank_regression(X, Y, 2)
    assert np.linalg.matrix_rank(best) == 2
    answer = tr.minimize(tr.losses.LeastSquares(X, Y), rank=2, tol=1e-10, max_iter=50_000)
    assert np.sum((Y - X @ best) ** 2) / 60 == pytest.approx(answer.value, rel=1e-6)


def test_all_names_are_there():
    names = "GDT pursuit DPP TSVD EEA RCGL JRRS MTL oracle null"
    assert tuple(names.split()) == contestants.METHODS


def test_quick_methods_on_one_draw(sample):
    answers = contestants.compete(
        task.simulated_task(sample), ["pursuit", "JRRS", "oracle", "null"]
    )
    marks = {name: judge(a.theta, sample.truth, sample.X) for name, a in answers.items()}
    assert marks["oracle"]["spectral"] < 0.1
    assert marks["pursuit"]["spectral"] < 1.3 * marks["oracle"]["spectral"]
    assert marks["JRRS"]["spectral"] < 0.3
    assert marks["null"]["spectral"] == 1
    assert all(answer.seconds > 0 for answer in answers.values())


def test_methods_do_not_see_the_truth(sample):
    blind = task.simulated_task(sample)
    object.__setattr__(blind, "truth", None)
    answers = contestants.compete(blind, ["pursuit", "MTL"])
    seeing = contestants.compete(task.simulated_task(sample), ["pursuit", "MTL"])
    for name, answer in answers.items():
        np.testing.assert_array_equal(answer.theta, seeing[name].theta)
    with pytest.raises(ValueError, match="needs the truth"):
        contestants.oracle(blind)


def test_sizes_are_searched_in_turn(sample):
    setting = task.simulated_task(sample)
    asked = []

    def held_out(sizes):
        asked.append(sizes)
        return abs(sizes[1] - 9) + abs(sizes[2] - 14) + abs(sizes[0] - 8)

    best = descent.choose_sizes(held_out, setting)
    assert best[1:] == (9, 14)
    assert len(asked) == len(set(asked)) < 40


def test_descent_centres(rng):
    X, Y, truth = tr.datasets.make_two_way_sparse(60, 12, 6, 2, 4, 4, noise=0.01, random_state=1)
    theta, intercept = descent.Descent(X + 5, Y - 3, intercept=True).fit((2, 4, 4))
    np.testing.assert_allclose(theta, truth.theta, atol=0.02)
    np.testing.assert_allclose(intercept, -3 - 5 * theta.sum(axis=0), atol=0.02)
