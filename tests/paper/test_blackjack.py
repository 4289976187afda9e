"""Blackjack: rules, cards, the simulator against the dynamic program, and known figures."""

import numpy as np
import pytest
from paper.blackjack import (
    DOUBLE,
    HIT,
    STAY,
    Blackjack,
    Rules,
    all_states,
    exact_house_edge,
    house_edge,
    optimal_policy,
    optimal_q,
    policy_q,
)

DOUBLING = Rules(actions="hit/stay/double")


def state(total, soft, shown, seen=(0,) * 10):
    return np.array([[total, soft, shown, *seen]])


def like_the_dealer(states):
    return np.where(states[:, 0] >= 17, STAY, HIT)


def never_bust(states):
    return np.where((states[:, 0] >= 12) & (states[:, 1] == 0), STAY, HIT)


def bold(states):
    """Doubles often, and hits soft hands."""
    return np.where(states[:, 0] >= 16, STAY, np.where(states[:, 0] >= 9, DOUBLE, HIT))


def by_hand(policy):
    """A policy of one hand, asked for one state after another."""
    return {(t, s, d): int(policy(state(t, s, d))[0]) for t, s, d in all_states()[:, :3].tolist()}


def staying_at_16(rules, shown):
    """The expected reward of a hand of 16, which wins only if the dealer loses."""
    reward, ahead = Blackjack(rules).expect(state(16, 0, shown), STAY, lambda s: np.zeros(len(s)))
    return float(reward[0] + ahead[0])


def test_chances_of_the_dealer():
    # published for infinite decks and a dealer who stays at every 17, in percent
    lost = [11.53, 35.36, 37.39, 39.45, 41.64, 42.32, 26.23, 24.47, 22.84, 21.21]
    rewards = [staying_at_16(Rules(), shown) for shown in range(1, 11)]
    np.testing.assert_allclose(rewards, 2 * np.array(lost) / 100 - 1, atol=2e-4)
    hits = [staying_at_16(Rules(dealer_hits_soft=True), shown) for shown in range(1, 11)]
    assert hits[0] > rewards[0]  # the dealer loses more often
    assert hits[9] == pytest.approx(rewards[9])  # with a ten there is no soft 17


def test_exact_house_edge():
    assert exact_house_edge(Blackjack()) == pytest.approx(0.02421, abs=5e-5)


def test_optimal_play_is_the_known_one():
    best = by_hand(optimal_policy(Blackjack()))
    for shown in range(1, 11):
        for total in range(4, 12):
            assert best[total, 0, shown] == HIT
        for total in range(17, 22):
            assert best[total, 0, shown] == STAY
        for total in range(13, 17):
            assert best[total, 0, shown] == (STAY if 2 <= shown <= 6 else HIT)
        assert best[12, 0, shown] == (STAY if 4 <= shown <= 6 else HIT)
        for total in range(12, 18):
            assert best[total, 1, shown] == HIT
        assert best[18, 1, shown] == (STAY if 2 <= shown <= 8 else HIT)
        assert best[19, 1, shown] == best[20, 1, shown] == STAY


def test_doubling_lowers_the_edge_and_is_for_ten_and_eleven():
    task = Blackjack(DOUBLING)
    assert 0.0 < exact_house_edge(task) < exact_house_edge(Blackjack()) - 0.01
    best = by_hand(optimal_policy(task))
    assert all(best[11, 0, shown] == DOUBLE for shown in range(2, 10))
    assert all(best[total, 0, 6] == DOUBLE for total in (9, 10, 11))
    assert all(best[total, 0, shown] != DOUBLE for total in range(12, 22) for shown in range(1, 11))


@pytest.mark.parametrize(
    ("rules", "policy"),
    [
        (Rules(), None),
        (Rules(), never_bust),
        (Rules(dealer_stays=16, dealer_hits_soft=True), None),
        (Rules(dealer_stays=15, natural=1.2), like_the_dealer),
        (DOUBLING, bold),
    ],
)
def test_simulation_agrees_with_the_program(rules, policy):
    task = Blackjack(rules)
    played = optimal_policy(task) if policy is None else policy
    edge, error = house_edge(task, played, 50_000, 70_200)
    assert error < 0.008
    assert abs(edge - exact_house_edge(task, policy)) < 4 * error


@pytest.mark.parametrize("rules", [Rules(dealer_stays=18, dealer_hits_soft=True), DOUBLING])
def test_samples_agree_with_expectations_in_every_state(rules):
    task, rng = Blackjack(rules), np.random.default_rng(70_201)
    states, repeats = all_states(), 500
    worth = np.linspace(-0.5, 0.5, 22)

    def value(s):
        return worth[s[:, 0]] * np.where(s[:, 1], 0.7, 1.0) - 0.01 * s[:, 2]

    for action in range(task.n_actions):
        rewards, ahead = task.expect(states, action, value)
        many = np.repeat(states, repeats, axis=0)
        sampled, following, over = task.sample(many, action, rng)
        found = sampled.copy()
        found[~over] += value(following[~over])
        found = found.reshape(len(states), repeats)
        error = found.std(axis=1) / np.sqrt(repeats) + 1e-9
        assert np.max(np.abs(found.mean(axis=1) - rewards - ahead) / error) < 4.5


def test_an_optimal_sweep_more_changes_nothing():
    task, states = Blackjack(DOUBLING), all_states()
    q = optimal_q(task)
    np.testing.assert_allclose(policy_q(task, optimal_policy(task)), q, atol=1e-12)
    assert np.all(policy_q(task, never_bust) <= q + 1e-12)
    table = np.zeros((22, 2, 11))
    table[states[:, 0], states[:, 1], states[:, 2]] = q.max(axis=1)
    for action in range(3):
        rewards, ahead = task.expect(states, action, lambda s: table[s[:, 0], s[:, 1], s[:, 2]])
        np.testing.assert_allclose(rewards + ahead, q[:, action], atol=1e-12)


def test_hands_that_end():
    task, rng = Blackjack(DOUBLING), np.random.default_rng(0)
    rewards, _, over = task.sample(np.repeat(state(21, 0, 5), 500, axis=0), HIT, rng)
    assert over.all()
    assert (rewards == -1).all()
    rewards, _, over = task.sample(np.repeat(state(20, 0, 5), 500, axis=0), DOUBLE, rng)
    assert over.all()
    assert set(rewards) == {-2.0, 0.0, 2.0}
    rewards, _, over = task.sample(np.repeat(state(5, 0, 5), 500, axis=0), HIT, rng)
    assert not over.any()
    assert not rewards.any()


def test_finite_decks_are_dealt_without_putting_back():
    task = Blackjack(Rules(n_decks=1, cut=0))
    rng = np.random.default_rng(70_202)
    states, rewards, over = task.deal(50_000, rng)
    assert (states[:, 3:].sum(axis=1) == 3).all()
    chance = 2 * (4 / 52) * (16 / 51)
    error = np.sqrt(chance / len(over))
    assert abs(over.mean() - chance) < 4 * error
    assert set(rewards[over]) == {0.0, 1.5}
    assert not rewards[~over].any()
    # no ace is left: nobody gets one
    none_left = np.repeat(state(12, 0, 10, (4, 0, 0, 0, 0, 0, 0, 0, 0, 2)), 1000, axis=0)
    _, following, _ = task.sample(none_left, HIT, rng)
    assert (following[:, 3] == 4).all()
    assert (following[:, 3:].sum(axis=1) == 7).all()


def test_cards_gone_when_a_hand_begins():
    task, rng = Blackjack(Rules(n_decks=2, cut=52)), np.random.default_rng(70_203)
    states, _, _ = task.deal(50_000, rng)
    seen = states[:, 3:]
    gone = seen.sum(axis=1) - 3  # without the cards of this hand
    assert (gone.min(), gone.max()) == (0, 52)
    assert abs(gone.mean() - 26) < 4 * gone.std() / np.sqrt(len(gone))
    shares = np.array([1] * 9 + [4]) / 13
    np.testing.assert_allclose(seen.mean(axis=0), 29 * shares, rtol=0.03)
    assert (seen <= [8] * 9 + [32]).all()
    half = seen[gone == 27, -1]  # hypergeometric: its variance has the factor (N − n)/(N − 1)
    assert half.var() == pytest.approx(30 * (4 / 13) * (9 / 13) * 74 / 103, rel=0.2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_decks": 0}, "n_decks must be None or at least 1, got 0"),
        ({"dealer_stays": 22}, "dealer_stays must be from 12 to 21, got 22"),
        ({"actions": "split"}, "actions must be one of hit/stay, hit/stay/double, got 'split'"),
        ({"natural": -1}, "natural must be at least 0"),
        ({"cut": -1}, "cut must be an integer, at least 0"),
        ({"n_decks": 1}, "cut must leave 26 of the 52 cards, got 52"),
    ],
)
def test_bad_rules(changes, message):
    with pytest.raises(ValueError, match=message):
        Rules(**changes)


def test_bad_questions():
    with pytest.raises(TypeError, match="dealer_hits_soft must be a bool"):
        Rules(dealer_hits_soft=1)
    task, rng = Blackjack(), np.random.default_rng(0)
    with pytest.raises(ValueError, match="states must be rows of 13 integers"):
        task.sample(np.zeros((2, 3), dtype=int), HIT, rng)
    with pytest.raises(ValueError, match="action must be from 0 to 1, got 2"):
        task.sample(state(12, 0, 10), DOUBLE, rng)
    with pytest.raises(ValueError, match="totals from 2 to 21"):
        task.sample(state(22, 0, 10), HIT, rng)
    with pytest.raises(ValueError, match="cards from 1 to 10"):
        task.sample(state(12, 0, 11), HIT, rng)
    with pytest.raises(ValueError, match="the task has 2 decks, dealer stays at 17"):
        Blackjack(Rules(2)).expect(state(12, 0, 10), HIT, len)
    with pytest.raises(ValueError, match="must be between 0 and"):
        Blackjack(Rules(2)).sample(state(12, 0, 10, (9,) + (0,) * 9), HIT, rng)
    with pytest.raises(ValueError, match="policy must return an action from 0 to 1"):
        exact_house_edge(task, lambda s: np.full(len(s), DOUBLE))
    with pytest.raises(ValueError, match="policy must return actions from 0 to 1, got \\[2\\]"):
        house_edge(task, lambda s: np.full(len(s), DOUBLE), 10)
    with pytest.raises(ValueError, match="all cards have been seen"):
        Blackjack(Rules(2)).sample(state(12, 0, 10, (8,) * 9 + (32,)), HIT, rng)
    with pytest.raises(ValueError, match="0 or 1 for hard and soft"):
        task.sample(state(12, 2, 10), HIT, rng)
    with pytest.raises(ValueError, match="n_hands must be at least 2"):
        house_edge(task, never_bust, 1)
