"""Blackjack: the simulator against the dynamic program, known figures, features and families."""

import numpy as np
import pytest
from paper.blackjack import (
    HIT,
    STAY,
    Blackjack,
    Deck,
    HandFeatures,
    Rules,
    all_states,
    design_states,
    edge_of,
    exact_house_edge,
    exact_q,
    make_family,
    optimal_policy,
    play,
)

import thinrank as tr


def state(total, soft, shown, seen=(0,) * 10):
    return np.array([[total, soft, shown, *seen]])


def like_the_dealer(states):
    return np.where(states[:, 0] >= 17, STAY, HIT)


def never_bust(states):
    return np.where((states[:, 0] >= 12) & (states[:, 1] == 0), STAY, HIT)


def staying_at_16(rules, shown):
    """The expected reward of a hand of 16, which wins only if the dealer loses."""
    hand = (all_states()[:, :3] == [16, 0, shown]).all(axis=1)
    return exact_q(Blackjack(rules))[hand, STAY].item()


def test_chances_of_the_dealer():
    # published for infinite decks and a dealer who stays at every 17, in percent
    lost = [11.53, 35.36, 37.39, 39.45, 41.64, 42.32, 26.23, 24.47, 22.84, 21.21]
    rewards = [staying_at_16(Rules(), shown) for shown in range(1, 11)]
    np.testing.assert_allclose(rewards, 2 * np.array(lost) / 100 - 1, atol=2e-4)
    hits = [staying_at_16(Rules(dealer_hits_soft=True), shown) for shown in range(1, 11)]
    assert hits[0] > rewards[0]  # the dealer loses more often
    assert hits[9] == pytest.approx(rewards[9])  # with a ten there is no soft 17


def test_optimal_play_is_the_known_one():
    policy = optimal_policy(Blackjack())
    assert exact_house_edge(Blackjack(), policy) == pytest.approx(0.02421, abs=5e-5)
    hands = all_states()[:, :3].tolist()
    best = {tuple(hand): int(policy(state(*hand))[0]) for hand in hands}
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


@pytest.mark.parametrize(
    ("rules", "policy"),
    [
        (Rules(), never_bust),
        (Rules(dealer_stays=16, dealer_hits_soft=True), None),
        (Rules(dealer_stays=15), like_the_dealer),
    ],
)
def test_simulation_agrees_with_the_program(rules, policy):
    task = Blackjack(rules)
    policy = policy or optimal_policy(task)
    rng = np.random.default_rng(70_200)
    edge, error = edge_of(play(task, policy, task.deal(50_000, rng), rng)[1])
    assert error < 0.008
    assert abs(edge - exact_house_edge(task, policy)) < 4 * error


def test_finite_decks_are_dealt_without_putting_back():
    task, rng = Blackjack(Rules(n_decks=1)), np.random.default_rng(70_202)
    # no ace is left: nobody gets one
    none_left = np.repeat(state(12, 0, 10, (4, 0, 0, 0, 0, 0, 0, 0, 0, 2)), 1000, axis=0)
    _, following, _ = task.sample(none_left, HIT, rng)
    assert (following[:, 3] == 4).all()
    assert (following[:, 3:].sum(axis=1) == 7).all()
    deck = Deck(1)
    seen = np.zeros((50_000, 10), dtype=np.int16)
    first, seen = deck.draw(seen, rng)
    second, seen = deck.draw(seen, rng)
    chance = 2 * (4 / 52) * (16 / 51)  # of a natural
    found = np.mean((np.minimum(first, second) == 1) & (np.maximum(first, second) == 10))
    assert abs(found - chance) < 4 * np.sqrt(chance / len(first))


def test_cards_gone_when_a_hand_begins():
    task, rng = Blackjack(Rules(n_decks=2)), np.random.default_rng(70_203)
    states, rewards, over = task.deal(50_000, rng)
    assert set(rewards[over]) == {0.0, 1.5}
    assert not rewards[~over].any()
    seen = states[:, 3:]
    gone = seen.sum(axis=1) - 3  # without the cards of this hand
    assert (gone.min(), gone.max()) == (0, 52)
    assert abs(gone.mean() - 26) < 4 * gone.std() / np.sqrt(len(gone))
    shares = np.array([1] * 9 + [4]) / 13
    np.testing.assert_allclose(seen.mean(axis=0), 29 * shares, rtol=0.03)
    assert (seen <= [8] * 9 + [32]).all()
    half = seen[gone == 27, -1]  # hypergeometric: its variance has the factor (N − n)/(N − 1)
    assert half.var() == pytest.approx(30 * (4 / 13) * (9 / 13) * 74 / 103, rel=0.2)
    with pytest.raises(ValueError, match="exact values need infinitely many decks"):
        exact_q(task)


def test_hand_features_span_every_function_of_the_hand():
    table = HandFeatures()(all_states())
    assert table.shape == (280, 292)
    assert np.linalg.matrix_rank(table[:, :280]) == 280
    assert (table[:, 0] == 1).all()
    assert not table[:, 280:].any()  # there is no history where nothing was seen


def test_features_of_cards_seen():
    states = design_states(make_family((2,), (17,)), 500, 0)
    matrix = HandFeatures()(states)
    assert np.allclose(matrix[:, -1], states[:, 3:].sum(axis=1) / 52)
    balance = states[:, 4:9].sum(axis=1) - states[:, 3] - states[:, 12]
    assert np.corrcoef(matrix[:, -2], balance)[0, 1] == pytest.approx(1)


def test_learned_policies_are_near_the_optimum():
    tasks = make_family((None,), (16, 17))
    literal = {"standardize": False, "fit_intercept": False}
    regressor = tr.SparseReducedRankRegressor(2, 100, None, ridge=0.001, **literal)
    fqi = tr.rl.MultiTaskFQI(
        HandFeatures(), 2, 1.0, regressor, n_iterations=5, random_state=70_210
    ).fit(tasks, design_states(tasks, 8000, 70_210))
    for index, task in enumerate(tasks):
        best = exact_house_edge(task, optimal_policy(task))
        assert best <= exact_house_edge(task, fqi.policy(index)) < best + 0.01
        assert np.all(exact_q(task).max(axis=1) <= 1)
