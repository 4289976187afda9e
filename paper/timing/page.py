"""Table 5: the page of running times, and its claims."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from paper.claims import Claim, Finding
from paper.printed import BASELINES, printed, printed_seconds
from paper.statistics import group, seconds, values
from paper.studies import StudyRecord
from paper.style import COLOURS, MARKERS, in_order, panels, value_scale
from thinrank.report.document import Page, Picture, Section, Table, Text


@dataclass(frozen=True)
class TimedCell:
    """Running time of one method at one ζ."""

    seconds: float | None  # median over the runs; None if one of them exceeded the time limit
    limit: float | None = None  # the limit that was exceeded; None if none was

    def __str__(self) -> str:
        """Return the seconds, or ``> limit``."""
        return f"> {self.limit:g}" if self.limit is not None else seconds(self.seconds)

    @property
    def least(self) -> float:
        """Lower bound of the running time in seconds."""
        return self.limit if self.limit is not None else float(self.seconds or math.nan)


def make_page(name: str, records: list[StudyRecord]) -> Page:
    """Return the page of running times."""
    times = timed_cells(records)
    page = Page("Table 5: running time")
    page.add(Text(_verdict(records), stress=True))
    page.add(
        Text(_pursuit_words(times)),
        Text(
            "ζ scales n = 50, p = 80 and s₁* = s₂* = 10 by ζ, and k = 50 and r = 4 by ⌊√ζ⌋. "
            "All columns are non-zero where s₂* would exceed k. Seconds of wall time; every fit "
            "runs on its own, and a short one is repeated and the fastest time counts. GDT and "
            "pursuit are given r and 1.2 times the true sizes, the baselines their penalties and "
            "thresholds."
        ),
        Section("Seconds, here / printed"),
        _matrix(times, _beside),
        Text(
            "“> 2 h” is printed in the paper for methods that did not converge within two hours; "
            "“>” and a number is the time limit here. A dash means not run here, or not printed."
        ),
        Picture("seconds", _plot(times), _CAPTION),
        Section("Printed seconds divided by those here"),
        _matrix(times, _ratio),
        Text("The machines differ; the next table does not depend on their speed."),
        Section("Seconds relative to GDT, here / printed"),
        _matrix(times, _against_gdt),
        Section("Start and solver separately"),
        _parts_table(records),
        Text(_parts_words(records)),
    )
    return page


_CAPTION = (
    "Seconds against ζ, both on logarithmic scales. Left: here; right: as printed. A line ends "
    "where the method exceeded the time limit (arrow) or was not run."
)


def timed_cells(records: Iterable[StudyRecord]) -> dict[tuple[str, float], TimedCell]:
    """Return the time of every method and ζ that was run."""
    result = {}
    for (method, zeta), runs in group(records, lambda r: (r["method"], float(r["zeta"]))).items():
        over = [run for run in runs if run.get("status", "ok") != "ok"]
        times = values(runs, "seconds")
        if over:
            limits = values(over, "limit")
            result[method, zeta] = TimedCell(None, max(limits) if limits else math.nan)
        elif times:
            result[method, zeta] = TimedCell(float(np.median(times)))
    return result


def fastest(
    records: Iterable[StudyRecord], least_zeta: float = 5
) -> dict[float, tuple[str, float]]:
    """Return the fastest baseline at every ζ, and its time divided by that of GDT."""
    times = timed_cells(records)
    result = {}
    for zeta in sorted({zeta for method, zeta in times if method == "GDT" and zeta >= least_zeta}):
        gdt = times["GDT", zeta]
        others = {m: times[m, zeta].least for m in BASELINES if (m, zeta) in times}
        if not others:
            continue
        best = min(others, key=lambda method: others[method])
        if gdt.limit is None or times[best, zeta].limit is None:  # else none finished
            result[zeta] = (best, others[best] / gdt.least)
    return result


def start_and_solver(
    records: Iterable[StudyRecord],
) -> dict[tuple[str, float], tuple[float, float]]:
    """Return the median seconds of start and of solver where both are known."""
    known = [
        r
        for r in records
        if r.get("status", "ok") == "ok"
        and values([r], "seconds_start")
        and values([r], "seconds_solver")
    ]
    return {
        key: (
            float(np.median(values(runs, "seconds_start"))),
            float(np.median(values(runs, "seconds_solver"))),
        )
        for key, runs in group(known, lambda r: (r["method"], float(r["zeta"]))).items()
    }


def _verdict(records: list[StudyRecord]) -> str:
    races = fastest(records)
    if not races:
        return "GDT and a baseline were not both run at any ζ ≥ 5."
    lost = {zeta: race for zeta, race in races.items() if race[1] <= 1}
    top = ", ".join(f"{m} at ζ = {z:g} ({ratio:.2g} × GDT)" for z, (m, ratio) in races.items())
    if not lost:
        return f"GDT is the fastest of the paper's methods at every ζ ≥ 5. Next: {top}."
    where = ", ".join(f"{zeta:g}" for zeta in lost)
    return (
        f"GDT is not the fastest of the paper's methods at ζ = {where}. Fastest baselines, with "
        f"their time relative to GDT: {top}."
    )


def _pursuit_words(times: dict[tuple[str, float], TimedCell]) -> str:
    """Compare pursuit with the fastest of the paper's methods, including GDT."""
    races = {}
    for zeta in sorted({zeta for method, zeta in times if method == "pursuit"}):
        mine = times["pursuit", zeta].seconds
        others = [times[m, zeta].least for m in ("GDT", *BASELINES) if (m, zeta) in times]
        if mine and others:
            races[zeta] = min(others) / mine
    if not races:
        return "Pursuit and the paper's methods were not both run."
    ratios = ", ".join(f"{ratio:.2g} × at ζ = {zeta:g}" for zeta, ratio in races.items())
    return f"Time of the fastest of the paper's methods relative to pursuit: {ratios}."


def _matrix(times: dict[tuple[str, float], TimedCell], write: Any) -> Table:
    zetas = sorted({zeta for _, zeta in times})
    methods = in_order([method for method, _ in times])
    rows = [(m, *(write(times, m, zeta) for zeta in zetas)) for m in methods]
    return Table(("method", *(f"ζ = {zeta:g}" for zeta in zetas)), list(rows))


def _beside(times: dict[tuple[str, float], TimedCell], method: str, zeta: float) -> str:
    here = str(times[method, zeta]) if (method, zeta) in times else "–"
    return f"{here} / {seconds(printed_seconds(method, zeta)) or '–'}"


def _ratio(times: dict[tuple[str, float], TimedCell], method: str, zeta: float) -> str:
    return _divide(printed_seconds(method, zeta), times.get((method, zeta)))


def _divide(old: float | None, cell: TimedCell | None) -> str:
    if old is None or cell is None or cell.seconds is None:
        return "–"
    if math.isinf(old):
        return f"> {7200 / cell.seconds:.3g}"
    return f"{old / cell.seconds:.3g}"


def _against_gdt(times: dict[tuple[str, float], TimedCell], method: str, zeta: float) -> str:
    gdt, cell = times.get(("GDT", zeta)), times.get((method, zeta))
    here = "–"
    if cell is not None and gdt is not None and gdt.seconds is not None:
        sign = "> " if cell.limit is not None else ""
        here = f"{sign}{cell.least / gdt.seconds:.3g}"
    gdt_old, old = printed_seconds("GDT", zeta), printed_seconds(method, zeta)
    before = "–"
    if gdt_old is not None and old is not None:
        before = f"> {7200 / gdt_old:.3g}" if math.isinf(old) else f"{old / gdt_old:.3g}"
    return f"{here} / {before}"


def _parts_table(records: list[StudyRecord]) -> Table:
    parts = start_and_solver(records)
    rows = []
    for method in in_order([method for method, _ in parts]):
        for zeta in sorted(zeta for m, zeta in parts if m == method):
            start, solver = parts[method, zeta]
            share = start / (start + solver) if start + solver > 0 else math.nan
            rows.append(
                (method, f"{zeta:g}", seconds(start), seconds(solver), f"{100 * share:.0f} %")
            )
    return Table(("method", "ζ", "start", "solver", "fraction of start"), list(rows))


def _parts_words(records: list[StudyRecord]) -> str:
    parts = start_and_solver(records)
    gdt = {zeta: part for (method, zeta), part in parts.items() if method == "GDT"}
    quote = "The paper: “the speed of the method does not come from the initialization step”. "
    if not gdt:
        return quote + "The records do not contain the seconds of GDT's start and solver."
    zeta = max(gdt)
    start, solver = gdt[zeta]
    return quote + (
        f"At ζ = {zeta:g} GDT spends {seconds(start)} s in its start and {seconds(solver)} s in "
        f"its iterations, {100 * start / (start + solver):.0f} % of the time in the start."
    )


def _plot(times: dict[tuple[str, float], TimedCell]) -> Any:
    figure, axes = panels(2, height=4.0)
    methods = in_order([method for method, _ in times])
    here = {m: {z: c for (o, z), c in times.items() if o == m} for m in methods}
    table = printed()["seconds"]
    old = {
        m: {
            float(z): TimedCell(s) for z, s in zip(table["zeta"], row, strict=True) if s is not None
        }
        for m, row in table["methods"].items()
    }
    every = [c.least for row in (*here.values(), *old.values()) for c in row.values()]
    zetas = sorted({zeta for _, zeta in times} | {float(z) for z in table["zeta"]})
    for axis, title in zip(axes, ("here", "printed"), strict=True):
        axis.set(title=title, xscale="log", xlabel="ζ (log scale)")
        scale = value_scale(axis, "y", min(every), max(every))
        axis.set_xticks(zetas, [f"{zeta:g}" for zeta in zetas])
        axis.set_xticks([], minor=True)
        axis.set_xlim(zetas[0] * 0.85, zetas[-1] * 1.2)
        axis.set_ylim(min(every) / 2, max(every) * 2)
    axes[0].set_ylabel(f"seconds{scale}")
    keys: dict[str, Any] = {}
    for axis, lines in zip(axes, (here, old), strict=True):
        for method, row in lines.items():
            colour = COLOURS.get(method, "#555555")
            points = sorted((zeta, cell) for zeta, cell in row.items())
            done = [(zeta, cell.least) for zeta, cell in points if cell.limit is None]
            if done:
                x, y = zip(*done, strict=True)
                heavy = 2.2 if method in ("GDT", "pursuit") else 1.2
                marker = MARKERS.get(method, "o")
                keys[method] = axis.plot(x, y, color=colour, marker=marker, lw=heavy, ms=4)[0]
            over = [(zeta, cell.least) for zeta, cell in points if cell.limit is not None]
            if over:
                axis.plot(*over[0], marker=r"$\uparrow$", color=colour, ms=8, ls="")
    # Many lines end in the middle of others, where no label fits; hence a legend below both panels.
    order = in_order(list(keys))
    figure.legend([keys[m] for m in order], order, loc="outside lower center", ncols=len(order))
    return figure


def gdt_is_fastest(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether GDT is the fastest of the paper's methods."""
    races = fastest(records)
    if not races:
        return None
    told = ", ".join(
        f"{method} {ratio:.2g} × GDT at ζ = {z:g}" for z, (method, ratio) in races.items()
    )
    return all(ratio > 1 for _, ratio in races.values()), f"fastest baselines: {told}"


def not_from_the_start(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether GDT's iterations take longer than its start."""
    parts = {z: p for (m, z), p in start_and_solver(records).items() if m == "GDT" and z >= 5}
    if not parts:
        return None
    told = ", ".join(
        f"{seconds(start)} s and {seconds(solver)} s at ζ = {zeta:g}"
        for zeta, (start, solver) in sorted(parts.items())
    )
    return all(start < solver for start, solver in parts.values()), f"start and iterations: {told}"


CLAIMS = (
    Claim("GDT is the fastest of the paper's methods at every ζ ≥ 5", ("table5",), gdt_is_fastest),
    Claim(
        "The speed does not come from the initialisation: at every ζ ≥ 5 GDT's iterations take "
        "longer than its start",
        ("table5",),
        not_from_the_start,
    ),
)
