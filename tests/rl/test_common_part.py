"""The default regressor: its fits against other solvers, its rows, and what it learns from logs."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from small_tasks import LinearFamily

from thinrank.rl import CommonPart, Identity, MultiTaskFQI, Transitions

INF = float("inf")


def problem(seed=0, tasks=4, features=5, n=30):
    """X in standard units and y of every task."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((tasks, n, features))
    X = (X - X.mean(axis=(0, 1))) / X.std(axis=(0, 1))
    return X, 2 + X @ rng.standard_normal(features) + 0.5 * rng.standard_normal((tasks, n))


def learned(X, y, **settings):
    """Intercepts and coefficients after one iteration of one action: those of a regression."""
    k, n, _ = X.shape
    log = [Transitions(X[t], np.zeros(n, int), y[t], X[t], np.ones(n, bool)) for t in range(k)]
    given = CommonPart(row_sparsity=None, **settings)
    fqi = MultiTaskFQI(Identity(), 1, 0.5, given, n_iterations=1).fit_batch(log)
    return np.concatenate([np.reshape(fqi.intercept_, (1, k)), fqi.theta_]).T


def test_a_common_part_and_deviations_solve_the_whole_system():
    X, y = problem()
    k, n, p = X.shape
    alpha, beta = 0.2, 0.1
    rows = np.concatenate([np.ones((k, n, 1)), X], axis=2)
    wide = np.zeros((k * n, (k + 1) * (p + 1)))
    wide[:, : p + 1] = rows.reshape(k * n, p + 1)
    for t in range(k):
        wide[t * n : (t + 1) * n, (t + 1) * (p + 1) : (t + 2) * (p + 1)] = rows[t]
    penalty = np.full((k + 1) * (p + 1), n * beta)
    penalty[: p + 1] = n * alpha
    penalty[0] = 0.0
    solved = np.linalg.solve(wide.T @ wide + np.diag(penalty), wide.T @ y.ravel())
    common, deviations = solved[: p + 1], solved[p + 1 :].reshape(k, p + 1)
    found = learned(X, y, rank=None, ridge=beta, common_ridge=alpha)
    np.testing.assert_allclose(found, common + deviations, atol=1e-6)
    # deviations of low rank are nearly as good
    low = learned(X, y, rank=3, ridge=beta, common_ridge=alpha)
    errors = [np.sum((y - np.einsum("tni,ti->tn", rows, theta)) ** 2) for theta in (found, low)]
    assert errors[1] < 1.1 * errors[0]


def test_the_ends_are_pooled_and_separate_ridges():
    X, y = problem()
    k, n, p = X.shape
    pooled = Ridge(0.2 * n).fit(X.reshape(k * n, p), y.ravel())
    expected = np.append(pooled.intercept_, pooled.coef_)
    found = learned(X, y, rank=0, ridge=INF, common_ridge=0.2)
    np.testing.assert_allclose(found, np.tile(expected, (k, 1)), atol=1e-6)
    separate = learned(X, y, rank=None, ridge=1e-9, common_ridge=INF)
    for t in range(k):
        own = Ridge(1e-9).fit(X[t], y[t])
        np.testing.assert_allclose(separate[t], np.append(own.intercept_, own.coef_), atol=1e-5)


class Line:
    """A walk on [−1, 1] to a goal at one end, with noise features beside the position."""

    def __init__(self, goal, mirrored=False):
        self.goal, self.mirrored = goal, mirrored

    def log(self, episodes, seed, noise=20):
        rng = np.random.default_rng(seed)
        parts = []
        for number in range(episodes):
            state = np.append(rng.uniform(-0.9, 0.9), rng.standard_normal(noise))
            for _ in range(12):
                action = int(rng.integers(2))
                step = 0.2 if (action == 1) != self.mirrored else -0.2
                place = np.clip(state[0] + step + 0.02 * rng.standard_normal(), -1, 1)
                after = np.append(place, rng.standard_normal(noise))
                ended = bool(abs(place - self.goal) < 0.15)
                parts.append((state, action, float(ended), after, ended, number))
                state = after
                if ended:
                    break
        columns = [np.array(part) for part in zip(*parts, strict=True)]
        return Transitions(*columns[:5], episodes=columns[5])


def features(states):
    x = states[:, :1]
    return np.concatenate([x, x**2, x**3, np.sin(3 * x), np.cos(3 * x), states[:, 1:]], axis=1)


def test_tasks_that_differ_are_told_apart_and_noise_is_left_out():
    """Goals on either side: one policy for all of them is wrong in half of the tasks."""
    tasks = [Line(goal) for goal in (-1.0, 1.0) * 3]
    log = [task.log(12, seed) for seed, task in enumerate(tasks)]
    fqi = MultiTaskFQI(features, 2, 0.9, n_iterations=15).fit_batch(log)
    assert fqi.best_params_["rank"] != 0
    assert np.mean(fqi.factors_.row_support % 25 >= 5) <= 0.1
    line = np.zeros((7, 21))
    line[:, 0] = np.linspace(-0.6, 0.6, 7)
    for number, task in enumerate(tasks):
        assert set(fqi.policy(number)(line)) == {int(task.goal > 0)}


def test_tasks_that_are_alike_are_pooled():
    log = [Line(1.0).log(6, seed) for seed in range(5)]
    fqi = MultiTaskFQI(features, 2, 0.9, n_iterations=10).fit_batch(log)
    asked = MultiTaskFQI(features, 2, 0.9, pooled=True, n_iterations=10).fit_batch(log)
    assert asked.best_params_["rank"] == 0
    assert asked.factors_.rank == 1
    np.testing.assert_allclose(asked.theta_, asked.theta_[:, :1] @ np.ones((1, 5)))
    line = np.zeros((50, 21))
    line[:, 0] = np.linspace(-0.9, 0.8, 50)
    same = asked.q_values(0, line)
    for task in range(5):  # deviations are small, if there are any
        assert np.abs(fqi.q_values(task, line) - same).max() < 0.25 * np.ptp(same)


def test_common_states_keep_to_the_active_features():
    family = LinearFamily(tasks=6, states=200, features=40)
    fqi = MultiTaskFQI(family.features, 2, 0.5, n_iterations=8).fit(family.tasks, np.arange(200))
    used = np.unique(fqi.factors_.row_support % 40)
    assert np.mean(~np.isin(used, family.active)) <= 0.34
    errors = [
        fqi.q_values(i, np.arange(200)) - table.optimum(0.5)[-1]
        for i, table in enumerate(family.tasks)
    ]
    assert np.sqrt(np.mean(np.square(errors))) < 0.1


def test_constant_rewards_are_learned():
    """The first targets are constants, which leave no residuals to test."""
    logs = [Line(1.0).log(6, seed) for seed in range(3)]
    costs = [
        Transitions(
            log.states, log.actions, np.full(len(log), -1.0), log.next_states, log.terminated
        )
        for log in logs
    ]
    fqi = MultiTaskFQI(features, 2, 0.9, n_iterations=6).fit_batch(costs)
    line = np.zeros((2, 21))
    line[:, 0] = -0.5, 0.7
    far, near = fqi.q_values(0, line).max(axis=1)
    assert far < near < 0


def test_given_sizes():
    log = [Line(goal).log(6, seed) for seed, goal in enumerate((-1.0, 1.0, 1.0))]
    given = CommonPart(rank=1, row_sparsity=8, ridge=0.1, common_ridge=0.01)
    fqi = MultiTaskFQI(features, 2, 0.9, given, n_iterations=3).fit_batch(log)
    assert fqi.best_params_ == {
        "rank": 1,
        "row_sparsity": 8,
        "ridge": 0.1,
        "common_ridge": 0.01,
    }
    assert len(fqi.factors_.row_support) == 8
    assert fqi.factors_.rank == 2  # the common part and one deviation


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rank": -1}, 'rank must be an integer of at least 0, "auto" or None, got -1'),
        ({"row_sparsity": 0}, "row_sparsity must be an integer of at least 1"),
        ({"ridge": 0.0}, "ridge must be a positive number"),
        ({"ridge": INF, "common_ridge": INF}, "must not both be infinite"),
        ({"noise_level": 1.0}, "noise_level must be between 0 and 1"),
        ({"cv": 1}, "cv must be an integer of at least 2"),
    ],
)
def test_parameters_are_checked(wrong, message):
    with pytest.raises(ValueError, match=message):
        MultiTaskFQI(features, 2, 0.9, CommonPart(**wrong)).fit_batch([Line(1.0).log(2, 0)])
