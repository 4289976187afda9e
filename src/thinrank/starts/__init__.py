"""Starting points Θ⁰ of the solvers."""

from thinrank.starts.convex import GroupLasso, Lasso, ProximalSteps
from thinrank.starts.elimination import Auto, Backward
from thinrank.starts.spectral import Given, Screening, Spectral, complete_rank

__all__ = [
    "Auto",
    "Backward",
    "Given",
    "GroupLasso",
    "Lasso",
    "ProximalSteps",
    "Screening",
    "Spectral",
    "complete_rank",
]
