"""Whether the conditions of Theorem 1 hold for a start and a step size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from thinrank.arrays import hard_threshold
from thinrank.core.factors import Factors
from thinrank.theory.constants import Constants, as_truth


@dataclass(frozen=True)
class Condition:
    """One inequality.

    Attributes
    ----------
    name : str
        What is compared.
    value : float
        Its value.
    relation : {"≤", "<", ">"}
        The relation that is required.
    limit : float
        What it is compared with.
    """

    name: str
    value: float
    relation: Literal["≤", "<", ">"]
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the inequality is true, up to rounding for ≤."""
        if self.relation == "≤":
            return self.value <= self.limit * (1 + 1e-12)
        return self.value < self.limit if self.relation == "<" else self.value > self.limit

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "VIOLATED"
        return f"  {verdict:<8}  {self.name} {self.relation} {self.limit:.4g}: {self.value:.4g}"


@dataclass(frozen=True)
class Conditions:
    """The conditions of Theorem 1, from :func:`check_conditions`; ``print`` lists them.

    Attributes
    ----------
    items : tuple of Condition
        The inequalities.
    step : float
        The step size η.
    start_distance : float
        d(Z⁰, Z*) of the thresholded start.
    smallest_ratio : float
        c = s/s* above which β < 1 with this step.
    """

    items: tuple[Condition, ...]
    step: float
    start_distance: float
    smallest_ratio: float

    @property
    def hold(self) -> bool:
        """Whether all of them hold, so that Theorem 1 applies."""
        return all(item.holds for item in self.items)

    def __str__(self) -> str:
        head = "Theorem 1 applies" if self.hold else "Theorem 1 does not apply"
        return "\n".join([f"{head}; step {self.step:.4g}", *map(str, self.items)])


def check_conditions(
    constants: Constants, truth: Any, start: Any, step: float | None = None
) -> Conditions:
    """Check every condition of Theorem 1 for a start and a step size.

    Parameters
    ----------
    constants : Constants
        From :func:`thinrank.theory.constants`.
    truth : Factors or array of shape (n_features, n_targets)
        Θ*.
    start : Factors or array of shape (n_features, n_targets)
        Θ⁰.
    step : float or None, default=None
        η; None for the largest that is admissible.

    Returns
    -------
    Conditions
    """
    target, theta = as_truth(truth), _theta(start)
    first = first_iterate(theta, constants)
    largest = constants.largest_step(first)
    step = largest if step is None else float(step)
    distance = first.distance(target)
    gap = float(np.linalg.norm(theta - target.theta))
    items = [
        Condition("μ", constants.mu, ">", 0.0),
        Condition("‖Θ⁰ − Θ*‖", gap, "≤", constants.start_radius),
        Condition("step size η", step, "≤", largest),
        Condition("β", constants.beta(step), "<", 1.0),
    ]
    if constants.statistical_error is not None:
        limit = constants.error_limit(step)
        items.append(Condition("e_stat", constants.statistical_error.value, "≤", limit))
    return Conditions(tuple(items), step, distance, constants.smallest_ratio(step))


def first_iterate(theta: np.ndarray, constants: Constants) -> Factors:
    """Lines 3 and 4 of the algorithm: balanced factors of Θ⁰ of rank r, thresholded."""
    start = Factors.from_theta(theta, constants.rank)
    return Factors(
        hard_threshold(start.U, constants.rows), hard_threshold(start.V, constants.columns)
    )


def _theta(start: Any) -> np.ndarray:
    if isinstance(start, Factors):
        start = start.theta
    return np.asarray(start, dtype=np.float64)
