"""The Norwegian paper quality data: errors on random splits, and the discarded predictors."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from paper.claims import Claim, Finding
from paper.gdt import FixedDataGDT
from paper.methods import METHODS, fit_methods
from paper.printed import BASELINES, printed
from paper.statistics import Spread, group, number, percent, pm, spread
from paper.studies import Job, Study, StudyRecord
from paper.studies.judge import root_mean_square, supports
from paper.studies.task import RegressionTask
from paper.style import COLOURS, in_order, panels
from thinrank.datasets import load_norwegian_paper
from thinrank.estimators import SparseReducedRankRegressor
from thinrank.report.document import Page, Picture, Section, Table, Text

_FIRST_SEED = 65_000
_SPLITS, _QUICK_SPLITS = 50, 3
_TRAINING_PART = 0.7
_FOLDS = 5
_RANKS = (1, 2, 3, 4)
# The selection of the paper: rank 3, six predictors, all responses.
_RANK, _ROWS = 3, 6
_METHODS = tuple(name for name in METHODS if name != "oracle")


def jobs(quick: bool) -> list[Job]:
    """Return one job per split, and one for the selection on the full data."""
    count = _QUICK_SPLITS if quick else _SPLITS
    splits = [Job("norway", {"kind": "error"}, _FIRST_SEED + i) for i in range(count)]
    return [*splits, Job("norway", {"kind": "selection"}, 0)]


def run(job: Job) -> list[StudyRecord]:
    """Compute the errors on one split, or select predictors on the full data."""
    paper = load_norwegian_paper(as_frame=False)
    if job.cell["kind"] == "selection":
        return _selection(paper.data, paper.target, paper.feature_names)
    return _errors(paper.data, paper.target, job.seed)


def _errors(X: np.ndarray, Y: np.ndarray, seed: int) -> list[StudyRecord]:
    """Return test errors; all choices are made by cross-validation on the training part."""
    order = np.random.default_rng(seed).permutation(len(X))
    count = round(_TRAINING_PART * len(X))
    train, test = order[:count], order[count:]
    folds = KFold(_FOLDS, shuffle=True, random_state=seed)
    task = RegressionTask(
        X=X[train],
        Y=Y[train],
        pooled=(X[train], Y[train]),
        splits=list(folds.split(X[train])),
        ranks=_RANKS,
        row_sizes=tuple(range(1, X.shape[1] + 1)),
        column_sizes=(None,),
        intercept=True,
    )
    return [
        {
            "method": name,
            "rmse": root_mean_square(Y[test] - X[test] @ answer.theta - answer.intercept),
            "rows": len(supports(answer.theta)[0]),
            "rank": int(np.linalg.matrix_rank(answer.theta)),
            "seconds": answer.seconds,
        }
        for name, answer in fit_methods(task, _METHODS).items()
    ]


def _selection(X: np.ndarray, Y: np.ndarray, names: list[str]) -> list[StudyRecord]:
    """Select six predictors with rank 3 on all rows, also by exhaustive search over 84 sets."""
    sizes = (_RANK, _ROWS, None)
    pursuit = SparseReducedRankRegressor(_RANK, _ROWS, None, standardize=False).fit(X, Y)
    found = {
        "GDT": supports(FixedDataGDT(X, Y, True).fit(sizes)[0])[0],
        "GDT, spectral start": supports(FixedDataGDT(X, Y, True, "spectral").fit(sizes)[0])[0],
        "pursuit": pursuit.row_support_,
        "exhaustive search": _best_set(X, Y),
    }
    centred = X - X.mean(axis=0), Y - Y.mean(axis=0)
    return [
        {
            "method": name,
            "kept": [names[i] for i in rows],
            "discarded": [x for i, x in enumerate(names) if i not in set(rows)],
            "rss": _residual(*centred, tuple(int(i) for i in rows)),
        }
        for name, rows in found.items()
    ]


def _best_set(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    centred = X - X.mean(axis=0), Y - Y.mean(axis=0)
    sets = combinations(range(X.shape[1]), _ROWS)
    return np.array(min(sets, key=lambda rows: _residual(*centred, rows)))


def _residual(X: np.ndarray, Y: np.ndarray, rows: tuple[int, ...]) -> float:
    """Return the smallest residual sum of squares of rank 3 on a set of predictors."""
    projected = np.linalg.qr(X[:, list(rows)])[0].T @ Y
    values = np.linalg.svd(projected, compute_uv=False)
    return float(np.sum(Y**2) - np.sum(values[:_RANK] ** 2))


STUDIES = (
    Study(
        name="norway",
        title="Norwegian paper quality data",
        claim=(
            "GDT discards X1^2, X1*X2 and X2*X3, and its prediction error is competitive with the "
            "best method."
        ),
        jobs=jobs,
        run=run,
    ),
)


def make_page(name: str, records: list[StudyRecord]) -> Page:
    """Return the page of the Norwegian paper data."""
    errors = rmse(records)
    page = Page("Norwegian paper data")
    page.add(Text(_verdict(errors), stress=True))
    page.add(
        Text(
            "Thirteen measures of paper quality are predicted from three control variables, their "
            "squares and products. Random splits into 70 % training data, on which all choices are "
            "made by cross-validation, and 30 % test data. The null model predicts the training "
            "means."
        ),
        Section("Root mean squared error on the test data"),
        _error_table(errors),
        Text("The paper prints no standard deviations here, so differences are in per cent."),
    )
    if errors:
        page.add(
            Picture(
                "rmse",
                _dots(errors),
                "Root mean squared error on the test data. Dots: means over the splits, plus and "
                "minus one standard deviation; open circles: printed means.",
            )
        )
    page.add(Section("Predictors discarded on the full data"), _selection_table(records))
    page.add(Text(_selection_words(records)))
    return page


def rmse(records: list[StudyRecord]) -> dict[str, Spread]:
    """Return the test error of each method, in the order of the pages."""
    rows = group([r for r in records if r.get("kind") == "error"], "method")
    found = {method: spread(rows[method], "rmse") for method in in_order(list(rows))}
    return {method: error for method, error in found.items() if error is not None}


def discards(records: list[StudyRecord]) -> dict[str, list[str]]:
    """Return the predictors each method discards on the full data."""
    chosen = [r for r in records if r.get("kind") == "selection" and r.get("method")]
    sets = {r["method"]: [str(term) for term in r.get("discarded") or []] for r in chosen}
    return {method: sets[method] for method in in_order(list(sets))}


def _verdict(errors: dict[str, Spread]) -> str:
    candidates = {m: e for m, e in errors.items() if m not in ("null", "oracle")}
    if not candidates:
        return "No split is finished."
    best = min(candidates, key=lambda method: candidates[method].mean)
    text = f"{best} has the lowest mean test error, {number(candidates[best].mean, 3)}"
    if "GDT" in candidates and best != "GDT":
        gdt = candidates["GDT"].mean
        text += f"; GDT has {number(gdt, 3)}, {percent(gdt / candidates[best].mean)} above it"
    if "null" in errors:
        text += f"; the null model has {number(errors['null'].mean, 3)}"
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
    header = ("method", "here", "printed", "from printed", "from the best here", "splits")
    return Table(header, list(rows))


def _selection_table(records: list[StudyRecord]) -> Table:
    expected = set(printed()["norway"]["discarded"])
    residuals = {r["method"]: r.get("rss") for r in records if r.get("kind") == "selection"}
    rows = []
    for method, terms in discards(records).items():
        same = "yes" if set(terms) == expected else "no"
        residual = number(residuals[method], 3)
        rows.append((method, ", ".join(f"`{t}`" for t in terms) or "none", same, residual))
    return Table(
        ("method", "discarded", "as printed", "residual sum of squares"), list(rows), left=3
    )


def _selection_words(records: list[StudyRecord]) -> str:
    terms = ", ".join(f"`{t}`" for t in printed()["norway"]["discarded"])
    text = f"The paper's GDT keeps six of nine predictors and discards {terms}."
    found = discards(records).get("GDT")
    if found is None:
        return f"{text} The selection was not run."
    if set(found) == set(printed()["norway"]["discarded"]):
        return f"{text} Here, GDT discards exactly these."
    here = ", ".join(f"`{t}`" for t in found) or "none"
    return f"{text} Here, GDT discards {here}."


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
    axis.set_xlabel("root mean squared error on the test data")
    return figure


def competitive(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether GDT's mean test error is at most 2 % above the lowest one."""
    every = {method: error.mean for method, error in rmse(records).items()}
    errors = {m: error for m, error in every.items() if m in ("GDT", *BASELINES)}
    if "GDT" not in errors or len(errors) < 2:
        return None
    best = min(errors, key=lambda method: errors[method])
    told = f"GDT {errors['GDT']:.3f}, best {best} {errors[best]:.3f}"
    told += "".join(f", {m} {every[m]:.3f}" for m in ("pursuit", "null") if m in every)
    return errors["GDT"] <= 1.02 * errors[best], told


def discards_as_printed(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether GDT discards the same predictors as in the paper."""
    found = discards(records).get("GDT")
    if found is None:
        return None
    expected = set(printed()["norway"]["discarded"])
    told = "GDT discards " + (", ".join(f"`{term}`" for term in found) or "none")
    others = [m for m, terms in discards(records).items() if m != "GDT" and set(terms) == expected]
    told += f"; exactly these three: {'; '.join(others)}" if others else ""
    return set(found) == expected, told


CLAIMS = (
    Claim(
        "On the Norwegian paper data GDT is competitive: test error within 2 % of the best of the "
        "paper's methods",
        ("norway",),
        competitive,
    ),
    Claim(
        "On the Norwegian paper data GDT discards exactly "
        + ", ".join(f"`{term}`" for term in printed()["norway"]["discarded"]),
        ("norway",),
        discards_as_printed,
    ),
)
