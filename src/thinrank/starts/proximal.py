"""A few proximal gradient steps from zero, as the paper advises if a convex solver is slow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from thinrank.starts.convex import Lasso


@dataclass(frozen=True)
class ProximalSteps(Lasso):
    """The proximal gradient method for the lasso from zero, stopped after ``max_iter`` steps."""

    max_iter: int = 10

    name: ClassVar[str] = "proximal"
