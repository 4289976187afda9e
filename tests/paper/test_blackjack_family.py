"""Features and families of blackjack, and policies learned there."""

import numpy as np
import pytest
from paper.blackjack import (
    Blackjack,
    HandFeatures,
    Rules,
    all_states,
    exact_house_edge,
    make_blackjack_family,
    optimal_q,
)
from sklearn.linear_model import Ridge

import thinrank as tr

LITERAL = {"standardize": False, "fit_intercept": False}


def test_hand_features_span_every_function_of_the_hand():
    features = HandFeatures(history=False)
    table = features(all_states())
    assert table.shape == (280, 280)
    assert np.linalg.matrix_rank(table) == 280
    assert (table[:, 0] == 1).all()
    # there is no history where nothing was seen
    assert not HandFeatures()(all_states())[:, 280:].any()


def test_names_say_what_features_are():
    features = HandFeatures()
    states = make_blackjack_family((2,)).design(500, 0)
    matrix = features(states)
    assert matrix.shape == (500, 292) == (500, len(features.names))
    total, soft, shown = states[:, :3].T
    high = np.where(shown == 1, 11, shown)
    by_name = dict(zip(features.names, matrix.T, strict=True))
    assert (by_name["soft total >= 17 and dealer >= 9"] == soft * (total >= 17) * (high >= 9)).all()
    assert (by_name["dealer >= ace"] == (shown == 1)).all()
    assert (by_name["cards seen"] == states[:, 3:].sum(axis=1) / 52).all()
    balance = by_name["balance of low and high cards seen"]
    expected = states[:, 4:9].sum(axis=1) - states[:, 3] - states[:, 12]
    assert np.corrcoef(balance, expected)[0, 1] == pytest.approx(1)
    weights = np.random.default_rng(2).standard_normal((len(features.names), 3))
    np.testing.assert_allclose(features.product(states, weights), matrix @ weights, atol=1e-12)


def test_family():
    family = make_blackjack_family((2, None), (16, 17), (False,), actions="hit/stay/double")
    assert [task.rules.label for task in family.tasks] == [
        "2 decks, dealer stays at 16",
        "2 decks, dealer stays at 17",
        "infinite decks, dealer stays at 16",
        "infinite decks, dealer stays at 17",
    ]
    assert family.n_actions == 3
    assert all(task.episodic for task in family.tasks)
    design = family.design(1000, 3)
    assert design.shape == (1000, 13)
    assert (design[:, 0].min(), design[:, 0].max()) == (4, 21)
    assert np.array_equal(design, family.design(1000, 3))
    for task in family.tasks:  # what was seen with two decks can be seen in all of them
        task.sample(design, 0, np.random.default_rng(0))


def test_bad_families():
    with pytest.raises(ValueError, match="must each have at least one value"):
        make_blackjack_family(())
    with pytest.raises(ValueError, match="n_states must be at least 1"):
        make_blackjack_family().design(0)
    with pytest.raises(ValueError, match="states must be rows of 13 integers"):
        HandFeatures()(np.zeros((2, 4), dtype=int))
    with pytest.raises(ValueError, match="there are 292 features, got 3 weights"):
        HandFeatures().product(all_states(), np.ones((3, 2)))


def test_expectations_give_the_optimum():
    """With the hand features as they are, Q-iteration is the dynamic program."""
    task = Blackjack(Rules(dealer_stays=16, actions="hit/stay/double"))
    fqi = tr.rl.MultiTaskFQI(
        HandFeatures(history=False),
        3,
        1.0,
        Ridge(1e-9, fit_intercept=False, solver="svd"),
        n_iterations=20,
        expectation=True,
    ).fit([task], all_states())
    np.testing.assert_allclose(fqi.q_values(0, all_states()), optimal_q(task), atol=1e-4)


def test_learned_policies_are_near_the_optimum():
    family = make_blackjack_family((None,), (16, 17), history=False)
    regressor = tr.SparseReducedRankRegressor(2, 100, None, ridge=0.001, **LITERAL)
    fqi = tr.rl.MultiTaskFQI(
        family.features, 2, family.discount, regressor, n_iterations=5, random_state=70_210
    ).fit(family.tasks, family.design(8000, 70_210))
    for index, task in enumerate(family.tasks):
        assert exact_house_edge(task, fqi.policy(index)) < exact_house_edge(task) + 0.01
