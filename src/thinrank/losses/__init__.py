"""The losses f(Θ) that thinrank minimizes."""

from typing import TYPE_CHECKING

from thinrank.core.imports import lazy_names as _lazy_names
from thinrank.losses.least_squares import LeastSquares

if TYPE_CHECKING:
    from thinrank.losses import families
    from thinrank.losses.custom import Custom
    from thinrank.losses.generalized_linear import GeneralizedLinear
    from thinrank.losses.per_task import PerTask
    from thinrank.losses.quadratic import Denoising

__all__ = ["Custom", "Denoising", "GeneralizedLinear", "LeastSquares", "PerTask", "families"]

__getattr__, __dir__ = _lazy_names(
    __name__,
    {
        "Custom": "thinrank.losses.custom",
        "Denoising": "thinrank.losses.quadratic",
        "GeneralizedLinear": "thinrank.losses.generalized_linear",
        "PerTask": "thinrank.losses.per_task",
        "families": "thinrank.losses.families",
    },
)
