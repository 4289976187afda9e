"""What the records say on each claim of the paper: whether it holds, and the numbers."""

from __future__ import annotations

from thinrank.report.accuracy import mean_errors
from thinrank.report.convergence import log_line
from thinrank.report.high_dimension import best_error, last_error
from thinrank.report.noise import SUB_GAUSSIAN, ratios
from thinrank.report.norway import discards, rmse
from thinrank.report.printed import RIVALS, printed, setting_title
from thinrank.report.sensitivity import by_factor
from thinrank.report.statistics import Record, distance, paired_difference, percent, seconds
from thinrank.report.timing import fastest, start_and_solver

__all__ = [
    "Finding",
    "both_fall",
    "competitive",
    "discards_as_printed",
    "early_stopping",
    "first_two",
    "gdt_as_printed",
    "gdt_is_fastest",
    "heavy_tails",
    "linear",
    "lowest_of_all",
    "lowest_of_rivals",
    "lowest_prediction",
    "most_when_n_is_small",
    "not_from_the_start",
    "rivals_as_printed",
    "sizes_hurt_little",
    "sub_gaussian",
]

Finding = tuple[bool, str]
"""Whether it holds, and the numbers."""


def linear(name: str, records: list[Record]) -> Finding | None:
    """Whether errors fall on a straight line of the logarithm."""
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


def lowest_of_rivals(name: str, records: list[Record]) -> Finding | None:
    """Whether GDT's mean estimation error is the lowest beside the rivals'."""
    return _lowest(records, RIVALS)


def lowest_prediction(name: str, records: list[Record]) -> Finding | None:
    """Whether GDT's mean prediction error on fresh rows is the lowest beside the rivals'."""
    return _lowest(records, RIVALS, "prediction")


def lowest_of_all(name: str, records: list[Record]) -> Finding | None:
    """Whether it is the lowest with pursuit among the methods."""
    return _lowest(records, (*RIVALS, "pursuit")) if _has(records, "pursuit") else None


def first_two(name: str, records: list[Record]) -> Finding | None:
    """Whether GDT and pursuit are both below every rival."""
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


def gdt_as_printed(name: str, records: list[Record]) -> Finding | None:
    """Whether GDT's mean error is at most two printed sd above the printed one."""
    error = mean_errors(records).get("GDT")
    if error is None:
        return None
    old = printed()["tables"][name]["methods"]["GDT"]["estimation"]
    gap = distance(error.mean, old) or 0.0
    return gap <= 2, f"{error.mean:.4f}, printed {old[0]:.4f} ± {old[1]:.4f}, {gap:+.1f} sd"


def rivals_as_printed(name: str, records: list[Record]) -> Finding | None:
    """Whether the rivals' mean errors are within two printed sd."""
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


def gdt_is_fastest(name: str, records: list[Record]) -> Finding | None:
    """Whether GDT is the fastest of the paper's methods."""
    races = fastest(records)
    if not races:
        return None
    told = ", ".join(
        f"{rival} {ratio:.2g} × GDT at ζ = {z:g}" for z, (rival, ratio) in races.items()
    )
    return all(ratio > 1 for _, ratio in races.values()), f"fastest rivals: {told}"


def not_from_the_start(name: str, records: list[Record]) -> Finding | None:
    """Whether GDT's iterations take longer than its start."""
    parts = {z: p for (m, z), p in start_and_solver(records).items() if m == "GDT" and z >= 5}
    if not parts:
        return None
    told = ", ".join(
        f"{seconds(start)} s and {seconds(solver)} s at ζ = {zeta:g}"
        for zeta, (start, solver) in sorted(parts.items())
    )
    return all(start < solver for start, solver in parts.values()), f"start and iterations: {told}"


def both_fall(name: str, records: list[Record]) -> Finding | None:
    """Whether error and objective fall from the lasso start."""
    told = [
        f"n = {r.get('n', '?')}: error {r['errors'][0]:.4f} to {last_error(r):.4f}, "
        f"objective {r['objectives'][0]:.4g} to {r['objectives'][-1]:.4g}"
        for r in records
    ]
    fall = all(
        last_error(r) < r["errors"][0] and r["objectives"][-1] < r["objectives"][0] for r in records
    )
    return fall, "; ".join(told)


def early_stopping(name: str, records: list[Record]) -> Finding | None:
    """Whether the last error is above the best on the way for some n."""
    gains = _gains(records)
    told = ", ".join(f"{percent(gain)} at n = {n}" for n, gain in gains.items())
    return max(gains.values()) > 1.001, f"last error against the best: {told}"


def most_when_n_is_small(name: str, records: list[Record]) -> Finding | None:
    """Whether early stopping gains most at the smallest n."""
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


def competitive(name: str, records: list[Record]) -> Finding | None:
    """Whether GDT's test error is within 2 % of the best."""
    every = {method: error.mean for method, error in rmse(records).items()}
    errors = {m: error for m, error in every.items() if m in ("GDT", *RIVALS)}
    if "GDT" not in errors or len(errors) < 2:
        return None
    best = min(errors, key=lambda method: errors[method])
    told = f"GDT {errors['GDT']:.3f}, best {best} {errors[best]:.3f}"
    told += "".join(f", {m} {every[m]:.3f}" for m in ("pursuit", "null") if m in every)
    return errors["GDT"] <= 1.02 * errors[best], told


def discards_as_printed(name: str, records: list[Record]) -> Finding | None:
    """Whether GDT discards the printed predictors."""
    found = discards(records).get("GDT")
    if found is None:
        return None
    expected = set(printed()["norway"]["discarded"])
    told = "GDT discards " + (", ".join(f"`{term}`" for term in found) or "none")
    others = [m for m, terms in discards(records).items() if m != "GDT" and set(terms) == expected]
    told += f"; exactly these three: {'; '.join(others)}" if others else ""
    return set(found) == expected, told


def sizes_hurt_little(name: str, records: list[Record]) -> Finding | None:
    """Whether twice the true sizes raise GDT's error by at most a quarter."""
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


def sub_gaussian(name: str, records: list[Record]) -> Finding | None:
    """Whether sub-Gaussian noise leaves GDT's error within 10 %."""
    found = {k: by_key for k, by_key in ratios(records).items() if k.lower() in SUB_GAUSSIAN}
    gdt = [r for by_key in found.values() for (_, method), r in by_key.items() if method == "GDT"]
    if not gdt:
        return None
    return all(abs(ratio - 1) <= 0.1 for ratio in gdt), _spans(found)


def heavy_tails(name: str, records: list[Record]) -> Finding | None:
    """Whether heavy tails are worse than Gaussian noise."""
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
