"""The default regressor on simulated data that behave like real data.

    python benchmarks/robustness.py --jobs 2 --markdown docs/benchmarks/robustness.md

Settings are drawn at random, and the error on 2000 fresh rows is divided by that of the training
means; and a factor common to all the responses is added to the noise of the paper's two-way strong
setting, where the error of the coefficients is compared with that of an oracle. Spectra, diagonal
coefficients, noise of low rank and changes of units are tests (tests/estimators/test_real_like.py,
test_units.py); pure independent noise is in bands.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from output import arguments_of, how, publish, runs_of_all, table

import thinrank as tr
from thinrank.solvers.reduced_rank import reduced_rank_regression

SEED = 500_000
FRESH = 2000
FACTORS = 3

Record = dict[str, Any]
Rng = np.random.Generator
Sampler = Callable[[int], np.ndarray]
"""Draws the given number of rows."""


# Columns of predictors or of noise. Each has variance 1 but for "factors" and "rare binary".


def independent(rng: Rng, width: int) -> Sampler:
    return lambda n: rng.standard_normal((n, width))


def heavy_tailed(rng: Rng, width: int) -> Sampler:
    return lambda n: rng.standard_t(3, (n, width)) / np.sqrt(3)


def equicorrelated(rng: Rng, width: int, rho: float) -> Sampler:
    def sample(n: int) -> np.ndarray:
        common = rng.standard_normal((n, 1))
        return np.sqrt(rho) * common + np.sqrt(1 - rho) * rng.standard_normal((n, width))

    return sample


def autoregressive(rng: Rng, width: int, rho: float, axis: int = 1) -> Sampler:
    """Along the columns (axis 1) or the rows (axis 0)."""

    def sample(n: int) -> np.ndarray:
        values = np.moveaxis(rng.standard_normal((n, width)), axis, 0)
        for i in range(1, len(values)):
            values[i] = rho * values[i - 1] + np.sqrt(1 - rho**2) * values[i]
        return np.moveaxis(values, 0, axis)

    return sample


def factors(rng: Rng, width: int) -> Sampler:
    """Three factors with standard normal loadings, and independent noise."""
    loadings = rng.standard_normal((FACTORS, width))
    return lambda n: rng.standard_normal((n, FACTORS)) @ loadings + rng.standard_normal((n, width))


def rare_binary(rng: Rng, width: int) -> Sampler:
    """Zeros and ones; every column has at least one of the ones."""

    def sample(n: int) -> np.ndarray:
        values = (rng.random((n, width)) < 0.05).astype(float)
        empty = np.flatnonzero(~values.any(axis=0))
        values[rng.integers(n, size=empty.size), empty] = 1.0
        return values

    return sample


PREDICTORS: dict[str, Callable[[Rng, int], Sampler]] = {
    "independent": independent,
    "equicorrelated .5": lambda rng, p: equicorrelated(rng, p, 0.5),
    "equicorrelated .9": lambda rng, p: equicorrelated(rng, p, 0.9),
    "AR(.95)": lambda rng, p: autoregressive(rng, p, 0.95),
    "three factors": factors,
    "heavy-tailed": heavy_tailed,
    "rare binary": rare_binary,
}
NOISE: dict[str, Callable[[Rng, int], Sampler]] = {
    "independent": independent,
    "equicorrelated .8": lambda rng, k: equicorrelated(rng, k, 0.8),
    "AR(.9) over responses": lambda rng, k: autoregressive(rng, k, 0.9),
    "AR(.8) over samples": lambda rng, k: autoregressive(rng, k, 0.8, axis=0),
    "three factors": factors,
    "heavy-tailed": heavy_tailed,
}
SIGNALS = ("zero", "sparse rows", "dense", "dense, low rank")


def coefficients(rng: Rng, kind: str, p: int, k: int) -> np.ndarray:
    if kind == "zero":
        return np.zeros((p, k))
    if kind == "dense":
        return rng.standard_normal((p, k))
    if kind == "dense, low rank":
        rank = int(rng.integers(1, 4))
        return rng.standard_normal((p, rank)) @ rng.standard_normal((rank, k))
    theta = np.zeros((p, k))
    rows = rng.choice(p, int(rng.integers(1, min(10, p // 2) + 1)), replace=False)
    theta[rows] = rng.standard_normal((len(rows), k))
    return theta


def random_setting(seed: int) -> Record:
    """The error of a setting drawn at random over that of the training means.

    n from 20 to 100, p from 10 to 200, k from 5 to 40; kinds of predictors, signal and noise; the
    part of the variance of all responses together that the signal explains from .05 to .8.
    """
    rng = np.random.default_rng(seed)
    n, p, k = (int(rng.integers(low, high + 1)) for low, high in ((20, 100), (10, 200), (5, 40)))
    kinds = {
        "predictors": str(rng.choice(list(PREDICTORS))),
        "signal": str(rng.choice(SIGNALS)),
        "noise": str(rng.choice(list(NOISE))),
    }
    r2 = float(rng.uniform(0.05, 0.8)) if kinds["signal"] != "zero" else 0.0
    predictors = PREDICTORS[kinds["predictors"]](rng, p)
    noise = NOISE[kinds["noise"]](rng, k)
    theta = coefficients(rng, kinds["signal"], p, k)
    X, X_new, E, E_new = predictors(n), predictors(FRESH), noise(n), noise(FRESH)
    if theta.any():
        explained = (X_new @ theta).var(axis=0).sum()
        theta *= np.sqrt(r2 / (1 - r2) * E_new.var(axis=0).sum() / explained)
    Y, Y_new = X @ theta + E, X_new @ theta + E_new
    est = tr.SparseReducedRankRegressor().fit(X, Y)
    means = np.mean((Y_new - Y.mean(axis=0)) ** 2)
    ratio = float(np.mean((Y_new - est.predict(X_new)) ** 2) / means)
    facts = {"seed": seed, "n": n, "p": p, "k": k, **kinds, "r2": r2}
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
    est = tr.SparseReducedRankRegressor().fit(X, Y)
    size = np.linalg.norm(truth.theta)
    return {
        "seed": seed,
        "error": float(np.linalg.norm(est.factors_.theta - truth.theta) / size),
        "oracle": float(np.linalg.norm(oracle - truth.theta) / size),
        "rank": est.rank_,
        "kept": len(est.row_support_),
    }


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


def common_factor_table(records: Sequence[Record]) -> list[str]:
    error, oracle = values(records, "error"), values(records, "oracle")
    means = (f"{error.mean():.4f}", f"{oracle.mean():.4f}")
    ratios = (f"{error.mean() / oracle.mean():.3f}", f"{np.max(error / oracle):.3f}")
    headings = ["runs", "error", "oracle's", "ratio of the means", "largest ratio"]
    return table(headings, [[len(records), *means, *ratios]], text=0)


def main() -> None:
    parser = arguments_of(__doc__, json=True, repetitions=600)
    options = parser.parse_args()
    seeds = range(SEED, SEED + options.repetitions)
    (drawn,) = runs_of_all(lambda _, seed: random_setting(seed), [None], seeds, options)
    (shared,) = runs_of_all(lambda _, seed: common_factor(seed), [None], seeds[:20], options)
    lines = ["**Random settings: error over that of the means**", "", *random_table(drawn), ""]
    lines += ["**A common factor in the noise: relative Frobenius error**", ""]
    publish([*lines, *common_factor_table(shared), *how()], options.markdown)
    if options.json:
        options.json.write_text(json.dumps({"random": drawn, "common_factor": shared}))


if __name__ == "__main__":
    main()
