"""Losses of single entries of the responses: value, derivatives and link, without predictors."""

from thinrank.losses.families.base import Family
from thinrank.losses.families.bernoulli import Bernoulli
from thinrank.losses.families.gaussian import Gaussian
from thinrank.losses.families.huber import Huber
from thinrank.losses.families.mixed import Mixed, combined
from thinrank.losses.families.multinomial import Multinomial
from thinrank.losses.families.names import as_family
from thinrank.losses.families.negative_binomial import NegativeBinomial
from thinrank.losses.families.poisson import Poisson

__all__ = [
    "Bernoulli",
    "Family",
    "Gaussian",
    "Huber",
    "Mixed",
    "Multinomial",
    "NegativeBinomial",
    "Poisson",
    "as_family",
    "combined",
]
