"""The claims of the paper, each tried against the records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from thinrank.report.accuracy import mean_errors
from thinrank.report.calcium import found_regions, rank_beside_criterion
from thinrank.report.convergence import log_line
from thinrank.report.high_dimension import best_error, last_error
from thinrank.report.noise import SUB_GAUSSIAN, ratios
from thinrank.report.norway import discards, rmse
from thinrank.report.printed import RIVALS, printed, setting_title, table_names
from thinrank.report.rl_sparse_family import falls_as_bounded
from thinrank.report.sensitivity import by_factor
from thinrank.report.statistics import Record, distance, paired_difference, percent, seconds
from thinrank.report.timing import fastest, start_and_solver

__all__ = ["FAILS", "HOLDS", "NOT_RUN", "Claim", "judge"]

HOLDS, FAILS, NOT_RUN = "holds", "does not hold", "not run"

Results = dict[str, list[Record]]
Finding = tuple[bool, str]
"""Whether it holds, and the numbers."""


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


def _linear(name: str, records: list[Record]) -> Finding | None:
    lines = [line for r in records if (line := log_line(r["iterations"], r["errors"]))]
    if not lines:
        return None
    rate, fit = max(line.rate for line in lines), min(line.r2 for line in lines)
    last = max(r["errors"][-1] for r in records)
    told = f"rate {rate:.4f} an iteration, R² {fit:.4f}, last error {last:.2g}"
    return rate < 1 and fit > 0.95, told + (" (worst of the runs)" if len(lines) > 1 else "")


def _lowest(
    records: list[Record], among: tuple[str, ...], field: str = "spectral"
) -> Finding | None:
    errors = mean_errors(records, field)
    rivals = [method for method in errors if method in among]
    if "GDT" not in errors or not rivals:
        return None
    best = rivals[0]
    told = f"GDT {errors['GDT'].mean:.4f}, {best} {errors[best].mean:.4f}"
    holds = errors["GDT"].mean < errors[best].mean
    if not holds:
        rows = {m: [r for r in records if r["method"] == m] for m in ("GDT", best)}
        gap = paired_difference(rows["GDT"], rows[best], field)
        told += f" (difference {gap.mean:.4f}, standard error {gap.sd:.4f})" if gap else ""
    return holds, told


def _lowest_of_rivals(name: str, records: list[Record]) -> Finding | None:
    return _lowest(records, RIVALS)


def _lowest_prediction(name: str, records: list[Record]) -> Finding | None:
    return _lowest(records, RIVALS, "prediction")


def _lowest_of_all(name: str, records: list[Record]) -> Finding | None:
    return _lowest(records, (*RIVALS, "pursuit")) if _has(records, "pursuit") else None


def _first_two(name: str, records: list[Record]) -> Finding | None:
    errors = mean_errors(records)
    rivals = [method for method in errors if method in RIVALS]
    if "GDT" not in errors or "pursuit" not in errors or not rivals:
        return None
    best = rivals[0]
    told = ", ".join(f"{m} {errors[m].mean:.4f}" for m in ("GDT", "pursuit", best))
    worse = max(errors["GDT"].mean, errors["pursuit"].mean)
    return worse < errors[best].mean, told


def _has(records: list[Record], method: str) -> bool:
    return any(record.get("method") == method for record in records)


def _gdt_as_printed(name: str, records: list[Record]) -> Finding | None:
    error = mean_errors(records).get("GDT")
    if error is None:
        return None
    old = printed()["tables"][name]["methods"]["GDT"]["estimation"]
    gap = distance(error.mean, old) or 0.0
    return gap <= 2, f"{error.mean:.4f}, printed {old[0]:.4f} ± {old[1]:.4f}, {gap:+.1f} sd"


def _rivals_as_printed(name: str, records: list[Record]) -> Finding | None:
    errors = mean_errors(records)
    table = printed()["tables"][name]["methods"]
    gaps = {
        method: distance(errors[method].mean, table[method]["estimation"]) or 0.0
        for method in RIVALS
        if method in errors
    }
    if not gaps:
        return None
    outside = {method: gap for method, gap in gaps.items() if abs(gap) > 2}
    told = f"{len(gaps) - len(outside)} of {len(gaps)}"
    if outside:
        told += " but for " + ", ".join(
            f"{m} {gap:+.1f} sd ({'lower' if gap < 0 else 'higher'} here)"
            for m, gap in outside.items()
        )
    return not outside, told


def _fastest(name: str, records: list[Record]) -> Finding | None:
    races = fastest(records)
    if not races:
        return None
    told = ", ".join(
        f"{rival} {ratio:.2g} × GDT at ζ = {z:g}" for z, (rival, ratio) in races.items()
    )
    return all(ratio > 1 for _, ratio in races.values()), f"fastest rivals: {told}"


def _not_from_the_start(name: str, records: list[Record]) -> Finding | None:
    parts = {z: p for (m, z), p in start_and_solver(records).items() if m == "GDT" and z >= 5}
    if not parts:
        return None
    told = ", ".join(
        f"{seconds(start)} s and {seconds(solver)} s at ζ = {zeta:g}"
        for zeta, (start, solver) in sorted(parts.items())
    )
    return all(start < solver for start, solver in parts.values()), f"start and iterations: {told}"


def _both_fall(name: str, records: list[Record]) -> Finding | None:
    told = [
        f"n = {r.get('n', '?')}: error {r['errors'][0]:.4f} to {last_error(r):.4f}, "
        f"objective {r['objectives'][0]:.4g} to {r['objectives'][-1]:.4g}"
        for r in records
    ]
    fall = all(
        last_error(r) < r["errors"][0] and r["objectives"][-1] < r["objectives"][0] for r in records
    )
    return fall, "; ".join(told)


def _early_stopping(name: str, records: list[Record]) -> Finding | None:
    gains = _gains(records)
    told = ", ".join(f"{percent(gain)} at n = {n}" for n, gain in gains.items())
    return max(gains.values()) > 1.001, f"last error against the best: {told}"


def _most_when_n_is_small(name: str, records: list[Record]) -> Finding | None:
    gains = _gains(records)
    if len(gains) < 2:
        return None
    most = max(gains, key=lambda n: gains[n])
    told = f"most at n = {most}, {percent(gains[most])}"
    smallest = next(iter(gains))
    if most != smallest:
        told += f"; {percent(gains[smallest])} at n = {smallest}"
    return most == smallest and gains[most] > 1.001, told


def _gains(records: list[Record]) -> dict[int, float]:
    """Return the last error over the best, by n ascending."""
    ratios = {int(r.get("n") or 0): last_error(r) / best_error(r) for r in records}
    return dict(sorted(ratios.items()))


def _competitive(name: str, records: list[Record]) -> Finding | None:
    every = {method: error.mean for method, error in rmse(records).items()}
    errors = {m: error for m, error in every.items() if m in ("GDT", *RIVALS)}
    if "GDT" not in errors or len(errors) < 2:
        return None
    best = min(errors, key=lambda method: errors[method])
    told = f"GDT {errors['GDT']:.3f}, best {best} {errors[best]:.3f}"
    told += "".join(f", {m} {every[m]:.3f}" for m in ("pursuit", "null") if m in every)
    return errors["GDT"] <= 1.02 * errors[best], told


def _discards(name: str, records: list[Record]) -> Finding | None:
    found = discards(records).get("GDT")
    if found is None:
        return None
    expected = set(printed()["norway"]["discarded"])
    told = "GDT discards " + (", ".join(f"`{term}`" for term in found) or "none")
    others = [m for m, terms in discards(records).items() if m != "GDT" and set(terms) == expected]
    told += f"; exactly these three: {'; '.join(others)}" if others else ""
    return set(found) == expected, told


def _sizes_hurt_little(name: str, records: list[Record]) -> Finding | None:
    told, gdt = [], []
    for (setting, method), errors in by_factor(records).items():
        if 1.0 not in errors or 2.0 not in errors:
            continue
        ratios = {factor: error.mean / errors[1.0].mean for factor, error in errors.items()}
        most = max(ratios)
        where = f" ({setting_title(setting).lower()})" if setting else ""
        further = f", {percent(ratios[most])} at {most:g} times" if most > 2 else ""
        told.append(f"{method}{where} {percent(ratios[2.0])} at twice{further}")
        gdt += [ratios[2.0]] if method == "GDT" else []
    return (max(gdt) <= 1.25, "; ".join(told)) if gdt else None


def _sub_gaussian(name: str, records: list[Record]) -> Finding | None:
    found = {k: by_key for k, by_key in ratios(records).items() if k.lower() in SUB_GAUSSIAN}
    gdt = [r for by_key in found.values() for (_, method), r in by_key.items() if method == "GDT"]
    if not gdt:
        return None
    return all(abs(ratio - 1) <= 0.1 for ratio in gdt), _spans(found)


def _heavy_tails(name: str, records: list[Record]) -> Finding | None:
    found = {k: by_key for k, by_key in ratios(records).items() if k.lower() not in SUB_GAUSSIAN}
    gdt = [r for by_key in found.values() for (_, method), r in by_key.items() if method == "GDT"]
    if not gdt:
        return None
    return all(ratio > 1 for ratio in gdt), _spans(found)


def _spans(found: dict[str, dict[tuple[str, str], float]]) -> str:
    """Tell GDT's change with each distribution, a range over the settings."""
    told = []
    for kind, by_key in found.items():
        gdt = [ratio for (_, method), ratio in by_key.items() if method == "GDT"]
        if gdt:
            low, high = percent(min(gdt)), percent(max(gdt))
            told.append(f"{kind} {low}" + (f" to {high}" if high != low else ""))
    return "GDT: " + ", ".join(told)


_TABLES = table_names()
_CLAIMS: list[tuple[str, tuple[str, ...], Callable[[str, list[Record]], Finding | None]]] = [
    (
        "Without error GDT converges linearly to the true coefficients (rate below 1, R² of the "
        "log-linear fit above 0.95)",
        ("figure-no-error",),
        _linear,
    ),
    (
        "Without sparsity GDT converges linearly to the global minimum (rate below 1, R² of the "
        "log-linear fit above 0.95)",
        ("figure-no-sparsity",),
        _linear,
    ),
    (
        "GDT has the lowest mean estimation error of the paper's methods in all four tables",
        _TABLES,
        _lowest_of_rivals,
    ),
    (
        "The same with pursuit, this package's own solver, among the methods",
        _TABLES,
        _lowest_of_all,
    ),
    (
        "GDT and pursuit both have lower mean estimation errors than every rival (our claim, not "
        "the paper's)",
        _TABLES,
        _first_two,
    ),
    (
        "GDT has the lowest mean prediction error of the paper's methods in all four tables (on "
        "fresh rows)",
        _TABLES,
        _lowest_prediction,
    ),
    (
        "GDT's mean estimation error is the printed one: at most 2 printed sd above it",
        _TABLES,
        _gdt_as_printed,
    ),
    (
        "The rivals' mean estimation errors are the printed ones: within 2 printed sd",
        _TABLES,
        _rivals_as_printed,
    ),
    ("GDT is the fastest of the paper's methods at every ζ ≥ 5", ("table5",), _fastest),
    (
        "The speed does not come from the initialisation: at every ζ ≥ 5 GDT's iterations take "
        "longer than its start",
        ("table5",),
        _not_from_the_start,
    ),
    (
        "In high dimension estimation error and objective both fall from the lasso start",
        ("figure-high-dimension",),
        _both_fall,
    ),
    (
        "Early stopping helps, if not much: for some n the last error is more than 0.1 % above "
        "the best on the way",
        ("figure-high-dimension",),
        _early_stopping,
    ),
    (
        "Early stopping helps most when n is small: at the smallest n of the figure",
        ("figure-high-dimension",),
        _most_when_n_is_small,
    ),
    (
        "On the Norwegian paper data GDT is competitive: test error within 2 % of the best of the "
        "paper's methods",
        ("norway",),
        _competitive,
    ),
    (
        "On the Norwegian paper data GDT discards exactly "
        + ", ".join(f"`{term}`" for term in printed()["norway"]["discarded"]),
        ("norway",),
        _discards,
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
        _sizes_hurt_little,
    ),
    (
        "Sub-Gaussian noise is like Gaussian noise: GDT's mean error within 10 %",
        ("noise",),
        _sub_gaussian,
    ),
    (
        "Heavy tails, which the theory leaves out, are worse than Gaussian noise",
        ("noise",),
        _heavy_tails,
    ),
    (
        "The value error of multi-task Q-iteration with GDT falls at least as fast as the "
        "theorem's 1/n (which the paper does not run)",
        ("rl-sparse-family",),
        falls_as_bounded,
    ),
]
