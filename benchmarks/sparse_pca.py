"""SparsePCA: angles to a sparse eigenvector, rank in noise, and speed.

python benchmarks/sparse_pca.py --markdown docs/benchmarks/sparse_pca.md
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from output import arguments_of, machine, publish, table
from rich.progress import track
from sklearn.decomposition import PCA
from sklearn.decomposition import SparsePCA as PenalisedPCA

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

# around 2.25, the best single penalty in the development runs
PENALTIES = (1.75, 2.0, 2.25, 2.5)
SPEED = ["1000 × 800", "entries, scikit-learn", "explained", "entries, thinrank", "explained"]
SPEED += ["ratio of CPU times"]
THRESHOLDED = (1, 2, 3, 5, 7, 10, 14, 20, 30, 50, 80, 120, 200, 300, 500)


def spiked(rng: np.random.Generator, even: bool) -> tuple[np.ndarray, np.ndarray]:
    """100 samples with covariance I + 4vvᵀ; v has 10 non-zero entries out of 500."""
    v = np.zeros(500)
    v[:10] = rng.choice([-1.0, 1.0], 10) * (1.0 if even else rng.uniform(0.3, 1.5, 10))
    v /= np.linalg.norm(v)
    return rng.standard_normal((100, 500)) + 2 * np.outer(rng.standard_normal(100), v), v


def angle(found: np.ndarray, v: np.ndarray) -> float:
    """Angle in degrees; 90 for a component without features."""
    length = np.linalg.norm(found)
    cosine = abs(found @ v) / length if length > 0 else 0.0
    return float(np.degrees(np.arccos(min(cosine, 1.0))))


def diagonal_thresholding(X: np.ndarray) -> list[np.ndarray]:
    """The first component of the features with the largest variances, for several numbers."""
    order, found = np.argsort(-X.var(axis=0)), []
    for count in THRESHOLDED:
        component = np.zeros(X.shape[1])
        component[order[:count]] = PCA(1).fit(X[:, order[:count]]).components_[0]
        found.append(component)
    return found


def angles(runs: int, seed: int, even: bool) -> dict[str, list[float]]:
    """The angle of each method in each run, at its best setting in this run for the baselines."""
    names = ["thinrank, automatic", "diagonal thresholding, best number"]
    names += ["scikit-learn's SparsePCA, best penalty", "PCA"]
    found: dict[str, list[float]] = {name: [] for name in names}
    for run in track(range(runs), "angles"):
        X, v = spiked(np.random.default_rng([seed, run, even]), even)
        penalised = [
            PenalisedPCA(1, alpha=a, max_iter=200, tol=1e-5, random_state=0).fit(X).components_[0]
            for a in PENALTIES
        ]
        results = (
            angle(tr.SparsePCA(rank=1).fit(X).components_[0], v),
            min(angle(w, v) for w in diagonal_thresholding(X)),
            min(angle(w, v) for w in penalised),
            angle(PCA(1).fit(X).components_[0], v),
        )
        for name, result in zip(found, results, strict=True):
            found[name].append(result)
    return found


NOISE: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "white, 100 × 50": lambda g: g.standard_normal((100, 50)),
    "white, 100 × 500": lambda g: g.standard_normal((100, 500)),
    "white, 500 × 20": lambda g: g.standard_normal((500, 20)),
    "white, 20 × 3000": lambda g: g.standard_normal((20, 3000)),
    "standard deviations exp(N(0, 1)), 100 × 200": lambda g: (
        g.standard_normal((100, 200)) * np.exp(g.standard_normal(200))
    ),
    "t with 3 degrees of freedom, 100 × 200": lambda g: g.standard_t(3, (100, 200)),
    "log-normal, 50 × 200": lambda g: np.exp(g.standard_normal((50, 200))),
}


def ranks(runs: int, seed: int, make: Callable[[np.random.Generator], np.ndarray]) -> int:
    """Number of runs in which noise has rank 0."""
    zero = 0
    for run in track(range(runs), "noise"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SelectionWarning)
            zero += tr.SparsePCA().fit(make(np.random.default_rng([seed, run]))).rank_ == 0
    return zero


def speed(seed: int, penalty: float) -> list[object]:
    """Time and reconstruction at equal sparsity, 1000 × 800, two components of 20 features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((1000, 800))
    X[:, :20] += rng.standard_normal((1000, 1))
    X[:, 20:40] += 0.8 * rng.standard_normal((1000, 1))
    their_time, theirs = shortest(lambda: PenalisedPCA(2, alpha=penalty, random_state=0).fit(X))
    features = np.count_nonzero(theirs.components_) // 2
    our_time, ours = shortest(lambda: tr.SparsePCA(2, features, shared_support=False).fit(X))
    cells: list[object] = [f"penalty {penalty:g}"]
    for model in (theirs, ours):
        cells += [np.count_nonzero(model.components_), f"{100 * explained(model, X):.2f} %"]
    return [*cells, f"{their_time / our_time:.0f}"]


def shortest(fit: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of five CPU times, and the fitted model: the others wait for the memory."""
    times = []
    for _ in range(5):
        start = process_time()
        model = fit()
        times.append(process_time() - start)
    return min(times), model


def explained(model: object, X: np.ndarray) -> float:
    """Share of the variance that the best scores for the components explain."""
    centred = X - X.mean(axis=0)
    error = centred - centred @ np.linalg.pinv(model.components_) @ model.components_
    return 1 - float(np.sum(error**2) / np.sum(centred**2))


def main() -> None:
    parser = arguments_of(__doc__, repetitions=50)
    parser.add_argument("--noise-runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=600_000)
    arguments = parser.parse_args()
    tr.SparsePCA(1, 2).fit(np.eye(9))  # imports are not timed
    seconds = [speed(arguments.seed, penalty) for penalty in (1.0, 10.0)]
    noise = [
        [name, f"{ranks(arguments.noise_runs, arguments.seed, make)} of {arguments.noise_runs}"]
        for name, make in NOISE.items()
    ]
    both = [angles(arguments.repetitions, arguments.seed, even) for even in (True, False)]
    cells = [[f"{np.mean(found[name]):.1f}°" for found in both] for name in both[0]]
    rows = [[name, *row] for name, row in zip(both[0], cells, strict=True)]
    headings = ["mean angle", "equal entries ±1/√10", "uneven entries"]
    lines = [*table(headings, rows), "", *table(["noise", "rank 0"], noise), ""]
    told = f"{arguments.repetitions} runs for the angles, seed {arguments.seed}. {machine()}."
    publish([*lines, *table(SPEED, seconds), "", told], arguments.markdown)


if __name__ == "__main__":
    main()
