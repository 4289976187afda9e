"""The default regressor: its fits against other solvers, its rows, and what it learns from logs."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from small_tasks import LinearFamily

import thinrank as tr
from thinrank.rl import CommonPart, MultiTaskFQI, Transitions, size_choice
from thinrank.rl.common_part import AnyRank, LowRank, Setting
from thinrank.rl.row_tests import select_rows
from thinrank.rl.rows import Rows
from thinrank.rl.size_choice import best_setting, choose_setting
from thinrank.rl.task_rows import TaskRows

INF = float("inf")


def problem(seed=0, tasks=4, features=5, n=30):
    """X with a constant first column and y of every task."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((tasks, n, features + 1))
    X[:, :, 0] = 1.0
    y = X @ rng.standard_normal(features + 1) + rng.standard_normal((tasks, n))
    return X, y


def moments(X, y):
    return [X.transpose(0, 2, 1) @ X], [np.einsum("tni,tn->ti", X, y)]


def loss(X, y, c, D, alpha, beta):
    errors = y - np.einsum("tni,ti->tn", X, c + D)
    return np.sum(errors**2) + alpha * np.sum(c[1:] ** 2) + beta * np.sum(D**2)


def test_any_rank_solves_the_whole_system():
    X, y = problem()
    k, n, q = X.shape
    alpha, beta = 2.0, 3.0
    grams, products = moments(X, y)
    (c,), (D,) = AnyRank(grams, k, alpha, beta).solve(products)
    wide = np.zeros((k * n, (k + 1) * q))
    for t in range(k):
        wide[t * n : (t + 1) * n, :q] = X[t]
        wide[t * n : (t + 1) * n, (t + 1) * q : (t + 2) * q] = X[t]
    penalty = np.full((k + 1) * q, beta)
    penalty[:q] = alpha
    penalty[0] = 0.0
    expected = np.linalg.solve(wide.T @ wide + np.diag(penalty), wide.T @ y.ravel())
    np.testing.assert_allclose(np.append(c, D.ravel()), expected, atol=1e-6)


def test_the_ends_are_pooled_and_separate_ridges():
    X, y = problem()
    k, n, q = X.shape
    grams, products = moments(X, y)
    (c,), (D,) = AnyRank(grams, k, 2.0, INF).solve(products)
    pooled = Ridge(2.0).fit(X.reshape(k * n, q)[:, 1:], y.ravel())
    np.testing.assert_allclose(c, np.append(pooled.intercept_, pooled.coef_), atol=1e-6)
    assert not D.any()
    (c,), (D,) = AnyRank(grams, k, INF, 3.0).solve(products)
    assert not c[1:].any()
    centred = y - c[0]
    own = [Ridge(3.0, fit_intercept=False).fit(X[t], centred[t]).coef_ for t in range(k)]
    np.testing.assert_allclose(D, own, atol=1e-6)


@pytest.mark.parametrize("alpha", [2.0, INF])
def test_low_rank_reaches_the_loss_of_any_rank_and_never_increases(alpha):
    X, y = problem(tasks=5)
    k = len(X)
    grams, products = moments(X, y)
    counted = 0.0 if alpha == INF else alpha
    solver = LowRank(grams, k, alpha, 3.0)
    V = np.random.default_rng(1).standard_normal((k, 2))
    values = []
    for sweeps in range(6):
        (c,), (U,), fitted = solver.solve(products, V, sweeps, tol=0.0)
        values.append(loss(X, y, c, fitted @ U.T, counted, 3.0))
    assert np.all(np.diff(values) <= 1e-8)
    assert values[-1] < values[0]
    (c,), (D,) = AnyRank(grams, k, alpha, 3.0).solve(products)
    (low,), (U,), fitted = LowRank(grams, k, alpha, 3.0).solve(products, np.eye(k), 3)
    np.testing.assert_allclose(
        loss(X, y, low, fitted @ U.T, counted, 3.0), loss(X, y, c, D, counted, 3.0)
    )


def test_rows_are_those_that_matter():
    """Three features of forty; one of them has effects that cancel over the tasks."""
    rng = np.random.default_rng(0)
    n, tasks = 600, 6
    owner, actions = np.arange(n) % tasks, np.arange(n) // tasks % 2
    phi = rng.standard_normal((n, 40))
    signs = np.where(owner % 2, 1.0, -1.0)
    y = phi[:, 3] - phi[:, 17] + signs * phi[:, 30] + rng.standard_normal(n)
    order = np.argsort(actions, kind="stable")
    blocks = [phi[actions == a] for a in (0, 1)]
    rows = TaskRows(Rows(blocks, tasks, owner[order]), 3, 0)
    parts = rows.by_action(y[order])
    columns = rows.columns([np.arange(41)] * 2)
    products = [c.products(part) for c, part in zip(columns, parts, strict=True)]
    squares = [a.squares(part) for a, part in zip(rows.actions, parts, strict=True)]
    found = select_rows(rows, products, squares, 0.1, None)
    assert [index.tolist() for index in found] == [[0, 4, 18, 31]] * 2
    assert len(select_rows(rows, products, squares, INF, 10)[0]) == 6  # five features, two actions


def test_folds_hold_out_whole_episodes():
    episodes = np.repeat(np.arange(30), 7)
    owner = np.repeat(np.arange(3), 70)
    rows = Rows([np.zeros((100, 2)), np.zeros((110, 2))], 3, owner, episodes)
    label = rows.fold_labels(5, seed=1)
    for episode in range(30):
        assert len(set(label[episodes == episode])) == 1
    for task in range(3):
        assert np.bincount(label[owner == task], minlength=5).tolist() == [14] * 5


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


def test_nearly_equal_errors_are_decided_by_the_penalty_of_the_common_part():
    """Its bias adds up over the iterations; rank and β are those of the smallest error."""
    errors = {Setting(0, 0.1, INF): 1.0, Setting(0, 0.01, INF): 1.04, Setting(0, 1e-3, INF): 1.2}
    assert best_setting(errors) == Setting(0, 0.01, INF)
    other = {Setting(1, 1e-3, 10.0): 1.01, Setting(None, 1e-3, 1.0): INF}
    assert best_setting(errors | other) == Setting(0, 0.01, INF)
    assert best_setting(errors | {Setting(1, 0.01, 10.0): 0.99}) == Setting(1, 0.01, 10.0)
    assert best_setting({Setting(0, 0.1, INF): INF}).rank == 0


def chosen(monkeypatch, error):
    """Setting and number of columns chosen if ``error(all_features, setting)`` were measured."""

    class Known(size_choice._Trials):
        def _trial(self, setting):
            return []

        def _held_out(self, setting, several):
            return [(error(len(self._used[0]) > 2, setting), 1.0) for _ in several]

    monkeypatch.setattr(size_choice, "_Trials", Known)
    owner = np.arange(40) % 4
    blocks = [np.random.default_rng(0).standard_normal((20, 5)) for _ in (0, 1)]
    rows = TaskRows(Rows(blocks, 4, owner), 3, 0)
    free = {"ranks": (0, 1, 2, None), "alphas": None, "betas": None, "every_row": True}
    setting, used = choose_setting(rows, None, [np.arange(2)] * 2, (None, None), **free)
    return setting, len(used[0])


def test_all_features_are_used_only_if_they_lower_the_error_clearly(monkeypatch):
    """An error that is smaller by a few percent is no reason to use three times as many columns."""

    def error(gain):
        return lambda every, s: (
            (1 + (s.rank != 1) + abs(np.log10(s.alpha))) * (gain if every else 1.0)
        )

    assert chosen(monkeypatch, error(1.01))[1] == 2
    assert chosen(monkeypatch, error(0.94))[1] == 2
    assert chosen(monkeypatch, error(0.8))[1] == 6


def test_features_are_compared_by_their_smallest_errors(monkeypatch):
    """The smaller α, which is used, has a larger error; it must not count against the features."""

    def error(every, s):
        if s.alpha == 0.3 and s.rank == 1:
            return 0.98 if every else 1.04
        if s.alpha == 1.0 and s.rank == 1:
            return 0.94 if every else 1.0
        return 2.0 + abs(np.log10(s.alpha))

    setting, columns = chosen(monkeypatch, error)
    assert (setting.rank, setting.alpha, columns) == (1, 0.3, 2)


def test_a_setting_that_only_one_search_finds_does_not_decide_between_features(monkeypatch):
    """The search with all features begins at the best of the others, and can go further."""
    found = Setting(1, 1.0, 0.1)

    def error(every, s):
        if s == found:
            return 0.5
        if s.rank == 0:
            return 2.0 + abs(np.log10(s.alpha) - 0.5)
        if s.rank == 1 and s.beta == 1.0:
            return (0.99 if every else 1.0) + abs(np.log10(s.alpha))
        return 3.0

    seen = []
    setting, columns = chosen(
        monkeypatch, lambda every, s: seen.append((every, s)) or error(every, s)
    )
    assert columns == 2
    assert setting == Setting(1, 1.0, 1.0)  # as if all features had not been tried
    first = seen.index((False, found))
    assert seen.index((True, found)) < first  # the other search found it


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


def test_alternating_least_squares_finish_fits_to_logs():
    """On the rows of the last fit, no gradient is left; GDT alone takes thousands of steps."""
    log = Transitions.of_tasks(
        [Line(goal).log(10, seed) for seed, goal in enumerate((-1.0, 1.0) * 2)]
    )
    literal = {"standardize": False, "fit_intercept": False}
    sizes = tr.SparseReducedRankRegressor(2, 6, None, solver="gdt", ridge=0.01, **literal)
    fqi = MultiTaskFQI(features, 2, 0.9, sizes, n_iterations=1).fit_batch(log)
    found = fqi.factors_
    phi = features(log.states)
    X = np.concatenate([phi * (log.actions == a)[:, None] for a in (0, 1)], axis=1)
    loss = tr.losses.PerTask(X, log.rewards, log.tasks, ridge=0.01)
    value, by_rows, by_tasks = loss.value_and_gradient(found)
    assert value > 0
    assert np.abs(by_rows[found.row_support]).max() < 1e-3 * value
    assert np.abs(by_tasks).max() < 1e-3 * value
