"""Sparse layers d·u·vᵀ of a coefficient matrix, and the steps that update them one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thinrank.baselines.sample import Prepared
from thinrank.baselines.weighted_lasso import weighted_lasso
from thinrank.core.factors import Factors


@dataclass
class Layers:
    """Θ = Σ_l u_l·v_lᵀ and the adaptive weights of its layers; updated in place."""

    data: Prepared
    U: np.ndarray  # (n_features, rank) left vectors, multiplied by the singular values
    V: np.ndarray  # (n_targets, rank) right vectors
    scale_u: np.ndarray  # (n_features, rank)
    # (n_targets, rank) one over the weights: entry (i, j) of layer l is penalised by
    # |u_il·v_jl|/(scale_u_il·scale_v_jl)
    scale_v: np.ndarray

    @classmethod
    def from_start(cls, data: Prepared, start: Factors, gamma: float) -> Layers:
        """Layers from the singular value decomposition of a first Θ; weights from its entries."""
        balanced = start.balanced()
        values = balanced.singular_values()
        root = np.sqrt(values)
        # the columns of balanced U and V are both multiplied by the root of the singular value
        U, V = balanced.U * root, balanced.V / np.where(root > 0, root, 1.0)
        return cls(data, U, V.copy(), np.abs(U) ** gamma, np.abs(V) ** gamma)

    def largest_penalty(self) -> float:
        """A penalty for which every layer is zero, whatever the other layers are."""
        largest = 0.0
        full = np.abs(self.data.cross)
        gram_u = self.data.X.T @ (self.data.X @ self.U)
        for i in range(self.U.shape[1]):
            others = self.U.shape[1] > 1
            held_out = self.data.cross - (gram_u @ self.V.T - np.outer(gram_u[:, i], self.V[:, i]))
            strength = np.maximum(full, np.abs(held_out)) if others else full
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
