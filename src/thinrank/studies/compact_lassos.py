"""Lassos that see no more rows than there are predictors, however many rows the data have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from thinrank.baselines.sample import Prepared
from thinrank.baselines.tuning import Setting
from thinrank.core.factors import Factors
from thinrank.studies.rl_regressors import GroupLasso, Lassos

__all__ = ["CompactGroupLasso", "CompactLassos", "compact"]


def compact(data: Prepared) -> Prepared:
    """Data with p rows and the same least squares, up to a constant.

    With X = QR, ‖Y − XΘ‖² = ‖QᵀY − RΘ‖² + ‖Y‖² − ‖QᵀY‖². R and QᵀY are multiplied by √(p/n), so
    that 1/(2n) in front of the squares becomes 1/(2p) and penalties keep their meaning.
    """
    n, p, _ = data.shape
    if n <= p:
        return data
    Q, R = np.linalg.qr(data.X)
    part = np.sqrt(p / n)
    return replace(data, X=np.asfortranarray(part * R), Y=np.asfortranarray(part * (Q.T @ data.Y)))


class CompactLassos(Lassos):
    """A lasso for each response, on compact data."""

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        return super()._path(compact(data), settings, final)


class CompactGroupLasso(GroupLasso):
    """The group lasso, on compact data."""

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        return super()._path(compact(data), settings, final)
