"""Families of related decision processes whose optimal values are row sparse and of low rank.

The study ``rl-sparse-family`` of the paper, an example and tests learn them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thinrank.rl import Lookup

# Features are uniform on ±√3: mean 0 and variance 1, like the predictors in the paper's
# simulations, but bounded.
_BOUND = 3**0.5
# With the next four values the action with the largest immediate reward is not always optimal, and
# the best action depends on the state and on the task; see make_linear_family.
# Size of the component of the class rewards that is not in the direction shared by all tasks.
_ASIDE = 0.5
# Fraction of the shared direction that is removed from the directions of the actions.
_TURN = 0.7
# Share of a class probability that the shared feature may change; the features of an action may
# change the rest.
_SHARED_PART = 0.4
# Fraction of the states that a class leads to.
_REACH = 0.03
# Number of latent classes if the transitions do not depend on the features.
_CLASSES = 12


@dataclass(frozen=True)
class Family:
    """Several tasks with the same states, actions and features.

    ``theta`` is Θ* with Q*_k(s, a) = Σᵢ φᵢ(s)·Θ*[a·p + i, k] exactly, feature 0 is the constant 1,
    and ``offsets`` are the constants that were subtracted from the rewards of the tasks.
    """

    tasks: tuple[Mixture, ...]
    features: Lookup
    theta: np.ndarray
    q_star: np.ndarray
    discount: float
    offsets: np.ndarray

    @property
    def row_support(self) -> np.ndarray:
        """Sorted indices of the non-zero rows of Θ*."""
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
    """Tasks for which sparse, low-rank regression represents every Bellman update exactly.

    The features are a constant and p − 1 independent uniform variables of variance 1. A few of them
    determine the probabilities of r *latent classes* for a state and an action, ::

        ψ(s, a) = (1/r)·1 + φ₊(s)·u + Σ_{i of a} φᵢ(s)·d_{ai},

    where all actions share one feature φ₊, and each action has further features of its own. The
    entries of u and of every d_{ai} sum to zero and are small enough for ψ ≥ 0. The class
    determines reward and next state, differently for each task: with class rewards ρ_k, from 0 for
    the worst to 1 for the best class, and class measures ν_k over next states, ::

        R_k(s, a) = ψ(s, a)ᵀρ_k,    P_k(s′ | s, a) = ψ(s, a)ᵀν_k(s′).

    Then ψ(s, a) = Wᵀφ(s, a), where the rows of W are (1/r)·1 for the constants, u for φ₊ and d_{ai}
    for the features of an action, and for *any* values V the coefficients of the Bellman updates,
    W(ρ_k + γ∫V dν_k), are row sparse and of rank r. φ₊ determines which states are good, the other
    features mostly where the actions lead. A constant is subtracted from the rewards of a task so
    that the mean of its Q* is of the size of its standard deviation.
    """
    rng = np.random.default_rng(random_state)
    phi = _features(rng, n_states, n_features)
    shared, *own = _active_features(rng, n_features, [1, *_parts(row_sparsity, n_actions)])
    common = _zero_sum(rng, rank)
    loadings = _class_loadings(rng, shared, own, common, n_features)
    weights = np.einsum("sp,apr->sar", phi, loadings)

    tasks, offsets = [], []
    for _ in range(n_tasks):
        measures = np.stack([_leading_to(rng, weights) for _ in range(rank)])
        task = Mixture(weights, measures, weights @ _class_rewards(rng, common))
        q = task.optimal_q(discount)
        offset = (1 - discount) * (np.mean(q) + np.std(q) * rng.standard_normal())
        tasks.append(Mixture(weights, measures, task.rewards - offset))
        offsets.append(offset)
    q_star = np.stack([task.optimal_q(discount) for task in tasks])
    # coefficients of Q* on the class probabilities; unique because ψ has full column rank
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

    Θ* is a product of normal factors, the transitions do not depend on the features, and the
    rewards R_k = Q*_k − γ·P_k·max Q*_k follow: the model of fitted Q-iteration is wrong before
    convergence.
    """
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
        ahead = weights @ (measures @ q.max(axis=1))
        tasks.append(Mixture(weights, measures, q - discount * ahead))
    return Family(tuple(tasks), Lookup(phi), theta, q_star, discount, np.zeros(n_tasks))


def _features(rng: np.random.Generator, n_states: int, n_features: int) -> np.ndarray:
    phi = rng.uniform(-_BOUND, _BOUND, (n_states, n_features))
    phi[:, 0] = 1.0
    return phi


def _parts(row_sparsity: int, n_actions: int) -> list[int]:
    """Numbers of features of the actions, without the constant and the shared one."""
    return [
        len(part) for part in np.array_split(np.arange(row_sparsity - 2 * n_actions), n_actions)
    ]


def _active_features(
    rng: np.random.Generator, n_features: int, counts: list[int]
) -> list[np.ndarray]:
    """Distinct features for each purpose, as many as ``counts`` says, without the constant."""
    chosen = 1 + rng.permutation(n_features - 1)[: sum(counts)]
    return [np.sort(part) for part in np.split(chosen, np.cumsum(counts)[:-1])]


def _zero_sum(rng: np.random.Generator, rank: int, *count: int) -> np.ndarray:
    """Random vectors of unit length whose entries sum to zero, one per row."""
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
    """W of shape (n_actions, n_features, rank)."""
    rank = len(common)
    loadings = np.zeros((len(own), n_features, rank))
    loadings[:, 0] = 1 / rank
    # Features are in ±√3. The shared feature may lower a class probability by one share, the other
    # features together by the rest: then ψ cannot become negative.
    most = 1 / (rank * _BOUND)
    loadings[:, shared] = _SHARED_PART * most * common / np.abs(common).max()
    for a, ids in enumerate(own):
        directions = _zero_sum(rng, rank, len(ids))
        # a smaller common component: actions differ more in next states than in rewards
        directions -= _TURN * np.outer(directions @ common, common)
        largest = np.abs(directions).sum(axis=0).max()
        loadings[a, ids] = (1 - _SHARED_PART) * most * directions / largest
    return loadings


def _class_rewards(rng: np.random.Generator, common: np.ndarray) -> np.ndarray:
    """Class rewards near ± the shared direction, from 0 for the worst class to 1 for the best."""
    values = rng.choice([-1.0, 1.0]) * common + _ASIDE * _zero_sum(rng, len(common))
    return (values - values.min()) / np.ptp(values)


def _leading_to(rng: np.random.Generator, weights: np.ndarray) -> np.ndarray:
    """A random measure on the few states that are best for random values of the classes."""
    best_values = np.max(weights @ rng.standard_normal(weights.shape[2]), axis=1)
    best = np.argsort(-best_values)[: max(1, round(_REACH * len(best_values)))]
    measure = np.zeros(len(best_values))
    measure[best] = rng.dirichlet(np.ones(len(best)))
    return measure


def _values(phi: np.ndarray, theta: np.ndarray, n_actions: int) -> np.ndarray:
    """Q of all tasks, of shape (n_tasks, n_states, n_actions)."""
    blocks = theta.reshape(n_actions, phi.shape[1], -1)
    return np.einsum("sp,apk->ksa", phi, blocks, optimize=True)


class Mixture:
    """A decision process with few measures over next states, whose exact values are cheap.

    P(s′ | s, a) = Σⱼ ψⱼ(s, a)·νⱼ(s′), with ``weights`` ψ of shape (n_states, n_actions, n_measures)
    and ``measures`` ν of shape (n_measures, n_states). Rewards are of shape (n_states, n_actions).
    """

    def __init__(self, weights: np.ndarray, measures: np.ndarray, rewards: np.ndarray) -> None:
        self.weights, self.measures, self.rewards = weights, measures, rewards
        self.n_states, self.n_actions = rewards.shape
        self._classes = _steps(weights.reshape(-1, weights.shape[2]))
        self._states = _steps(measures)

    def sample(
        self, states: np.ndarray, action: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rewards, next states, and that no episode ends."""
        rows = states * self.n_actions + action
        classes = _draw(self._classes, rows, len(self.measures), rng)
        after = _draw(self._states, classes, self.n_states, rng)
        return self.rewards[states, action], after, np.zeros(len(states), dtype=bool)

    def bellman(self, q: np.ndarray, discount: float) -> np.ndarray:
        """The Bellman update R + γ·P·max Q of Q, of shape (n_states, n_actions)."""
        return self.rewards + discount * self.weights @ (self.measures @ q.max(axis=1))

    def q_of(self, actions: np.ndarray, discount: float) -> np.ndarray:
        """Q of the policy that takes ``actions``, from r equations for u = γ·ν·values."""
        every, measures = np.arange(self.n_states), discount * self.measures
        chosen, rewards = self.weights[every, actions], self.rewards[every, actions]
        u = np.linalg.solve(np.eye(len(measures)) - measures @ chosen, measures @ rewards)
        return self.rewards + self.weights @ u

    def optimal_q(self, discount: float) -> np.ndarray:
        """Q*, by policy iteration."""
        every, actions = np.arange(self.n_states), self.rewards.argmax(axis=1)
        while True:
            q = self.q_of(actions, discount)
            better = q.max(axis=1) - q[every, actions] > 1e-12 * (1 + np.abs(q).max())
            if not better.any():
                return q
            actions = np.where(better, q.argmax(axis=1), actions)


def value_error(family: Family, policies: Sequence[Any]) -> float:
    """The mean of (Q*_k − Q^π_k)² over tasks, states and actions, for one policy per task."""
    every, errors = np.arange(family.tasks[0].n_states), []
    for task, best, policy in zip(family.tasks, family.q_star, policies, strict=True):
        errors.append(np.mean((best - task.q_of(policy(every), family.discount)) ** 2))
    return float(np.mean(errors))


def _steps(P: np.ndarray) -> np.ndarray:
    """Distribution functions of the rows, concatenated: that of row i increases from i to i + 1."""
    steps = np.cumsum(P, axis=1)
    return (steps / steps[:, -1:] + np.arange(len(P))[:, None]).ravel()


def _draw(steps: np.ndarray, rows: np.ndarray, width: int, rng: np.random.Generator) -> np.ndarray:
    """Draw an index in [0, width) from the distribution of each given row."""
    found = np.searchsorted(steps, rows + rng.random(len(rows)), side="right")
    # the sum of a row number and a number just below 1 may be rounded up to the next row
    return np.minimum(found - rows * width, width - 1)
