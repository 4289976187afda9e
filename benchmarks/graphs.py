"""Link prediction in stochastic block models, and covariance matrices with a sparse eigenvector.

Each baseline has its best setting in hindsight; SparseLowRankGraph chooses by itself.

    python benchmarks/graphs.py links --repeats 10
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from output import arguments_of, machine, publish, table
from sklearn.decomposition import SparsePCA
from sklearn.metrics import roc_auc_score

import thinrank as tr

Rng = np.random.Generator
_RANKS = 12
_HELD_OUT = 0.1
_FLIPPED = 0.05
_PENALTIES = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)


def block_model(
    rng: Rng, n: int, blocks: int, inside: float, between: float, kind: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Adjacency matrix and link probabilities."""
    free = n // 2 if kind == "free" else 0
    shares = np.arange(1, blocks + 1) if kind == "unequal" else np.ones(blocks)
    labels = rng.choice(blocks, n - free, p=shares / shares.sum())
    probability = np.full((n, n), float(between))
    probability[: n - free, : n - free] = np.where(labels[:, None] == labels, inside, between)
    if kind == "disassortative":
        probability = inside + between - probability
    if kind == "degrees":
        degree = np.minimum(0.3 + 0.5 * rng.pareto(2, n), 3)
        probability = np.clip(probability * np.outer(degree, degree), 0, 1)
    upper = np.triu(rng.random((n, n)) < probability, 1).astype(float)
    return upper + upper.T, probability


# nodes, blocks, probabilities of links within and between blocks, and what is special
GRAPHS = {
    "2 blocks, n = 200": (200, 2, 0.3, 0.1),
    "4 blocks, n = 200": (200, 4, 0.5, 0.1),
    "4 unequal blocks, n = 200": (200, 4, 0.4, 0.1, "unequal"),
    "6 blocks, n = 300": (300, 6, 0.5, 0.1),
    "3 blocks, n = 100": (100, 3, 0.3, 0.05),
    "3 sparse blocks, n = 500": (500, 3, 0.06, 0.01),
    "3 disassortative blocks, n = 200": (200, 3, 0.4, 0.1, "disassortative"),
    "3 blocks and 150 nodes without, n = 300": (300, 3, 0.4, 0.1, "free"),
    "3 blocks, degrees differ, n = 300": (300, 3, 0.3, 0.05, "degrees"),
}


def _symmetric(square: np.ndarray) -> np.ndarray:
    upper = np.triu(square, 1)
    return upper + upper.T


def _weighted(rng: Rng, n: int) -> np.ndarray:
    return _symmetric((rng.random((n, n)) < 0.1) * rng.lognormal(0, 1.5, (n, n)))


def _unequal(rng: Rng, n: int) -> np.ndarray:
    scale = np.exp(0.7 * rng.standard_normal(n))
    return _symmetric(rng.standard_normal((n, n)) * np.outer(scale, scale))


def _correlation(samples: int, t: int | None = None) -> Callable[[Rng, int], np.ndarray]:
    def make(rng: Rng, n: int) -> np.ndarray:
        X = rng.standard_normal((samples, n)) if t is None else rng.standard_t(t, (samples, n))
        return np.corrcoef(X, rowvar=False)

    return make


NOISE: dict[str, Callable[[Rng, int], np.ndarray]] = {
    "Erdős–Rényi, 5 % linked": lambda rng, n: _symmetric((rng.random((n, n)) < 0.05) * 1.0),
    "Erdős–Rényi, 30 % linked": lambda rng, n: _symmetric((rng.random((n, n)) < 0.3) * 1.0),
    "10 % linked, log-normal weights": _weighted,
    "normal, variances differ between nodes": _unequal,
    "Student t with 2 degrees of freedom": lambda rng, n: _symmetric(rng.standard_t(2, (n, n))),
    "correlation of 20 normal samples": _correlation(20),
    "correlation of 100 normal samples": _correlation(100),
    "correlation of 100 samples, Student t(5)": _correlation(100, 5),
}


def truncated(S: np.ndarray) -> Iterator[np.ndarray]:
    """Truncated SVDs of a symmetric matrix of ranks 1 to 12."""
    values, vectors = np.linalg.eigh(S)
    order = np.argsort(-np.abs(values))
    for rank in range(1, _RANKS + 1):
        V = vectors[:, order[:rank]]
        yield (V * values[order[:rank]]) @ V.T


def flip(rng: Rng, adjacency: np.ndarray):
    """The graph with 5 % of the pairs flipped, and these pairs."""
    i, j = np.triu_indices(len(adjacency), 1)
    chosen = rng.random(len(i)) < _FLIPPED
    i, j = i[chosen], j[chosen]
    flipped = adjacency.copy()
    flipped[i, j] = flipped[j, i] = 1 - flipped[i, j]
    return flipped, (i, j)


def links(seed: int, model: tuple[Any, ...]) -> list[float]:
    """AUC of ours, of the best truncated SVD, and of the true probabilities, in three tasks."""
    rng = np.random.default_rng(seed)
    adjacency, probability = block_model(rng, *model)
    n = len(adjacency)
    observed, flipped = flip(rng, adjacency)
    i, j = np.triu_indices(n, 1)
    out = rng.random(len(i)) < _HELD_OUT
    out = (i[out], j[out])
    with_unknown = observed.copy()
    with_unknown[out] = with_unknown[out[::-1]] = np.nan
    with_zeros = np.nan_to_num(with_unknown, nan=0.0)

    def compare(truth: np.ndarray, pairs, scores: np.ndarray, matrix: np.ndarray) -> list[float]:
        best = max(roc_auc_score(truth, each[pairs]) for each in truncated(matrix))
        ideal = roc_auc_score(adjacency[pairs], probability[pairs])
        return [roc_auc_score(truth, scores), best, ideal]

    unknown = tr.SparseLowRankGraph().fit(with_unknown)
    start = time.perf_counter()
    graph = tr.SparseLowRankGraph().fit(observed)
    seconds = time.perf_counter() - start
    row = compare(adjacency[out], out, unknown.predict_links(np.column_stack(out)), with_zeros)
    row += compare(
        adjacency[flipped], flipped, graph.predict_links(np.column_stack(flipped)), observed
    )
    likely = probability[i, j] > np.quantile(probability[i, j], 0.8) - 1e-12
    likely &= probability[i, j] > probability.min()
    row += compare(likely, (i, j), graph.reconstruct()[i, j], observed)[:2]
    return [*row, graph.rank_, len(graph.row_support_), seconds]


def angle(u: np.ndarray, v: np.ndarray) -> float:
    """Degrees between two vectors, 90 if one is zero."""
    norm = np.linalg.norm(u)
    return float(np.degrees(np.arccos(min(1.0, abs(u @ v) / norm)))) if norm else 90.0


def eigenvector(seed: int, loadings: str) -> list[float]:
    """Angles: ours, diagonal thresholding, SparsePCA, and with the true nodes."""
    rng = np.random.default_rng(seed)
    n, p, nodes = 100, 500, rng.permutation(500)[:10]
    v = np.zeros(p)
    v[nodes] = {
        "equal": np.ones(10),
        "from 0.5 to 1, either sign": rng.choice([-1, 1], 10) * rng.uniform(0.5, 1, 10),
        "normal": rng.standard_normal(10),
    }[loadings]
    v /= np.linalg.norm(v)
    X = rng.standard_normal((n, p)) + 2 * np.outer(rng.standard_normal(n), v)
    X -= X.mean(axis=0)
    S = np.cov(X, rowvar=False)
    start = time.perf_counter()
    fit = tr.SparseLowRankGraph(n_samples=n).fit(S)
    seconds = time.perf_counter() - start
    ours = fit.components_[0] if fit.rank_ else np.zeros(p)
    order = np.argsort(-np.diag(S))
    thresholded = min(angle(_embedded(S, order[:size]), v) for size in range(2, 60))
    convex = min(
        angle(SparsePCA(1, alpha=alpha, random_state=0, max_iter=200).fit(X).components_[0], v)
        for alpha in _PENALTIES
    )
    ideal = angle(_embedded(S, nodes), v)
    return [angle(ours, v), thresholded, convex, ideal, fit.rank_, len(fit.row_support_), seconds]


def _embedded(S: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    v = np.zeros(len(S))
    v[nodes] = np.linalg.eigh(S[np.ix_(nodes, nodes)])[1][:, -1]
    return v


def report_links(repeats: int, seed: int) -> list[str]:
    rows = []
    for name, model in GRAPHS.items():
        runs = np.array([links(seed + k, model) for k in range(repeats)])
        mean, cells = runs.mean(axis=0), [name]
        for a in (0, 3, 6):
            won = int(np.sum(runs[:, a] >= runs[:, a + 1]))
            cells.append(f"{mean[a]:.3f} / {mean[a + 1]:.3f} ({won} of {repeats})")
        cells += [f"{mean[2]:.3f}", f"{np.median(runs[:, 8]):.0f}", f"{np.median(runs[:, 9]):.0f}"]
        rows.append([*cells, f"{np.median(runs[:, 10]):.1f}"])
    headings = ["graph", "unknown pairs", "flipped pairs", "probabilities"]
    headings += ["AUC of the true probabilities", "rank", "nodes", "seconds"]
    return table(headings, rows)


def report_noise(repeats: int, seed: int) -> list[str]:
    rows = []
    for name, make in NOISE.items():
        ranks = [
            tr.SparseLowRankGraph().fit(make(np.random.default_rng(seed + k), 100)).rank_
            for k in range(repeats)
        ]
        rows.append([name, f"{np.mean(np.array(ranks) == 0):.0%}"])
    return table(["noise, n = 100", "rank 0"], rows)


def report_eigenvector(repeats: int, seed: int) -> list[str]:
    rows = []
    for loadings in ("equal", "from 0.5 to 1, either sign", "normal"):
        runs = np.array([eigenvector(seed + k, loadings) for k in range(repeats)])
        mean = runs.mean(axis=0)
        wins = [int(np.sum(runs[:, 0] <= runs[:, a])) for a in (1, 2)]
        rows.append(
            [
                loadings,
                f"{mean[0]:.1f}",
                f"{mean[1]:.1f} ({wins[0]} of {repeats})",
                f"{mean[2]:.1f} ({wins[1]} of {repeats})",
                f"{mean[3]:.1f}",
                f"{np.mean(runs[:, 4] == 1):.0%}",
                f"{np.median(runs[:, 5]):.0f}",
                f"{np.median(runs[:, 6]):.1f}",
            ]
        )
    headings = ["loadings", "SparseLowRankGraph", "diagonal thresholding", "SparsePCA"]
    return table([*headings, "true nodes", "rank 1", "nodes", "seconds"], rows)


PARTS = {
    "links": (
        "AUC of SparseLowRankGraph / of the truncated SVD with the best rank up to 12 in hindsight "
        "(number of graphs in which the first is at least as large):",
        report_links,
    ),
    "noise": ("Share of matrices of noise with rank 0:", report_noise),
    "eigenvector": (
        "Angle in degrees to the leading eigenvector, n = 100, p = 500, 10 nodes, spike 4 (number "
        "of matrices in which that of SparseLowRankGraph is at most as large):",
        report_eigenvector,
    ),
}


def main() -> None:
    parser = arguments_of(__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--seed", type=int, default=600_000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    heading, report = PARTS[arguments.part]
    lines = report(arguments.repeats, arguments.seed)
    seeds = f"{arguments.repeats} matrices per row, seeds from {arguments.seed}; {machine()}."
    publish([heading, "", *lines, "", seeds], arguments.markdown)


if __name__ == "__main__":
    main()
