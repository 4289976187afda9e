"""A family of related tasks that share a few features and a low rank: error against states."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.rl_linear_family import (
    Family,
    make_linear_family,
    make_optimal_value_family,
    value_error,
)

from paper.figures import INK, curves, panels, states_axis
from paper.q_iteration import (
    CompactGroupLasso,
    CompactLassos,
    RefittedGroupLasso,
    RefittedLassos,
    learned,
    model_table,
)
from paper.statistics import cross_table, means
from paper.study import Finding, Job, Record, Study, replicated
from thinrank.baselines import SeparateRidges
from thinrank.estimators import SparseReducedRankRegressorCV
from thinrank.plot.canvas import log_scale
from thinrank.report.document import Block, Picture, Section, Table, Text

_STATES, _QUICK_STATES, _EXTRA_STATES = (20, 40, 80, 160, 320), (40, 80), (40, 160)
_FAMILIES: dict[str, Callable[..., Family]] = {
    "linear": make_linear_family,
    "constructed": make_optimal_value_family,
}
_SIZES = {"n_tasks": 20, "n_features": 200, "n_actions": 3, "row_sparsity": 10, "rank": 3}
_DISCOUNT = 0.9
_QUICK_METHODS = ("GDT", "pursuit", "group lasso", "ridge")
_ITERATIONS = 20
# All methods are tuned alike: number of folds of the design states, and the iterations in which
# tuning parameters are chosen; in between the last choice is kept.
_FOLDS, _TUNE_AT = 5, (1, 4, 12)
_LITERAL: dict[str, Any] = {"cv": _FOLDS, "fit_intercept": False, "standardize": False}
_PENALTIES: dict[str, Any] = {"n_penalties": 10, **_LITERAL}

METHODS: dict[str, Callable[[], Any]] = {
    "GDT": lambda: SparseReducedRankRegressorCV(
        column_sparsities=[None], solver="gdt", tol=1e-5, **_LITERAL
    ),
    "pursuit": lambda: SparseReducedRankRegressorCV(column_sparsities=[None], **_LITERAL),
    "lasso": lambda: CompactLassos(tol=1e-4, **_PENALTIES),
    "lasso, refit": lambda: RefittedLassos(tol=1e-4, **_PENALTIES),
    "group lasso": lambda: CompactGroupLasso(tol=1e-4, **_PENALTIES),
    "group lasso, refit": lambda: RefittedGroupLasso(tol=1e-4, **_PENALTIES),
    "ridge": lambda: SeparateRidges(**_PENALTIES),
    "pooled": lambda: SparseReducedRankRegressorCV(column_sparsities=[None], **_LITERAL),
}
"""The regressions by name; cross-validation chooses all tuning parameters."""


def _cells(family: str, states: Sequence[int], quick: bool) -> list[Record]:
    """One job per number of states and method; the draws are the same for all of them."""
    return [
        {"family": family, "states": n, "method": method}
        for n in (_QUICK_STATES if quick else states)
        for method in (_QUICK_METHODS if quick else METHODS)
    ]


def jobs(quick: bool) -> list[Job]:
    linear = replicated(71_000, 20, 1)(partial(_cells, "linear", _STATES))
    constructed = replicated(71_000, 5, 0)(partial(_cells, "constructed", _EXTRA_STATES))
    return [*linear(quick), *constructed(quick)]


def run(job: Job) -> list[Record]:
    """Run fitted Q-iteration with one regression, and evaluate its policies."""
    family = _FAMILIES[job.cell["family"]](**_SIZES, discount=_DISCOUNT, random_state=job.seed)
    everywhere = np.arange(family.tasks[0].n_states)
    rng = np.random.default_rng([job.seed, 1])
    states = rng.choice(everywhere, job.cell["states"], replace=False)
    method = job.cell["method"]
    given = family.features, _SIZES["n_actions"], _DISCOUNT, METHODS[method]()
    options = {"n_iterations": _ITERATIONS, "tune_at": _TUNE_AT, "random_state": job.seed}
    fqi, model = learned(method, family.tasks, states, *given, **options)
    tasks = range(_SIZES["n_tasks"])
    policies = [fqi.policy(task) for task in tasks]
    values = np.stack([fqi.q_values(task, everywhere) for task in tasks])
    return [
        {
            "value_error": value_error(family, policies),
            "q_error": np.mean((values - family.q_star) ** 2),
            **model,
            "found": len(np.intersect1d(fqi.factors_.row_support, family.row_support)),
            "feature_norm": np.linalg.norm(family.features.table, axis=1).max(),
            "q_variance": np.mean(np.var(family.q_star, axis=(1, 2))),
        }
    ]


_BASELINES = ("lasso", "lasso, refit", "group lasso", "group lasso, refit", "ridge")
_AT = 40  # number of design states at which GDT is compared with the baselines

Curve = dict[int, float]
"""Mean value error by number of design states."""


def q_error_bound(states: float, feature_norm: float) -> float:
    """Return the theorem's bound on (1/k)·Σ‖Q* − Q^π‖² for many iterations, with C = 1.

    With Q_max = 1/(1 − γ) for rewards in [0, 1] it is ::

        C/(1−γ)⁴ · Q_max²L⁴/n · (r + s₁/k·(r + log p)),

    where n is the number of rows of the regression, design states times actions; p the number of
    rows of Θ, actions times features; L the largest norm of φ(s). The theorem does not give the
    constant C.
    """
    k, features, actions, s1, r = _SIZES.values()
    size = r + s1 / k * (r + math.log(actions * features))
    return feature_norm**4 / (1 - _DISCOUNT) ** 6 * size / (states * actions)


def page(records: pd.DataFrame) -> list[Block]:
    linear = records[records["family"] == "linear"]
    bound, constant = _bound(linear)
    slopes = ", ".join(f"{m} {_signed(slope(curve))}" for m, curve in _curves(linear).items())
    blocks: list[Block] = [
        Text(_about(linear)),
        Picture(
            "value_error",
            _plot(linear, bound),
            "Value error against design states per action, mean over the seeds, with one standard "
            "error to either side. Dotted: the bound of the theorem with its constant fitted at "
            "the smallest n.",
        ),
        Section("Value error"),
        _error_table(linear),
        Text("Mean ± standard deviation over the seeds."),
        *_needed_blocks(linear),
        Text(
            "The theorem bounds the error by a multiple of 1/n, a slope of −1 in logarithms; its "
            f"constant, fitted to GDT at the smallest n, is {constant:.2g}: the powers of "
            f"1/(1 − γ) and L in the bound are far from tight. Measured slopes: {slopes}. The "
            "greedy actions become right earlier than the values, and the supports are found from "
            "some n on, so the error of the policies may fall faster than the bound."
        ),
        Section("Models and seconds"),
        model_table(linear, q_error=("error of Q̂", "{:.3g}".format)),
    ]
    other = records[records["family"] == "constructed"]
    if other.empty:
        return blocks
    return [
        *blocks,
        Section("Q* linear in the features, Bellman images not"),
        Text(
            "Here Θ* is chosen first and the rewards follow from it, R = Q* − γ·P·max Q*: Q* "
            "is exactly row sparse and of low rank, but the targets of an iteration are not "
            "linear in the features. The theorem does not cover this case."
        ),
        _error_table(other),
    ]


def _about(records: pd.DataFrame) -> str:
    letters = ("k", "p_s", "|A|", "s₁*", "r", "γ", "T")
    values = (*_SIZES.values(), _DISCOUNT, _ITERATIONS)
    sizes = ", ".join(f"{letter} = {x:g}" for letter, x in zip(letters, values, strict=True))
    *some, last = map(str, _TUNE_AT)
    return (
        f"Linear decision processes that share their active features ({sizes}), learned "
        "by fitted Q-iteration from fresh samples at the same design states. All regressions are "
        f"tuned alike: {_FOLDS}-fold cross-validation over the design states in iterations "
        f"{', '.join(some)} and {last}, each choice kept until the next. The error is that of the "
        "greedy policies, (1/k)·Σ‖Q* − Q^π‖² (mean over all pairs), computed exactly. The variance "
        f"of Q* is {records['q_variance'].mean():.2g}."
    )


def _curves(records: pd.DataFrame) -> dict[str, Curve]:
    found = means(records, ["method", "states"], "value_error")["mean"]
    return {method: found.loc[method].to_dict() for method in records["method"].unique()}


def _error_table(records: pd.DataFrame) -> Table:
    return cross_table(
        records,
        *("method", "states", "value_error"),
        lambda mean, sd: f"{mean:.3g}" + ("" if math.isnan(sd) else f" ± {sd:.2g}"),
        corner="method / states per action",
    )


def states_needed(curve: Curve, error: float) -> tuple[float, bool]:
    """Return the number of states at which a curve first falls to an error.

    If it never does, the largest number and True. Numbers are interpolated in logarithms.
    """
    fewest, *_, most = curve
    if curve[fewest] <= error:
        return fewest, False
    for low, high in pairwise(curve):
        if curve[high] <= error:
            part = math.log(curve[low] / error) / math.log(curve[low] / curve[high])
            return low * (high / low) ** part, False
    return most, True


def _needed_blocks(records: pd.DataFrame) -> list[Block]:
    """The states that each method needs for the error that GDT reaches at 40 of them."""
    found = _curves(records)
    needed = {method: states_needed(curve, found["GDT"][_AT]) for method, curve in found.items()}
    rows = []
    for method, (states, bound) in needed.items():
        more = "> " if bound else ""
        rows.append((method, f"{more}{states:.0f}", f"{more}{states / _AT:.2f}"))
    best = min((method for method in needed if method in _BASELINES), key=lambda m: needed[m])
    states, bound = needed[best]
    told = f"{'more than ' if bound else ''}{states / _AT:.2f} times the states of GDT"
    header = ("method", f"states for GDT's error at {_AT}", "relative to GDT")
    return [
        Section("States that the baselines need"),
        Table(header, list(rows)),
        Text(f"The best baseline, {best}, needs {told}."),
    ]


def slope(curve: Curve) -> float:
    """Return the least-squares slope of log error against log n."""
    return float(np.polyfit(np.log([*curve]), np.log([*curve.values()]), 1)[0])


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _bound(records: pd.DataFrame) -> tuple[Curve, float]:
    """The theorem's bound at GDT's sizes, and its constant, fitted at the smallest size."""
    gdt = _curves(records)["GDT"]
    first = min(gdt)
    bound = q_error_bound(first, records["feature_norm"].iloc[0])
    return {n: gdt[first] * first / n for n in gdt}, gdt[first] / bound


def _plot(records: pd.DataFrame, bound: Curve) -> Any:
    figure, (axis,) = panels(height=4.2)
    found = means(records, ["method", "states"], "value_error")
    every = found["mean"][found["mean"] > 0]
    log_scale(axis, "y", every.min(), every.max(), ratio=3)
    axis.set_ylabel("value error (log scale)")
    states_axis(axis, records["states"].unique(), "design states per action")
    axis.plot([*bound], [*bound.values()], ":", color=INK, lw=1.2)
    end = (max(bound), bound[max(bound)], "bound ∝ 1/n", INK)
    curves(axis, found, [end])
    return figure


def falls_as_bounded(records: pd.DataFrame) -> Finding:
    """The value error of multi-task Q-iteration with GDT falls at least as fast as the theorem's
    1/n (which the paper does not run)."""
    curve = _curves(records[records["family"] == "linear"])["GDT"]
    found = slope(curve)
    told = f"slope {_signed(found)} from {min(curve)} to {max(curve)} design states"
    # allow for rounding in the least-squares fit of an exact −1
    return found <= -1 + 1e-9, told


_TITLE = "Reinforcement learning: the gain from shared structure"

STUDIES = (Study("rl-sparse-family", _TITLE, jobs, run, page, (falls_as_bounded,)),)
