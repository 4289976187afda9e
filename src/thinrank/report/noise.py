"""Errors that are not Gaussian."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank.report.page import Page, Picture, Section, Table, Text
from thinrank.report.printed import setting_title
from thinrank.report.statistics import Record, Spread, group, percent, pm, spread
from thinrank.report.style import COLOURS, MARKERS, in_order, panels

__all__ = ["GAUSSIAN", "SUB_GAUSSIAN", "by_distribution", "noise_page", "ratios"]

GAUSSIAN = ("gaussian", "normal")
SUB_GAUSSIAN = ("uniform", "rademacher")

Key = tuple[str, str]


def by_distribution(records: list[Record]) -> dict[Key, dict[str, Spread]]:
    """Return the spectral error by (setting, method) and distribution, Gaussian first."""
    result: dict[Key, dict[str, Spread]] = {}
    for setting, rows in group(records, lambda r: str(r.get("setting") or "")).items():
        methods = group(rows, "method")
        for method in in_order(list(methods)):
            kinds = group(methods[method], lambda r: str(r["distribution"]))
            errors = {kind: spread(kinds[kind], "spectral") for kind in sorted(kinds, key=_order)}
            result[setting, method] = {k: e for k, e in errors.items() if e is not None}
    return result


def ratios(records: list[Record]) -> dict[str, dict[Key, float]]:
    """Return, by distribution, the mean error over that with Gaussian noise."""
    result: dict[str, dict[Key, float]] = {}
    for key, errors in by_distribution(records).items():
        base = next((error for kind, error in errors.items() if kind.lower() in GAUSSIAN), None)
        for kind, error in errors.items():
            if base is not None and kind.lower() not in GAUSSIAN:
                result.setdefault(kind, {})[key] = error.mean / base.mean
    return result


def noise_page(name: str, records: list[Record]) -> Page:
    """Return the page."""
    errors = by_distribution(records)
    page = Page("Noise that is not Gaussian")
    page.add(Text(_verdict(records), stress=True))
    page.add(
        Text(
            "The theory asks for sub-Gaussian errors. Uniform and Rademacher (±1) noise is; the "
            "heavy-tailed ones are not. All are scaled to the same variance. Relative estimation "
            "error in the spectral norm, mean ± standard deviation, and in brackets the change "
            "from Gaussian noise."
        )
    )
    if errors:
        caption = (
            "Mean estimation error by distribution of the noise, with one standard deviation to "
            "either side."
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


def _verdict(records: list[Record]) -> str:
    found = ratios(records)
    if not found:
        return "Gaussian and other noise are not both in the records."
    told = []
    for kind, by_key in found.items():
        low, high = min(by_key.values()), max(by_key.values())
        span = percent(low) if len(by_key) == 1 else f"{percent(low)} to {percent(high)}"
        told.append(f"{kind} {span}")
    return "Mean estimation error against that with Gaussian noise: " + "; ".join(told) + "."


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
    return Table(("", *rows), list(lines))


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
        axis.set_xlabel("estimation error, spectral")
        if axis is not axes[0]:
            axis.tick_params(labelleft=False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure
