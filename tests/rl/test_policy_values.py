"""Values of policies from logs, against exact values of a small decision process."""

import numpy as np
import pytest
from small_tasks import Table

from thinrank.rl import Tabular, Transitions, fitted_q_evaluation, importance_sampling

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


@pytest.mark.parametrize("weighted", [False, True])
def test_importance_sampling_covers_the_exact_value(weighted):
    found = importance_sampling(
        log(3000), policy, 2, DISCOUNT, behaviour=lambda s: BEHAVIOUR[s], weighted=weighted
    )
    assert found.low < exact().mean() < found.high
    assert found.value == pytest.approx(exact().mean(), rel=0.15)
    assert found.note == "Behavior probabilities were given."
    assert found.n_episodes == len(found.returns) == 3000


def test_intervals_of_few_episodes_cover_the_exact_value():
    """Weighted returns are skewed: intervals that take them for symmetric are too low."""
    covered = 0
    for seed in range(60):
        found = importance_sampling(
            log(25, seed), policy, 2, DISCOUNT, behaviour=lambda s: BEHAVIOUR[s]
        )
        covered += found.low < exact().mean() < found.high
    assert covered >= 50


def test_estimated_behaviour_is_said():
    data = log(2000)
    known = BEHAVIOUR[data.states, data.actions]
    given = importance_sampling(data, policy, 2, DISCOUNT, behaviour=known)
    fitted = importance_sampling(data, policy, 2, DISCOUNT, features=Tabular(4))
    assert fitted.value == pytest.approx(given.value, rel=0.1)
    assert "estimated by logistic regression" in fitted.note
    crude = importance_sampling(data, policy, 2, DISCOUNT)
    assert "estimated by the frequencies" in crude.note


def test_a_stochastic_policy_that_is_the_behaviour_has_the_logged_returns():
    data = log(200)
    found = importance_sampling(
        data, lambda s: BEHAVIOUR[s], 2, 1.0, behaviour=lambda s: BEHAVIOUR[s]
    )
    np.testing.assert_allclose(found.returns, np.bincount(data.episodes, data.rewards))


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"discount": 1.5}, "discount must be above 0 and at most 1"),
        ({"level": 1.0}, "level must be between 0 and 1"),
        ({"policy": lambda s: s + 7}, "policy must return 61 integers from 0 to 1"),
        ({"behaviour": np.ones(3)}, "behaviour must be 61 probabilities"),
        ({"behaviour": np.zeros(61)}, "probabilities above 0"),
        ({"behaviour": lambda s: np.ones((3, 2))}, r"behaviour must return .*\(61, 2\)"),
        ({"n_actions": 1}, "actions must be from 0 to 0, got 1"),
    ],
)
def test_arguments_are_checked(change, message):
    data = log(20, seed=1)
    given = {"policy": policy, "n_actions": 2, "discount": 0.8} | change
    message = message.replace("61", str(len(data)))
    if isinstance(given.get("behaviour"), np.ndarray) and len(given["behaviour"]) == 61:
        given["behaviour"] = np.zeros(len(data))
    with pytest.raises(ValueError, match=message):
        importance_sampling(data, **given)


def test_logs_of_several_tasks_are_refused():
    two = Transitions.of_tasks([log(3), log(3, seed=1)])
    with pytest.raises(ValueError, match="log must be that of one task, but it has 2"):
        importance_sampling(two, policy, 2, 0.8)
    one = two.of_task(1)
    assert one.n_tasks == 1
    np.testing.assert_array_equal(one.states, log(3, seed=1).states)
    with pytest.raises(ValueError, match="task must be from 0 to 1, got 2"):
        two.of_task(2)
    with pytest.raises(TypeError, match=r"log must be tr.rl.Transitions, got list"):
        fitted_q_evaluation([], policy, Tabular(4), 2, 0.8)
