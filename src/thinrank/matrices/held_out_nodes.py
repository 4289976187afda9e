"""Rank and nodes of a covariance matrix, chosen by nodes that are left out.

The entries of a sample covariance matrix are not independent: its noise is itself of low rank, so
that pairs left out are predicted by noise. Nodes left out are not: if x_i is independent of the
other variables, its sample correlation with any combination of them has a known distribution, that
of n samples. The correlation with a combination vᵀx follows from the covariance matrix alone:
S_iv / (S_ii · vᵀSv)^½.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from thinrank.matrices.decomposition import FOLDS
from thinrank.matrices.pairs import LowRank
from thinrank.matrices.symmetric_fit import leading

# Share of wrong nodes among those selected (Benjamini and Hochberg). Larger shares add nodes of
# noise to the component, smaller ones lose nodes with small loadings.
_WRONG = 0.1
# The same in the first rounds of the search, in which the component is still inaccurate.
_WRONG_AT_FIRST = 0.3
_ROUNDS_AT_FIRST = 3
_MAX_ROUNDS = 15
# A component is kept if its nodes, left out, are correlated with it at this level in one of the
# divisions into parts: in noise that happens with a probability of at most 0.05.
_LEVEL = 0.025
_DIVISIONS = 2
# Correlations below this number of standard errors are set to zero before starting vectors are
# computed (Deshpande and Montanari, "Sparse PCA via covariance thresholding", 2016).
_THRESHOLDS = (2.0, 2.75, 3.5)
_LARGEST_VARIANCES = 20
_IMPUTATIONS = 4
_MAX_RANK = 10
# Variance that a node keeps at least when a component is subtracted.
_NOISE_SHARE = 0.1
# Eigenvalues are computed for the number of samples up to this number of nodes.
_MANY = 3000


@dataclass(frozen=True, eq=False)
class CovarianceSizes:
    """What the search chose."""

    rank: int  # number of components
    nodes: np.ndarray  # nodes of all components, sorted
    # for each component that was tried, the last one not kept, the level at which its nodes, left
    # out, are correlated with it
    p_values: np.ndarray


def estimate_samples(S: np.ndarray) -> int:
    """Number of samples of a covariance matrix, from its rank or from its small correlations."""
    p = len(S)
    if p <= _MANY:
        values = np.linalg.eigvalsh(S)
        rank = int(np.sum(values > values[-1] * p * 1e-12))
        if rank < p:
            return rank + 1
    root = np.sqrt(np.diag(S))
    squares = (S / np.outer(root, root))[np.triu_indices(p, 1)] ** 2
    middle = float(np.median(squares))
    # 0.455: the median of the square of a standard normal variable
    return int(np.clip(0.455 / max(middle, 1e-9) + 1, 4, 10**9))


def choose_covariance_sizes(
    S: np.ndarray, n_samples: int, *, rank: int | None, size: int | None, seed: int
) -> CovarianceSizes:
    """Find components one after another, as long as nodes that were left out agree.

    Shapes: ``S`` (n_nodes, n_nodes). ``rank``: None if it is to be chosen. ``size``: None if it
    is to be chosen.
    """
    left = S.copy()
    scores = np.zeros(len(S))
    chosen = np.zeros(len(S), dtype=bool)
    levels: list[float] = []
    found = 0
    while found < (_MAX_RANK if rank is None else rank) and found < len(S) // 2:
        if rank is None:
            levels.append(_level_of_component(left, n_samples, seed))
            if levels[-1] > _LEVEL:
                break
        fit = _component(left, n_samples)
        scores += fit.vectors[:, 0] ** 2 * fit.values[0]
        chosen |= fit.vectors[:, 0] != 0
        left = _without_component(left, fit)
        found += 1
    nodes = np.flatnonzero(chosen)
    if size is not None and found:
        # nodes beyond those of the components by what is left of their correlations
        scores[~chosen] = -1.0 / (1.0 + np.sum(left[~chosen][:, chosen] ** 2, axis=1))
        nodes = np.sort(np.argsort(-scores, kind="stable")[:size])
    return CovarianceSizes(found, nodes, np.array(levels))


def _level_of_component(S: np.ndarray, n: int, seed: int) -> float:
    """Smallest level of the divisions; the second is made only if the first is not enough."""
    smallest = 1.0
    for division in range(_DIVISIONS):
        smallest = min(smallest, _level_of_left_out(S, n, seed + division))
        if smallest <= _LEVEL:
            break
    return smallest


def _level_of_left_out(S: np.ndarray, n: int, seed: int) -> float:
    """Level at which some nodes are correlated with the component of the other nodes."""
    p = len(S)
    folds = min(FOLDS, p // 2)
    part = np.random.default_rng(seed).permutation(p) % folds
    p_values = np.ones(p)
    for fold in range(folds):
        out, kept = np.flatnonzero(part == fold), np.flatnonzero(part != fold)
        inside = S[np.ix_(kept, kept)]
        v = _component(inside, n).vectors[:, 0]
        covariances = S[np.ix_(out, kept)] @ v
        p_values[out] = _p_values(covariances, np.diag(S)[out] * (v @ inside @ v), n)
    # the smallest false discovery rate at which a node is selected
    return float(np.min(np.sort(p_values) * p / np.arange(1, p + 1)))


def _p_values(covariances: np.ndarray, variances: np.ndarray, n: int) -> np.ndarray:
    """Levels of sample correlations, two-sided, by Student's t distribution."""
    r = covariances / np.sqrt(np.maximum(variances, np.finfo(float).tiny))
    r = np.clip(np.abs(r), 0, 1 - 1e-12)
    freedom = max(n - 2, 1)
    return np.asarray(2 * stdtr(freedom, -r * np.sqrt(freedom / (1 - r**2))))


def _selected(p_values: np.ndarray, share: float) -> np.ndarray:
    """Nodes by the rule of Benjamini and Hochberg; the best two if there are fewer."""
    order = np.argsort(p_values, kind="stable")
    below = p_values[order] <= share * np.arange(1, len(order) + 1) / len(order)
    above = np.flatnonzero(below)
    number = max(int(above[-1]) + 1 if len(above) else 0, 2)
    return np.sort(order[:number])


def _component(S: np.ndarray, n: int) -> LowRank:
    """The component that stands out most from what noise of as many nodes would have."""
    best: tuple[float, LowRank] | None = None
    reached: set[bytes] = set()
    for v in _starts(S, n):
        nodes = _improved(S, n, v, reached)
        if nodes is None:
            continue
        excess = _excess(S, n, nodes)
        if best is None or excess > best[0]:
            best = (excess, _block(S, nodes))
    assert best is not None
    return best[1]


def _starts(S: np.ndarray, n: int) -> Iterator[np.ndarray]:
    p = len(S)
    variances = np.diag(S)
    yield _block(S, np.arange(p)).vectors[:, 0]
    if np.ptp(variances) > 1e-8 * variances.max():
        yield _block(S, np.argsort(-variances, kind="stable")[:_LARGEST_VARIANCES]).vectors[:, 0]
    root = np.sqrt(variances)
    z = np.arctanh(np.clip(S / np.outer(root, root), -0.9999, 0.9999)) * np.sqrt(max(n - 3, 1))
    np.fill_diagonal(z, 0.0)
    for threshold in _THRESHOLDS:
        kept = np.sign(z) * np.maximum(np.abs(z) - threshold, 0)
        if np.any(kept):
            values, vectors = leading(kept, 3)
            yield vectors[:, np.argmax(values)] / root


def _block(S: np.ndarray, nodes: np.ndarray) -> LowRank:
    """The leading positive component of some nodes, with the diagonal imputed."""
    block = S[np.ix_(nodes, nodes)].copy()
    np.fill_diagonal(block, 0.0)
    value, vector = 0.0, np.zeros(len(nodes))
    carried = None
    for _ in range(_IMPUTATIONS):
        np.fill_diagonal(block, value * vector**2)
        values, carried = leading(block, min(4, len(nodes)), carried)
        first = int(np.argmax(values))
        value, vector = max(float(values[first]), 0.0), carried[:, first]
    vectors = np.zeros((len(S), 1))
    vectors[nodes, 0] = vector
    return LowRank(0.0, np.array([value]), vectors)


def _improved(S: np.ndarray, n: int, v: np.ndarray, reached: set[bytes]) -> np.ndarray | None:
    """Select nodes by their correlation with the component of the others until they stay.

    None if the nodes are some that were reached from another start.
    """
    variances = np.diag(S)
    nodes = np.zeros(0, dtype=int)
    own: set[bytes] = set()
    for turn in range(_MAX_ROUNDS):
        product = S @ v
        # each node is compared with the combination of the others
        of_others = v @ product - 2 * v * product + v**2 * variances
        p_values = _p_values(product - variances * v, variances * of_others, n)
        first = turn < _ROUNDS_AT_FIRST
        latest = _selected(p_values, _WRONG_AT_FIRST if first else _WRONG)
        if not first:
            if latest.tobytes() in reached:
                return None
            if latest.tobytes() in own:  # the same nodes again, at once or in a cycle
                break
            own.add(latest.tobytes())
        nodes = latest
        v = _block(S, nodes).vectors[:, 0]
    reached |= own
    return nodes


def _excess(S: np.ndarray, n: int, nodes: np.ndarray) -> float:
    """Eigenvalue of some nodes' correlations beyond that of noise over all choices of nodes."""
    root = np.sqrt(np.diag(S)[nodes])
    correlations = S[np.ix_(nodes, nodes)] / np.outer(root, root)
    strength = float(_block(correlations, np.arange(len(nodes))).values[0])
    noise = len(nodes) * (1 + np.log(len(S) / len(nodes))) / n
    return strength - 2 * np.sqrt(noise) - noise


def _without_component(S: np.ndarray, fit: LowRank) -> np.ndarray:
    """What the component does not explain.

    Nodes that were not selected have loadings, too, perhaps small ones: were they kept, what is
    left of the component would be found as another one.
    """
    v, value = fit.vectors[:, 0], fit.values[0]
    loadings = np.where(v != 0, v, S @ v / max(value, np.finfo(float).tiny))
    left = S - value * np.outer(loadings, loadings)
    np.fill_diagonal(left, np.maximum(np.diag(left), _NOISE_SHARE * np.diag(S)))
    return left
