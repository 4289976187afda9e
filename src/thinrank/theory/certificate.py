"""What can be said of a fit without knowing the truth."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.core.checks import check_choice
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
from thinrank.theory.suprema import Kind, Quantity, subsets

if TYPE_CHECKING:
    import pandas as pd

# Rows of a table that are printed.
_MAX_ROWS = 10


@dataclass(frozen=True, eq=False)
class Margins:
    """For each selected row (or column): what replacing it by the best other one costs.

    Attributes
    ----------
    selected : ndarray of int
        The selected rows or columns.
    replacement : ndarray of int
        The best row or column to put in its place; −1 if there is no other.
    loss : ndarray of float
        Increase of the objective by that exchange; negative if the exchange is a gain, infinite if
        there is no other.
    dropped : ndarray of float
        Increase of the objective if it is removed without replacement.
    kind : {"exact", "estimate"}
        "exact": every exchange was evaluated, each by its best model. "estimate": the models that
        were evaluated may not be the best, so that the true losses are at most these.
    how : str
        What was evaluated.
    """

    selected: np.ndarray
    replacement: np.ndarray
    loss: np.ndarray
    dropped: np.ndarray
    kind: Kind
    how: str

    @property
    def weakest(self) -> int | None:
        """Position of the smallest loss; None if nothing can be exchanged."""
        if not np.isfinite(self.loss).any():
            return None
        return int(np.argmin(self.loss))


@dataclass(frozen=True, eq=False)
class Certificate:
    """What can be said of a fit without knowing the truth, from :func:`certificate`.

    ``print`` shows it in words; :meth:`to_frame` returns the margins as a data frame. All
    objectives are those that the solver minimized: ½ of the mean over the samples of the squared
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
        if self.objective <= 2e-12 * self.null_objective:  # zero up to rounding
            return 0.0
        return (self.objective - self.lower_bound) / self.objective

    @property
    def vacuous(self) -> bool:
        """Whether the bound is below 1 % of the objective."""
        return self.relative_gap > 0.99

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
        check_choice("which", which, ("predictors", "responses"))
        frames = import_optional("pandas")
        margins = self.rows if which == "predictors" else self.columns
        names = getattr(self.problem, which)
        unit = 100 / self.objective if self.objective > 0 else np.inf
        order = np.argsort(margins.loss, kind="stable")
        best = [names[j] if j >= 0 else None for j in margins.replacement[order]]
        with np.errstate(invalid="ignore"):
            return frames.DataFrame(
                {
                    "replacement": best,
                    "loss": margins.loss[order],
                    "loss_percent": margins.loss[order] * unit,
                    "dropped_percent": margins.dropped[order] * unit,
                },
                index=frames.Index([names[i] for i in margins.selected[order]], name=which[:-1]),
            )

    def __str__(self) -> str:
        problem = self.problem
        n, p = problem.A.shape
        lines = [
            f"Certificate: {n} samples, {p} predictors, {len(problem.responses)} responses",
            f"Model: rank {problem.rank}, {problem.rows} predictors, {problem.columns} responses, "
            f"ridge {problem.ridge:.3g}",
        ]
        said = ["The fit has rank 0: it predicts the means, and there is nothing to certify."]
        if problem.rank:
            lines += ["", "What replacing a selected predictor costs (smallest first)"]
            lines += [*_table(self), ""]
            said = _sentences(self)
        for sentence in said:
            lines += textwrap.wrap(sentence, WIDTH, break_long_words=False, break_on_hyphens=False)
        return "\n".join(lines)


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
    none = np.zeros(0)
    rows = columns = Margins(problem.support, none.astype(int), none, none, "exact", "nothing")
    if len(problem.support):
        rows, columns = _row_margins(problem), _column_margins(problem)
    losses = [m.loss[m.weakest] for m in (rows, columns) if m.weakest is not None]
    values = np.linalg.eigvalsh(problem.gram(problem.support))
    ends = (max(float(values[0]), 0.0), float(values[-1])) if len(values) else (np.nan, np.nan)
    return Certificate(
        problem.objective,
        0.5 * problem.constant,
        _lower_bound(problem),
        rows,
        columns,
        max([0.0, *(-float(loss) for loss in losses)]),
        _suboptimality(problem),
        ends,
        problem,
    )


# ---------------------------------------------------------------- lower bounds


def _lower_bound(problem: FittedProblem) -> Quantity:
    """The objective of the best of all supports if they can be tried, or of a larger class."""
    if not problem.rank:
        return Quantity(0.5 * problem.constant, "exact", "rank 0 has one model")
    p, size = len(problem.predictors), problem.rows
    count = math.comb(p, size)
    larger = _bound_without_rows(problem)
    if size == p or count * cost_of_refit(problem, size) > MAX_WORK:
        return larger
    both, sets = problem.limits_both(size), subsets(p, size)
    value = min(objectives_on(problem, np.arange(p), s, relaxed=True).min() for s in sets)
    how = f"all {count} sets of {size} predictors"
    how += ", each with a relaxation of rank or responses" if both else ""
    tried = Quantity(max(float(value), 0.0), "bound" if both else "exact", how)
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
    if min(problem.A.shape) > 4_000:  # the decomposition would take minutes
        return problem.B
    left, values, _ = np.linalg.svd(problem.A, full_matrices=False)
    floor = max(problem.A.shape) * np.finfo(np.float64).eps * values.max(initial=0.0)
    left, values = left[:, values > floor], values[values > floor]
    return np.asarray((values / np.sqrt(values**2 + problem.ridge))[:, None] * (left.T @ problem.B))


def _suboptimality(problem: FittedProblem) -> float:
    """Decrease of the objective by the best model on the rows and columns of the fit."""
    if not len(problem.support):
        return 0.0
    whitened = whitened_on(problem, problem.support)[:, problem.column_support]
    values = np.linalg.svd(whitened, compute_uv=False)[: problem.rank]
    return max(problem.objective - 0.5 * (problem.constant - float(np.sum(values**2))), 0.0)


# ---------------------------------------------------------------- margins


def _row_margins(problem: FittedProblem) -> Margins:
    """Margins of the selected rows: all exchanges by a refit if that takes seconds."""
    S = problem.support
    others, size = np.setdiff1d(np.arange(len(problem.predictors)), S), len(S)
    losses, dropped = _with_fixed_row_space(problem, others)
    if size * (1 + len(others)) * cost_of_refit(problem, size) > MAX_WORK:
        how = "every exchange, with the row space of the fit held fixed"
        return _best(problem, S, others, losses, dropped, "estimate", how)
    if size == 1:
        dropped = np.array([0.5 * problem.constant - problem.objective])
    else:
        without = np.array([np.delete(np.arange(size), i) for i in range(size)])
        dropped = np.minimum(objectives_on(problem, S, without) - problem.objective, dropped)
    kind: Kind = "exact"
    how = f"all {losses.size} exchanges" if len(others) else "there is no other predictor"
    if len(others):
        supports = np.tile(np.arange(size), (size, len(others), 1))
        supports[np.arange(size), :, np.arange(size)] = size + np.arange(len(others))
        refits = objectives_on(problem, np.concatenate([S, others]), supports.reshape(-1, size))
        losses = np.minimum(refits.reshape(losses.shape) - problem.objective, losses)
        if problem.limits_both(size):
            kind, how = "estimate", how + ", the responses chosen anew by alternation"
    return _best(problem, S, others, losses, dropped, kind, how)


def _column_margins(problem: FittedProblem) -> Margins:
    """Margins of the selected columns over the columns left out, on the rows of the fit."""
    T = problem.column_support
    others = np.setdiff1d(np.arange(len(problem.responses)), T)
    whitened = whitened_on(problem, problem.support)

    def explained(out: int, *new: int) -> float:
        """Squares explained by the best directions without one column and with another."""
        part = whitened[:, [*(j for j in T if j != out), *new]]
        values = np.linalg.svd(part, compute_uv=False)
        return float(np.sum(values[: problem.rank] ** 2))

    kind: Kind = "exact"
    if len(T) * len(others) * 10 * min(len(problem.support), len(T)) ** 3 <= MAX_WORK:
        values = [[explained(i, j) for j in others] for i in T]
        how = f"all {len(T) * len(others)} exchanges on the predictors of the fit"
    else:
        left = np.linalg.svd(whitened[:, T], full_matrices=False)[0][:, : problem.rank]
        weights = np.sum((left.T @ whitened) ** 2, axis=0)
        values = weights[T].sum() - weights[T][:, None] + weights[others][None, :]
        kind, how = "estimate", "every exchange, with the scores of the fit held fixed"
    losses, dropped = (
        0.5 * (problem.constant - np.asarray(found)) - problem.objective
        for found in (values, [explained(i) for i in T])
    )
    return _best(problem, T, others, losses, dropped, kind, how)


def _with_fixed_row_space(
    problem: FittedProblem, others: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Increase of the objective by each exchange and by each removal, with Q held fixed.

    With B = H_SS⁻¹, the coefficients U of Q and aᵢⱼ = (B H_Sj)ᵢ, removing row i costs ‖Uᵢ‖²/(2Bᵢᵢ),
    and row j then gains ‖gⱼ − aᵢⱼUᵢ/Bᵢᵢ‖²/(2(lⱼ + aᵢⱼ²/Bᵢᵢ)), where g is the gradient and l the
    part of H_jj that S does not explain.
    """
    S, Q, eps = problem.support, problem.row_space, np.finfo(np.float64).eps
    inverse = np.linalg.pinv(problem.gram(S), rcond=1e3 * eps, hermitian=True)
    U = inverse @ (problem.cross[S] @ Q)
    start = 0.5 * (problem.constant - np.sum(U * (problem.cross[S] @ Q))) - problem.objective
    spread = np.maximum(np.diagonal(inverse), np.finfo(np.float64).tiny)[:, None]
    costs = np.sum(U**2, axis=1, keepdims=True) / spread
    between = problem.A[:, S].T @ problem.A[:, others]
    slopes = between.T @ U - problem.cross[others] @ Q
    curvature = np.sum(problem.A[:, others] ** 2, axis=0) + problem.ridge
    a = inverse @ between
    step = a / spread
    squares = np.sum(slopes**2, axis=1) - 2 * step * (U @ slopes.T)
    squares += step**2 * np.sum(U**2, axis=1, keepdims=True)
    left_over = curvature - np.sum(between * a, axis=0) + a * step
    clear = left_over > 1e3 * eps * curvature
    gains = np.where(clear, squares / np.where(clear, left_over, 1.0), 0.0)
    return start + 0.5 * (costs - gains), start + 0.5 * costs[:, 0]


def _best(
    problem: FittedProblem,
    selected: np.ndarray,
    others: np.ndarray,
    losses: np.ndarray,
    dropped: np.ndarray,
    kind: Kind,
    how: str,
) -> Margins:
    """The best exchange of each selected row or column, from a matrix of losses."""
    # a last column for no exchange
    losses = np.column_stack(
        [losses.reshape(len(selected), len(others)), np.full(len(selected), np.inf)]
    )
    floor = 1e-9 * problem.constant
    losses, dropped = (np.where(np.abs(part) <= floor, 0.0, part) for part in (losses, dropped))
    place = np.argmin(losses, axis=1)
    loss = losses[np.arange(len(selected)), place]
    return Margins(selected, np.append(others, -1)[place], loss, dropped, kind, how)


# ---------------------------------------------------------------- words


def _sentences(found: Certificate) -> list[str]:
    """What the certificate says, below its table."""
    share = 1 - found.objective / found.null_objective if found.null_objective > 0 else 0.0
    same = "With its predictors and responses the fit is the best model."
    if found.suboptimality > 1e-4 * found.objective:
        same = (
            "With its predictors and responses the best model is "
            f"{100 * found.suboptimality / found.objective:.2g} % lower: the solver stopped before "
            "its minimum, or X, Y or sample_weight are not those of the fit."
        )
    if found.is_optimal:
        bound = (
            "This is the global minimum: no model of these sizes has a lower objective "
            f"({found.bound.how})."
        )
    elif found.vacuous:
        bound = (
            f"The lower bound is vacuous ({found.lower_bound:.3g}): without the limit on their "
            "number, all predictors together can reproduce the responses."
        )
    else:
        bound = (
            f"No model of these sizes has an objective below {found.lower_bound:.6g}, "
            f"{100 * found.relative_gap:.2g} % lower than that of the fit ({found.bound.how})."
        )
        if not found.bound.how.startswith("all "):
            bound += " The limit on the number of predictors plays no part in this bound."
    return [
        _exchange(found, found.rows, found.problem.predictors, "predictor"),
        _exchange(found, found.columns, found.problem.responses, "response"),
        same,
        f"Objective {found.objective:.6g}, where rank 0 has {found.null_objective:.6g}: the model "
        f"accounts for {100 * share:.1f} %.",
        bound,
        "The Gram matrix of the selected predictors has eigenvalues from "
        f"{found.eigenvalues[0]:.3g} to {found.eigenvalues[1]:.3g}.",
    ]


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


def _table(found: Certificate) -> list[str]:
    def percent(value: float) -> str:
        return f"{value:.3g} %" if np.isfinite(value) else "–"

    frame = found.to_frame()
    rows = [
        [name, row.replacement or "none", percent(row.loss_percent), percent(row.dropped_percent)]
        for name, row in frame.head(_MAX_ROWS).iterrows()
    ]
    lines = text_table(["predictor", "best in its place", "loss", "loss if dropped"], rows, (2, 3))
    if len(frame) > _MAX_ROWS:
        lines.append(f"  … and {len(frame) - _MAX_ROWS} more; see to_frame()")
    return lines
