"""The default start, chosen by the solver, the size of the data and correlations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core import resources
from thinrank.core.contracts import QuadraticForm, Start
from thinrank.core.factors import Factors
from thinrank.losses.form_loss import FormLoss
from thinrank.starts.convex import Lasso
from thinrank.starts.elimination import Backward, eliminated_around, penalized_fit
from thinrank.starts.screening import PartialScreening, Screening
from thinrank.starts.spectral import Spectral

# Screening is not used if two of the predictors that it selects have a larger correlation.
_MAX_CORRELATION = 0.75
# Up to this number of predictors selected by screening the correlations of all of them are
# computed, of more predictors those of half this number.
_MAX_COMPARED = 2000
# Gradient descent does not start from the lasso if a proximal step takes more multiplications than
# this, some milliseconds, since the lasso takes up to 1000 steps.
_SLOW_STEP = 5_000_000
# Backward elimination is used without a look at the correlations if it takes at most this number of
# multiplications, some tenths of a second.
_QUICK_ELIMINATION = 100_000_000


@dataclass(frozen=True)
class Auto:
    """A start that suits the solver and the predictors.

    Pursuit, which exchanges rows, starts from backward elimination. If that takes long, it starts
    from screening, which only needs XᵀY, unless two of the predictors that screening selects have
    a correlation above 0.75. Such predictors may have been selected only because they are
    correlated with relevant ones, so backward elimination is used then, too. If an earlier fit is
    known, screening uses partial covariances, given that fit; if its data are nearly the same, it
    is the start itself. For a loss that is not quadratic, fits of the loss itself are used if
    backward elimination is quick, else its majorizer at zero.

    Gradient descent, which rarely changes the rows of its start, starts from the lasso; if that is
    slow, it starts like pursuit. If the loss is not quadratic or a dense Θ does not fit into the
    memory budget, it starts from the spectral start.

    Parameters
    ----------
    exchanges_rows : bool, default=False
        Whether the solver exchanges rows, as pursuit does.
    known : Factors or None, default=None
        A fit of the same sizes to nearly the same data, for example with other weights of the
        responses. Only for solvers that exchange rows.
    near : bool, default=False
        Whether the data of ``known`` differ so little that it takes the place of screening.
    """

    exchanges_rows: bool = False
    known: Factors | None = None
    near: bool = False

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Factors of rank at most ``rank``."""
        if self.exchanges_rows and "quadratic" not in loss.capabilities:
            return self._of_majorizer(loss, rank, rows, columns, seed)
        return self.suited(loss, rows)(loss, rank, rows, columns, seed)

    def suited(self, loss: Any, rows: int) -> Start:
        """The start to use for a fit with ``rows`` rows."""
        m1, m2 = loss.shape
        dense_fits = resources.fits(m1 * m2, arrays.itemsize(loss.prototype))
        if not self.exchanges_rows:
            if "quadratic" not in loss.capabilities or not dense_fits:
                return Spectral()
            if m1 * m2 * min(loss.samples, m1) <= _SLOW_STEP:
                return Lasso()
        if self._quick(loss):
            return Backward()
        form = loss.quadratic()
        # losses that are not quadratic are approximated around the start
        scaled = not self.exchanges_rows or form.column_scale is not None
        screening: Screening | PartialScreening
        screening = Screening(fit=not self.exchanges_rows, scaled=scaled)
        if rows >= m1:  # nothing to choose
            return screening
        if self.known is not None and self.exchanges_rows:
            known = self.known
            if self.near:
                return lambda *of_the_fit: known
            screening = PartialScreening(form, known)
        few = rows <= _MAX_COMPARED  # then the fit needs their inner products, too
        picked = screening.picked_rows(form, rows if few else _MAX_COMPARED // 2)
        if _correlated(form, picked):
            return Backward()
        return _Picked(screening, picked) if few else screening

    def _quick(self, loss: Any) -> bool:
        """Whether backward elimination takes little time."""
        m1 = loss.shape[0]
        return loss.samples * m1 * min(loss.samples, m1) <= _QUICK_ELIMINATION

    def _of_majorizer(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """The start for the majorizer of the loss at zero."""
        form = loss.majorizer(Factors.zero(loss.shape, loss.prototype, rank=1))
        if "gauss_newton" in loss.capabilities and self._quick(loss):
            form = loss.majorizer(penalized_fit(loss))
            return eliminated_around(form, rows, rank)
        found = self(FormLoss(form), rank, rows, columns, seed)
        if form.column_scale is None:
            return found
        return Factors(found.U, found.V / form.column_scale[:, None])


@dataclass(frozen=True, eq=False)
class _Picked:
    """Screening whose rows are already picked."""

    screening: Screening | PartialScreening
    rows: Array

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        return self.screening.on_picked(loss, self.rows, rank, columns, seed)


def _correlated(form: QuadraticForm, rows: Array) -> bool:
    """Whether two of the predictors are correlated."""
    if rows.shape[0] < 2:
        return False
    gram = form.gram(rows)
    xp = arrays.namespace(gram)
    least = xp.min(xp.linalg.diagonal(gram))
    least, largest = arrays.to_numpy(xp.stack([least, arrays.max_abs(xp.tril(gram, k=-1))]))
    # their quotient is a bound of all correlations, and equal to the largest if X is scaled
    if largest <= _MAX_CORRELATION * least:
        return False
    gram = form.gram(rows)
    inverse = xp.sqrt(arrays.divide_or_zero(1.0, xp.linalg.diagonal(gram)))
    gram *= inverse
    gram *= inverse[:, None]
    return float(arrays.max_abs(arrays.add_to_diagonal(gram, -1.0))) > _MAX_CORRELATION
