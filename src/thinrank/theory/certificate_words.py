"""A certificate in words."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from thinrank.estimators.summary import WIDTH, text_table
from thinrank.theory.fitted_problem import FittedProblem
from thinrank.theory.margins import Margins

if TYPE_CHECKING:
    from thinrank.theory.certificate import Certificate

# Rows of a table that are printed.
_MAX_ROWS = 10
# Relative excess over the best model on the same supports that is worth a sentence.
_VISIBLE = 1e-4


def certificate_text(found: Certificate) -> str:
    """Sentences and tables, for terminals of 80 columns."""
    problem = found.problem
    lines = [_title(problem)]
    if not problem.rank:
        null = "The fit has rank 0: it predicts the means, and there is nothing to certify."
        return "\n".join([*lines, *_wrapped(null)])
    for sentence in (
        _objective(found),
        _bound(found),
        _same_supports(found),
        _exchange(found, found.rows, problem.predictors, "predictor"),
        _exchange(found, found.columns, problem.responses, "response"),
        _eigenvalues(found),
    ):
        lines += _wrapped(sentence)
    lines += ["", "What replacing a selected predictor costs (smallest first)"]
    lines += _table(found, found.rows, problem.predictors, "predictor")
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


def _bound(found: Certificate) -> str:
    best = found.bounds[0]
    if found.is_optimal:
        return (
            "This is the global minimum: no model of these sizes has a lower objective "
            f"({best.how})."
        )
    if found.vacuous:
        return (
            f"The lower bound is vacuous ({found.lower_bound:.3g}): {_why_vacuous(found.problem)}"
        )
    note = ""
    if best.name == "rank" and found.problem.rows < len(found.problem.predictors):
        note = " The limit on the number of predictors plays no part in this bound."
    return (
        f"No model of these sizes has an objective below {found.lower_bound:.6g}, "
        f"{100 * found.relative_gap:.2g} % lower than that of the fit ({best.how}).{note}"
    )


def _why_vacuous(problem: FittedProblem) -> str:
    n, p = problem.A.shape
    if p >= n and problem.ridge == 0:
        return (
            f"with {p} predictors and {n} samples and without ridge, a relaxation of the number of "
            "predictors can reproduce the responses. A ridge, or a lower rank, gives a bound."
        )
    return "the relaxations that were tried can reproduce the responses."


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


def _eigenvalues(found: Certificate) -> str:
    low, high = found.eigenvalues
    text = (
        f"The Gram matrix of the selected predictors has eigenvalues from {low:.3g} to {high:.3g}"
    )
    if found.sparse_eigenvalues is None:
        return f"{text}."
    least, most = found.sparse_eigenvalues
    how = "" if least.kind == "exact" else ", at least,"
    return (
        f"{text}; over all sets of as many predictors they range{how} from {least.value:.3g} to "
        f"{most.value:.3g} ({least.kind}: {least.how})."
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
