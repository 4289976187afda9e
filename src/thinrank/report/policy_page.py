"""The page of ``thinrank rl``: the learned policies of one or more decision processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from thinrank.core.files import write_text
from thinrank.core.imports import import_optional
from thinrank.plot.canvas import axes_of
from thinrank.report.document import Page, Section, Table, Text, drawing, picture

HEADER = "task", "transitions", "episodes", "return of the log", "value of the policy"


def write_policy_page(
    path: Path, told: list[str], rows: list[tuple[str, ...]], residuals: list[float]
) -> None:
    """Write the page: what was found, a row per task, and the Bellman residual by iteration."""
    import_optional("matplotlib")
    page = Page("Policies from logged transitions")
    page.add(Text(told[0], stress=True), *map(Text, told[1:]))
    about = (
        "Discounted, from the first states of the episodes, by fitted Q evaluation with a 95 % "
        "interval over episodes, which does not contain the error of the linear model. "
        "`values.csv` has the best action of every logged state; `tr.load('model').policy(0)` is "
        "the policy of the first task."
    )
    page.add(Section("Tasks"), Table(HEADER, list(rows)), Text(about))

    def draw(ax: Any) -> None:
        axes = axes_of(ax, height=2.6)
        axes.plot(range(1, len(residuals) + 1), residuals)
        axes.set(xlabel="iteration", ylabel="Bellman residual", ylim=(0, None))

    with drawing():
        caption = "Distance of the values from their Bellman update: it falls and levels off."
        page.add(Section("Convergence"), picture("residual", draw, caption))
        content = page.html()
    write_text(path, content)
