"""A few proximal-gradient steps from zero: the paper's advice where a convex solver is slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from thinrank.starts.convex import Lasso

__all__ = ["ProximalSteps"]


@dataclass(frozen=True)
class ProximalSteps(Lasso):
    """The lasso's proximal gradient from zero, stopped after a few steps."""

    max_iter: int = 10

    name: ClassVar[str] = "proximal"
