"""What can be said of a fit without knowing the truth."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.core.imports import import_optional
from thinrank.estimators.summary import WIDTH, text_table
from thinrank.theory.fitted_problem import (
    MAX_WORK,
    FittedProblem,
    cost_of_refit,
    fitted_problem,
    objectives_on,
    whitened_on,
)
from thinrank.theory.margins import Margins, column_margins, row_margins
from thinrank.theory.suprema import Quantity, subsets

if TYPE_CHECKING:
    import pandas as pd

# A lower bound below this share of the objective says nothing.
_VACUOUS = 0.01
# An objective below this share of that of rank 0 is zero up to rounding.
_ROUNDING = 1e-12
# Size up to which a singular value decomposition of X is computed.
_MAX_SPECTRUM = 4_000
# Rows of a table that are printed.
_MAX_ROWS = 10
# Relative excess over the best model on the same supports that is worth a sentence.
_VISIBLE = 1e-4


@dataclass(frozen=True, eq=False)
class Certificate:
    """What can be said of a fit without knowing the truth, from :func:`certificate`.

    ``print`` shows it in words; :meth:`to_frame` returns the margins as a data frame. All
    objectives are those that the solver minimised: ½ of the mean over the samples of the squared
    residuals, summed over the responses, in the units of the solver, plus the ridge.

    Attributes
    ----------
    objective : float
        Objective of the fit.
    null_objective : float
        Objective of rank 0.
    bound : Quantity
        No model with these sizes has a lower objective than this number. "exact" if a model
        attains it, as where all sets of predictors were tried.
    rows, columns : Margins
        Margins of the selected predictors and responses.
    gain : float
        Decrease of the objective by the best exchange of one predictor or one response; 0 if none
        decreases it.
    suboptimality : float
        How much the objective is above that of the best model with the same predictors and
        responses: 0 unless the solver stopped early.
    eigenvalues : (float, float)
        Smallest and largest eigenvalue of the Gram matrix of the selected predictors, with the
        ridge.
    problem : FittedProblem
        The problem, with names and sizes.
    """

    objective: float
    null_objective: float
    bound: Quantity
    rows: Margins
    columns: Margins
    gain: float
    suboptimality: float
    eigenvalues: tuple[float, float]
    problem: FittedProblem

    @property
    def lower_bound(self) -> float:
        """No model with these sizes has a lower objective."""
        return min(self.bound.value, self.objective)  # equal up to rounding if it is attained

    @property
    def relative_gap(self) -> float:
        """(objective − lower_bound)/objective."""
        if self.objective <= 2 * _ROUNDING * self.null_objective:
            return 0.0
        return (self.objective - self.lower_bound) / self.objective

    @property
    def vacuous(self) -> bool:
        """Whether the bound is below 1 % of the objective."""
        return self.relative_gap > 1 - _VACUOUS

    @property
    def is_optimal(self) -> bool:
        """Whether the bound proves that no model of these sizes has a lower objective."""
        return self.relative_gap <= 1e-9

    def to_frame(self, which: str = "predictors") -> pd.DataFrame:
        """The margins as a data frame, the smallest first.

        Parameters
        ----------
        which : {"predictors", "responses"}, default="predictors"
            Which margins.

        Returns
        -------
        DataFrame
            Columns ``replacement`` (name of the best one to put in its place, or None), ``loss``
            (increase of the objective by that exchange), ``loss_percent`` (the same in percent of
            the objective of the fit) and ``dropped_percent`` (increase if it is removed without
            replacement). The index has the names.
        """
        if which not in ("predictors", "responses"):
            raise ValueError(f'which must be "predictors" or "responses", got {which!r}')
        frames = import_optional("pandas")
        margins = self.rows if which == "predictors" else self.columns
        names = self.problem.predictors if which == "predictors" else self.problem.responses
        unit = 100 / self.objective if self.objective > 0 else np.inf
        order = np.argsort(margins.loss, kind="stable")
        with np.errstate(invalid="ignore"):
            return frames.DataFrame(
                {
                    "replacement": [
                        names[j] if j >= 0 else None for j in margins.replacement[order]
                    ],
                    "loss": margins.loss[order],
                    "loss_percent": margins.loss[order] * unit,
                    "dropped_percent": margins.dropped[order] * unit,
                },
                index=frames.Index([names[i] for i in margins.selected[order]], name=which[:-1]),
            )

    def __str__(self) -> str:
        return _certificate_text(self)


def certificate(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> Certificate:
    """What can be said of a fit without knowing the truth.

    What single exchanges of predictors and responses would change, and a lower bound on the
    objective over all models of the same sizes. Nothing of it assumes that the model is true: it
    is about the minimization, not about the error of the coefficients.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(200, 20, 15, 2, 4, 5, random_state=0)
    >>> est = tr.SparseReducedRankRegressor(rank=2, row_sparsity=4, column_sparsity=5).fit(X, Y)
    >>> found = tr.theory.certificate(est, X, Y)
    >>> found.gain
    0.0
    >>> bool(found.lower_bound <= found.objective)
    True
    """
    problem = fitted_problem(estimator, X, Y, sample_weight)
    rows, columns = row_margins(problem), column_margins(problem)
    losses = [m.loss[m.weakest] for m in (rows, columns) if m.weakest is not None]
    values = np.linalg.eigvalsh(problem.gram(problem.support)) if problem.rank else [np.nan]
    return Certificate(
        problem.objective,
        0.5 * problem.constant,
        _lower_bound(problem),
        rows,
        columns,
        max([0.0, *(-float(loss) for loss in losses)]),
        _suboptimality(problem),
        (float(np.maximum(values[0], 0.0)), float(values[-1])),
        problem,
    )


def _lower_bound(problem: FittedProblem) -> Quantity:
    """The objective of the best of all supports if they can be tried, or of a larger class."""
    if not problem.rank:
        return Quantity(0.5 * problem.constant, "exact", "rank 0 has one model")
    p, k, size = len(problem.predictors), len(problem.responses), problem.rows
    count = math.comb(p, size)
    larger = _bound_without_rows(problem)
    if size == p or count * cost_of_refit(problem, size) > MAX_WORK:
        return larger
    both = problem.columns < k and problem.rank < size
    value = min(
        float(objectives_on(problem, np.arange(p), sets, relaxed=True).min())
        for sets in subsets(p, size)
    )
    how = f"all {count} sets of {size} predictors"
    how += ", each with a relaxation of rank or responses" if both else ""
    tried = Quantity(max(value, 0.0), "bound" if both else "exact", how)
    return max(tried, larger, key=float) if both else tried


def _bound_without_rows(problem: FittedProblem) -> Quantity:
    """All predictors, with the limit on the rank or with the limit on the responses."""
    shrunk, p, k = _explained_by_all(problem), len(problem.predictors), len(problem.responses)
    by_rank = float(np.sum(np.linalg.svd(shrunk, compute_uv=False)[: problem.rank] ** 2))
    by_columns = float(np.sort(np.sum(shrunk**2, axis=0))[::-1][: problem.columns].sum())
    if by_rank <= by_columns:
        how, exact = "reduced-rank regression on all predictors", problem.columns == k
    else:
        how = "regression of the best predicted responses on all predictors, without limit on rank"
        exact = problem.rank >= min(p, problem.columns)
    value = max(0.5 * (problem.constant - min(by_rank, by_columns)), 0.0)
    return Quantity(value, "exact" if exact and problem.rows == p else "bound", how)


def _explained_by_all(problem: FittedProblem) -> np.ndarray:
    """F with FᵀF = BᵀA(AᵀA + ridge·I)⁻¹AᵀB, what all predictors explain; at most B."""
    if min(problem.A.shape) > _MAX_SPECTRUM:
        return problem.B
    left, values, _ = np.linalg.svd(problem.A, full_matrices=False)
    floor = max(problem.A.shape) * np.finfo(np.float64).eps * (values[0] if len(values) else 0)
    left, values = left[:, values > floor], values[values > floor]
    return np.asarray((values / np.sqrt(values**2 + problem.ridge))[:, None] * (left.T @ problem.B))


def _suboptimality(problem: FittedProblem) -> float:
    """Decrease of the objective by the best model on the rows and columns of the fit."""
    if not len(problem.support):
        return 0.0
    whitened = whitened_on(problem, problem.support)[:, problem.column_support]
    values = np.linalg.svd(whitened, compute_uv=False)[: problem.rank]
    best = 0.5 * (problem.constant - float(np.sum(values**2)))
    return max(problem.objective - best, 0.0)


def _certificate_text(found: Certificate) -> str:
    """Sentences and tables, for terminals of 80 columns."""
    problem = found.problem
    lines = [_title(problem)]
    if not problem.rank:
        null = "The fit has rank 0: it predicts the means, and there is nothing to certify."
        return "\n".join([*lines, *_wrapped(null)])
    lines += ["", "What replacing a selected predictor costs (smallest first)"]
    lines += _table(found, found.rows, problem.predictors, "predictor")
    lines.append("")
    for sentence in (
        _exchange(found, found.rows, problem.predictors, "predictor"),
        _exchange(found, found.columns, problem.responses, "response"),
        _same_supports(found),
        _objective(found),
        _bound_text(found),
        "The Gram matrix of the selected predictors has eigenvalues from "
        f"{found.eigenvalues[0]:.3g} to {found.eigenvalues[1]:.3g}.",
    ):
        lines += _wrapped(sentence)
    return "\n".join(lines)


def _title(problem: FittedProblem) -> str:
    n, p = problem.A.shape
    sizes = f"{n} samples, {p} predictors, {len(problem.responses)} responses"
    return (
        f"Certificate: {sizes}\n"
        f"Model: rank {problem.rank}, {problem.rows} predictors, {problem.columns} responses, "
        f"ridge {problem.ridge:.3g}"
    )


def _objective(found: Certificate) -> str:
    share = 1 - found.objective / found.null_objective if found.null_objective > 0 else 0.0
    return (
        f"Objective {found.objective:.6g}, where rank 0 has {found.null_objective:.6g}: the model "
        f"accounts for {100 * share:.1f} %."
    )


def _bound_text(found: Certificate) -> str:
    if found.is_optimal:
        return (
            "This is the global minimum: no model of these sizes has a lower objective "
            f"({found.bound.how})."
        )
    if found.vacuous:
        return (
            f"The lower bound is vacuous ({found.lower_bound:.3g}): without the limit on their "
            "number, all predictors together can reproduce the responses."
        )
    note = ""
    if not found.bound.how.startswith("all "):
        note = " The limit on the number of predictors plays no part in this bound."
    return (
        f"No model of these sizes has an objective below {found.lower_bound:.6g}, "
        f"{100 * found.relative_gap:.2g} % lower than that of the fit ({found.bound.how}).{note}"
    )


def _same_supports(found: Certificate) -> str:
    if found.suboptimality <= _VISIBLE * found.objective:
        return "With its predictors and responses the fit is the best model."
    excess = 100 * found.suboptimality / found.objective
    return (
        f"With its predictors and responses the best model is {excess:.2g} % lower: the solver "
        "stopped before its minimum, or X, Y or sample_weight are not those of the fit."
    )


def _exchange(found: Certificate, margins: Margins, names: list[str], noun: str) -> str:
    place = margins.weakest
    if place is None:
        return f"There is no other {noun} to exchange for a selected one."
    out, new = names[margins.selected[place]], names[margins.replacement[place]]
    loss = float(margins.loss[place])
    size = (
        f"{100 * abs(loss) / found.objective:.2g} %" if found.objective > 0 else f"{abs(loss):.3g}"
    )
    if loss < 0:
        return (
            f"Replacing the {noun} {out} by {new} lowers the objective by {size}: the fit is not "
            f"the best of its sizes ({margins.how})."
        )
    if loss == 0:
        return f"Replacing the {noun} {out} by {new} does not change the objective ({margins.how})."
    return (
        f"No exchange of one {noun} lowers the objective ({margins.how}); the least harmful, {new} "
        f"for {out}, raises it by {size}."
    )


def _table(found: Certificate, margins: Margins, names: list[str], noun: str) -> list[str]:
    order = np.argsort(margins.loss, kind="stable")[:_MAX_ROWS]
    rows = [
        [
            names[margins.selected[i]],
            names[margins.replacement[i]] if margins.replacement[i] >= 0 else "none",
            _percent(margins.loss[i], found.objective),
            _percent(margins.dropped[i], found.objective),
        ]
        for i in order
    ]
    lines = text_table([noun, "best in its place", "loss", "loss if dropped"], rows, (2, 3))
    if len(margins.selected) > _MAX_ROWS:
        lines.append(f"  … and {len(margins.selected) - _MAX_ROWS} more; see to_frame()")
    return lines


def _percent(loss: float, objective: float) -> str:
    if not np.isfinite(loss) or objective <= 0:
        return "–"
    return f"{100 * loss / objective:.3g} %"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
