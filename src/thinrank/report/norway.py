"""The Norwegian paper data: prediction errors and selected predictors."""

from __future__ import annotations

from typing import Any

from thinrank.report.page import Page, Picture, Section, Table, Text
from thinrank.report.printed import printed
from thinrank.report.statistics import Record, Spread, group, number, percent, pm, spread
from thinrank.report.style import COLOURS, in_order, panels

__all__ = ["discards", "norway_page", "rmse"]


def norway_page(name: str, records: list[Record]) -> Page:
    """Return the page of the Norwegian paper data."""
    errors = rmse(records)
    page = Page("Norwegian paper data")
    page.add(Text(_verdict(errors), stress=True))
    page.add(
        Text(
            "Thirteen measures of paper quality from three control variables, their squares and "
            "products. Random splits into 70 % for training, with every choice made there by "
            "cross-validation, and 30 % for the test. The null predicts the training means."
        ),
        Section("Root mean squared error on the test part"),
        _error_table(errors),
        Text("The paper prints no standard deviations here, so the distance is in per cent."),
    )
    if errors:
        page.add(
            Picture(
                "rmse",
                _dots(errors),
                "Root mean squared error on the test part. Dots: means over the splits, with one "
                "standard deviation to either side; open circles: printed means.",
            )
        )
    page.add(Section("Predictors discarded on the full data"), _selection_table(records))
    page.add(Text(_selection_words(records)))
    return page


def rmse(records: list[Record]) -> dict[str, Spread]:
    """Return the test error of each method, in the order of the pages."""
    rows = group([r for r in records if r.get("kind") == "error"], "method")
    found = {method: spread(rows[method], "rmse") for method in in_order(list(rows))}
    return {method: error for method, error in found.items() if error is not None}


def discards(records: list[Record]) -> dict[str, list[str]]:
    """Return the predictors each method discards on the full data."""
    chosen = [r for r in records if r.get("kind") == "selection" and r.get("method")]
    sets = {r["method"]: [str(term) for term in r.get("discarded") or []] for r in chosen}
    return {method: sets[method] for method in in_order(list(sets))}


def _verdict(errors: dict[str, Spread]) -> str:
    contestants = {m: e for m, e in errors.items() if m not in ("null", "oracle")}
    if not contestants:
        return "No split is finished."
    best = min(contestants, key=lambda method: contestants[method].mean)
    text = f"{best} has the lowest mean test error, {number(contestants[best].mean, 3)}"
    if "GDT" in contestants and best != "GDT":
        gdt = contestants["GDT"].mean
        text += f"; GDT has {number(gdt, 3)}, {percent(gdt / contestants[best].mean)} above it"
    if "null" in errors:
        text += f"; the null has {number(errors['null'].mean, 3)}"
    return text.replace("+", "") + "."


def _error_table(errors: dict[str, Spread]) -> Table:
    old = printed()["norway"]["rmse"]
    best = min((e.mean for m, e in errors.items() if m != "null"), default=1.0)
    rows = [
        (
            method,
            pm(error, 3),
            number(old.get(method), 3),
            percent(error.mean / old[method]) if method in old else "",
            percent(error.mean / best),
            str(error.count),
        )
        for method, error in errors.items()
    ]
    header = ("", "here", "printed", "from printed", "from the best here", "splits")
    return Table(header, list(rows))


def _selection_table(records: list[Record]) -> Table:
    expected = set(printed()["norway"]["discarded"])
    residuals = {r["method"]: r.get("rss") for r in records if r.get("kind") == "selection"}
    rows = []
    for method, terms in discards(records).items():
        same = "yes" if set(terms) == expected else "no"
        residual = number(residuals[method], 3)
        rows.append((method, ", ".join(f"`{t}`" for t in terms) or "none", same, residual))
    return Table(("", "discarded", "as printed", "residual sum of squares"), list(rows), left=3)


def _selection_words(records: list[Record]) -> str:
    terms = ", ".join(f"`{t}`" for t in printed()["norway"]["discarded"])
    text = f"The paper's GDT keeps six of nine predictors and discards {terms}."
    found = discards(records).get("GDT")
    if found is None:
        return f"{text} The selection was not run here."
    if set(found) == set(printed()["norway"]["discarded"]):
        return f"{text} GDT discards exactly these here."
    here = ", ".join(f"`{t}`" for t in found) or "none"
    return f"{text} GDT discards {here} here."


def _dots(errors: dict[str, Spread]) -> Any:
    old = printed()["norway"]["rmse"]
    figure, (axis,) = panels(height=0.9 + 0.27 * len(errors))
    for height, (method, error) in enumerate(errors.items()):
        colour = COLOURS.get(method, "#555555")
        if method in old:
            axis.plot(old[method], height, "o", mfc="none", mec="#555555", ms=7)
        if error.count > 1:
            ends = [error.mean - error.sd, error.mean + error.sd]
            axis.plot(ends, [height, height], color=colour, lw=1, alpha=0.6)
        axis.plot(error.mean, height, "o", color=colour, ms=5)
    axis.set_yticks(range(len(errors)), list(errors))
    axis.set_ylim(len(errors) - 0.4, -0.6)
    axis.set_xlabel("root mean squared error on the test part")
    return figure
