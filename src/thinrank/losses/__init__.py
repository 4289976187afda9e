"""The losses f(Θ) that thinrank minimises."""

from thinrank.losses import families
from thinrank.losses.custom import Custom
from thinrank.losses.denoising import Denoising
from thinrank.losses.generalized_linear import GeneralizedLinear
from thinrank.losses.least_squares import LeastSquares
from thinrank.losses.per_task import PerTask

__all__ = ["Custom", "Denoising", "GeneralizedLinear", "LeastSquares", "PerTask", "families"]
