"""Fitted Q-iteration from logged data."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from small_tasks import LinearFamily, random_table

import thinrank as tr
from thinrank.rl import MultiTaskFQI, Tabular, Transitions
from thinrank.rl.targets import logged_targets

LITERAL = {"standardize": False, "fit_intercept": False}


def logged(table, pairs, seed=0):
    """Transitions of one task at given (states, actions)."""
    rng = np.random.default_rng(seed)
    states, actions = pairs
    rewards, following = np.zeros(len(states)), np.zeros_like(states)
    ended = np.zeros(len(states), bool)
    for action in np.unique(actions):
        own = actions == action
        rewards[own], following[own], ended[own] = table.sample(states[own], int(action), rng)
    return Transitions(states, actions, rewards, following, ended)


def every_pair(states=8, actions=3):
    return np.repeat(np.arange(states), actions), np.tile(np.arange(actions), states)


def log_of(tasks, seed=0, lengths=None):
    rng = np.random.default_rng(seed)
    parts = []
    for i, table in enumerate(tasks):
        states, actions = every_pair()
        extra = rng.integers(8, size=lengths[i]) if lengths else np.zeros(0, int)
        pairs = np.append(states, extra), np.append(actions, extra % 3)
        order = rng.permutation(len(pairs[0]))
        parts.append(logged(table, (pairs[0][order], pairs[1][order])))
    return Transitions.of_tasks(parts)


GDT = tr.SparseReducedRankRegressor(2, None, None, solver="gdt", tol=1e-6, **LITERAL)
EXACT = tr.SparseReducedRankRegressor(2, None, None, **LITERAL)


@pytest.mark.parametrize("regressor", [GDT, EXACT, LinearRegression(fit_intercept=False)])
def test_rows_of_their_own(regressor):
    tasks = [random_table(seed, deterministic=True) for seed in (1, 2)]
    log = log_of(tasks, lengths=(5, 11))
    fqi = MultiTaskFQI(Tabular(8), 3, 0.6, regressor, n_iterations=2).fit_batch(log)
    for task, table in enumerate(tasks):
        np.testing.assert_allclose(
            fqi.q_values(task, np.arange(8)), table.optimum(0.6)[1], atol=1e-3
        )
    assert fqi.history_[0].bellman_residuals.shape == (2,)


@pytest.mark.parametrize(
    "regressor",
    [tr.SparseReducedRankRegressor(2, 5, None), tr.baselines.MultiTaskGroupLasso()],
)
def test_regressors_that_cannot_say_which_can(regressor):
    log = log_of([random_table(1), random_table(2)], lengths=(1, 2))
    with pytest.raises(TypeError, match=r"standardize=False and .*regressor of\s+scikit-learn"):
        MultiTaskFQI(Tabular(8), 3, 0.6, regressor, n_iterations=2).fit_batch(log)


@pytest.mark.parametrize(
    "shared",
    [
        tr.SparseReducedRankRegressor(2, 6, None, solver="gdt", tol=1e-4, **LITERAL),
        tr.SparseReducedRankRegressor(2, 6, None, **LITERAL),
    ],
    ids=["gdt", "pursuit"],
)
def test_tasks_help_one_another(shared):
    """With few transitions each, sharing three features of twelve beats tasks by themselves."""
    family = LinearFamily(tasks=8, states=200)
    rng = np.random.default_rng(0)
    parts = [
        logged(table, (rng.integers(200, size=30), rng.integers(2, size=30)), seed)
        for seed, table in enumerate(family.tasks)
    ]
    log = Transitions.of_tasks(parts)
    errors = []
    for regressor in (shared, LinearRegression(fit_intercept=False)):
        fqi = MultiTaskFQI(family.features, 2, 0.5, regressor, n_iterations=3)
        fqi.fit_batch(log)
        gaps = [
            fqi.q_values(i, np.arange(200)) - table.optimum(0.5)[-1]
            for i, table in enumerate(family.tasks)
        ]
        errors.append(np.mean(np.square(gaps)))
    assert errors[0] < 0.5 * errors[1]


def test_an_action_that_a_task_never_took():
    tasks = [random_table(seed, deterministic=True) for seed in (1, 2)]
    log = log_of(tasks, lengths=(1, 2))
    kept = ~((log.tasks == 1) & (log.actions == 2))
    cut = Transitions(
        *(getattr(log, n)[kept] for n in ("states", "actions", "rewards")),
        log.next_states[kept],
        log.terminated[kept],
        log.tasks[kept],
    )
    with pytest.raises(ValueError, match="task 1 has no transition with action 2"):
        MultiTaskFQI(Tabular(8), 3, 0.6, LinearRegression()).fit_batch(cut)
    ridged = tr.SparseReducedRankRegressor(
        2, 24, None, solver="gdt", ridge=0.01, tol=1e-4, **LITERAL
    )
    fqi = MultiTaskFQI(Tabular(8), 3, 0.6, ridged, n_iterations=3).fit_batch(cut)
    assert np.all(np.isfinite(fqi.theta_))


def test_discount_one_needs_the_word():
    log = log_of([random_table(1)])
    with pytest.raises(ValueError, match="task 0 is not declared episodic"):
        MultiTaskFQI(Tabular(8), 3, 1.0).fit_batch(log)
    fqi = MultiTaskFQI(Tabular(8), 3, 1.0, LinearRegression(), n_iterations=2, episodic=True)
    assert fqi.fit_batch(log).n_iterations_ == 2


def test_logs_belong_to_fit_batch():
    log = Transitions([[0.0]], [0], [0.0], [[0.0]], [True])
    with pytest.raises(TypeError, match=r"task 0 is a log of transitions .*use fit_batch"):
        MultiTaskFQI(Tabular(1), 1, 0.5).fit([log], np.zeros((1, 1)))


def test_errors():
    log = log_of([random_table(1), random_table(2)])
    with pytest.raises(ValueError, match=r"actions must be from 0 to 1, task . has 2"):
        MultiTaskFQI(Tabular(8), 2, 0.5).fit_batch(log)
    with pytest.raises(
        TypeError, match="transitions must be the log of at least one task, got an empty"
    ):
        MultiTaskFQI(Tabular(8), 2, 0.5).fit_batch([])
    with pytest.raises(ValueError, match="no task has a transition with action 3: its values"):
        MultiTaskFQI(Tabular(8), 4, 0.5, EXACT).fit_batch(log)
    far = Transitions([0, 1], [0, 10**9], [0.0, 1.0], [1, 0], [False, True])
    with pytest.raises(ValueError, match="no task has a transition with action 1: its values"):
        MultiTaskFQI(discount=0.5).fit_batch(far)
    with pytest.raises(ValueError, match="expectation=True needs tasks"):
        MultiTaskFQI(Tabular(8), 3, 0.5, expectation=True).fit_batch(log)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"states": np.zeros(0)}, "states must not be empty"),
        ({"actions": [0, -1]}, "actions must be at least 0, got -1 of task 1"),
        ({"actions": [0.0, 1.0]}, "actions must be 2 integers, got dtype float64"),
        ({"rewards": [0.0, np.inf]}, "rewards of task 1 must be finite"),
        ({"rewards": [0.0]}, r"rewards must be 2 numbers.*\(1,\)"),
        ({"next_states": [[0], [1]]}, r"next_states must have the shape \(2,\).*got \(2, 1\)"),
        ({"terminated": [0, 1]}, "terminated must be 2 booleans, got dtype int64"),
        ({"tasks": [0, 2]}, "without gaps: task 1 has no transition"),
        ({"tasks": [-1, 0]}, "tasks must be at least 0, got -1"),
    ],
)
def test_transitions_are_checked(change, message):
    right = {
        "states": [0, 1],
        "actions": [0, 1],
        "rewards": [0.0, 1.0],
        "next_states": [1, 0],
        "terminated": [False, True],
        "tasks": [0, 1],
    }
    with pytest.raises(ValueError, match=message):
        Transitions(**(right | change))


def test_joined_logs_are_checked():
    def narrow(width):
        states = np.zeros((2, width))
        return Transitions(states, [0, 1], [0.0, 0.0], states, [False, True])

    with pytest.raises(ValueError, match="parts must contain the log of at least one task"):
        Transitions.of_tasks([])
    with pytest.raises(ValueError, match="part 0 must be the log of one task, but it has 2"):
        Transitions.of_tasks([log_of([random_table(1), random_table(2)])])
    with pytest.raises(
        ValueError, match=r"task 1: a state must have the same shape.*\(3,\).*\(2,\)"
    ):
        Transitions.of_tasks([narrow(3), narrow(2)])


def test_bad_states_name_the_task():
    states = np.array([[0.0], [1.0], [0.0], [np.nan]])
    log = Transitions(states, [0, 1, 0, 1], np.ones(4), 0 * states, np.ones(4, bool), [0, 0, 1, 1])
    with pytest.raises(ValueError, match="task 1, action 1: features must be finite"):
        MultiTaskFQI(tr.rl.Identity(), 2, 0.5, LinearRegression()).fit_batch(log)


@pytest.mark.parametrize("tasks", [1, 2])
def test_errors_are_summed_to_the_end_of_their_episode(tasks):
    """With the discount of the task, whatever the order of actions."""
    rng, n = np.random.default_rng(0), 30
    episode = np.repeat([0, 1, 2, 3], [5, 10, 8, 7])
    task = episode % tasks
    actions, states = rng.integers(2, size=n), rng.standard_normal((n, 1))
    log = Transitions(states, actions, np.zeros(n), states, np.zeros(n, bool), task, episode)
    gamma = np.array([0.9, 0.5])[:tasks]
    targets = logged_targets(log, tr.rl.Identity(), 2, gamma)
    order, error = np.argsort(actions, kind="stable"), rng.standard_normal(n)
    shaped = error[order] if tasks > 1 else error[order][:, None]
    found = targets.to_the_end(shaped)
    later = [np.flatnonzero((episode == episode[i]) & (np.arange(n) >= i)) for i in range(n)]
    sums = [np.sum(gamma[task[i]] ** (own - i) * error[own]) for i, own in enumerate(later)]
    np.testing.assert_allclose(found.ravel(), np.array(sums)[order])
