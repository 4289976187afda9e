"""The default start: cheap on easy designs, right on hard ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core import memory
from thinrank.core.contracts import QuadraticForm, Start
from thinrank.core.factors import Factors
from thinrank.losses.form_loss import FormLoss
from thinrank.starts.backward import Backward
from thinrank.starts.convex import Lasso
from thinrank.starts.screening import Screening
from thinrank.starts.spectral import Spectral

__all__ = ["Auto"]

# Predictors that screening picked are misleading when two of them are correlated beyond this.
_TOO_CORRELATED = 0.75
# Predictors, the first that screening picks, among which such a pair is looked for.
_ENOUGH_ROWS = 1000
# Multiplications of one proximal step beyond which gradient descent does not start from the lasso.
_SLOW_STEP = 5_000_000
# Multiplications of backward elimination up to which it is the start whatever the predictors.
_QUICK_ELIMINATION = 100_000_000


@dataclass(frozen=True)
class Auto:
    """A start that suits the solver and the predictors.

    Pursuit, which exchanges rows, begins from backward elimination. Where that would take long, it
    begins from screening, which costs nothing beside XᵀY, unless two of the predictors that
    screening selects are correlated beyond 0.75: these may stand for others that matter. Then it
    begins from backward elimination all the same. For a loss that is not quadratic this is done
    with its majorizer at zero. Gradient descent, which seldom leaves the rows it starts from,
    begins from the lasso, or, where that would be slow, like pursuit; from the spectral start if
    the loss is not quadratic or too large for a dense Θ.

    Parameters
    ----------
    exchanges_rows : bool, default=False
        Whether the solver exchanges rows, as pursuit does.
    """

    exchanges_rows: bool = False

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Factors of rank at most ``rank``."""
        if self.exchanges_rows and "quadratic" not in loss.capabilities:
            return self._of_majorizer(loss, rank, rows, columns, seed)
        return self.suited(loss, rows)(loss, rank, rows, columns, seed)

    def suited(self, loss: Any, rows: int) -> Start:
        """The start that is used for a number of rows."""
        m1, m2 = loss.shape
        dense_fits = memory.fits(m1 * m2, arrays.itemsize(loss.prototype))
        if not self.exchanges_rows:
            if "quadratic" not in loss.capabilities or not dense_fits:
                return Spectral()
            if m1 * m2 * min(loss.samples, m1) <= _SLOW_STEP:
                return Lasso()
        small = min(loss.samples, m1)
        if loss.samples * m1 * small <= _QUICK_ELIMINATION:
            return Backward()
        screening = Screening(fit=not self.exchanges_rows)
        if rows >= m1:  # nothing to choose
            return screening
        form, some = loss.quadratic(), min(rows, _ENOUGH_ROWS)
        return Backward() if _correlated(form, screening.picked_rows(form, some)) else screening

    def _of_majorizer(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """The start for the quadratic form that touches the loss at zero."""
        blocks = (arrays.zeros((size, 1), loss.prototype) for size in loss.shape)
        form = loss.majorizer(Factors(*blocks))
        found = self(FormLoss(form), rank, rows, columns, seed)
        if form.column_scale is None:
            return found
        return Factors(found.U, found.V / form.column_scale[:, None])


def _correlated(form: QuadraticForm, rows: Array) -> bool:
    """Whether two of the predictors are strongly correlated."""
    if rows.shape[0] < 2:
        return False
    gram = form.gram(rows)
    xp = arrays.namespace(gram)
    inverse = xp.sqrt(arrays.divide_or_zero(1.0, xp.linalg.diagonal(gram)))
    gram *= inverse
    gram *= inverse[:, None]
    gram -= arrays.identity(gram.shape[0], like=gram)
    return max(float(xp.max(gram)), -float(xp.min(gram))) > _TOO_CORRELATED
