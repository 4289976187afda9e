"""What the families of the benchmark promise: exact linearity, sparsity and rank."""

import numpy as np
import pytest
from benchmarks.rl_linear_family import (
    make_linear_family,
    make_optimal_value_family,
    value_error,
)

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


def test_exact_values_and_samples(family, rng):
    task, q = family.tasks[0], family.q_star[0]
    np.testing.assert_allclose(task.bellman(q, family.discount), q, atol=1e-9)
    policies = [lambda states, best=best: best.argmax(axis=1)[states] for best in family.q_star]
    assert value_error(family, policies) < 1e-20
    P = task.weights @ task.measures
    rewards, after, ended = task.sample(np.full(20_000, 2), 1, rng)
    shares = np.bincount(after, minlength=400) / 20_000
    assert np.abs(shares - P[2, 1]).max() < 4 * 0.5 / 20_000**0.5
    assert set(rewards) == {task.rewards[2, 1]}
    assert not ended.any()
