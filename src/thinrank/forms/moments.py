"""The second moments of a regression in memory, and all decisions about which are kept."""

from __future__ import annotations

import copy
from typing import Literal

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core import resources
from thinrank.core.checks import is_auto
from thinrank.core.contracts import Design, QuadraticForm
from thinrank.designs import Transformed
from thinrank.forms.gram import GramForm
from thinrank.forms.products import ProductForm, SharedProducts

FormName = Literal["auto", "direct", "gram"]

# XᵀX is computed for a single fit if it takes at most this number of multiplications: a
# few milliseconds with one thread.
_CHEAP_GRAM = 50_000_000
# XᵀX is computed for a search for sizes if it takes at most this number of multiplications:
# some hundredths of a second with one thread, which is short compared with a search.
_CHEAP_FOR_SEARCH = 1_000_000_000
# XᵀX is kept if it has at most _GRAM_PER_SAMPLE times as many rows as X, or at most _SMALL_GRAM
# rows. Products with a larger XᵀX take longer than products with X.
_GRAM_PER_SAMPLE = 4
_SMALL_GRAM = 256
# In a search XᵀX may take the memory budget divided by this number, since every split has its own.
_PARTS_FOR_SEARCH = 8


class Moments:
    """XᵀX/n and XᵀY/n, computed when first needed and kept where that saves time.

    All decisions about memory are made here:

    - how the loss is evaluated (``evaluates_by_gram``): with XᵀX if that takes fewer operations
      than products with X and XᵀX is no larger than X;
    - which quadratic form a solver gets (:meth:`form`): one with all of XᵀX if that is cheap to
      compute, else one that multiplies by X and keeps inner products of the columns in use;
    - whether XᵀX is computed for a search with many fits (:meth:`hold_for_search`).
    """

    def __init__(self, X: Design, Y: Design, samples: float, form: FormName = "auto") -> None:
        if form not in ("auto", "direct", "gram"):
            raise ValueError(f'form must be "auto", "direct" or "gram", got {form!r}')
        self.X, self.Y, self.samples = X, Y, samples
        self.target_norms = Y.column_norms()  # (n_targets,)
        self.constant = self._mean_square()  # ‖Y‖²/n
        self.evaluates_by_gram = form == "gram" or (is_auto(form) and self._gram_is_cheaper())
        self._gram: Array | None = None
        self._cross: Array | None = None
        # shared with the moments of scaled responses, which are these ones times the units
        self._shared = SharedProducts(X, Y, samples)
        self._units: Array | None = None
        self._form: QuadraticForm | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of Θ."""
        return self.X.shape[1], self.Y.shape[1]

    @property
    def gram_is_held(self) -> bool:
        """Whether the quadratic form keeps all of XᵀX and XᵀY."""
        return isinstance(self._form, GramForm)

    def gram(self) -> Array:
        """XᵀX/n, computed once and kept."""
        if self._gram is None:
            self._gram = self.X.gram() / self.samples
        return self._gram

    def cross(self) -> Array:
        """XᵀY/n, computed once and kept."""
        if self._cross is None:
            resources.check_fits(
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
        """The quadratic form without ridge, computed once."""
        if self._form is None:
            p, k = self.shape
            fits = resources.fits(p * max(p, k), arrays.itemsize(self.X.prototype))
            if self.evaluates_by_gram or (self._gram_is_quick() and fits):
                self._hold()
            else:
                known = self._cross, self._shared, self._units
                self._form = ProductForm(self.X, self.Y, self.samples, self.constant, 0.0, *known)
        assert self._form is not None
        return self._form

    def holds(self, rows: Array) -> bool:
        """Whether a form has copied the columns ``rows`` of X."""
        return self._shared.active.holds(rows)

    def scores(self, rows: Array, U: Array) -> Array:
        """X_S U for the rows S, without copying columns of X that a form has in use."""
        active = self._shared.active
        return active.combine(rows, U) if active.holds(rows) else self.X.columns(rows) @ U

    def hold_for_search(self) -> None:
        """Compute all of XᵀX if that saves time in a search with many fits."""
        (n, p), k = self.X.shape, self.shape[1]
        fits = resources.fits(_PARTS_FOR_SEARCH * p * p, arrays.itemsize(self.X.prototype))
        pays = n * p * p <= _CHEAP_FOR_SEARCH or p <= _PARTS_FOR_SEARCH * k
        if self._form is None and fits and self._gram_is_small() and pays:
            self._hold()

    def with_target_scale(self, scale: Array) -> Moments:
        """The moments with every response divided by a scale; products with X are shared."""
        # few numbers: on the host
        numbers = arrays.divide_or_zero(1.0, arrays.to_numpy(scale))
        inverse = arrays.from_numpy(numbers, self.Y.prototype)
        other = copy.copy(self)
        other.Y = Transformed(self.Y, column_scale=inverse)
        norms = arrays.to_numpy(self.target_norms) * numbers
        other.target_norms = arrays.from_numpy(norms, self.Y.prototype)
        other.constant = other._mean_square()
        other._cross = None if self._cross is None else self._cross * inverse
        other._units = inverse if self._units is None else self._units * inverse
        other._form = None
        if self.gram_is_held:
            other._hold()
        return other

    def _hold(self) -> None:
        self._form = GramForm(self.gram(), self.cross(), self.constant, self.samples, 0.0)

    def _mean_square(self) -> float:
        """‖Y‖²/n."""
        return arrays.norm(arrays.to_numpy(self.target_norms)) ** 2 / self.samples

    def _gram_is_cheaper(self) -> bool:
        """Whether an evaluation with XᵀX takes no more memory than X.

        It then takes fewer operations, p(p + 2k) < n(2p + 2k), since p is at most n.
        """
        (n, p), k = self.X.shape, self.shape[1]
        fits = resources.fits(p * max(p, k), arrays.itemsize(self.X.prototype))
        return max(p, k) <= n and fits

    def _gram_is_quick(self) -> bool:
        """Whether XᵀX takes little time, or not much more than XᵀY."""
        (n, p), k = self.X.shape, self.shape[1]
        quick = n * p * p <= _CHEAP_GRAM and p * k <= _CHEAP_GRAM / 10 and self._gram_is_small()
        return quick or (p <= 2 * k and p <= n and k <= n)

    def _gram_is_small(self) -> bool:
        """Whether XᵀX is not much larger than X."""
        n, p = self.X.shape
        return p <= max(_GRAM_PER_SAMPLE * n, _SMALL_GRAM)
