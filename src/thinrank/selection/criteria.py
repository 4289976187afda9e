"""Criteria for the trade-off between fit and complexity that need no noise level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import gammaln

from thinrank.core.checks import check_choice, check_number

# Largest number of rows per sample: near saturation too few degrees of freedom are left to estimate
# the noise. Rule of thumb.
_MAX_ROWS_PER_SAMPLE = 0.8

CriterionName = Literal["pic", "aic", "bic", "gic", "ebic", "gcv"]


@dataclass(frozen=True, eq=False)
class Complexity:
    """The complexity of one or more models; fields may be arrays with one entry per model."""

    degrees: np.ndarray | float  # effective ones: (s₁ + s₂ − r)·r without ridge
    rows: np.ndarray | int  # s₁
    columns: np.ndarray | int  # s₂
    features: int  # p
    targets: int  # k
    select_rows: bool = True  # False if there is no limit on their number
    select_columns: bool = True

    @property
    def inflation(self) -> np.ndarray | float:
        """s₁·log(e·p/s₁) + s₂·log(e·k/s₂), the complexity of the choice of rows and columns."""
        return self.of_choices(_inflation)

    def of_choices(self, cost: Callable[..., np.ndarray]) -> np.ndarray | float:
        """A cost of the choice of the rows, and of that of the columns, where there is one."""
        rows = cost(self.rows, self.features) if self.select_rows else 0.0
        return rows + cost(self.columns, self.targets) if self.select_columns else rows


@dataclass(frozen=True)
class Criterion:
    """N·log(RSS) plus a penalty, with N = n·k; lower is better.

    No noise level is needed; a change of the units of Y adds a constant. Models whose penalty is at
    least N, or whose number of rows exceeds 80 % of the number of samples, have an infinite
    criterion, because log(RSS) → −∞ near saturation. All criteria assume noise that is independent
    across the responses.

    Parameters
    ----------
    name : {"pic", "aic", "bic", "gic", "ebic", "gcv"}, default="pic"
        The penalty, where df is the number of degrees of freedom.

        ``pic``
            A₁·df + A₂·[s₁·log(ep/s₁) + s₂·log(ek/s₂)], the predictive information criterion of
            She (2017) and She & Tran (2019), here for two-way sparsity. It takes the choice of rows
            and columns into account.
        ``aic``
            2·df. For prediction with few candidate models; with many it selects too much.
        ``bic``
            log(N)·df. For finding a true model with p and k fixed.
        ``gic``
            log(log N)·log(p·k)·df (Fan & Tang 2013), for p and k that grow with n.
        ``ebic``
            log(N)·df + 2·log(number of choices) (Chen & Chen 2008, γ = 1).
        ``gcv``
            −2N·log(1 − df/N): generalized cross-validation (Golub, Heath & Wahba 1979).
    per_degree : float, default=4.0
        A₁ of "pic".
    per_inflation : float, default=2.0
        A₂ of "pic".
    """

    name: CriterionName = "pic"
    per_degree: float = 4.0
    per_inflation: float = 2.0

    def __post_init__(self) -> None:
        check_choice("name", self.name, CRITERIA)
        for constant in ("per_degree", "per_inflation"):
            check_number(constant, getattr(self, constant))

    def penalty(self, observations: float, complexity: Complexity) -> np.ndarray:
        """The penalty that is added to N·log(RSS)."""
        N, df = observations, np.asarray(complexity.degrees, dtype=float)
        if self.name == "pic":
            return self.per_degree * df + self.per_inflation * complexity.inflation
        if self.name == "aic":
            return 2.0 * df
        if self.name == "bic":
            return np.log(N) * df
        if self.name == "gic":
            growth = max(float(np.log(max(np.log(N), 1.0))), 1.0)
            return growth * np.log(max(complexity.features * complexity.targets, 2)) * df
        if self.name == "ebic":
            return np.log(N) * df + 2.0 * complexity.of_choices(_log_binomial)
        left = 1.0 - df / N
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(left > 0, -2.0 * N * np.log(np.maximum(left, 1e-300)), np.inf)

    def scores(
        self, residual: np.ndarray, null: float, observations: float, complexity: Complexity
    ) -> np.ndarray:
        """The criterion minus that of the zero matrix; infinite near saturation.

        ``residual`` and ``null`` are the residual sums of squares of the models and of the zero
        matrix, ``observations`` is N.
        """
        penalty = self.penalty(observations, complexity)
        most_rows = _MAX_ROWS_PER_SAMPLE * observations / complexity.targets
        allowed = (penalty < observations) & (np.asarray(complexity.rows) <= max(most_rows, 1))
        if null <= 0:  # nothing to explain: only the penalty counts
            return np.where(allowed, penalty, np.inf) + np.zeros_like(residual)
        floor = np.finfo(float).eps * null  # a residual below this is a rounding error
        fit = observations * np.log(np.maximum(residual, floor) / null)
        return np.where(allowed, fit + penalty, np.inf)


CRITERIA: tuple[CriterionName, ...] = get_args(CriterionName)


def as_criterion(criterion: object) -> Criterion:
    """A Criterion from its name; a Criterion is returned as it is."""
    if isinstance(criterion, Criterion):
        return criterion
    for name in CRITERIA:
        if isinstance(criterion, str) and criterion == name:
            return Criterion(name)
    names = ", ".join(f'"{name}"' for name in CRITERIA)
    raise ValueError(
        f'criterion must be one of {names}, "auto" or "cv", or a Criterion; got {criterion!r}'
    )


def _inflation(chosen: np.ndarray | int, among: int) -> np.ndarray:
    chosen = np.maximum(np.asarray(chosen, dtype=float), 1e-300)
    return chosen * (1 + np.log(among / chosen))


def _log_binomial(chosen: np.ndarray | int, among: int) -> np.ndarray:
    """Logarithm of the number of ways to choose s of p."""
    chosen = np.asarray(chosen, dtype=float)
    return gammaln(among + 1) - gammaln(chosen + 1) - gammaln(among - chosen + 1)
