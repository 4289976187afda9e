"""How much it costs to give larger sizes than the true numbers of rows and columns."""

from __future__ import annotations

import time
from typing import Any

from paper.claims import Claim, Finding
from paper.printed import setting_title
from paper.simulation import draw
from paper.statistics import Spread, group, percent, pm, spread
from paper.studies import Job, Study, StudyRecord
from paper.studies.judge import score_coefficients
from paper.style import COLOURS, MARKERS, in_order, label_ends, panels
from thinrank.losses import LeastSquares
from thinrank.minimize import minimize
from thinrank.report.document import Page, Picture, Section, Table, Text
from thinrank.starts import Lasso

_FIRST_SEED = 61_000
_REPLICATIONS, _QUICK_REPLICATIONS = 20, 3
_FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0)
_RANK, _ROWS, _COLUMNS = 8, 10, 10


def jobs(quick: bool) -> list[Job]:
    """Return one job per factor and replication, with the same draws for every factor."""
    count = _QUICK_REPLICATIONS if quick else _REPLICATIONS
    return [
        Job("sensitivity", {"setting": "twoway_strong", "factor": factor}, _FIRST_SEED + i)
        for factor in _FACTORS
        for i in range(count)
    ]


def run(job: Job) -> list[StudyRecord]:
    """Fit GDT from the lasso and pursuit, with the true rank and sizes too large by a factor."""
    sample = draw(job.cell["setting"], job.seed)
    rows, columns = round(job.cell["factor"] * _ROWS), round(job.cell["factor"] * _COLUMNS)
    solvers: dict[str, dict[str, Any]] = {
        "GDT": {"solver": "gdt", "start": Lasso()},
        "pursuit": {"solver": "pursuit"},
    }
    records = []
    for method, options in solvers.items():
        began = time.perf_counter()
        loss = LeastSquares(sample.X, sample.Y)
        sizes = {"rank": _RANK, "row_sparsity": rows, "column_sparsity": columns}
        theta = minimize(loss, **sizes, **options).factors.theta
        seconds = time.perf_counter() - began
        scores = score_coefficients(theta, sample.truth, sample.X)
        records.append({"method": method, **sizes, **scores, "seconds": seconds})
    return records


STUDIES = (
    Study(
        name="sensitivity",
        title="Sensitivity to the given sizes",
        claim="Values of s1 and s2 of one to four times the true sizes increase the error little.",
        jobs=jobs,
        run=run,
    ),
)


def by_factor(records: list[StudyRecord]) -> dict[tuple[str, str], dict[float, Spread]]:
    """Return the spectral error by (setting, method) and by factor, in increasing order."""
    result: dict[tuple[str, str], dict[float, Spread]] = {}
    for setting, rows in group(records, lambda r: str(r.get("setting") or "")).items():
        methods = group(rows, "method")
        for method in in_order(list(methods)):
            factors = group(methods[method], lambda r: float(r["factor"]))
            errors = {f: spread(factors[f], "spectral") for f in sorted(factors)}
            result[setting, method] = {f: e for f, e in errors.items() if e is not None}
    return result


def make_page(name: str, records: list[StudyRecord]) -> Page:
    """Return the page of the study."""
    curves = by_factor(records)
    page = Page("Sensitivity to s₁ and s₂")
    page.add(Text(_verdict(curves), stress=True))
    page.add(
        Text(
            "The solver is given the true rank, and the same multiple of the true numbers of rows "
            "and columns for s₁ and s₂. Relative estimation error in the spectral norm, mean ± "
            "standard deviation; in parentheses, the change relative to the true sizes."
        ),
        Section("Estimation error"),
        _table(curves),
    )
    if curves:
        page.add(
            Picture(
                "sensitivity",
                _plot(curves),
                "Mean estimation error against the given multiple of the true sizes.",
            )
        )
    return page


def _name(setting: str, method: str) -> str:
    return f"{method} ({setting_title(setting).lower()})" if setting else method


def _verdict(curves: dict[tuple[str, str], dict[float, Spread]]) -> str:
    told = []
    for (setting, method), errors in curves.items():
        if 1.0 in errors and 2.0 in errors:
            change = percent(errors[2.0].mean / errors[1.0].mean)
            told.append(f"{change} for {_name(setting, method)}")
    if not told:
        return "The records do not contain both the true sizes and twice the true sizes."
    return f"Twice the true sizes change the mean estimation error by {'; '.join(told)}."


def _table(curves: dict[tuple[str, str], dict[float, Spread]]) -> Table:
    factors = sorted({factor for errors in curves.values() for factor in errors})
    rows = []
    for (setting, method), errors in curves.items():
        cells = []
        for factor in factors:
            cell = pm(errors.get(factor))
            if cell and factor != 1 and 1.0 in errors:
                cell += f" ({percent(errors[factor].mean / errors[1.0].mean, 0)})"
            cells.append(cell)
        rows.append((_name(setting, method), *cells))
    return Table(("method", *(f"{factor:g} ×" for factor in factors)), list(rows))


def _plot(curves: dict[tuple[str, str], dict[float, Spread]]) -> Any:
    settings = list(dict.fromkeys(setting for setting, _ in curves))
    figure, axes = panels(len(settings), height=3.2)
    for axis, setting in zip(axes, settings, strict=True):
        ends = []
        for (owner, method), errors in curves.items():
            if owner != setting or not errors:
                continue
            colour = COLOURS.get(method, "#555555")
            x, y = list(errors), [error.mean for error in errors.values()]
            axis.plot(x, y, color=colour, marker=MARKERS.get(method, "o"))
            ends.append((x[-1], y[-1], method, colour))
        axis.set(title=setting_title(setting), xlabel="given size / true size")
        axis.margins(x=0.1)
        axis.set_ylim(0, 1.1 * axis.get_ylim()[1])
        factors = sorted({factor for errors in curves.values() for factor in errors})
        axis.set_xticks(factors, [f"{factor:g}" for factor in factors])
        label_ends(axis, ends)
    axes[0].set_ylabel("relative estimation error, spectral norm")
    return figure


def sizes_hurt_little(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether twice the true sizes raise GDT's mean error by at most 25 %."""
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


CLAIMS = (
    Claim(
        "The estimation accuracy is not very sensitive to s₁ and s₂: twice the true sizes raise "
        "GDT's mean error by at most 25 %",
        ("sensitivity",),
        sizes_hurt_little,
    ),
)
