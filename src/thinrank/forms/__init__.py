"""Quadratic forms: f as c/2 − ⟨C, Θ⟩ + ½⟨Θ, HΘ⟩, and what of it is held in memory."""

from thinrank.forms.gram import GramForm
from thinrank.forms.identity import IdentityForm
from thinrank.forms.moments import Moments
from thinrank.forms.products import ProductForm

__all__ = ["GramForm", "IdentityForm", "Moments", "ProductForm"]
