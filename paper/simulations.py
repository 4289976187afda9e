"""The paper's simulated settings: tables 1 to 4, larger sizes, errors that are not Gaussian."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from paper.figures import curves, dot, dots, name_rows, panels, style_of
from paper.methods import BASELINES, METHODS, RegressionTask, fit_methods, score_coefficients
from paper.statistics import (
    cross_table,
    means,
    number,
    paired_difference,
    percent,
    pm,
    pm_cells,
    printed,
)
from paper.study import Finding, Job, Record, Study, replicated
from thinrank.datasets import make_two_way_sparse
from thinrank.losses import LeastSquares
from thinrank.minimize import minimize
from thinrank.report.document import Block, Picture, Section, Table, Text
from thinrank.selection import estimate_rank
from thinrank.starts import Lasso

_FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0)
_RANK, _SIZE = 8, 10  # the true rank, and the true numbers of rows and columns
SETTINGS: dict[str, dict[str, Any]] = {
    "row_strong": {"column_sparsity": None},
    "twoway_strong": {},
    "row_weak": {"column_sparsity": None, "signal": 0.2},
    "twoway_weak": {"signal": 0.2},
}
"""Arguments that differ from n = 50, p = 100, k = 50, rank 8, 10 rows, 10 columns and signal 1."""

DISTRIBUTIONS = ("normal", "uniform", "rademacher", "t3")
"""Error distributions, all of variance 1; t3 has three degrees of freedom, no fourth moment."""

# Candidates for s1 and s2 of GDT in the simulations, around the true value of 10.
_SIZES = (5, 7, 8, 9, 10, 11, 12, 14, 17, 22)


def draw(setting: str, seed: int, distribution: str = "normal") -> RegressionTask:
    """Draw training rows, the same number of validation rows, and the true coefficients.

    As in the paper the rank is estimated, and the rest is tuned on the validation rows.
    """
    options = SETTINGS[setting]
    X, signal, truth = make_two_way_sparse(noise=0.0, random_state=seed, **options)
    rng, n = np.random.default_rng([seed, 1]), len(X)
    Y = signal + errors(rng, signal.shape, distribution)
    X_validation = rng.standard_normal(X.shape)
    Y_validation = X_validation @ truth.theta + errors(rng, Y.shape, distribution)
    return RegressionTask(
        X=X,
        Y=Y,
        pooled=(np.concatenate([X, X_validation]), np.concatenate([Y, Y_validation])),
        splits=[(np.arange(n), np.arange(n, 2 * n))],
        ranks=(max(1, estimate_rank(X, Y, method="authors")),),
        row_sizes=_SIZES,
        column_sizes=(None,) if "column_sparsity" in options else _SIZES,
        truth=truth,
    )


def errors(rng: np.random.Generator, shape: tuple[int, ...], distribution: str) -> np.ndarray:
    """Draw independent errors of mean 0 and variance 1."""
    draws = {
        "normal": lambda: rng.standard_normal(shape),
        "uniform": lambda: rng.uniform(-(3**0.5), 3**0.5, shape),
        "rademacher": lambda: rng.choice([-1.0, 1.0], shape),
        "t3": lambda: rng.standard_t(3, shape) / 3**0.5,
    }
    return draws[distribution]()


def scored_methods(task: RegressionTask, methods: Sequence[str] = tuple(METHODS)) -> list[Record]:
    """Fit methods to a simulated task: scores, tuning parameters and seconds."""
    return [
        {
            "method": name,
            **score_coefficients(answer.theta, task),
            **{f"chosen_{key}": value for key, value in answer.chosen.items()},
            "seconds": answer.seconds,
        }
        for name, answer in fit_methods(task, methods).items()
    ]


# ---------------------------------------------------------------- tables 1 to 4


def run_table(job: Job) -> list[Record]:
    return scored_methods(draw(job.cell["setting"], job.seed))


def _printed_table(records: pd.DataFrame) -> dict[str, Any]:
    """The table of the paper that the records are about."""
    table: dict[str, Any] = printed()["tables"][records["study"].iloc[0]]
    return table


def _printed_stats(records: pd.DataFrame, field: str) -> pd.DataFrame:
    """Mean and sd of a field as printed, by method; NaN where there are none."""
    table = _printed_table(records)["methods"]
    known = {method: row[field] for method, row in table.items() if field in row}
    found = pd.DataFrame.from_dict(known, orient="index", columns=["mean", "sd"], dtype=float)
    return found.reindex(records["method"].unique())


def _gaps(records: pd.DataFrame, field: str, printed_field: str) -> pd.Series:
    """Differences of means from the printed ones, in printed standard deviations above zero."""
    old = _printed_stats(records, printed_field)
    return (means(records, "method", field)["mean"] - old["mean"]) / old["sd"].where(old["sd"] > 0)


def table_page(records: pd.DataFrame) -> list[Block]:
    def here(field: str, digits: int = 4) -> list[str]:
        return pm_cells(means(records, "method", field), digits)

    def as_printed(field: str, digits: int = 4) -> list[str]:
        return pm_cells(_printed_stats(records, field), digits)

    def gap(field: str, printed_field: str) -> list[str]:
        gaps = _gaps(records, field, printed_field)
        return ["" if pd.isna(gap) else f"{gap:+.1f}" for gap in gaps]

    errors = means(records, "method", "spectral")
    methods, count = list(errors.index), errors["count"].max()
    exact, seconds = (means(records, "method", x)["mean"] for x in ("exact", "seconds"))
    return [
        Text(_setting(_printed_table(records)["sizes"])),
        Section("Estimation error"),
        _table(
            ("method", methods),
            ("spectral", here("spectral")),
            ("printed", as_printed("estimation")),
            ("difference", gap("spectral", "estimation")),
            ("Frobenius", here("frobenius")),
        ),
        Text(
            "‖Θ̂ − Θ*‖ / ‖Θ*‖, mean ± standard deviation over the replications. The spectral norm "
            "is what the paper prints; the Frobenius norm is given in addition. “Difference” is "
            "from the printed mean, in printed standard deviations, and negative if the error is "
            "lower here. The oracle knows the true supports and the rank; the null model "
            "estimates zero."
        ),
        Picture(
            "estimation",
            dots(
                errors.drop("null"),
                _printed_stats(records, "estimation")["mean"].dropna().to_dict(),
                "relative estimation error, spectral norm",
            ),
            f"Relative estimation error in the spectral norm. Dots: means over "
            f"{count} replications, plus and minus one standard deviation; open "
            "circles: printed means.",
        ),
        Section("Prediction error"),
        _table(
            ("method", methods),
            ("new rows", here("prediction")),
            ("difference", gap("prediction", "prediction")),
            ("printed", as_printed("prediction")),
            ("difference", gap("same_rows", "prediction")),
            ("training rows", here("same_rows")),
        ),
        Text(
            "Expected root mean squared error on new rows, and on new responses at the training "
            "rows of X; the noise alone gives 1. The paper does not say which of the two it "
            "prints, so both are compared with the printed mean."
        ),
        Section("Supports and running times"),
        _table(
            ("method", methods),
            ("rows", here("rows", 2)),
            ("printed", as_printed("rows", 2)),
            ("difference", gap("rows", "rows")),
            ("columns", here("columns", 2)),
            ("printed", as_printed("columns", 2)),
            ("difference", gap("columns", "columns")),
            ("rank", here("rank", 2)),
            ("exact", [f"{100 * part:.0f} %" for part in exact]),
            ("seconds", [number(mean, 2) for mean in seconds]),
            ("replications", [str(count) for count in errors["count"]]),
        ),
        Text(
            "Numbers of non-zero rows and columns. “Exact” is the fraction of replications in "
            "which both supports are the true ones. Seconds include the choice of tuning "
            "parameters."
        ),
    ]


def _table(*columns: tuple[str, list[str]]) -> Table:
    """A table of columns, each a heading and its cells."""
    headings, cells = zip(*columns, strict=True)
    return Table(headings, list(zip(*cells, strict=True)))


def _setting(sizes: dict[str, Any]) -> str:
    scale = "" if sizes["theta_scale"] == 1 else ", and Θ* is divided by 5"
    return (
        f"n = {sizes['n']}, p = {sizes['p']}, k = {sizes['k']}, r = {sizes['r']}, "
        f"{sizes['s1']} non-zero rows, {sizes['s2']} non-zero columns{scale}. Tuning parameters "
        "are chosen on an independent validation set."
    )


def lowest_error(records: pd.DataFrame) -> Finding:
    """GDT has the lowest mean estimation error of the paper's methods in all four tables."""
    return _lowest(records, "spectral")


def lowest_prediction(records: pd.DataFrame) -> Finding:
    """GDT has the lowest mean prediction error of the paper's methods in all four tables (on new
    rows)."""
    return _lowest(records, "prediction")


def _lowest(records: pd.DataFrame, field: str) -> Finding:
    errors = means(records, "method", field)["mean"]
    best = errors[errors.index.isin(BASELINES)].idxmin()
    told = f"GDT {errors['GDT']:.4f}, {best} {errors[best]:.4f}"
    if errors["GDT"] < errors[best]:
        return True, told
    gap, error = paired_difference(records, "GDT", best, field)
    return False, f"{told} (difference {gap:.4f}, standard error {error:.4f})"


def gdt_as_printed(records: pd.DataFrame) -> Finding:
    """GDT's mean estimation error is the printed one: at most 2 printed sd above it."""
    here = means(records, "method", "spectral")["mean"]["GDT"]
    old = pm(*_printed_stats(records, "estimation").loc["GDT"])
    gap = _gaps(records, "spectral", "estimation")["GDT"]
    return bool(gap <= 2), f"{here:.4f}, printed {old}, {gap:+.1f} sd"


def baselines_as_printed(records: pd.DataFrame) -> Finding:
    """The baselines' mean estimation errors are the printed ones: within 2 printed sd."""
    gaps = _gaps(records, "spectral", "estimation")[list(BASELINES)]
    outside = [
        f"{method} {gap:+.1f} sd ({'lower' if gap < 0 else 'higher'} here)"
        for method, gap in gaps.items()
        if abs(gap) > 2
    ]
    told = f"{len(gaps) - len(outside)} of {len(gaps)}"
    return not outside, told + (f" except for {', '.join(outside)}" if outside else "")


# ---------------------------------------------------------------- larger sizes


def _changes(records: pd.DataFrame, by: list[str], field: str, base: Any) -> pd.DataFrame:
    """Mean errors relative to those at the base value of a field, whose values are columns."""
    errors = means(records, [*by, field], "spectral")["mean"].unstack()
    return errors.div(errors[base], axis=0)


@replicated(61_000, full=20, small=3)
def size_jobs(quick: bool) -> list[Record]:
    return [{"setting": "twoway_strong", "factor": factor} for factor in _FACTORS]


def run_sizes(job: Job) -> list[Record]:
    """Fit GDT from the lasso and pursuit, with the true rank and sizes too large by a factor."""
    task = draw(job.cell["setting"], job.seed)
    size = round(job.cell["factor"] * _SIZE)
    sizes = {"rank": _RANK, "row_sparsity": size, "column_sparsity": size}
    solvers: dict[str, dict[str, Any]] = {
        "GDT": {"solver": "gdt", "start": Lasso()},
        "pursuit": {"solver": "pursuit"},
    }
    records = []
    for method, options in solvers.items():
        began = time.perf_counter()
        loss = LeastSquares(task.X, task.Y)
        theta = minimize(loss, **sizes, **options).factors.theta
        seconds = time.perf_counter() - began
        scores = score_coefficients(theta, task)
        records.append({"method": method, **sizes, **scores, "seconds": seconds})
    return records


def size_page(records: pd.DataFrame) -> list[Block]:
    figure, (axis,) = panels(height=3.2)
    axis.set(xlabel="given size / true size", ylabel="relative error, spectral norm")
    axis.set_xticks(_FACTORS, [f"{factor:g}" for factor in _FACTORS])
    found = means(records, ["method", "factor"], "spectral")
    axis.set_ylim(0, 1.1 * found["mean"].max())
    curves(axis, found)
    return [
        Text(
            "The setting of table 2. The solver is given the true rank, and the same multiple of "
            "the true numbers of rows and columns for s₁ and s₂. Relative estimation error in the "
            "spectral norm, mean ± standard deviation; in parentheses, the change relative to the "
            "true sizes."
        ),
        Section("Estimation error"),
        cross_table(
            records,
            *("method", "factor", "spectral"),
            base={"factor": 1.0},
            title=lambda factor: f"{factor:g} ×",
        ),
        Picture(
            "sensitivity",
            figure,
            "Mean estimation error against the given multiple of the true sizes.",
        ),
    ]


def sizes_hurt_little(records: pd.DataFrame) -> Finding:
    """The estimation accuracy is not very sensitive to s₁ and s₂: twice the true sizes raise GDT's
    mean error by at most 25 %."""
    ratios = _changes(records, ["method"], "factor", 1.0)
    most = max(ratios.columns)
    told = "; ".join(
        f"{method} {percent(row[2.0])} at twice, {percent(row[most])} at {most:g} times"
        for method, row in ratios.iterrows()
    )
    return bool(ratios.loc["GDT", 2.0] <= 1.25), told


# ---------------------------------------------------------------- errors that are not Gaussian


@replicated(62_000, full=20, small=3)
def noise_jobs(quick: bool) -> list[Record]:
    """Settings and distributions; X and Θ* do not depend on the latter."""
    settings = ("twoway_strong",) if quick else ("twoway_strong", "twoway_weak")
    return [{"setting": s, "distribution": kind} for s in settings for kind in DISTRIBUTIONS]


def run_noise(job: Job) -> list[Record]:
    task = draw(job.cell["setting"], job.seed, job.cell["distribution"])
    return scored_methods(task, ("GDT", "pursuit", "MTL"))


def noise_page(records: pd.DataFrame) -> list[Block]:
    blocks: list[Block] = [
        Text(
            "The theory assumes sub-Gaussian errors. Uniform and Rademacher (±1) errors are "
            "sub-Gaussian, heavy-tailed ones are not. All have the same variance. Relative "
            "estimation error in the spectral norm, mean ± standard deviation; in parentheses, the "
            "change relative to Gaussian noise."
        ),
        Picture(
            "noise",
            _noise_figure(records),
            "Mean estimation error by distribution of the noise, plus and minus one standard "
            "deviation.",
        ),
    ]
    for setting, own in records.groupby("setting", sort=False):
        fields = ("distribution", "method", "spectral")
        table = cross_table(own, *fields, base={"distribution": "normal"})
        blocks += [Section(_setting_title(setting)), table]
    return blocks


def _noise_figure(records: pd.DataFrame) -> Any:
    settings, methods = records["setting"].unique(), records["method"].unique()
    figure, axes = panels(len(settings), height=1.3 + 0.34 * len(DISTRIBUTIONS))
    for axis, setting in zip(axes, settings, strict=True):
        own = means(records[records["setting"] == setting], ["method", "distribution"], "spectral")
        for shift, method in zip(np.linspace(-0.18, 0.18, len(methods)), methods, strict=True):
            for kind, row in own.loc[method].iterrows():
                height = DISTRIBUTIONS.index(kind) + shift
                dot(axis, height, row["mean"], row["sd"], **style_of(method))
        axis.set_title(_setting_title(setting))
        name_rows(axis, DISTRIBUTIONS, "relative estimation error, spectral norm")
        axis.tick_params(labelleft=axis is axes[0])
    handles = [axes[0].plot([], [], ls="", **style_of(method))[0] for method in methods]
    figure.legend(handles, methods, loc="outside lower center", ncols=len(methods))
    return figure


def _gdt_by_distribution(records: pd.DataFrame, *kinds: str) -> tuple[pd.DataFrame, str]:
    """GDT's errors relative to those with Gaussian noise, by setting and kind, and in words."""
    own = records[records["method"] == "GDT"]
    changes = _changes(own, ["setting"], "distribution", "normal")[list(kinds)]
    spans = []
    for kind, ratios in changes.items():
        ends = dict.fromkeys([percent(ratios.min()), percent(ratios.max())])
        spans.append(f"{kind} {' to '.join(ends)}")
    return changes, f"GDT: {', '.join(spans)}"


def like_gaussian(records: pd.DataFrame) -> Finding:
    """Sub-Gaussian noise is like Gaussian noise: GDT's mean error within 10 %."""
    changes, told = _gdt_by_distribution(records, "uniform", "rademacher")
    return bool(((changes - 1).abs() <= 0.1).all(axis=None)), told


def worse(records: pd.DataFrame) -> Finding:
    """Heavy tails, which the theory does not cover, are worse than Gaussian noise."""
    changes, told = _gdt_by_distribution(records, "t3")
    return bool((changes > 1).all(axis=None)), told


_CLAIMS = (lowest_error, lowest_prediction, gdt_as_printed, baselines_as_printed)


def _setting_title(setting: str) -> str:
    """The paper's description of a setting."""
    return next(t["title"] for t in printed()["tables"].values() if t["setting"] == setting)


def _table_study(name: str, table: dict[str, Any]) -> Study:
    """Table 1, 2, 3 or 4."""
    title = f"Table {name.removeprefix('table')}: {table['title'].lower()}"
    jobs = replicated(60_000, full=50, small=3)(lambda quick: [{"setting": table["setting"]}])
    return Study(name, title, jobs, run_table, table_page, _CLAIMS)


STUDIES = (
    *(_table_study(name, table) for name, table in printed()["tables"].items()),
    Study(
        "sensitivity",
        "Sensitivity to s₁ and s₂",
        size_jobs,
        run_sizes,
        size_page,
        (sizes_hurt_little,),
    ),
    Study(
        "noise",
        "Noise that is not Gaussian",
        noise_jobs,
        run_noise,
        noise_page,
        (like_gaussian, worse),
    ),
)
