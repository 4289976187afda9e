"""Starts from convex problems: lasso and group lasso."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core import resources
from thinrank.core.contracts import require
from thinrank.core.factors import Factors
from thinrank.solvers.proximal import Prox, Proximal, shrink_entries, shrink_rows
from thinrank.starts.penalties import Penalty, row_penalties


@dataclass(frozen=True)
class ConvexStart:
    """Θ⁰ = argmin f(Θ) + Σⱼ λⱼ·pen(Θⱼ), solved by accelerated proximal gradient.

    All columns of Θ are computed together. A few dense matrices of the shape of Θ are needed; a
    MemoryError is raised if one of them is over the memory budget.

    Parameters
    ----------
    penalty : {"auto", "authors", "cv"} or float, default="auto"
        λ; see :func:`thinrank.starts.penalties.row_penalties`.
    max_iter : int, default=1000
        Largest number of iterations of the proximal gradient method.
    tol : float, default=1e-4
        Its tolerance, relative to the largest entry of the gradient at zero.
    """

    penalty: Penalty = "auto"
    max_iter: int = 1000
    tol: float = 1e-4

    name: ClassVar[str]

    @property
    def prox(self) -> Prox:
        """The proximal map of the penalty."""
        raise NotImplementedError

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Balanced factors of the solution's best rank-``rank`` approximation."""
        return Factors.from_theta(self.solution(loss, seed), rank)

    def solution(self, loss: Any, seed: int) -> Array:
        """The minimiser as a dense matrix, which does not depend on the sizes of the fit."""
        purpose = f'start="{self.name}"'
        require(loss, "full_gradient", purpose)
        require(loss, "smoothness", purpose)
        size = arrays.itemsize(loss.prototype)
        resources.check_fits(loss.shape, size, purpose, 'use start="spectral"')
        penalties = row_penalties(loss, self.penalty, self.prox, seed)
        solver = Proximal(self.prox, max_iter=self.max_iter, tol=self.tol)
        return solver.solve(loss, penalties)


@dataclass(frozen=True)
class Lasso(ConvexStart):
    """Θ⁰ = argmin f(Θ) + λ‖Θ‖₁, the start of the paper's simulations; see :class:`ConvexStart`."""

    name: ClassVar[str] = "lasso"

    @property
    def prox(self) -> Prox:
        """Soft thresholding of the entries."""
        return shrink_entries


@dataclass(frozen=True)
class GroupLasso(ConvexStart):
    """Θ⁰ = argmin f(Θ) + λ‖Θ‖₂,₁, with whole rows zero or not; see :class:`ConvexStart`."""

    name: ClassVar[str] = "group_lasso"

    @property
    def prox(self) -> Prox:
        """Soft thresholding of the rows."""
        return shrink_rows
