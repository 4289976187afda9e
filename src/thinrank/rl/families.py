"""Families of related decision processes whose optimal values share few features and a low rank."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from thinrank.rl.features import Lookup
from thinrank.rl.kernels import MixtureKernel
from thinrank.rl.tabular import TabularMDP

__all__ = ["Family", "make_linear_family", "make_optimal_value_family"]

# Uniform on ±√3: mean 0 and variance 1, like the predictors of the paper's simulations, but bounded
_BOUND = 3**0.5
# How far class rewards stray from the direction that all tasks share.
_ASIDE = 0.5
# What is taken of the common direction out of those of the actions.
_TURN = 0.7
# What the feature that all actions share may take of a class; the features of an action the rest.
_SHARED_PART = 0.4
# Part of the states that a class leads to.
_REACH = 0.03
# Latent classes of the transitions where these have nothing to do with the features.
_CLASSES = 12


@dataclass(frozen=True)
class Family:
    """k tasks over the same states, actions and features.

    Attributes
    ----------
    tasks : tuple of TabularMDP
    features : Lookup
        φ(s), of which feature 0 is the constant 1; ``features.table`` has all of them.
    theta : ndarray of shape (A·p, k)
        Θ*: Q*_k(s, a) = Σᵢ φᵢ(s)·Θ*[a·p + i, k], exactly.
    q_star : ndarray of shape (k, S, A)
        Q* of each task.
    discount : float
        γ.
    offsets : ndarray of shape (k,)
        What was taken off the rewards of each task.
    """

    tasks: tuple[TabularMDP, ...]
    features: Lookup
    theta: np.ndarray
    q_star: np.ndarray
    discount: float
    offsets: np.ndarray

    @property
    def row_support(self) -> np.ndarray:
        """Sorted indices of the rows of Θ* that are not zero."""
        return np.flatnonzero(self.theta.any(axis=1))


def make_linear_family(
    n_tasks: int = 20,
    n_features: int = 200,
    n_actions: int = 3,
    row_sparsity: int = 10,
    rank: int = 3,
    *,
    n_states: int = 2000,
    discount: float = 0.9,
    random_state: Any = 0,
) -> Family:
    """Tasks for which fitted Q-iteration with sparse, low-rank regression makes no model error.

    The features are a constant and p − 1 independent uniform variables of variance 1; all look
    alike. A few of them decide to which of r *latent classes* a state and an action belong, by the
    distribution

        ψ(s, a) = (1/r)·1 + φ₊(s)·u + Σ_{i of a} φᵢ(s)·d_{ai},

    with one feature φ₊ that all actions share and other features for each action; the entries of
    u and of every d_{ai} add up to zero and are small enough for ψ ≥ 0. The class decides reward
    and next state, in a way of its own for each task: with class rewards ρ_k, from 0 for the worst
    to 1 for the best, and class measures ν_k over next states,

        R_k(s, a) = ψ(s, a)ᵀρ_k,    P_k(s′ | s, a) = ψ(s, a)ᵀν_k(s′).

    Then for *any* values V the Bellman image R_k + γP_kV is linear in the features, and the images
    of all tasks together are row sparse and of low rank. Proof: ψ(s, a) = Wᵀφ(s, a) for the matrix
    W of A·p rows and r columns with the rows (1/r)·1 for the constants, u for φ₊, d_{ai} for the
    features of an action, and zero elsewhere. So R_k + γP_kV = φᵀW(ρ_k + γ∫V dν_k), and the matrix
    over tasks is WZ with Z of shape (r, k). ∎ In particular Θ* = WZ*: 2A rows for the constants and
    the shared feature, the others for features of one action, and rank r if there are as many
    tasks.

    The class rewards of all tasks lie near ±u, and every d_{ai} has less of u than of what is
    orthogonal to it. So φ₊ makes states good or bad, whatever is done there, while the features of
    the actions decide more of where they lead: each measure ν lives on the 3 % of the states that
    would be best if the classes were worth a random vector. The greatest reward is therefore not
    always the best choice. Which action is best depends on the state
    and on the task. Next states are random and their values differ, so targets are noisy although
    rewards are not.

    From the rewards of each task a constant is taken off so that the mean of its Q* is a random
    number of the size of its standard deviation. It changes no policy and no value error; without
    it the level 1/(2(1 − γ)) of Q would dwarf what is to be learned, and penalised methods would
    pay for it; with the mean at zero the rank would be r − 1. ``rewards + offsets`` are in [0, 1].

    Parameters
    ----------
    n_tasks : int
        k.
    n_features : int
        p, features of a state, the constant among them.
    n_actions : int
        A.
    row_sparsity : int
        Non-zero rows of Θ*, at least 3A: a constant, the shared feature and one of its own for
        every action.
    rank : int
        r, at least 2 and at most ``row_sparsity − 2·n_actions + 2`` and ``n_tasks``.
    n_states : int
        S.
    discount : float
        γ in (0, 1).
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    Family

    Examples
    --------
    >>> import numpy as np
    >>> family = make_linear_family(n_states=300)
    >>> family.theta.shape, len(family.row_support), int(np.linalg.matrix_rank(family.theta))
    ((600, 20), 10, 3)
    """
    _check_sizes(n_tasks, n_features, n_actions, row_sparsity, rank, n_states, discount)
    most = min(row_sparsity - 2 * n_actions + 2, n_tasks)
    if not 2 <= rank <= most:
        raise ValueError(f"rank must be from 2 to {most} with these sizes, got {rank}")
    rng = np.random.default_rng(random_state)
    phi = _features(rng, n_states, n_features)
    shared, *own = _active_features(rng, n_features, [1, *_parts(row_sparsity, n_actions)])
    common = _zero_sum(rng, rank)
    loadings = _class_loadings(rng, shared, own, common, n_features)
    weights = np.einsum("sp,apr->sar", phi, loadings)

    tasks, offsets = [], []
    for _ in range(n_tasks):
        measures = np.stack([_leading_to(rng, weights) for _ in range(rank)])
        task = TabularMDP(MixtureKernel(weights, measures), weights @ _class_rewards(rng, common))
        q = task.optimal_q(discount)
        offset = (1 - discount) * (np.mean(q) + np.std(q) * rng.standard_normal())
        tasks.append(TabularMDP(task.kernel, task.rewards - offset))
        offsets.append(offset)
    q_star = np.stack([task.optimal_q(discount) for task in tasks])
    # the coordinates of Q* among the classes: ψ has full rank, so they are unique
    targets = q_star.reshape(n_tasks, -1).T
    coordinates = np.linalg.lstsq(weights.reshape(-1, rank), targets, rcond=None)[0]
    theta = loadings.reshape(-1, rank) @ coordinates
    return Family(tuple(tasks), Lookup(phi), theta, q_star, discount, np.array(offsets))


def make_optimal_value_family(
    n_tasks: int = 20,
    n_features: int = 200,
    n_actions: int = 3,
    row_sparsity: int = 10,
    rank: int = 3,
    *,
    n_states: int = 2000,
    discount: float = 0.9,
    random_state: Any = 0,
) -> Family:
    """Tasks whose Q* is sparse and of low rank, but not what comes before it.

    Θ* is a product of normal factors on a constant and some features for each action, scaled so
    that Q* has unit variance; the transitions are mixtures of measures with weights that have
    nothing to do with the features; and the rewards follow,

        R_k = Q*_k − γ·P_k·max Q*_k,

    so that Q*_k solves the equation of optimality. Other Bellman images than Q* itself leave the
    span of the features: this family shows what fitted Q-iteration does when its model is wrong
    on the way. Rewards may be of any sign and size.

    Parameters
    ----------
    n_tasks, n_features, n_actions, row_sparsity, n_states, discount, random_state
        As for :func:`make_linear_family`.
    rank : int
        r, at most ``row_sparsity`` and ``n_tasks``.

    Returns
    -------
    Family
        With ``offsets`` zero.
    """
    _check_sizes(n_tasks, n_features, n_actions, row_sparsity, rank, n_states, discount)
    if not 1 <= rank <= min(row_sparsity, n_tasks):
        raise ValueError(
            f"rank must be from 1 to {min(row_sparsity, n_tasks)}, got {rank}: there are "
            f"{row_sparsity} rows and {n_tasks} tasks"
        )
    rng = np.random.default_rng(random_state)
    phi = _features(rng, n_states, n_features)
    active = _active_features(rng, n_features, _parts(row_sparsity + n_actions, n_actions))
    rows = np.concatenate([a * n_features + np.append(0, ids) for a, ids in enumerate(active)])
    theta = np.zeros((n_actions * n_features, n_tasks))
    theta[rows] = rng.standard_normal((len(rows), rank)) @ rng.standard_normal((rank, n_tasks))
    theta /= np.std(_values(phi, theta, n_actions))
    q_star = _values(phi, theta, n_actions)

    tasks = []
    for q in q_star:
        weights = rng.dirichlet(np.full(_CLASSES, 0.5), size=(n_states, n_actions))
        measures = np.stack([_leading_to(rng, weights) for _ in range(_CLASSES)])
        kernel = MixtureKernel(weights, measures)
        tasks.append(TabularMDP(kernel, q - discount * kernel.mean(q.max(axis=1))))
    return Family(tuple(tasks), Lookup(phi), theta, q_star, discount, np.zeros(n_tasks))


def _features(rng: np.random.Generator, n_states: int, n_features: int) -> np.ndarray:
    phi = rng.uniform(-_BOUND, _BOUND, (n_states, n_features))
    phi[:, 0] = 1.0
    return phi


def _parts(row_sparsity: int, n_actions: int) -> list[int]:
    """Features of each action beside the constant and the shared one, as equal as can be."""
    return [
        len(part) for part in np.array_split(np.arange(row_sparsity - 2 * n_actions), n_actions)
    ]


def _active_features(
    rng: np.random.Generator, n_features: int, counts: list[int]
) -> list[np.ndarray]:
    """So many features for each purpose, distinct, the constant left out."""
    chosen = 1 + rng.permutation(n_features - 1)[: sum(counts)]
    return [np.sort(part) for part in np.split(chosen, np.cumsum(counts)[:-1])]


def _zero_sum(rng: np.random.Generator, rank: int, *count: int) -> np.ndarray:
    """Random vectors of unit length whose entries add up to zero, one a row."""
    vectors = rng.standard_normal((*count, rank))
    vectors -= vectors.mean(axis=-1, keepdims=True)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _class_loadings(
    rng: np.random.Generator,
    shared: np.ndarray,
    own: list[np.ndarray],
    common: np.ndarray,
    n_features: int,
) -> np.ndarray:
    """W of shape (A, p, r)."""
    rank = len(common)
    loadings = np.zeros((len(own), n_features, rank))
    loadings[:, 0] = 1 / rank
    # Features are in ±√3. The shared one may take a part of a class away, the others together the
    # rest: then ψ cannot become negative.
    most = 1 / (rank * _BOUND)
    loadings[:, shared] = _SHARED_PART * most * common / np.abs(common).max()
    for a, ids in enumerate(own):
        directions = _zero_sum(rng, rank, len(ids))
        # less of the common direction: actions shall differ more in where they lead than in pay
        directions -= _TURN * np.outer(directions @ common, common)
        largest = np.abs(directions).sum(axis=0).max()
        loadings[a, ids] = (1 - _SHARED_PART) * most * directions / largest
    return loadings


def _class_rewards(rng: np.random.Generator, common: np.ndarray) -> np.ndarray:
    """Near the shared direction or its opposite, from 0 for the worst class to 1 for the best."""
    values = rng.choice([-1.0, 1.0]) * common + _ASIDE * _zero_sum(rng, len(common))
    return (values - values.min()) / np.ptp(values)


def _leading_to(rng: np.random.Generator, weights: np.ndarray) -> np.ndarray:
    """A measure over the few states that are best for random values of the classes."""
    worth = np.max(weights @ rng.standard_normal(weights.shape[2]), axis=1)
    best = np.argsort(-worth)[: max(1, round(_REACH * len(worth)))]
    measure = np.zeros(len(worth))
    measure[best] = rng.dirichlet(np.ones(len(best)))
    return measure


def _values(phi: np.ndarray, theta: np.ndarray, n_actions: int) -> np.ndarray:
    """Q of all tasks, of shape (k, S, A)."""
    blocks = theta.reshape(n_actions, phi.shape[1], -1)
    return np.einsum("sp,apk->ksa", phi, blocks, optimize=True)


def _check_sizes(
    n_tasks: int,
    n_features: int,
    n_actions: int,
    row_sparsity: int,
    rank: int,
    n_states: int,
    discount: float,
) -> None:
    for name, value, low, high in (
        ("n_tasks", n_tasks, 1, None),
        ("n_actions", n_actions, 2, None),
        ("n_features", n_features, 2, None),
        ("n_states", n_states, 2, None),
        ("rank", rank, 1, None),
        ("row_sparsity", row_sparsity, 3 * n_actions, n_features),
    ):
        if not isinstance(value, Integral) or value < low or (high is not None and value > high):
            allowed = f"at least {low}" if high is None else f"from {low} to {high}"
            raise ValueError(f"{name} must be an integer {allowed}, got {value!r}")
    if not 0 < discount < 1:
        raise ValueError(f"discount must be between 0 and 1, got {discount!r}")
