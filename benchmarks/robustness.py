"""The default regressor on simulated data that behave like real data.

    python benchmarks/robustness.py --jobs 2 --markdown docs/benchmarks/robustness.md
    python benchmarks/robustness.py --checks random --draws 60
    python benchmarks/robustness.py --checks spectra units --runs 5

Every check fits ``SparseReducedRankRegressor()`` and evaluates it on 2000 fresh rows or with the
true coefficients. Pure independent noise is in bands.py.

random         settings drawn at random (robustness_settings.py): the error over that of the
               training means
spectra        three nearly exact linear functions of four concentrations, from smooth spectra
diagonal       diagonal and block-diagonal coefficients, few predictors: the error over that of
               ordinary least squares
common_factor  the paper's two-way strong setting with a factor common to all the responses in the
               noise: the error of the coefficients over that of an oracle
factor_noise   no signal, three factors in the noise: the error over that of the training means
units          the same fit in other units, with weights times a constant, and with constant
               predictors and responses added
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from output import arguments_of, publish, table
from rich.progress import track
from robustness_settings import (
    FRESH,
    NOISE,
    PREDICTORS,
    SIGNALS,
    Record,
    Setting,
    draw,
    factors,
)
from sklearn.cross_decomposition import PLSRegression
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

import thinrank as tr
from thinrank.solvers.reduced_rank import reduced_rank_regression


def fit(X: np.ndarray, Y: np.ndarray, **options: Any) -> tr.SparseReducedRankRegressor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return tr.SparseReducedRankRegressor().fit(X, Y, **options)


def squared_error(Y: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.mean((Y - predicted) ** 2))


def over_means(data: Setting) -> Record:
    est = fit(data.X, data.Y)
    error = squared_error(data.Y_new, est.predict(data.X_new))
    ratio = error / squared_error(data.Y_new, data.Y.mean(axis=0))
    return {**data.facts, "ratio": ratio, "rank": est.rank_, "kept": len(est.row_support_)}


def random_setting(seed: int) -> Record:
    return over_means(draw(seed))


def factor_noise(seed: int) -> Record:
    """n = 60, p = 150, k = 80, no signal."""
    rng = np.random.default_rng(seed)
    noise = factors(rng, 80)
    X, Y = rng.standard_normal((60, 150)), noise(60)
    X_new, Y_new = rng.standard_normal((FRESH, 150)), noise(FRESH)
    return over_means(Setting(X, Y, X_new, Y_new, {"seed": seed}))


SPECTRA, COMPONENTS = 80, 4


def smooth_spectra(seed: int, fresh: int = FRESH) -> tuple[np.ndarray, np.ndarray, str, float]:
    """80 and more spectra of 200 wavelengths, responses, kind of concentrations, noise."""
    rng = np.random.default_rng(seed)
    n, wavelengths, components = SPECTRA, np.linspace(0, 1, 200), COMPONENTS
    centres, widths = rng.uniform(0, 1, (components, 3)), rng.uniform(0.05, 0.2, (components, 3))
    heights = rng.uniform(0.3, 1, (components, 3))
    distance = (wavelengths - centres[:, :, None]) / widths[:, :, None]
    shapes = np.einsum("cb,cbw->cw", heights, np.exp(-0.5 * distance**2))
    kind = str(rng.choice(["uniform", "exponential"]))
    amounts = getattr(rng, kind)(size=(n + fresh, components))
    X, Y = amounts @ shapes, amounts @ rng.standard_normal((components, 3))
    noise = float(10 ** rng.uniform(-3, -2))
    X += noise * X.std() * rng.standard_normal(X.shape)
    Y += 0.01 * Y.std(axis=0) * rng.standard_normal(Y.shape)
    return X, Y, kind, noise


def spectra(seed: int) -> Record:
    """R² on fresh rows, and that of PLS with four components."""
    X, Y, kind, noise = smooth_spectra(seed)
    n = SPECTRA
    est = fit(X[:n], Y[:n])
    other = PLSRegression(COMPONENTS, scale=False).fit(X[:n], Y[:n])
    return {
        "seed": seed,
        "concentrations": kind,
        "noise": noise,
        "r2": float(r2_score(Y[n:], est.predict(X[n:]))),
        "r2_pls": float(r2_score(Y[n:], other.predict(X[n:]))),
        "rank": est.rank_,
        "kept": len(est.row_support_),
    }


DIAGONAL = ("diagonal", "decaying diagonal", "block diagonal", "identity, mean 1000")


def diagonal(seed: int) -> Record:
    """n from 200 to 1000, p = k from 3 to 12; the kinds in turn."""
    rng = np.random.default_rng(seed)
    kind = DIAGONAL[seed % len(DIAGONAL)]
    n, p = int(rng.integers(200, 1001)), int(rng.integers(3, 13))
    centre, spread, noise = 0.0, 1.0, float(10 ** rng.uniform(-1, 0))
    theta = np.eye(p)
    if kind == "diagonal":
        theta = np.diag(rng.uniform(0.5, 2, p) * rng.choice([-1, 1], p))
    elif kind == "decaying diagonal":
        theta = np.diag(0.5 ** np.arange(p))
    elif kind == "block diagonal":
        blocks = np.arange(p) // int(rng.integers(2, 4))
        theta = np.where(blocks[:, None] == blocks, rng.standard_normal((p, p)), 0.0)
    else:
        centre, spread, noise = 1000.0, 3.0, 0.1
    X = rng.normal(centre, spread, (n + FRESH, p))
    Y = X @ theta + noise * rng.standard_normal((n + FRESH, p))
    est, least_squares = fit(X[:n], Y[:n]), LinearRegression().fit(X[:n], Y[:n])
    error = squared_error(Y[n:], est.predict(X[n:]))
    ratio = error / squared_error(Y[n:], least_squares.predict(X[n:]))
    facts = {"seed": seed, "kind": kind, "n": n, "p": p, "noise": noise}
    return {**facts, "ratio": ratio, "rank": est.rank_, "kept": len(est.row_support_)}


def common_factor(seed: int) -> Record:
    """The relative Frobenius error, and that of an oracle that knows rank and supports."""
    X, Y, truth = tr.datasets.make_two_way_sparse(noise=0.0, random_state=seed)
    rng = np.random.default_rng([seed, 1])
    Y = Y + rng.standard_normal((len(Y), 1)) + rng.standard_normal(Y.shape)
    rows, columns = truth.row_support, truth.column_support
    oracle = np.zeros(truth.shape)
    found = reduced_rank_regression(X[:, rows], Y[:, columns], truth.rank)
    oracle[np.ix_(rows, columns)] = found.theta
    est = fit(X, Y)
    size = np.linalg.norm(truth.theta)
    return {
        "seed": seed,
        "error": float(np.linalg.norm(est.factors_.theta - truth.theta) / size),
        "oracle": float(np.linalg.norm(oracle - truth.theta) / size),
        "rank": est.rank_,
        "kept": len(est.row_support_),
    }


def units(seed: int) -> Record:
    """Refits of the data of :func:`draw`, compared in the units of the first fit.

    Differences are in parts of the largest coefficient. Weights are compared with a weighted fit.
    """
    rng = np.random.default_rng([seed, 2])
    data = draw(seed)
    (n, p), k = data.X.shape, data.Y.shape[1]
    plain = fit(data.X, data.Y)
    of_X, of_Y = 10 ** rng.uniform(-3, 3, p), 10 ** rng.uniform(-3, 3, k)
    scaled = fit(data.X * of_X, data.Y * of_Y)
    back = of_X[:, None] * scaled.factors_.theta / of_Y
    weight = rng.uniform(0.5, 2, n)
    weighted = fit(data.X, data.Y, sample_weight=weight)
    heavier = fit(data.X, data.Y, sample_weight=weight * 10 ** rng.uniform(-3, 3))
    # three constant predictors and two constant responses, at random places
    columns, responses = (np.sort(rng.permutation(m + c)[:m]) for m, c in ((p, 3), (k, 2)))
    X, Y = np.full((n, p + 3), 7.0), np.full((n, k + 2), -2.0)
    X[:, columns], Y[:, responses] = data.X, data.Y
    wider = fit(X, Y)
    expected = np.zeros((p + 3, k + 2))
    expected[np.ix_(columns, responses)] = plain.factors_.theta
    return {
        **data.facts,
        "rank": plain.rank_,
        **compared("units", plain.factors_.theta, back),
        **compared("weights", weighted.factors_.theta, heavier.factors_.theta),
        **compared("constants", expected, wider.factors_.theta),
    }


def compared(name: str, theta: np.ndarray, other: np.ndarray) -> Record:
    size = np.abs(theta).max() or 1.0
    same = np.array_equal(theta.any(axis=1), other.any(axis=1)) and np.array_equal(
        theta.any(axis=0), other.any(axis=0)
    )
    return {name: float(np.abs(theta - other).max() / size), f"{name}, same supports": same}


# Tables of the records of each check.


def values(records: Sequence[Record], field: str = "ratio") -> np.ndarray:
    return np.array([record[field] for record in records])


def random_table(records: Sequence[Record]) -> list[str]:
    def row(name: str, kind: str, part: Sequence[Record]) -> list[str]:
        ratios = values(part)
        shares = (f"{100 * np.mean(ratios > x):.1f} %" for x in (1.5, 1.1))
        return [name, kind, len(part), *shares, f"{np.median(ratios):.3f}", f"{ratios.max():.3f}"]

    rows = [row("all", "", records)]
    for field, kinds in (("noise", NOISE), ("predictors", PREDICTORS), ("signal", SIGNALS)):
        for kind in kinds:
            if part := [record for record in records if record[field] == kind]:
                rows.append(row(field, kind, part))
    worst = sorted(records, key=lambda record: -record["ratio"])[:5]
    headings = ["", "", "draws", "above 1.5", "above 1.1", "median", "largest"]
    lines = [*table(headings, rows, text=2), "", "The largest:", ""]
    return lines + [
        f"- {r['ratio']:.3f}: seed {r['seed']}, n = {r['n']}, p = {r['p']}, k = {r['k']}, "
        f"predictors {r['predictors']}, signal {r['signal']} (R² {r['r2']:.2f}), "
        f"noise {r['noise']}, rank {r['rank']}, {r['kept']} predictors kept"
        for r in worst
    ]


def spectra_table(records: Sequence[Record]) -> list[str]:
    rows = []
    for name, field in (("thinrank", "r2"), ("PLS, four components", "r2_pls")):
        r2 = values(records, field)
        rows.append([name, f"{r2.min():.4f}", f"{np.sum(r2 >= 0.95)} of {len(r2)}"])
    return table(["", "smallest R²", "R² ≥ .95"], rows)


def diagonal_table(records: Sequence[Record]) -> list[str]:
    rows = []
    for kind in DIAGONAL:
        ratios = values([record for record in records if record["kind"] == kind])
        if ratios.size:
            spread = (f"{np.median(ratios):.4f}", f"{ratios.max():.4f}")
            rows.append([kind, len(ratios), *spread])
    return table(["coefficients", "runs", "median", "largest"], rows)


def common_factor_table(records: Sequence[Record]) -> list[str]:
    error, oracle = values(records, "error"), values(records, "oracle")
    means = (f"{error.mean():.4f}", f"{oracle.mean():.4f}")
    ratios = (f"{error.mean() / oracle.mean():.3f}", f"{np.max(error / oracle):.3f}")
    headings = ["runs", "error", "oracle's", "ratio of the means", "largest ratio"]
    return table(headings, [[len(records), *means, *ratios]], text=0)


def factor_noise_table(records: Sequence[Record]) -> list[str]:
    ratios, ranks = values(records), values(records, "rank")
    spread = (f"{ratios.mean():.4f}", f"{ratios.max():.4f}")
    row = [len(records), *spread, np.sum(ranks == 0)]
    return table(["runs", "mean", "largest", "rank 0"], [row], text=0)


def units_table(records: Sequence[Record]) -> list[str]:
    rows = []
    for name in ("units", "weights", "constants"):
        same = int(np.sum(values(records, f"{name}, same supports")))
        largest = values(records, name).max()
        rows.append([name, f"{largest:.1e}", f"{same} of {len(records)}"])
    empty = int(np.sum(values(records, "rank") == 0))
    lines = table(["change", "largest difference", "same supports"], rows)
    return [*lines, "", f"{empty} of the {len(records)} first fits have rank 0."]


@dataclass(frozen=True)
class Check:
    """One kind of simulation: its title, its usual number of runs, one run, the table."""

    title: str
    runs: int
    run: Callable[[int], Record]
    table: Callable[[Sequence[Record]], list[str]]


CHECKS = {
    "random": Check(
        "Random settings: error over that of the means", 600, random_setting, random_table
    ),
    "spectra": Check("Smooth spectra: R² on fresh rows", 20, spectra, spectra_table),
    "diagonal": Check(
        "Diagonal coefficients: error over that of least squares",
        24 * len(DIAGONAL),
        diagonal,
        diagonal_table,
    ),
    "common_factor": Check(
        "A common factor in the noise: relative Frobenius error",
        20,
        common_factor,
        common_factor_table,
    ),
    "factor_noise": Check(
        "Three factors in the noise, no signal: error over that of the means",
        20,
        factor_noise,
        factor_noise_table,
    ),
    "units": Check("The same fit in other units", 20, units, units_table),
}


def main() -> None:
    parser = arguments_of(__doc__, json=True)
    parser.add_argument("--checks", nargs="+", default=list(CHECKS), choices=list(CHECKS))
    parser.add_argument("--draws", type=int, default=CHECKS["random"].runs, help="of random")
    parser.add_argument("--runs", type=int, help="of each of the other checks")
    parser.add_argument("--seed", type=int, default=500_000, help="of the first run")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    arguments = parser.parse_args()
    records, lines = {}, []
    for name in arguments.checks:
        check = CHECKS[name]
        runs = arguments.draws if name == "random" else arguments.runs or check.runs
        measured = Parallel(arguments.jobs, return_as="generator")(
            delayed(check.run)(arguments.seed + i) for i in range(runs)
        )
        records[name] = list(track(measured, name, runs))
        lines += [f"**{check.title}**", "", *check.table(records[name]), ""]
    publish(lines[:-1], arguments.markdown)
    if arguments.json:
        arguments.json.write_text(json.dumps(records))


if __name__ == "__main__":
    main()
