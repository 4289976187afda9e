"""Starting points Θ⁰ of the solvers."""

from __future__ import annotations

from typing import Any

from thinrank import arrays
from thinrank.core.checks import is_auto
from thinrank.core.contracts import Start
from thinrank.core.factors import Factors
from thinrank.starts.auto import Auto
from thinrank.starts.convex import GroupLasso, Lasso, ProximalSteps
from thinrank.starts.elimination import Backward
from thinrank.starts.forward import Forward
from thinrank.starts.given import Given
from thinrank.starts.screening import Screening
from thinrank.starts.spectral import Spectral, complete_rank

__all__ = [
    "Auto",
    "Backward",
    "Forward",
    "Given",
    "GroupLasso",
    "Lasso",
    "ProximalSteps",
    "Screening",
    "Spectral",
    "as_start",
    "complete_rank",
]


_NAMED = {
    "auto": Auto,
    "backward": Backward,
    "lasso": Lasso,
    "group_lasso": GroupLasso,
    "proximal": ProximalSteps,
    "forward": Forward,
    "screening": Screening,
    "spectral": Spectral,
}


def as_start(start: Any, exchanges_rows: bool = False) -> Start:
    """Turn the ``start`` parameter of the public interface into a Start.

    Shapes: ``start`` (n_features, n_targets).
    """
    if isinstance(start, str):
        if start not in _NAMED:
            names = ", ".join(f'"{name}"' for name in _NAMED)
            raise ValueError(f"start must be {names}, an array or tr.Factors, got {start!r}")
        return Auto(exchanges_rows) if is_auto(start) else _NAMED[start]()
    if isinstance(start, Factors) or arrays.is_array(start):
        return Given(start)
    if callable(start):
        return start
    raise TypeError(
        "start must be a name, an array of shape (m1, m2) or tr.Factors, "
        f"got {type(start).__name__}"
    )
