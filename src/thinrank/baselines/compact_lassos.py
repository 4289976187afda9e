"""Lassos on data that are compressed to as many rows as there are predictors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from thinrank.baselines.refitted import ShortPathGroupLasso, ShortPathLassos
from thinrank.baselines.sample import Prepared
from thinrank.baselines.tuning import Setting
from thinrank.core.factors import Factors


def compact(data: Prepared) -> Prepared:
    """Compress data to p rows with the same least-squares loss, up to a constant.

    With X = QR, ‖Y − XΘ‖² = ‖QᵀY − RΘ‖² + ‖Y‖² − ‖QᵀY‖². R and QᵀY are multiplied by √(p/n), so
    that the factor 1/(2n) of the loss becomes 1/(2p) and penalties keep their meaning.
    """
    n, p, _ = data.shape
    if n <= p:
        return data
    Q, R = np.linalg.qr(data.X)
    part = np.sqrt(p / n)
    return replace(data, X=np.asfortranarray(part * R), Y=np.asfortranarray(part * (Q.T @ data.Y)))


class CompactLassos(ShortPathLassos):
    """One lasso per response, on compressed data."""

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        return super()._path(compact(data), settings, final)


class CompactGroupLasso(ShortPathGroupLasso):
    """The group lasso, on compressed data."""

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        return super()._path(compact(data), settings, final)
