"""Least squares for several tasks whose coefficients have a common part.

The coefficients of task t are c + dₜ. The loss is ::

    Σₜ ½‖yₜ − Xₜ(c + dₜ)‖² + α/2·‖c‖² + β/2·Σₜ‖dₜ‖²,

without a penalty on the constant of c: a large β shrinks the tasks towards their common part, and
not towards zero. β = ∞ is one model for all tasks, α = ∞ a ridge regression for every task. The
deviations D = [d₁ … d_k] may have any rank (a closed form) or a low rank (alternating least
squares). Only XₜᵀXₜ and Xₜᵀyₜ are needed, for every action.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf, dpotrs

# Added to the diagonal of linear systems, relative to their largest entry: columns may be equal.
_JITTER = 1e-10
# Sweeps of alternating least squares: at the first targets, and at later ones, which are similar.
_FIRST_SWEEPS, _SWEEPS = 10, 1
# They stop when a sweep moves the span of V by less than this. Held-out errors then differ by less
# than a thousandth from those of many sweeps.
_MOVED = 1e-2

Parts = tuple[list[np.ndarray], list[np.ndarray], np.ndarray]
"""Common parts c of shape (q,) and loadings U of shape (q, r) per action, and V of shape (k, r)."""


class AnyRank:
    """The minimiser for deviations of any rank, prepared for several right-hand sides.

    Shapes: ``grams`` (1 or n_tasks, q, q).
    """

    def __init__(
        self, grams: Sequence[np.ndarray], n_tasks: int, alpha: float, beta: float
    ) -> None:
        self._grams, self._k, self._alpha, self._beta = grams, n_tasks, alpha, beta
        self._inverses = [] if beta == inf else [_inverse(gram, beta) for gram in grams]
        self._systems = [self._common_system(a) for a in range(len(grams))]

    def _common_system(self, a: int) -> np.ndarray:
        """The factor of the system for c without the deviations: Σβ(G + β)⁻¹G + α."""
        gram = self._grams[a]
        each = gram if self._beta == inf else gram - gram @ self._inverses[a] @ gram
        total = each.sum(axis=0) * (self._k / len(gram))
        if self._alpha == inf:
            total = total[:1, :1]
        else:
            penalty = np.full(len(total), self._alpha)
            penalty[0] = 0.0
            total = total + np.diag(penalty)
        # LAPACK is called directly: these systems are small, and checks would take most of the time
        return dpotrf(_lifted(total))[0]

    def solve(self, products: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Common parts and deviations for Xₜᵀyₜ.

        Shapes: ``products`` (n_tasks, q), ``common`` (q,), ``deviations`` (n_tasks, q).
        """
        common, deviations = [], []
        for a, b in enumerate(products):
            gram = self._grams[a]
            c = np.zeros(b.shape[1])
            if self._beta == inf:
                right = b.sum(axis=0)
            else:
                right = (b - _applied(gram @ self._inverses[a], b)).sum(axis=0)
            if self._alpha == inf:
                c[:1] = dpotrs(self._systems[a], right[:1])[0]
            else:
                c = dpotrs(self._systems[a], right)[0]
            common.append(c)
            left = b - (gram @ c)
            deviations.append(
                np.zeros_like(b) if self._beta == inf else _applied(self._inverses[a], left)
            )
        return common, deviations


class LowRank:
    """Alternating least squares for deviations D = UVᵀ of low rank.

    Every half step is solved exactly, so that the loss never increases.

    Shapes: ``grams`` (1 or n_tasks, q, q).
    """

    def __init__(
        self, grams: Sequence[np.ndarray], n_tasks: int, alpha: float, beta: float
    ) -> None:
        self._grams, self._k, self._alpha, self._beta = grams, n_tasks, alpha, beta

    def solve(
        self, products: Sequence[np.ndarray], V: np.ndarray, sweeps: int, tol: float = 1e-6
    ) -> Parts:
        """Alternate from a start.

        Shapes: ``products`` (n_tasks, q), ``V`` (n_tasks, r).
        """
        V = np.linalg.qr(V)[0]
        common, U = self._loadings(products, V)
        for _ in range(sweeps):
            before = V
            V = self._mixing(products, common, U)
            V = np.linalg.qr(V)[0]
            common, U = self._loadings(products, V)
            if np.linalg.norm(V - before @ (before.T @ V)) < tol:
                break
        return common, U, V

    def _loadings(
        self, products: Sequence[np.ndarray], V: np.ndarray
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """c and U for given V, action by action."""
        weights = np.concatenate([np.ones((len(V), 1)), V], axis=1)
        free = 1 if self._alpha == inf else None
        common, loadings = [], []
        for gram, b in zip(self._grams, products, strict=True):
            q = b.shape[1]
            width = weights.shape[1]
            if len(gram) == 1:
                system = np.einsum("kl,ij->kilj", weights.T @ weights, gram[0])
            else:
                pairs = np.einsum("tk,tl->klt", weights, weights).reshape(-1, len(V))
                system = (pairs @ gram.reshape(len(V), -1)).reshape(width, width, q, q)
                system = system.transpose(0, 2, 1, 3)
            system = system.reshape(width * q, width * q)
            penalty = np.full((width, q), self._beta)
            penalty[0] = 0.0 if free else self._alpha
            penalty[0, 0] = 0.0
            system[np.diag_indices(width * q)] += penalty.ravel()
            right = (weights.T @ b).ravel()
            if free:  # the common part is the constant alone
                kept = np.concatenate([[0], np.arange(q, width * q)])
                solved = np.zeros(width * q)
                solved[kept] = dposv(_lifted(system[np.ix_(kept, kept)]), right[kept])[1]
            else:
                solved = dposv(_lifted(system), right)[1]
            solved = solved.reshape(width, q)
            common.append(solved[0])
            loadings.append(solved[1:].T)
        return common, loadings

    def _mixing(
        self, products: Sequence[np.ndarray], common: list[np.ndarray], U: list[np.ndarray]
    ) -> np.ndarray:
        """V for given c and the span of U."""
        lengths = np.cumsum([len(part) for part in U])[:-1]
        span = np.split(np.linalg.qr(np.concatenate(U))[0], lengths)
        r = span[0].shape[1]
        system = np.zeros((self._k, r, r)) + self._beta * np.eye(r)
        right = np.zeros((self._k, r))
        for gram, b, c, basis in zip(self._grams, products, common, span, strict=True):
            system += basis.T @ gram @ basis
            right += (b - gram @ c) @ basis
        return np.linalg.solve(system + _JITTER * np.eye(r), right[..., None])[..., 0]


@dataclass(frozen=True)
class Setting:
    """Rank of the deviations and penalties."""

    rank: int | None  # the rank; None for any rank
    # penalties of the common part and of the deviations, in units of the mean number of rows of a
    # task and action
    alpha: float
    beta: float


class CommonPartFit:
    """Repeated fits with one setting.

    Shapes: ``grams`` (1 or n_tasks, q, q).
    """

    def __init__(
        self, grams: Sequence[np.ndarray], n_tasks: int, unit: float, setting: Setting
    ) -> None:
        self._setting = setting
        penalties = setting.alpha * unit, setting.beta * unit
        self._any = AnyRank(grams, n_tasks, *penalties)
        self._low = None
        if setting.rank is not None and 0 < setting.rank < n_tasks:
            self._low = LowRank(grams, n_tasks, *penalties)
        self._V: np.ndarray | None = None

    def solve(
        self, products: Sequence[np.ndarray]
    ) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
        """Common parts c (q,), loadings U (q, r) and V (n_tasks, r): θₜ = c + Uvₜ."""
        if self._low is not None:
            sweeps = _SWEEPS
            if self._V is None:
                start = np.concatenate(self._any.solve(products)[1], axis=1)
                self._V = np.linalg.svd(start, full_matrices=False)[0][:, : self._setting.rank]
                sweeps = _FIRST_SWEEPS
            common, U, self._V = self._low.solve(products, self._V, sweeps, _MOVED)
            return common, U, self._V
        common, deviations = self._any.solve(products)
        k = len(deviations[0])
        if self._setting.beta == inf:
            return common, [np.zeros((len(c), 0)) for c in common], np.zeros((k, 0))
        return common, [d.T for d in deviations], np.eye(k)

    def restart(self) -> None:
        """Forget the last solution: the next fit is to targets that are not similar."""
        self._V = None

    def theta(self, products: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The coefficients θ of every action, of shape (q, n_tasks)."""
        common, U, V = self.solve(products)
        return [c[:, None] + u @ V.T for c, u in zip(common, U, strict=True)]


def _inverse(gram: np.ndarray, beta: float) -> np.ndarray:
    q = gram.shape[-1]
    return np.linalg.inv(gram + beta * np.eye(q))


def _lifted(system: np.ndarray) -> np.ndarray:
    """The system with a diagonal that keeps it positive definite."""
    lifted = system.copy()
    lifted[np.diag_indices(len(system))] += _JITTER * max(float(system.max()), 1e-300)
    return lifted


def _applied(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """One matrix per task, or the same for all, times one vector per task."""
    if len(matrices) == 1:
        return vectors @ matrices[0].T
    return (matrices @ vectors[..., None])[..., 0]
