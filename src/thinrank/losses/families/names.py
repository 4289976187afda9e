"""Families by name."""

from __future__ import annotations

from typing import Any

from thinrank.losses.families.base import Family
from thinrank.losses.families.bernoulli import Bernoulli
from thinrank.losses.families.gaussian import Gaussian
from thinrank.losses.families.huber import Huber
from thinrank.losses.families.multinomial import Multinomial
from thinrank.losses.families.negative_binomial import NegativeBinomial
from thinrank.losses.families.poisson import Poisson

__all__ = ["FAMILIES", "as_family"]

_FAMILIES = (Gaussian, Bernoulli, Poisson, NegativeBinomial, Multinomial, Huber)
_NAMED: dict[str, type[Family]] = {family.name: family for family in _FAMILIES}

FAMILIES = tuple(_NAMED)
"""Names of the families."""


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
    if isinstance(family, str) and family in _NAMED:
        return _NAMED[family]()
    names = ", ".join(f"'{name}'" for name in _NAMED)
    raise ValueError(f"family must be a Family or one of {names}, got {family!r}")
