"""Losses of single entries of the responses: value, derivatives and link, without predictors."""

from __future__ import annotations

from typing import Any

from thinrank.losses.families.base import Family
from thinrank.losses.families.categories import Bernoulli, Multinomial
from thinrank.losses.families.counts import NegativeBinomial, Poisson
from thinrank.losses.families.mixed import Mixed, combined
from thinrank.losses.families.squares import Gaussian, Huber

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

FAMILIES: dict[str, type[Family]] = {
    each.name: each
    for each in map(globals().get, __all__)
    if isinstance(each, type) and issubclass(each, Family) and each not in (Family, Mixed)
}
"""The families that a name stands for: all of them that need no arguments."""


def as_family(family: Any) -> Family:
    """The family of a name, with its default parameters; families are returned unchanged.

    Parameters
    ----------
    family : str or Family
        "gaussian", "bernoulli", "poisson", "negative_binomial", "multinomial" or "huber", or a
        family.

    Returns
    -------
    Family

    Examples
    --------
    >>> as_family("huber")
    Huber(threshold=1.345, scale=None)
    """
    if isinstance(family, Family):
        return family
    if isinstance(family, str) and family in FAMILIES:
        return FAMILIES[family]()
    names = ", ".join(f"'{name}'" for name in FAMILIES)
    raise ValueError(f"family must be a Family or one of {names}, got {family!r}")
