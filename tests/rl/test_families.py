"""What the families promise: exact linearity, sparsity, rank, and tasks worth learning."""

import numpy as np
import pytest
from benchmarks.rl_linear_family import make_linear_family, make_optimal_value_family

from thinrank.rl import value_error

SIZES = {"n_states": 400, "random_state": 3}


@pytest.fixture(scope="module")
def family():
    return make_linear_family(**SIZES)


def coefficients(family, q):
    """Least squares of Q on the features of each action, stacked, and what is left over."""
    phi = family.features.table
    theta = np.linalg.lstsq(phi, q, rcond=None)[0]
    return theta.T.ravel(), float(np.abs(phi @ theta - q).max())


@pytest.mark.parametrize("make", [make_linear_family, make_optimal_value_family])
def test_theta_is_that_of_the_optimal_values(make):
    family = make(**SIZES)
    assert family.theta.shape == (600, 20)
    assert len(family.row_support) == 10
    assert np.linalg.matrix_rank(family.theta) == 3
    for k, task in enumerate(family.tasks):
        q = task.optimal_q(family.discount)
        assert np.allclose(q, family.q_star[k], atol=1e-9)
        theta, left = coefficients(family, q)
        assert left < 1e-9
        assert np.allclose(theta, family.theta[:, k], atol=1e-9)


def test_every_bellman_image_is_sparse_and_of_low_rank(family, rng):
    """Of values that have nothing to do with the features."""
    images = []
    for task in family.tasks:
        theta, left = coefficients(family, task.bellman(rng.standard_normal((400, 3)), 0.9))
        assert left < 1e-9
        images.append(theta)
    images = np.array(images).T
    outside = np.setdiff1d(np.arange(600), family.row_support)
    assert np.abs(images[outside]).max() < 1e-9
    assert np.linalg.svd(images, compute_uv=False)[3] < 1e-9


def test_only_the_optimal_values_are_linear_in_the_other_family():
    family = make_optimal_value_family(**SIZES)
    task = family.tasks[0]
    assert coefficients(family, task.bellman(family.q_star[0], 0.9))[1] < 1e-9
    assert coefficients(family, task.bellman(np.zeros((400, 3)), 0.9))[1] > 0.1


def test_there_is_something_to_learn():
    """Actions matter, tasks differ, the future matters, and next states are noisy."""
    family = make_linear_family(n_states=500, random_state=1)
    best = family.q_star.argmax(axis=2)
    assert np.bincount(best.ravel()).min() > 0.1 * best.size
    differ = [np.mean(best[i] != best[j]) for i in range(20) for j in range(i)]
    assert np.mean(differ) > 0.3

    def error(choices):
        policies = [lambda s, c=c: c[s] for c in choices]
        return value_error(family.tasks, policies, family.discount, family.q_star)

    assert error(best) < 1e-20
    assert error([np.full(500, 0)] * 20) > 0.5 * np.var(family.q_star)
    assert error([task.rewards.argmax(axis=1) for task in family.tasks]) > 1e-6
    values = family.q_star.max(axis=2)
    spread = [
        t.kernel.mean(v**2) - t.kernel.mean(v) ** 2
        for t, v in zip(family.tasks, values, strict=True)
    ]
    assert np.sqrt(np.mean(spread)) > 0.3 * np.std(family.q_star)
