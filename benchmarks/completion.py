"""Completion of two-way sparse low-rank matrices, compared with soft-impute.

    python benchmarks/completion.py --seeds 5 --markdown docs/benchmarks/completion.md

Matrices of 400 × 300 with 30 % of the cells observed. Soft-impute has the penalty that is best in
hindsight for the true matrix, on a path of converged solutions; ``SparseMatrixCompletion()``
chooses rank, rows, columns and ridge from the observed cells. Errors are relative Frobenius errors
on the whole matrix. The settings are those of the function ``draw``.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from output import arguments_of, how, publish, table
from rich.progress import track

import thinrank as tr

SHAPE, BLOCK, RANK, OBSERVED, NOISE = (400, 300), (40, 30), 3, 0.3, 0.1
SETTINGS = {
    "issue": "white noise",
    "weak": "white noise, ten times larger",
    "rows": "variances of the rows differ",
    "columns": "noise of neighbouring columns correlated (.7)",
    "tails": "noise with heavy tails (t, 3 degrees of freedom)",
    "uneven": "rows observed with shares from 5 % to 55 %",
    "dense": "all rows and columns, weak signal",
    "noise": "noise only, white",
    "noise rows": "noise only, variances of the rows differ",
    "noise columns": "noise only, neighbouring columns correlated (.7)",
    "noise tails": "noise only, heavy tails (t, 3 degrees of freedom)",
}


def draw(setting: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A matrix with NaN at missing cells, and the true one."""
    rng = np.random.default_rng(seed)
    factors = []
    for size, used in zip(SHAPE, SHAPE if setting == "dense" else BLOCK, strict=True):
        factor = np.zeros((size, RANK))
        factor[rng.permutation(size)[:used]] = rng.standard_normal((used, RANK))
        factors.append(factor)
    theta = factors[0] @ factors[1].T * (0.0 if setting.startswith("noise") else 1.0)
    noise = rng.standard_normal(SHAPE)
    if setting.endswith("columns"):
        for j in range(1, SHAPE[1]):
            noise[:, j] = 0.7 * noise[:, j - 1] + (1 - 0.7**2) ** 0.5 * noise[:, j]
    if setting.endswith("tails"):
        noise = rng.standard_t(3, size=SHAPE) / 3**0.5
    if setting.endswith("rows"):
        noise *= np.exp(0.7 * rng.standard_normal(SHAPE[0]))[:, None]
    size = {"weak": 1.0, "dense": 2.0}.get(setting, NOISE)
    share = rng.uniform(0.05, 0.55, size=SHAPE[0])[:, None] if setting == "uneven" else OBSERVED
    X = theta + size * noise
    X[rng.random(SHAPE) >= share] = np.nan
    return X, theta


def soft_impute(X: np.ndarray, penalties: np.ndarray, tol: float = 1e-4) -> list[np.ndarray]:
    """Solutions for decreasing penalties; relative change of the last iteration at most ``tol``.

    Singular values from the eigenvalues of a matrix of 300 columns, which is the fastest way here.
    """
    seen, theta, path = ~np.isnan(X), np.zeros(X.shape), []
    for penalty in penalties:
        for _ in range(500):
            filled = np.where(seen, X, theta)
            squares, right = np.linalg.eigh(filled.T @ filled)
            kept = squares > penalty**2
            shrunk = 1 - penalty / np.sqrt(squares[kept])
            new = (filled @ right[:, kept] * shrunk) @ right[:, kept].T
            change = np.linalg.norm(new - theta) / max(np.linalg.norm(theta), 1e-300)
            theta = new
            if change <= tol or not kept.any():
                break
        path.append(theta)
    return path


def measure(setting: str, seed: int, penalties: int) -> dict:
    X, theta = draw(setting, seed)
    scale = np.linalg.norm(theta) or 1.0
    began = time.process_time()  # other processes do not count
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rank 0
        est = tr.SparseMatrixCompletion().fit(X)
    ours = time.process_time() - began
    began = time.process_time()
    largest = np.linalg.norm(np.where(np.isnan(X), 0.0, X), 2)
    ladder = largest * np.geomspace(0.7, 0.01, penalties)
    # in hindsight the best completion of noise is zero, without any computation
    path = soft_impute(X, ladder) if theta.any() else [theta]
    theirs = time.process_time() - began
    sizes = est.best_params_
    true = tuple(np.count_nonzero(theta.any(axis=axis)) for axis in (1, 0))
    return {
        "error": np.linalg.norm(est.factors_.theta - theta) / scale,
        "soft": min(np.linalg.norm(each - theta) for each in path) / scale,
        "rank": sizes["rank"] == (RANK if theta.any() else 0),
        "sizes": (sizes["row_sparsity"], sizes["column_sparsity"]) == true,
        "found": (sizes["rank"], sizes["row_sparsity"], sizes["column_sparsity"]),
        "seconds": ours,
        "soft_seconds": theirs,
    }


def main() -> None:
    parser = arguments_of(__doc__)
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=600_000)
    parser.add_argument("--penalties", type=int, default=15)
    options = parser.parse_args()
    tasks = [(name, i) for name in options.settings for i in range(options.seeds)]
    runs: dict[str, list[dict]] = {name: [] for name in options.settings}
    for name, i in track(tasks, description="runs"):
        runs[name].append(measure(name, options.first + i, options.penalties))
        print(name, i, runs[name][-1], flush=True)
    rows = []
    for name, found in runs.items():
        mean = {key: np.mean([run[key] for run in found]) for key in found[0] if key != "found"}
        sizes = np.median([run["found"] for run in found], axis=0)
        rows.append(
            (
                SETTINGS[name],
                f"{mean['error']:.3f}",
                f"{mean['soft']:.3f}",
                f"{mean['error'] / mean['soft']:.2f}" if mean["soft"] else "",
                f"{mean['rank']:.0%}",
                f"{mean['sizes']:.0%}",
                " / ".join(f"{size:g}" for size in sizes),
                f"{mean['seconds'] / mean['soft_seconds']:.2f}" if mean["soft"] else "",
            )
        )
    headings = ["setting", "error", "soft-impute", "ratio", "rank exact", "sizes exact"]
    headings += ["median rank / rows / columns", "time over soft-impute"]
    publish([*table(headings, rows), *how()], options.markdown)


if __name__ == "__main__":
    main()
