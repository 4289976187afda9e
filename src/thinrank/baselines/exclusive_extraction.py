"""Exclusive extraction: regression with a sparse SVD, one layer at a time."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from thinrank.baselines.base import Setting, Solutions, TunedBaseline
from thinrank.baselines.sample import Prepared, TrainingSample
from thinrank.baselines.separate import weighted_lasso
from thinrank.core.factors import Factors


@dataclass(eq=False, repr=False)
class ExclusiveExtraction(TunedBaseline):
    """Exclusive extraction (EEA): low rank with sparse singular vectors, layer by layer.

    Minimizes, over Θ = Σ d·u·vᵀ with ``rank`` layers, ::

        1/(2n)·‖Y − XΘ‖² + penalty · Σ over layers and entries of w_ij·|d·u_i·v_j|

    one layer at a time while the other layers are fixed: a lasso for the left vector given the
    right one, and soft thresholding for the right vector given the left one. The adaptive weights
    of a layer, ``w_ij = |d̃·ũ_i·ṽ_j|^(−gamma)``, come from reduced-rank regression (the solution
    of least norm if p > n). No step increases the objective.

    This differs from ``rssvd`` of the R package rrpack in three ways, which the paper's tables
    require. The layers are updated repeatedly until the objective converges, not once. One penalty
    serves all layers, since the weights account for their sizes. ``gamma`` is 0.5 instead of 2:
    with p > n the solution of least norm spreads part of each row over the other rows, and weights
    with a high power rely on it too much.

    Parameters
    ----------
    {rank}
    penalty : float or "auto", default="auto"
        Weight of the adaptive penalty. "auto" chooses by ``cv``.
    gamma : float, default=0.5
        Power of the adaptive weights; 0 for no weights.
    n_penalties : int, default=20
        Number of penalties on the path of ``penalty="auto"``, which goes from small to large.
    cv : int, splitter, iterable or None, default=None
        Splits into training and held-out rows, as in scikit-learn. Use PredefinedSplit for a
        single validation set. None uses the authors' criterion on all rows instead,
        BIC = nk·log(RSS) + log(nk)·df, where df is the number of non-zero entries of all u and v
        minus the number of layers; models with log(nk)·df > nk are excluded.
    fit_intercept, standardize : bool, default=True
        Whether to center X and Y, and to scale the columns of X to unit root mean square.
    max_iter : int, default=200
        Largest number of rounds over the layers. A ConvergenceWarning is issued if it is reached.
    tol : float, default=1e-4
        Stop when a round decreases the objective by less than this fraction of it.

    Attributes
    ----------
    {model}
    objectives_ : ndarray
        The objective after every step of the final fit.
    n_iter_ : int
        Number of rounds in the final fit.

    References
    ----------
    K. Chen, K.-S. Chan and N. C. Stenseth, Reduced rank stochastic regression with a sparse
    singular value decomposition, Journal of the Royal Statistical Society B 74 (2012).

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(200, 50, 40, rank=3, random_state=0)
    >>> est = tr.baselines.ExclusiveExtraction().fit(X, Y)
    >>> est.rank_, set(truth.column_support) <= set(est.column_support_)
    (3, True)
    """

    _patience = None
    _path_tol = 1e-3

    rank: int | str = "auto"
    penalty: float | str = "auto"
    _: KW_ONLY
    gamma: float = 0.5
    n_penalties: int = 20
    cv: Any = None
    max_iter: int = 200
    tol: float = 1e-4

    def _penalties(self, data: Prepared, rank: int = 0) -> np.ndarray:
        largest = Layers(data, rank, self.gamma).largest_penalty()
        # upwards, since a layer that is zero stays zero; from very small penalties,
        # since the weights of the entries differ by orders of magnitude
        return largest * np.geomspace(3e-5, 1.0, self.n_penalties) if largest > 0 else np.zeros(1)

    def _choose(self, sample: TrainingSample, settings: list[Setting]) -> Setting:
        if self.cv is not None:
            return super()._choose(sample, settings)
        data = sample.prepared(self.fit_intercept, self.standardize)
        values = [_bayes_criterion(data, factors) for factors in self._path(data, settings)]
        # the last setting of the path is the empty model, whose criterion is always finite
        return settings[int(np.argmin(values))]

    def _path(self, data: Prepared, settings: list[Setting], final: bool = False) -> Solutions:
        layers = Layers(data, settings[0]["rank"], self.gamma)
        tol = self._tol(final)
        # only small penalties, whose models have many parameters, need more than 30 rounds
        limit = self.max_iter if final else min(self.max_iter, 30)
        lasso_tol = 1e-6 if final else 1e-4
        for setting in settings:
            iterations, objectives = layers.converge(setting["penalty"], tol, limit, lasso_tol)
            yield layers.factors()
        if final:
            self.objectives_ = np.asarray(objectives)
            self._end(iterations)


def _bayes_criterion(data: Prepared, factors: Factors) -> float:
    """BIC of a model; infinite if it has too many parameters for BIC to be meaningful."""
    n, _, k = data.shape
    entries = np.count_nonzero(factors.U) + np.count_nonzero(factors.V) - factors.rank
    if entries * np.log(n * k) > n * k:
        return np.inf
    residual = float(np.sum((data.Y - (data.X @ factors.U) @ factors.V.T) ** 2))
    return n * k * float(np.log(max(residual, np.finfo(float).tiny))) + entries * np.log(n * k)


class Layers:
    """Θ = Σ_l u_l·v_lᵀ, at first by reduced-rank regression, and weights of its entries."""

    def __init__(self, data: Prepared, rank: int, gamma: float) -> None:
        self.data, balanced = data, data.reduced_rank(rank).balanced()
        root = np.sqrt(balanced.singular_values())
        # the columns of balanced U and V are both multiplied by the root of the singular value
        self.U, self.V = balanced.U * root, balanced.V / np.where(root > 0, root, 1.0)
        # entry (i, j) of layer l is penalized by |u_il·v_jl|/(scale_u_il·scale_v_jl)
        self.scale_u, self.scale_v = np.abs(self.U) ** gamma, np.abs(self.V) ** gamma

    def largest_penalty(self) -> float:
        """A penalty for which every layer is zero, whatever the other layers are."""
        largest = 0.0
        gram_u = self.data.X.T @ (self.data.X @ self.U)
        for i in range(self.U.shape[1]):
            held_out = self.data.cross - (gram_u @ self.V.T - np.outer(gram_u[:, i], self.V[:, i]))
            strength = np.maximum(np.abs(self.data.cross), np.abs(held_out))
            strength = (strength * self.scale_u[:, i, None]) * self.scale_v[:, i]
            largest = max(largest, float(np.max(strength, initial=0.0)))
        return 1.01 * largest / self.data.shape[0]

    def factors(self) -> Factors:
        """The layers that are not zero."""
        alive = np.any(self.U != 0, axis=0) & np.any(self.V != 0, axis=0)
        return Factors(self.U[:, alive], self.V[:, alive])

    def converge(
        self, penalty: float, tol: float, max_iter: int, lasso_tol: float
    ) -> tuple[int, list[float]]:
        """Update the layers until the objective converges."""
        n, r = self.data.shape[0], self.U.shape[1]
        fits = self.data.X @ self.U
        residual = self.data.Y - fits @ self.V.T
        costs = np.array([self._layer_cost(i) for i in range(r)])
        objectives: list[float] = []

        def record() -> None:
            misfit = float(np.vdot(residual, residual)) / (2 * n)
            objectives.append(misfit + penalty * float(np.sum(costs)))

        record()
        for iteration in range(1, max_iter + 1):
            before = objectives[-1]
            for i in range(r):
                if costs[i] == 0:
                    continue  # a layer that is zero stays zero
                target = residual + np.outer(fits[:, i], self.V[:, i])  # without the other layers
                self._left_step(i, target, penalty, lasso_tol)
                fits[:, i] = self.data.X @ self.U[:, i]
                residual = target - np.outer(fits[:, i], self.V[:, i])
                costs[i] = self._layer_cost(i)
                record()
                self._right_step(i, target, fits[:, i], penalty)
                residual = target - np.outer(fits[:, i], self.V[:, i])
                costs[i] = self._layer_cost(i)
                record()
            if before - objectives[-1] <= tol * abs(objectives[-1]):
                return iteration, objectives
        return max_iter, objectives

    def _left_step(self, i: int, target: np.ndarray, penalty: float, tol: float) -> None:
        """The lasso for u given v: ‖T − Xuvᵀ‖² = ‖v‖²·‖Xu − Tv/‖v‖²‖² + a constant."""
        v = self.V[:, i]
        square = float(v @ v)
        self.U[:, i] = weighted_lasso(
            self.data.X,
            target @ v / square,
            penalty * _cost(v, self.scale_v[:, i]) / square,
            self.scale_u[:, i],
            self.U[:, i],
            tol,
        )

    def _right_step(self, i: int, target: np.ndarray, fit: np.ndarray, penalty: float) -> None:
        """Soft thresholding for v given u and ``fit`` = Xu."""
        square = float(fit @ fit)
        if square == 0:
            self.U[:, i] = self.V[:, i] = 0.0
            return
        scale = self.scale_v[:, i]
        cost = self.data.shape[0] * penalty * _cost(self.U[:, i], self.scale_u[:, i])
        pull = target.T @ fit
        bar = np.divide(cost, scale, out=np.full_like(scale, np.inf), where=scale > 0)
        self.V[:, i] = np.sign(pull) * np.maximum(np.abs(pull) - bar, 0.0) / square
        if not np.any(self.V[:, i]):
            self.U[:, i] = 0.0

    def _layer_cost(self, i: int) -> float:
        return _cost(self.U[:, i], self.scale_u[:, i]) * _cost(self.V[:, i], self.scale_v[:, i])


def _cost(vector: np.ndarray, scale: np.ndarray) -> float:
    """Σ|xⱼ|/scaleⱼ over the entries that are not zero."""
    used = vector != 0
    return float(np.sum(np.abs(vector[used]) / scale[used]))
