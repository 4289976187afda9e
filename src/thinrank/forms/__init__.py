"""Quadratic forms c/2 − ⟨C, Θ⟩ + ½⟨Θ, HΘ⟩, which differ in what they keep in memory."""

from thinrank.forms.moments import GramForm, IdentityForm, Moments, ProductForm

__all__ = ["GramForm", "IdentityForm", "Moments", "ProductForm"]
