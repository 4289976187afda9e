"""Families of related decision processes whose optimal values are row sparse and of low rank."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from thinrank.rl.features import Lookup
from thinrank.rl.kernels import MixtureKernel
from thinrank.rl.tabular import TabularMDP

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

    Attributes
    ----------
    tasks : tuple of TabularMDP
        The tasks.
    features : Lookup
        The feature map φ. Feature 0 is the constant 1; ``features.table`` holds all features.
    theta : ndarray of shape (n_actions * n_features, n_tasks)
        Θ*, with Q*_k(s, a) = Σᵢ φᵢ(s)·Θ*[a·p + i, k] exactly.
    q_star : ndarray of shape (n_tasks, n_states, n_actions)
        Q* of each task.
    discount : float
        The discount γ.
    offsets : ndarray of shape (n_tasks,)
        The constant that was subtracted from the rewards of each task.
    """

    tasks: tuple[TabularMDP, ...]
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

    Then for *any* values V the Bellman update R_k + γP_kV is linear in the features, and the
    coefficients of all tasks together are row sparse and of low rank. Proof: ψ(s, a) = Wᵀφ(s, a),
    where W has A·p rows and r columns, with the rows (1/r)·1 for the constants, u for φ₊, d_{ai}
    for the features of an action, and zero for all other features. Hence
    R_k + γP_kV = φᵀW(ρ_k + γ∫V dν_k), and the coefficients of all tasks are WZ with Z of shape
    (r, k). ∎ In particular Θ* = WZ*: 2A rows belong to the constants and the shared feature, the
    other rows to features of one action, and the rank is r if there are at least r tasks.

    The class rewards of all tasks are close to ±u, and every d_{ai} has a smaller component in the
    direction of u than orthogonal to it. So φ₊ determines which states are good for all actions,
    while the features of the actions determine mostly where the actions lead: each measure ν has
    positive probability for the 3 % of the states that are best for random values of the classes.
    Therefore the action with the largest immediate reward is not always optimal, and the best
    action depends on the state and on the task. Next states are random and their values differ, so
    that targets are noisy although rewards are not.

    A constant is subtracted from the rewards of each task so that the mean of its Q* is a random
    number of the size of its standard deviation. This changes neither policies nor value errors.
    Without it, the level 1/(2(1 − γ)) of Q would be much larger than its variation, a disadvantage
    for penalised methods; with a mean of zero the rank would be r − 1. ``rewards + offsets`` are in
    [0, 1].

    Parameters
    ----------
    n_tasks : int, default=20
        Number of tasks k.
    n_features : int, default=200
        Number of features p of a state, including the constant.
    n_actions : int, default=3
        Number of actions A.
    row_sparsity : int, default=10
        Number of non-zero rows of Θ*, at least 3A: the constant, the shared feature and at least
        one further feature for every action.
    rank : int, default=3
        Rank r of Θ*, at least 2 and at most ``row_sparsity − 2·n_actions + 2`` and ``n_tasks``.
    n_states : int, default=2000
        Number of states S.
    discount : float, default=0.9
        The discount γ in (0, 1).
    random_state : int, Generator or None, default=0
        Seed; None for a random one.

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

    For each action, Θ* is a product of normal factors on the constant and some features, scaled so
    that Q* has unit variance. The transitions are mixtures of measures whose weights do not depend
    on the features. The rewards follow from both, ::

        R_k = Q*_k − γ·P_k·max Q*_k,

    so that Q*_k solves the Bellman optimality equation. Bellman updates of other functions than Q*
    are not linear in the features: with this family the model of fitted Q-iteration is wrong before
    convergence. Rewards may have any sign and size.

    Parameters
    ----------
    n_tasks, n_features, n_actions, row_sparsity, n_states, discount, random_state
        As for :func:`make_linear_family`, with the same defaults.
    rank : int, default=3
        Rank of Θ*, at most ``row_sparsity`` and ``n_tasks``.

    Returns
    -------
    Family
        Its ``offsets`` are zero.
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
