"""Claims about tables 1 to 4."""

from __future__ import annotations

from paper.claims import Claim, Finding
from paper.printed import BASELINES, printed, table_names
from paper.statistics import distance, paired_difference
from paper.studies import StudyRecord
from paper.tables.page import mean_errors


def _lowest(
    records: list[StudyRecord], among: tuple[str, ...], field: str = "spectral"
) -> Finding | None:
    errors = mean_errors(records, field)
    others = [method for method in errors if method in among]
    if "GDT" not in errors or not others:
        return None
    best = others[0]
    told = f"GDT {errors['GDT'].mean:.4f}, {best} {errors[best].mean:.4f}"
    holds = errors["GDT"].mean < errors[best].mean
    if not holds:
        rows = {m: [r for r in records if r["method"] == m] for m in ("GDT", best)}
        gap = paired_difference(rows["GDT"], rows[best], field)
        told += f" (difference {gap.mean:.4f}, standard error {gap.sd:.4f})" if gap else ""
    return holds, told


def lowest_of_baselines(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether GDT has the lowest mean estimation error of the paper's methods."""
    return _lowest(records, BASELINES)


def lowest_prediction(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether GDT has the lowest mean prediction error of the paper's methods."""
    return _lowest(records, BASELINES, "prediction")


def lowest_of_all(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether GDT has the lowest mean estimation error when pursuit is included."""
    return _lowest(records, (*BASELINES, "pursuit")) if _has(records, "pursuit") else None


def first_two(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether GDT and pursuit both have lower mean errors than every baseline."""
    errors = mean_errors(records)
    others = [method for method in errors if method in BASELINES]
    if "GDT" not in errors or "pursuit" not in errors or not others:
        return None
    best = others[0]
    told = ", ".join(f"{m} {errors[m].mean:.4f}" for m in ("GDT", "pursuit", best))
    worse = max(errors["GDT"].mean, errors["pursuit"].mean)
    return worse < errors[best].mean, told


def _has(records: list[StudyRecord], method: str) -> bool:
    return any(record.get("method") == method for record in records)


def gdt_as_printed(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether GDT's mean error is at most 2 printed sd above the printed one."""
    error = mean_errors(records).get("GDT")
    if error is None:
        return None
    old = printed()["tables"][name]["methods"]["GDT"]["estimation"]
    gap = distance(error.mean, old) or 0.0
    return gap <= 2, f"{error.mean:.4f}, printed {old[0]:.4f} ± {old[1]:.4f}, {gap:+.1f} sd"


def baselines_as_printed(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether the mean errors of the baselines are within 2 sd of the printed ones."""
    errors = mean_errors(records)
    table = printed()["tables"][name]["methods"]
    gaps = {
        method: distance(errors[method].mean, table[method]["estimation"]) or 0.0
        for method in BASELINES
        if method in errors
    }
    if not gaps:
        return None
    outside = {method: gap for method, gap in gaps.items() if abs(gap) > 2}
    told = f"{len(gaps) - len(outside)} of {len(gaps)}"
    if outside:
        told += " except for " + ", ".join(
            f"{m} {gap:+.1f} sd ({'lower' if gap < 0 else 'higher'} here)"
            for m, gap in outside.items()
        )
    return not outside, told


_TABLES = table_names()

CLAIMS = (
    Claim(
        "GDT has the lowest mean estimation error of the paper's methods in all four tables",
        _TABLES,
        lowest_of_baselines,
    ),
    Claim(
        "GDT still has the lowest mean estimation error when pursuit, the other solver of this "
        "package, is among the methods",
        _TABLES,
        lowest_of_all,
    ),
    Claim(
        "GDT and pursuit both have lower mean estimation errors than every baseline (a claim of "
        "this package, not of the paper)",
        _TABLES,
        first_two,
    ),
    Claim(
        "GDT has the lowest mean prediction error of the paper's methods in all four tables (on "
        "new rows)",
        _TABLES,
        lowest_prediction,
    ),
    Claim(
        "GDT's mean estimation error is the printed one: at most 2 printed sd above it",
        _TABLES,
        gdt_as_printed,
    ),
    Claim(
        "The baselines' mean estimation errors are the printed ones: within 2 printed sd",
        _TABLES,
        baselines_as_printed,
    ),
)
