"""Losses of single entries of the responses: value, derivatives and link, without predictors."""

from thinrank.losses.families.base import Family
from thinrank.losses.families.bernoulli import Bernoulli
from thinrank.losses.families.gaussian import Gaussian
from thinrank.losses.families.poisson import Poisson

__all__ = ["Bernoulli", "Family", "Gaussian", "Poisson"]
