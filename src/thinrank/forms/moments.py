"""The second moments of a regression, and the one place that decides which of them are held."""

from __future__ import annotations

import copy
from typing import Literal

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core import memory
from thinrank.core.checks import is_auto
from thinrank.core.contracts import Design, QuadraticForm
from thinrank.designs import Transformed
from thinrank.forms.gram import GramForm
from thinrank.forms.products import ProductForm

__all__ = ["FormName", "Moments"]

FormName = Literal["auto", "direct", "gram"]

# Multiplications that take some hundredths of a second: then XᵀX is made without asking further.
_CHEAP_GRAM = 50_000_000
# Multiplications that take less than a second, which is little beside those of a search for sizes.
_CHEAP_FOR_MANY = 1_000_000_000
# XᵀX is held if it has at most this many times as many rows as X, or at most _SMALL_GRAM rows.
# Beyond that products with X cost less than products with XᵀX.
_GRAM_PER_SAMPLE = 4
_SMALL_GRAM = 256
# For a search XᵀX may take one part in this many of the memory budget: every split has its own.
_PARTS_FOR_SEARCH = 8


class Moments:
    """XᵀX/n and XᵀY/n, computed when first asked for and held where that pays.

    All decisions about memory are made here:

    - how the loss is evaluated (``evaluates_by_gram``): through XᵀX if that needs fewer operations
      than X and is no larger than X;
    - which quadratic form a solver gets (:meth:`form`): one that holds XᵀX if making it is cheap,
      else one that works with products and keeps what concerns the columns in use;
    - whether XᵀX is made for a search with many fits (:meth:`hold_for_search`).

    Parameters
    ----------
    X : Design of shape (n_samples, n_features)
        Multiplied by the roots of the sample weights.
    Y : Design of shape (n_samples, n_targets)
        Likewise.
    samples : float
        n, the sum of the weights.
    form : {"auto", "direct", "gram"}, default="auto"
        How the loss is evaluated; "auto" decides.
    """

    def __init__(self, X: Design, Y: Design, samples: float, form: FormName = "auto") -> None:
        if form not in ("auto", "direct", "gram"):
            raise ValueError(f'form must be "auto", "direct" or "gram", got {form!r}')
        self.X, self.Y, self.samples = X, Y, samples
        self.constant = self._mean_square()
        self.evaluates_by_gram = form == "gram" or (is_auto(form) and self._gram_is_cheaper())
        self._gram: Array | None = None
        self._cross: Array | None = None
        self._form: QuadraticForm | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of Θ."""
        return self.X.shape[1], self.Y.shape[1]

    @property
    def gram_is_held(self) -> bool:
        """Whether the quadratic form holds XᵀX and XᵀY in full."""
        return isinstance(self._form, GramForm)

    def gram(self) -> Array:
        """XᵀX/n, computed once and held."""
        if self._gram is None:
            self._gram = self.X.gram() / self.samples
        return self._gram

    def cross(self) -> Array:
        """XᵀY/n, computed once and held."""
        if self._cross is None:
            memory.check_fits(
                self.shape,
                arrays.itemsize(self.X.prototype),
                "XᵀY",
                'use form="direct" and a start that does not need it ("spectral")',
            )
            everything = arrays.indices(range(self.shape[1]), self.X.prototype)
            self._cross = self.X.transposed_product(self.Y.columns(everything))
            self._cross /= self.samples
        return self._cross

    def form(self) -> QuadraticForm:
        """The quadratic form without ridge; made once."""
        if self._form is None:
            p, k = self.shape
            fits = memory.fits(p * max(p, k), arrays.itemsize(self.X.prototype))
            if self.evaluates_by_gram or (self._gram_is_quick() and fits):
                self._hold()
            else:
                self._form = ProductForm(
                    self.X, self.Y, self.samples, self.constant, 0.0, self._cross
                )
        assert self._form is not None
        return self._form

    def hold_for_search(self) -> None:
        """Hold all of XᵀX where that pays for a search with many fits."""
        (n, p), k = self.X.shape, self.shape[1]
        fits = memory.fits(_PARTS_FOR_SEARCH * p * p, arrays.itemsize(self.X.prototype))
        pays = n * p * p <= _CHEAP_FOR_MANY or p <= _PARTS_FOR_SEARCH * k
        if self._form is None and fits and self._gram_is_small() and pays:
            self._hold()

    def with_target_scale(self, scale: Array) -> Moments:
        """The moments with every response divided by a scale; products with X are shared."""
        inverse = arrays.divide_or_zero(1.0, scale)
        other = copy.copy(self)
        other.Y = Transformed(self.Y, column_scale=inverse)
        other.constant = other._mean_square()
        other._cross = None if self._cross is None else self._cross * inverse
        other._form = None
        if self.gram_is_held:
            other._hold()
        return other

    def _hold(self) -> None:
        self._form = GramForm(self.gram(), self.cross(), self.constant, self.samples, 0.0)

    def _mean_square(self) -> float:
        """‖Y‖²/n."""
        return arrays.norm(self.Y.column_norms()) ** 2 / self.samples

    def _gram_is_cheaper(self) -> bool:
        """Whether an evaluation through XᵀX needs fewer operations, and no more memory than X."""
        (n, p), k = self.X.shape, self.shape[1]
        cheaper = p * (p + 2 * k) < n * (2 * p + 2 * k)
        fits = memory.fits(p * max(p, k), arrays.itemsize(self.X.prototype))
        return cheaper and max(p, k) <= n and fits

    def _gram_is_quick(self) -> bool:
        """Whether all of XᵀX costs little, in itself or beside XᵀY."""
        (n, p), k = self.X.shape, self.shape[1]
        quick = n * p * p <= _CHEAP_GRAM and p * k <= _CHEAP_GRAM / 10 and self._gram_is_small()
        return quick or (p <= 2 * k and p <= n and k <= n)

    def _gram_is_small(self) -> bool:
        """Whether XᵀX is not much larger than X."""
        n, p = self.X.shape
        return p <= max(_GRAM_PER_SAMPLE * n, _SMALL_GRAM)
