"""Fitted Q-iteration with generative models."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, LinearRegression, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV
from small_tasks import LinearFamily, Table, random_table

import thinrank as tr
from thinrank.rl import MultiTaskFQI, Tabular

LITERAL = {"standardize": False, "fit_intercept": False}


def exact(rank=1, **options):
    return tr.SparseReducedRankRegressor(rank, None, None, **LITERAL, **options)


REGRESSORS = {
    "pursuit": exact(),
    "gdt": exact(solver="gdt", tol=1e-8),
    "scikit-learn": LinearRegression(fit_intercept=False),
    "baseline": tr.baselines.MultiTaskGroupLasso(penalty=0.0, **LITERAL),
}


@pytest.mark.parametrize(
    ("name", "expectation"), [("pursuit", False), *((name, True) for name in REGRESSORS)]
)
def test_one_tabular_task_is_value_iteration(name, expectation):
    task = random_table(1, deterministic=not expectation)
    fqi = MultiTaskFQI(
        Tabular(8), 3, 0.7, REGRESSORS[name], n_iterations=6, expectation=expectation
    ).fit([task], np.arange(8))
    path = task.optimum(0.7)
    np.testing.assert_allclose(fqi.q_values(0, np.arange(8)), path[5], atol=1e-4)
    np.testing.assert_array_equal(fqi.policy(0)(np.arange(8)), path[5].argmax(axis=1))
    assert fqi.n_iterations_ == len(fqi.history_) == 6


def test_exact_updates_converge_at_the_rate_of_the_discount():
    family, gamma, steps = LinearFamily(), 0.8, 20
    fqi = MultiTaskFQI(
        family.features, 2, gamma, exact(rank=4), n_iterations=steps, expectation=True
    ).fit(family.tasks, np.arange(60))
    for task, table in enumerate(family.tasks):
        path = table.optimum(gamma)
        everywhere = fqi.q_values(task, np.arange(60))
        np.testing.assert_allclose(everywhere, path[steps - 1], atol=1e-6)  # exact value iteration
        assert np.abs(everywhere - path[-1]).max() <= gamma**steps / (1 - gamma)
    changes = np.array(fqi.history_.changes)
    rates = changes[1:] / changes[:-1]
    np.testing.assert_allclose(rates[5:], gamma, rtol=1e-3)
    used = np.unique(fqi.factors_.row_support % 12)
    assert set(family.active) <= set(used.tolist())


def test_sparse_regression_keeps_to_the_active_features():
    family = LinearFamily(tasks=6)
    est = tr.SparseReducedRankRegressor(3, 6, None, **LITERAL)
    fqi = MultiTaskFQI(
        family.features, 2, 0.8, est, n_iterations=6, expectation=True, random_state=0
    ).fit(family.tasks, np.arange(60))
    expected = np.concatenate([family.active, 12 + family.active])
    np.testing.assert_array_equal(fqi.factors_.row_support, expected)
    assert [record.rows for record in fqi.history_] == [6] * 6
    np.testing.assert_array_equal(fqi.history_[-1].row_support, fqi.factors_.row_support)
    assert fqi.theta_.shape == (24, 6)
    assert fqi.n_features_ == 12


def test_sizes_are_chosen_when_they_are_left_open():
    family = LinearFamily(tasks=6, states=200)
    est = tr.SparseReducedRankRegressor(column_sparsity=None, tol=1e-5, **LITERAL)
    asked = {"n_iterations": 7, "random_state": 3, "tune_at": "doubling"}
    fqi = MultiTaskFQI(family.features, 2, 0.5, est, **asked).fit(family.tasks, np.arange(200))
    for task, table in enumerate(family.tasks):
        Q = table.optimum(0.5)[-1]
        assert np.abs(fqi.q_values(task, np.arange(200)) - Q).max() < 0.25
    sizes = [record.rows for record in fqi.history_]
    assert len(set(sizes[3:])) == 1  # kept from iteration 4 to 7


def test_episodes_end():
    # 0 → 1 → the end, for one reward on the way; the last state would pay for ever
    P = np.zeros((1, 3, 3))
    P[0, 0, 1] = P[0, 1, 2] = P[0, 2, 2] = 1
    task = Table(P, [[0.0, 1.0, 5.0]], ends=[False, False, True], episodic=True)
    task.sample = lambda states, action, rng: (  # the state after an end is not looked at
        task.R[0, states],
        np.where(states == 1, -1, states + 1),
        states == 1,
    )
    for expectation in (False, True):
        fqi = MultiTaskFQI(
            Tabular(3), 1, 1.0, exact(), n_iterations=5, expectation=expectation
        ).fit([task], np.array([1, 0]))
        np.testing.assert_allclose(fqi.q_values(0, np.array([0, 1]))[:, 0], [1.0, 1.0])


def test_discounts_differ_between_tasks():
    task = random_table(2, deterministic=True)
    fqi = MultiTaskFQI(Tabular(8), 3, [0.3, 0.8], exact(2), n_iterations=10).fit(
        [task, task], np.arange(8)
    )
    for index, gamma in enumerate((0.3, 0.8)):
        found = fqi.q_values(index, np.arange(8))
        np.testing.assert_allclose(found, task.optimum(gamma)[9], atol=1e-6)


def test_pooled_tasks_share_one_answer():
    tasks = [random_table(seed, deterministic=True) for seed in (4, 5)]
    for regressor in (exact(), LinearRegression(fit_intercept=False)):
        fqi = MultiTaskFQI(Tabular(8), 3, 0.5, regressor, n_iterations=25, pooled=True).fit(
            tasks, np.arange(8)
        )
        mean = Table(
            np.mean([t.P for t in tasks], axis=0), np.mean([t.R for t in tasks], axis=0)
        ).optimum(0.5)[-1]
        for task in (0, 1):
            np.testing.assert_allclose(fqi.q_values(task, np.arange(8)), mean, atol=1e-6)


def test_regressors_that_are_not_linear():
    task = random_table(6, states=30)
    phi = np.random.default_rng(0).uniform(size=(30, 2))
    for regressor in (RandomForestRegressor(3, random_state=0), PoissonRegressor(alpha=1e-3)):
        fqi = MultiTaskFQI(lambda s: phi[s], 3, 0.5, regressor, n_iterations=4).fit(
            [task, task], np.arange(30)
        )
        assert fqi.q_values(1, np.arange(5)).shape == (5, 3)
        assert fqi.history_[0].rows is fqi.history_[0].row_support is None
        assert fqi.history_[-1].bellman_residual < fqi.history_[0].bellman_residual
        with pytest.raises(AttributeError, match="not linear in the features"):
            fqi.theta_  # noqa: B018


@pytest.mark.parametrize(
    "regressor",
    [
        Lasso(1e-3, warm_start=True),
        GridSearchCV(Ridge(), {"alpha": [1e-3, 1.0]}, cv=2),
        tr.baselines.SeparateLassos(n_penalties=5, cv=2, **LITERAL),
        tr.baselines.RankConstrainedGroupLasso(2, n_penalties=5, cv=2, **LITERAL),
    ],
    ids=lambda r: type(r).__name__,
)
def test_regressors_that_choose(regressor):
    family = LinearFamily(tasks=3)
    fqi = MultiTaskFQI(family.features, 2, 0.5, regressor, n_iterations=3, tune_at="doubling").fit(
        family.tasks, np.arange(60)
    )
    for task, table in enumerate(family.tasks):
        error = fqi.q_values(task, np.arange(60)) - table.optimum(0.5)[-1]
        assert np.sqrt(np.mean(error**2)) < 0.5
    assert fqi.intercept_.shape == (2, 3)


def test_history_and_early_stops(capsys):
    task, seen = random_table(7, deterministic=True), []
    fqi = MultiTaskFQI(
        Tabular(8), 3, 0.5, exact(), n_iterations=500, tol=1e-3, verbose=1, callback=seen.append
    ).fit([task], np.arange(8))
    assert len(seen) == fqi.n_iterations_ < 500
    assert fqi.history_[-1].change < 1e-3 * np.abs(task.optimum(0.5)[-1]).max()
    residuals = np.array(fqi.history_.bellman_residuals)
    assert np.all(residuals[1:] <= 0.5 * residuals[:-1] * np.sqrt(8 * 3))
    assert fqi.history_[0].bellman_residuals.shape == (1,)
    assert fqi.history_.seconds >= sum(r.seconds_regression for r in fqi.history_)
    assert "fitted Q-iteration" in capsys.readouterr().err
    stopped = MultiTaskFQI(Tabular(8), 3, 0.5, exact(), callback=lambda r: r.iteration == 2)
    assert stopped.fit([task], np.arange(8)).n_iterations_ == 2


class Broken:
    """A task that answers wrongly in one way."""

    def __init__(self, **wrong):
        self.wrong = wrong

    def sample(self, states, action, rng):
        right = {
            "rewards": np.ones(len(states)),
            "next_states": states,
            "terminated": np.zeros(len(states), bool),
        }
        return tuple((right | self.wrong).values())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rewards": np.full(8, np.nan)}, "task 1, action 0: rewards must be finite"),
        ({"rewards": np.ones(3)}, r"task 1, action 0: rewards must be 8 numbers.*\(3,\)"),
        ({"next_states": np.zeros((8, 2))}, r"task 1, action 0: next states.*\(8,\).*\(8, 2\)"),
        ({"next_states": [[0], [0, 1]]}, "task 1, action 0: sample failed"),
        ({"terminated": np.zeros(8)}, "task 1, action 0: terminated must be 8 booleans.*float64"),
    ],
)
def test_bad_tasks_are_named(wrong, message):
    tasks = [random_table(1), Broken(**wrong)]
    with pytest.raises(ValueError, match=message):
        MultiTaskFQI(Tabular(8), 3, 0.5, exact(), n_iterations=2).fit(tasks, np.arange(8))


def test_next_states_out_of_range_or_with_other_features_are_named():
    outside = Broken(next_states=np.full(8, 99))
    with pytest.raises(ValueError, match=r"task 1.*states must be integers from 0 to 7"):
        MultiTaskFQI(Tabular(8), 3, 0.5, exact(), n_iterations=2).fit(
            [random_table(1), outside], np.arange(8)
        )

    def features(states):
        return np.ones((len(states), 2 if states.max() > 8 else 3))

    with pytest.raises(ValueError, match="task 1: features must have 3 columns"):
        MultiTaskFQI(features, 3, 0.5, exact(2), n_iterations=2).fit(
            [random_table(1), outside], np.arange(8)
        )


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"discount": 1.5}, ValueError, "discount must be in .0, 1., but that of task 0 is 1.5"),
        ({"discount": [0.5, 0.0]}, ValueError, "that of task 1 is 0"),
        ({"discount": [0.5, 1.0]}, ValueError, "discount 1 is for episodic tasks only; task 1"),
        ({"discount": [0.5] * 3}, ValueError, "discount must be a number or 2 numbers"),
        ({"episodic": [True]}, ValueError, "episodic must be a bool or 2 bools"),
        ({"n_actions": 0}, ValueError, "n_actions must be a positive integer"),
        ({"n_iterations": -1}, ValueError, "n_iterations must be a positive integer"),
        ({"features": 3}, TypeError, "features must be a function of states.*int"),
        ({"tune_at": "never"}, ValueError, "tune_at must be"),
        ({"tune_at": 3}, ValueError, "or a list of iterations, got 3"),
        ({"tol": -1.0}, ValueError, "tol must be a finite non-negative number"),
        ({"regressor": LinearRegression}, TypeError, "regressor must be a regressor"),
        ({"regressor": "lasso"}, TypeError, "regressor must be a regressor.*without a method fit"),
        ({"expectation": True, "tasks": 1}, TypeError, "task 1, Broken, has none"),
        ({"states": np.zeros(0, int)}, ValueError, "states must contain at least one state"),
        ({"no_tasks": True}, ValueError, "tasks must contain at least one task"),
    ],
)
def test_errors_name_the_argument(change, error, message):
    tasks = [random_table(1), Broken() if "tasks" in change else random_table(2)]
    given = {"features": Tabular(8), "n_actions": 3, "discount": 0.5, "regressor": exact()}
    given |= {k: v for k, v in change.items() if k not in ("states", "tasks", "no_tasks")}
    with pytest.raises(error, match=message):
        MultiTaskFQI(**({"n_iterations": 2} | given)).fit(
            [] if "no_tasks" in change else tasks, change.get("states", np.arange(8))
        )


def test_tasks_without_sample_and_unknown_tasks():
    with pytest.raises(TypeError, match=r"task 0 must have sample\(states, action, rng\)"):
        MultiTaskFQI(Tabular(8), 3, 0.5).fit([object()], np.arange(8))
    fqi = MultiTaskFQI(Tabular(8), 3, 0.5, exact(), n_iterations=1).fit(
        [random_table(1)], np.arange(8)
    )
    with pytest.raises(ValueError, match="task must be an integer from 0 to 0, got 1"):
        fqi.policy(1)


@pytest.mark.parametrize("failure", [IndexError, None])
@pytest.mark.parametrize("method", ["sample", "expect"])
def test_failures_of_tasks_are_named(method, failure):
    def fail(*arguments):
        if failure is not None:
            raise failure("no such card")

    broken = random_table(2)
    setattr(broken, method, fail)
    told = "no such card" if failure else "NoneType"
    fqi = MultiTaskFQI(Tabular(8), 3, 0.5, exact(), expectation=method == "expect")
    with pytest.raises(ValueError, match=f"task 1, action 0: {method} failed: .*{told}"):
        fqi.fit([random_table(1), broken], np.arange(8))


def test_nothing_learned_is_said():
    tasks = [random_table(1), random_table(2)]
    nothing = tr.baselines.MultiTaskGroupLasso(1e6, **LITERAL)
    fqi = MultiTaskFQI(Tabular(8), 3, 0.5, nothing, n_iterations=2)
    with pytest.warns(UserWarning, match="no feature is in use: .* rank 0") as caught:
        fqi.fit(tasks, np.arange(8))
    assert caught[0].filename == __file__
    for task in tasks:
        task.R = 0 * task.R
    assert not fqi.fit(tasks, np.arange(8)).theta_.any()  # as it should be: no warning


def diverging(n_iterations):
    """From 1 to 2 in features that say 2 is twice as good, whatever was learned at 1."""

    class Ahead:
        def sample(self, states, action, rng):
            return np.ones(len(states)), 2 * states, np.zeros(len(states), bool)

    fqi = MultiTaskFQI(
        tr.rl.Identity(), 1, 0.99, LinearRegression(fit_intercept=False), n_iterations=n_iterations
    )
    return fqi.fit([Ahead()], np.ones((3, 1)))


def test_divergence_is_said():
    with pytest.warns(UserWarning, match="values seem to diverge: the Bellman residual grew from"):
        diverging(40)
    with pytest.raises(ValueError, match=r"values diverge: targets in iteration \d+ are as"):
        diverging(400)
