"""Values of policies from logs, against exact values of a small decision process."""

import numpy as np
import pytest
from small_tasks import Table

from thinrank.rl import Fourier, Tabular, Transitions, fitted_q_evaluation

DISCOUNT = 0.8
BEHAVIOUR = np.array([[0.5, 0.5], [0.3, 0.7], [0.6, 0.4], [0.5, 0.5]])


def process():
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.ones(4), size=(4, 2))
    return Table(P.transpose(1, 0, 2), rng.uniform(size=(4, 2)).T, np.arange(4) == 3)


def policy(states):
    return np.array([1, 0, 1, 0])[states]


def exact():
    """Values of the policy in the states 0 to 2, in which episodes begin."""
    mdp, every = process(), np.arange(3)
    P, R = (array[policy(every), every] for array in (mdp.P, mdp.R))
    return np.linalg.solve(np.eye(3) - DISCOUNT * P[:, :3], R)


def log(episodes, seed=0):
    mdp, rng, parts = process(), np.random.default_rng(seed), []
    for number in range(episodes):
        state, ended = int(rng.integers(3)), False
        while not ended:
            action = int(rng.random() < BEHAVIOUR[state, 1])
            reward, after, over = mdp.sample(np.array([state]), action, rng)
            ended = bool(over[0])
            parts.append((state, action, reward[0], after[0], ended, number))
            state = int(after[0])
    columns = [np.array(part) for part in zip(*parts, strict=True)]
    return Transitions(*columns[:5], episodes=columns[5])


def test_fitted_q_evaluation_is_the_exact_value():
    found = fitted_q_evaluation(
        log(3000), policy, Tabular(4), 2, DISCOUNT, ridge=1e-6, n_resamples=40
    )
    assert found.value == pytest.approx(exact().mean(), rel=0.03)
    assert found.low < exact().mean() < found.high
    assert found.high - found.low < 0.2 * exact().mean()
    start = fitted_q_evaluation(
        log(3000), policy, Tabular(4), 2, DISCOUNT, initial_states=np.array([2]), n_resamples=2
    )
    assert start.value == pytest.approx(exact()[2], rel=0.05)
    assert "fitted Q evaluation" in str(found)


def test_values_of_short_logs_do_not_grow_without_end():
    """Fitted with little penalty, values from three episodes grow from iteration to iteration."""
    rng, parts = np.random.default_rng(1), []
    for episode in range(3):
        state = rng.standard_normal(3)
        for _ in range(10):
            after = 0.9 * state + 0.4 * rng.standard_normal(3)
            parts.append((state, int(rng.integers(2)), 1.0, after, False, episode))
            state = after
    columns = [np.array(part) for part in zip(*parts, strict=True)]
    data = Transitions(*columns[:5], episodes=columns[5])
    wide = Fourier(np.full(3, -2.0), np.full(3, 2.0), 3)
    found = fitted_q_evaluation(data, lambda s: (s[:, 0] > 0).astype(int), wide, 2, 0.9)
    assert -10 < found.low <= found.value <= found.high < 20  # every step returns 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"discount": 1.5}, "discount must be above 0 and at most 1"),
        ({"level": 1.0}, "level must be between 0 and 1"),
        ({"ridge": 0.0}, "ridge must be positive"),
        ({"policy": lambda s: s + 7}, "policy must return .* integers from 0 to 1"),
        ({"n_actions": 1}, "actions must be from 0 to 0, got 1"),
    ],
)
def test_arguments_are_checked(change, message):
    given = {"policy": policy, "features": Tabular(4), "n_actions": 2, "discount": 0.8} | change
    with pytest.raises(ValueError, match=message):
        fitted_q_evaluation(log(20, seed=1), **given)


def test_logs_of_several_tasks_are_refused():
    two = Transitions.of_tasks([log(3), log(3, seed=1)])
    with pytest.raises(ValueError, match="log must be that of one task, but it has 2"):
        fitted_q_evaluation(two, policy, Tabular(4), 2, 0.8)
    one = two.of_task(1)
    assert one.n_tasks == 1
    np.testing.assert_array_equal(one.states, log(3, seed=1).states)
    with pytest.raises(ValueError, match="task must be from 0 to 1, got 2"):
        two.of_task(2)
    with pytest.raises(TypeError, match=r"log must be tr.rl.Transitions, got list"):
        fitted_q_evaluation([], policy, Tabular(4), 2, 0.8)
