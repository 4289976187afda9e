"""Exact values, against value iteration, closed forms and samples."""

import numpy as np
import pytest
from benchmarks.rl_linear_family import MixtureKernel
from sklearn.linear_model import LinearRegression

from thinrank.rl import MultiTaskFQI, Tabular, TabularMDP, tabular, value_error

GAMMA = 0.8


@pytest.fixture
def weights(rng):
    return rng.dirichlet(np.ones(3), size=(7, 2))


@pytest.fixture
def measures(rng):
    return rng.dirichlet(np.ones(7), size=3)


@pytest.fixture(params=["dense", "mixture"])
def mdp(request, rng, weights, measures):
    """Seven states, two actions, the last state terminal."""
    mixture = MixtureKernel(weights, measures)
    kernel = mixture if request.param == "mixture" else mixture.dense()
    return TabularMDP(kernel, rng.random((7, 2)), np.arange(7) == 6, episodic=True)


@pytest.mark.parametrize("discount", [GAMMA, 1.0])
def test_optimal_q_is_the_fixed_point(mdp, discount):
    q = mdp.optimal_q(discount)
    assert np.allclose(mdp.bellman(q, discount), q, atol=1e-9)
    assert not q[6].any()
    slow = np.zeros((7, 2))
    for _ in range(500):
        slow = mdp.bellman(slow, discount)
    assert np.allclose(q, slow, atol=1e-8)


@pytest.mark.parametrize("discount", [GAMMA, 1.0])
def test_q_of_a_policy(mdp, rng, discount):
    actions = rng.integers(0, 2, 7)
    q = mdp.q_of(lambda states: actions[states], discount)
    P, going = mdp.kernel.dense(), ~mdp.terminal
    values = q[np.arange(7), actions]
    again = (mdp.rewards + discount * P @ (going * values)) * going[:, None]
    assert np.allclose(q, again, atol=1e-10)
    best = mdp.optimal_q(discount)
    assert np.all(q <= best + 1e-9)
    assert np.allclose(mdp.q_of(best.argmax(axis=1), discount), best, atol=1e-10)


def test_samples_follow_the_model(mdp):
    n = 20_000
    generator = np.random.default_rng(0)
    rewards, after, ended = mdp.sample(np.full(n, 2), 1, generator)
    shares = np.bincount(after, minlength=7) / n
    assert np.abs(shares - mdp.kernel.dense()[2, 1]).max() < 4 * 0.5 / n**0.5
    assert np.all(rewards == mdp.rewards[2, 1])
    assert np.array_equal(ended, after == 6)


def test_expectation_is_the_mean_of_samples(mdp):
    value = np.arange(7.0)
    rewards, means = mdp.expect(np.array([2, 4]), 0, lambda states: value[states])
    worth = np.where(mdp.terminal, 0.0, value)
    assert np.allclose(means, mdp.kernel.dense()[[2, 4], 0] @ worth)
    assert np.allclose(rewards, mdp.rewards[[2, 4], 0])


def test_rewards_of_transitions():
    """A coin: heads pays 1 and ends, tails pays 0 and goes on."""
    P = np.zeros((2, 1, 2))
    P[0, 0] = P[1, 0] = 0.5
    mdp = TabularMDP(P, [[[0, 1]], [[9, 9]]], [False, True], episodic=True)
    assert mdp.optimal_q(1.0)[0, 0] == pytest.approx(1)
    assert mdp.optimal_q(0.5)[0, 0] == pytest.approx(0.5 / 0.75)
    rewards, after, ended = mdp.sample(np.zeros(100, int), 0, np.random.default_rng(0))
    assert np.array_equal(rewards, after)
    assert np.array_equal(ended, after == 1)


def test_value_error_is_the_mean_square(mdp):
    other = TabularMDP(mdp.kernel, mdp.rewards + 1, mdp.terminal, episodic=True)
    never = np.zeros(7, int)
    gaps = [m.optimal_q(g) - m.q_of(never, g) for m, g in ((mdp, 0.8), (other, 0.5))]
    found = value_error([mdp, other], [lambda s: never[s]] * 2, [0.8, 0.5])
    assert found == pytest.approx(np.mean(np.square(gaps)))
    best = [m.optimal_q(0.8) for m in (mdp, other)]
    policies = [lambda s, q=q: q[s].argmax(axis=1) for q in best]
    assert value_error([mdp, other], policies, 0.8, best) == pytest.approx(0, abs=1e-20)
    with pytest.raises(ValueError, match="policies must be 2"):
        value_error([mdp, other], policies[:1], 0.8)


def test_a_policy_that_never_ends_has_no_value(monkeypatch):
    P = np.zeros((3, 2, 3))
    P[:, 0, 0] = 1  # back to the beginning
    P[:, 1, 2] = 1
    mdp = TabularMDP(P, np.ones((3, 2)), [False, False, True], episodic=True)
    with pytest.raises(ValueError, match="never ends the episode from state 0"):
        mdp.q_of(np.zeros(3, int), 1.0)
    monkeypatch.setattr(tabular, "_MAX_SWEEPS", 300)
    with pytest.raises(ValueError, match="did not converge"):
        mdp.optimal_q(1.0)
    assert mdp.q_of(np.array([1, 0, 0]), 1.0)[1, 0] == 2


def test_bad_input_is_named(weights, measures):
    P = MixtureKernel(weights, measures).dense()
    with pytest.raises(ValueError, match=r"transitions must have the shape \(S, A, S\)"):
        TabularMDP(P[:, :, :3], np.zeros((7, 2)))
    with pytest.raises(ValueError, match="transitions must sum to 1"):
        TabularMDP(P / 2, np.zeros((7, 2)))
    with pytest.raises(ValueError, match="transitions must be probabilities"):
        TabularMDP(P - 1, np.zeros((7, 2)))
    with pytest.raises(ValueError, match="measures"):
        MixtureKernel(weights, measures[:, :5])
    with pytest.raises(ValueError, match="rewards must have the shape"):
        TabularMDP(P, np.zeros((2, 7)))
    with pytest.raises(ValueError, match="rewards must be finite"):
        TabularMDP(P, np.full((7, 2), np.nan))
    with pytest.raises(ValueError, match="terminal must have the shape"):
        TabularMDP(P, np.zeros((7, 2)), [True])
    mdp = TabularMDP(P, np.zeros((7, 2)))
    with pytest.raises(ValueError, match="discount must be above 0"):
        mdp.optimal_q(1.5)
    with pytest.raises(ValueError, match="declared episodic"):
        mdp.optimal_q(1.0)
    with pytest.raises(ValueError, match="one of 2 actions"):
        mdp.q_of(np.full(7, 2), 0.9)


@pytest.mark.parametrize("expectation", [False, True])
def test_nothing_is_earned_from_terminal_design_states(expectation):
    P = np.zeros((3, 2, 3))
    P[0, :, 1] = P[1, :, 2] = P[2, :, 0] = 1
    mdp = TabularMDP(P, [[1, 0], [2, 0], [5, 5]], [False, False, True])
    rewards, _, terminated = mdp.sample(np.arange(3), 0, np.random.default_rng(0))
    assert rewards.tolist() == [1, 2, 0]
    assert terminated.tolist() == [False, True, True]
    learner = MultiTaskFQI(
        Tabular(3),
        2,
        GAMMA,
        LinearRegression(fit_intercept=False),
        n_iterations=5,
        expectation=expectation,
    ).fit([mdp], np.arange(3))
    assert np.allclose(learner.q_values(0, np.arange(3)), mdp.optimal_q(GAMMA))


@pytest.mark.parametrize("actions", [np.zeros(7), np.zeros(7, bool)])
def test_policies_are_integers(mdp, actions):
    with pytest.raises(ValueError, match=f"policy must return integers.*{actions.dtype}"):
        mdp.q_of(actions, GAMMA)
