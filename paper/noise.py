"""Errors that are not Gaussian: sub-Gaussian ones, and heavy tails."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.claims import Claim, Finding
from paper.methods import fit_methods
from paper.printed import setting_title
from paper.simulation import DISTRIBUTIONS, draw, simulated_task
from paper.statistics import Spread, group, percent, pm, spread
from paper.studies import Job, Study, StudyRecord
from paper.studies.judge import score_coefficients
from paper.style import COLOURS, MARKERS, in_order, panels
from thinrank.report.document import Page, Picture, Section, Table, Text

_FIRST_SEED = 62_000
_REPLICATIONS, _QUICK_REPLICATIONS = 20, 3
_METHODS = ("GDT", "pursuit", "MTL")


def jobs(quick: bool) -> list[Job]:
    """Return one job per setting, distribution and replication; X and Θ* do not depend on it."""
    count = _QUICK_REPLICATIONS if quick else _REPLICATIONS
    settings = ("twoway_strong",) if quick else ("twoway_strong", "twoway_weak")
    return [
        Job("noise", {"setting": setting, "distribution": distribution}, _FIRST_SEED + i)
        for setting in settings
        for distribution in DISTRIBUTIONS
        for i in range(count)
    ]


def run(job: Job) -> list[StudyRecord]:
    """Fit three methods, tuned as in the tables."""
    sample = draw(job.cell["setting"], job.seed, job.cell["distribution"])
    answers = fit_methods(simulated_task(sample), _METHODS)
    return [
        {
            "method": name,
            **score_coefficients(answer.theta, sample.truth, sample.X),
            "seconds": answer.seconds,
        }
        for name, answer in answers.items()
    ]


STUDIES = (
    Study(
        name="noise",
        title="Errors that are not Gaussian",
        claim="The theory covers sub-Gaussian errors; uniform and Rademacher ones change nothing.",
        jobs=jobs,
        run=run,
    ),
)

GAUSSIAN = ("gaussian", "normal")
SUB_GAUSSIAN = ("uniform", "rademacher")

Key = tuple[str, str]
"""Setting and method."""


def by_distribution(records: list[StudyRecord]) -> dict[Key, dict[str, Spread]]:
    """Return the spectral error by (setting, method) and by distribution, Gaussian first."""
    result: dict[Key, dict[str, Spread]] = {}
    for setting, rows in group(records, lambda r: str(r.get("setting") or "")).items():
        methods = group(rows, "method")
        for method in in_order(list(methods)):
            kinds = group(methods[method], lambda r: str(r["distribution"]))
            errors = {kind: spread(kinds[kind], "spectral") for kind in sorted(kinds, key=_order)}
            result[setting, method] = {k: e for k, e in errors.items() if e is not None}
    return result


def ratios(records: list[StudyRecord]) -> dict[str, dict[Key, float]]:
    """Return the mean error relative to Gaussian noise, by distribution."""
    result: dict[str, dict[Key, float]] = {}
    for key, errors in by_distribution(records).items():
        base = next((error for kind, error in errors.items() if kind.lower() in GAUSSIAN), None)
        for kind, error in errors.items():
            if base is not None and kind.lower() not in GAUSSIAN:
                result.setdefault(kind, {})[key] = error.mean / base.mean
    return result


def make_page(name: str, records: list[StudyRecord]) -> Page:
    """Return the page of the study."""
    errors = by_distribution(records)
    page = Page("Noise that is not Gaussian")
    page.add(Text(_verdict(records), stress=True))
    page.add(
        Text(
            "The theory assumes sub-Gaussian errors. Uniform and Rademacher (±1) errors are "
            "sub-Gaussian, heavy-tailed ones are not. All have the same variance. Relative "
            "estimation error in the spectral norm, mean ± standard deviation; in parentheses, the "
            "change relative to Gaussian noise."
        )
    )
    if errors:
        caption = (
            "Mean estimation error by distribution of the noise, plus and minus one standard "
            "deviation."
        )
        page.add(Picture("noise", _plot(errors), caption))
    for setting in dict.fromkeys(setting for setting, _ in errors):
        rows = {method: row for (owner, method), row in errors.items() if owner == setting}
        page.add(Section(setting_title(setting) or "Estimation error"))
        page.add(_table(rows, setting, ratios(records)))
    return page


def _order(kind: str) -> tuple[int, str]:
    known = (*GAUSSIAN, *SUB_GAUSSIAN)
    lower = kind.lower()
    return (known.index(lower) if lower in known else len(known), lower)


def _verdict(records: list[StudyRecord]) -> str:
    found = ratios(records)
    if not found:
        return "The records do not contain both Gaussian and other noise."
    told = []
    for kind, by_key in found.items():
        low, high = min(by_key.values()), max(by_key.values())
        span = percent(low) if len(by_key) == 1 else f"{percent(low)} to {percent(high)}"
        told.append(f"{kind} {span}")
    return "Mean estimation error relative to Gaussian noise: " + "; ".join(told) + "."


def _table(
    rows: dict[str, dict[str, Spread]],
    setting: str,
    against: dict[str, dict[Key, float]],
) -> Table:
    kinds = sorted({kind for errors in rows.values() for kind in errors}, key=_order)
    lines = []
    for kind in kinds:
        cells = []
        for method, errors in rows.items():
            cell = pm(errors.get(kind))
            ratio = against.get(kind, {}).get((setting, method))
            cells.append(cell if ratio is None else f"{cell} ({percent(ratio, 0)})")
        lines.append((kind, *cells))
    return Table(("distribution", *rows), list(lines))


def _plot(errors: dict[Key, dict[str, Spread]]) -> Any:
    settings = list(dict.fromkeys(setting for setting, _ in errors))
    kinds = sorted({kind for row in errors.values() for kind in row}, key=_order)
    figure, axes = panels(len(settings), height=1.3 + 0.34 * len(kinds))
    for axis, setting in zip(axes, settings, strict=True):
        rows = {method: row for (owner, method), row in errors.items() if owner == setting}
        shifts = np.linspace(-0.18, 0.18, len(rows)) if len(rows) > 1 else [0.0]
        for shift, (method, row) in zip(shifts, rows.items(), strict=True):
            colour = COLOURS.get(method, "#555555")
            for kind, error in row.items():
                height = kinds.index(kind) + shift
                if error.count > 1:
                    ends = [error.mean - error.sd, error.mean + error.sd]
                    axis.plot(ends, [height, height], color=colour, lw=1, alpha=0.6)
            axis.plot(
                [error.mean for error in row.values()],
                [kinds.index(kind) + shift for kind in row],
                ls="",
                marker=MARKERS.get(method, "o"),
                color=colour,
                label=method,
            )
        axis.set_title(setting_title(setting))
        axis.set_yticks(range(len(kinds)), kinds)
        axis.set_ylim(len(kinds) - 0.5, -0.5)
        axis.set_xlabel("relative estimation error, spectral norm")
        if axis is not axes[0]:
            axis.tick_params(labelleft=False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def sub_gaussian(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether sub-Gaussian noise changes GDT's mean error by at most 10 %."""
    found = {k: by_key for k, by_key in ratios(records).items() if k.lower() in SUB_GAUSSIAN}
    gdt = [r for by_key in found.values() for (_, method), r in by_key.items() if method == "GDT"]
    if not gdt:
        return None
    return all(abs(ratio - 1) <= 0.1 for ratio in gdt), _spans(found)


def heavy_tails(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether heavy tails give larger errors than Gaussian noise."""
    found = {k: by_key for k, by_key in ratios(records).items() if k.lower() not in SUB_GAUSSIAN}
    gdt = [r for by_key in found.values() for (_, method), r in by_key.items() if method == "GDT"]
    if not gdt:
        return None
    return all(ratio > 1 for ratio in gdt), _spans(found)


def _spans(found: dict[str, dict[tuple[str, str], float]]) -> str:
    """Describe the change of GDT's error by distribution, as a range over the settings."""
    told = []
    for kind, by_key in found.items():
        gdt = [ratio for (_, method), ratio in by_key.items() if method == "GDT"]
        if gdt:
            low, high = percent(min(gdt)), percent(max(gdt))
            told.append(f"{kind} {low}" + (f" to {high}" if high != low else ""))
    return "GDT: " + ", ".join(told)


CLAIMS = (
    Claim(
        "Sub-Gaussian noise is like Gaussian noise: GDT's mean error within 10 %",
        ("noise",),
        sub_gaussian,
    ),
    Claim(
        "Heavy tails, which the theory does not cover, are worse than Gaussian noise",
        ("noise",),
        heavy_tails,
    ),
)
