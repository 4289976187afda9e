"""Errors that are not Gaussian: sub-Gaussian ones, and heavy tails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from paper.figures import dot, name_rows, panels, style_of
from paper.printed import setting_title
from paper.simulation import DISTRIBUTIONS, draw, scored_methods
from paper.statistics import cross_table, means, percent
from paper.study import Finding, Job, Record, Study, replicated
from thinrank.report.document import Block, Picture, Section, Text


def cells(quick: bool) -> list[Record]:
    """Settings and distributions; X and Θ* do not depend on the latter."""
    settings = ("twoway_strong",) if quick else ("twoway_strong", "twoway_weak")
    return [{"setting": s, "distribution": kind} for s in settings for kind in DISTRIBUTIONS]


def run(job: Job) -> list[Record]:
    task = draw(job.cell["setting"], job.seed, job.cell["distribution"])
    return scored_methods(task, ("GDT", "pursuit", "MTL"))


def page(records: pd.DataFrame) -> list[Block]:
    blocks: list[Block] = [
        Text(
            "The theory assumes sub-Gaussian errors. Uniform and Rademacher (±1) errors are "
            "sub-Gaussian, heavy-tailed ones are not. All have the same variance. Relative "
            "estimation error in the spectral norm, mean ± standard deviation; in parentheses, the "
            "change relative to Gaussian noise."
        ),
        Picture(
            "noise",
            _plot(records),
            "Mean estimation error by distribution of the noise, plus and minus one standard "
            "deviation.",
        ),
    ]
    for setting, own in records.groupby("setting", sort=False):
        fields = ("distribution", "method", "spectral")
        table = cross_table(own, *fields, base={"distribution": "normal"})
        blocks += [Section(setting_title(setting)), table]
    return blocks


def _plot(records: pd.DataFrame) -> Any:
    settings, methods = records["setting"].unique(), records["method"].unique()
    figure, axes = panels(len(settings), height=1.3 + 0.34 * len(DISTRIBUTIONS))
    for axis, setting in zip(axes, settings, strict=True):
        own = means(records[records["setting"] == setting], ["method", "distribution"], "spectral")
        for shift, method in zip(np.linspace(-0.18, 0.18, len(methods)), methods, strict=True):
            for kind, row in own.loc[method].iterrows():
                height = DISTRIBUTIONS.index(kind) + shift
                dot(axis, height, row["mean"], row["sd"], **style_of(method))
        axis.set_title(setting_title(setting))
        name_rows(axis, DISTRIBUTIONS, "relative estimation error, spectral norm")
        axis.tick_params(labelleft=axis is axes[0])
    handles = [axes[0].plot([], [], ls="", **style_of(method))[0] for method in methods]
    figure.legend(handles, methods, loc="outside lower center", ncols=len(methods))
    return figure


def _changes(records: pd.DataFrame, *kinds: str) -> tuple[pd.DataFrame, str]:
    """GDT's errors relative to those with Gaussian noise, by setting and kind, and in words."""
    own = records[records["method"] == "GDT"]
    found = means(own, ["setting", "distribution"], "spectral")["mean"].unstack()
    changes = found[list(kinds)].div(found["normal"], axis=0)
    spans = []
    for kind, ratios in changes.items():
        ends = dict.fromkeys([percent(ratios.min()), percent(ratios.max())])
        spans.append(f"{kind} {' to '.join(ends)}")
    return changes, f"GDT: {', '.join(spans)}"


def like_gaussian(records: pd.DataFrame) -> Finding:
    """Sub-Gaussian noise is like Gaussian noise: GDT's mean error within 10 %."""
    changes, told = _changes(records, "uniform", "rademacher")
    return bool(((changes - 1).abs() <= 0.1).all(axis=None)), told


def worse(records: pd.DataFrame) -> Finding:
    """Heavy tails, which the theory does not cover, are worse than Gaussian noise."""
    changes, told = _changes(records, "t3")
    return bool((changes > 1).all(axis=None)), told


STUDIES = (
    Study(
        "noise",
        "Noise that is not Gaussian",
        replicated(62_000, (20, 3), cells),
        run,
        page,
        claims=(like_gaussian, worse),
    ),
)
