"""The claims of the paper, each tried against the records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from thinrank.report.calcium import found_regions, rank_beside_criterion
from thinrank.report.findings import (
    Finding,
    both_fall,
    competitive,
    discards_as_printed,
    early_stopping,
    first_two,
    gdt_as_printed,
    gdt_is_fastest,
    heavy_tails,
    linear,
    lowest_of_all,
    lowest_of_rivals,
    lowest_prediction,
    most_when_n_is_small,
    not_from_the_start,
    rivals_as_printed,
    sizes_hurt_little,
    sub_gaussian,
)
from thinrank.report.printed import printed, table_names
from thinrank.report.rl_sparse_family import falls_as_bounded
from thinrank.report.statistics import Record

__all__ = ["FAILS", "HOLDS", "NOT_RUN", "Claim", "judge"]

HOLDS, FAILS, NOT_RUN = "holds", "does not hold", "not run"

Results = dict[str, list[Record]]


@dataclass(frozen=True)
class Claim:
    """A claim and what became of it.

    Parameters
    ----------
    text : str
        The claim, with the yardstick where the paper gives none.
    studies : tuple of str
        Where the numbers come from.
    verdict : str
        ``"holds"``, ``"does not hold"`` or ``"not run"``.
    evidence : str
        The numbers.
    """

    text: str
    studies: tuple[str, ...]
    verdict: str
    evidence: str


def judge(results: Results) -> list[Claim]:
    """Return every claim with its verdict.

    Parameters
    ----------
    results : dict of str to list of dict
        Records by study; a study that was not run is absent or empty.

    Returns
    -------
    list of Claim
        In the order of the paper. A claim over several studies fails if it fails in one of them;
        it holds only if all of them were run.
    """
    return [_try(text, studies, test, results) for text, studies, test in _CLAIMS]


def _try(
    text: str,
    studies: tuple[str, ...],
    test: Callable[[str, list[Record]], Finding | None],
    results: Results,
) -> Claim:
    findings = {name: test(name, results[name]) if results.get(name) else None for name in studies}
    several = len(studies) > 1
    told = [
        (f"{name}: " if several else "") + (finding[1] if finding else NOT_RUN)
        for name, finding in findings.items()
    ]
    tried = [finding[0] for finding in findings.values() if finding is not None]
    if not tried:
        return Claim(text, studies, NOT_RUN, "")
    verdict = FAILS if not all(tried) else HOLDS if len(tried) == len(studies) else NOT_RUN
    return Claim(text, studies, verdict, "; ".join(told))


_TABLES = table_names()
_CLAIMS: list[tuple[str, tuple[str, ...], Callable[[str, list[Record]], Finding | None]]] = [
    (
        "Without error GDT converges linearly to the true coefficients (rate below 1, R² of the "
        "log-linear fit above 0.95)",
        ("figure-no-error",),
        linear,
    ),
    (
        "Without sparsity GDT converges linearly to the global minimum (rate below 1, R² of the "
        "log-linear fit above 0.95)",
        ("figure-no-sparsity",),
        linear,
    ),
    (
        "GDT has the lowest mean estimation error of the paper's methods in all four tables",
        _TABLES,
        lowest_of_rivals,
    ),
    (
        "The same with pursuit, this package's own solver, among the methods",
        _TABLES,
        lowest_of_all,
    ),
    (
        "GDT and pursuit both have lower mean estimation errors than every rival (our claim, not "
        "the paper's)",
        _TABLES,
        first_two,
    ),
    (
        "GDT has the lowest mean prediction error of the paper's methods in all four tables (on "
        "fresh rows)",
        _TABLES,
        lowest_prediction,
    ),
    (
        "GDT's mean estimation error is the printed one: at most 2 printed sd above it",
        _TABLES,
        gdt_as_printed,
    ),
    (
        "The rivals' mean estimation errors are the printed ones: within 2 printed sd",
        _TABLES,
        rivals_as_printed,
    ),
    ("GDT is the fastest of the paper's methods at every ζ ≥ 5", ("table5",), gdt_is_fastest),
    (
        "The speed does not come from the initialisation: at every ζ ≥ 5 GDT's iterations take "
        "longer than its start",
        ("table5",),
        not_from_the_start,
    ),
    (
        "In high dimension estimation error and objective both fall from the lasso start",
        ("figure-high-dimension",),
        both_fall,
    ),
    (
        "Early stopping helps, if not much: for some n the last error is more than 0.1 % above "
        "the best on the way",
        ("figure-high-dimension",),
        early_stopping,
    ),
    (
        "Early stopping helps most when n is small: at the smallest n of the figure",
        ("figure-high-dimension",),
        most_when_n_is_small,
    ),
    (
        "On the Norwegian paper data GDT is competitive: test error within 2 % of the best of the "
        "paper's methods",
        ("norway",),
        competitive,
    ),
    (
        "On the Norwegian paper data GDT discards exactly "
        + ", ".join(f"`{term}`" for term in printed()["norway"]["discarded"]),
        ("norway",),
        discards_as_printed,
    ),
    (
        "On a calcium movie (a public one) the five most significant labelled regions match the "
        "estimated ones: all have one within 5 pixels",
        ("calcium",),
        lambda name, records: found_regions(records),
    ),
    (
        "On a calcium movie (a public one) r = 50 is at least the rank by the criterion of Bunea, "
        "She and Wegkamp",
        ("calcium",),
        lambda name, records: rank_beside_criterion(records),
    ),
    (
        "The estimation accuracy is not very sensitive to s₁ and s₂: twice the true sizes raise "
        "GDT's mean error by at most 25 %",
        ("sensitivity",),
        sizes_hurt_little,
    ),
    (
        "Sub-Gaussian noise is like Gaussian noise: GDT's mean error within 10 %",
        ("noise",),
        sub_gaussian,
    ),
    (
        "Heavy tails, which the theory leaves out, are worse than Gaussian noise",
        ("noise",),
        heavy_tails,
    ),
    (
        "The value error of multi-task Q-iteration with GDT falls at least as fast as the "
        "theorem's 1/n (which the paper does not run)",
        ("rl-sparse-family",),
        falls_as_bounded,
    ),
]
