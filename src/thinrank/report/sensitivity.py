"""How much larger s1 and s2 than the true sizes hurt."""

from __future__ import annotations

from typing import Any

from thinrank.report.page import Page, Picture, Section, Table, Text
from thinrank.report.printed import setting_title
from thinrank.report.statistics import Record, Spread, group, percent, pm, spread
from thinrank.report.style import COLOURS, MARKERS, in_order, label_ends, panels

__all__ = ["by_factor", "sensitivity_page"]


def by_factor(records: list[Record]) -> dict[tuple[str, str], dict[float, Spread]]:
    """Return the spectral error by (setting, method) and factor, factors ascending."""
    result: dict[tuple[str, str], dict[float, Spread]] = {}
    for setting, rows in group(records, lambda r: str(r.get("setting") or "")).items():
        methods = group(rows, "method")
        for method in in_order(list(methods)):
            factors = group(methods[method], lambda r: float(r["factor"]))
            errors = {f: spread(factors[f], "spectral") for f in sorted(factors)}
            result[setting, method] = {f: e for f, e in errors.items() if e is not None}
    return result


def sensitivity_page(name: str, records: list[Record]) -> Page:
    """Return the page."""
    curves = by_factor(records)
    page = Page("Sensitivity to s₁ and s₂")
    page.add(Text(_verdict(curves), stress=True))
    page.add(
        Text(
            "Both s₁ and s₂ are told to the solver as a multiple of the true numbers of rows and "
            "columns, with the true rank. Relative estimation error in the spectral norm, mean ± "
            "standard deviation, and in brackets the change from the true sizes."
        ),
        Section("Estimation error"),
        _table(curves),
    )
    if curves:
        page.add(
            Picture(
                "sensitivity",
                _plot(curves),
                "Mean estimation error against the multiple of the true sizes that is told.",
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
        return "The true and twice the true sizes are not both in the records."
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
    return Table(("", *(f"{factor:g} ×" for factor in factors)), list(rows))


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
        axis.set(title=setting_title(setting), xlabel="told size / true size")
        axis.margins(x=0.1)
        axis.set_ylim(0, 1.1 * axis.get_ylim()[1])
        factors = sorted({factor for errors in curves.values() for factor in errors})
        axis.set_xticks(factors, [f"{factor:g}" for factor in factors])
        label_ends(axis, ends)
    axes[0].set_ylabel("estimation error, spectral")
    return figure
