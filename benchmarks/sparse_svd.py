r"""SparseSVD: blocks in noise of several kinds, pure noise, and speed.

    python benchmarks/sparse_svd.py --checks blocks noise one_block errors seeds \
        --markdown docs/benchmarks/sparse_svd.md
    python benchmarks/sparse_svd.py --checks speed --markdown docs/benchmarks/sparse_svd_speed.md
    python benchmarks/sparse_svd.py --checks blocks --runs 10

blocks    1000 × 800, two blocks of 30 × 20 whose singular values are 1.5 times the largest one of
          the noise: supports and rank, and how well the blocks are found by others, each with its
          best setting in hindsight
noise     no block, noise of several kinds: how often rank 0 is found
one_block 300 × 200, one block of 20 × 15 in noise of several kinds
errors    180 × 120, two blocks of 30 × 20 and 35 × 28, disjoint and overlapping by turns, in five
          kinds of noise: errors of Θ, also of layers and of the truncated SVD
seeds     40 × 25, a block of 10 × 8 whose singular value is at least twice that of the noise: ranks
          for 30 values of random_state
speed     time and error of reconstruction against scikit-learn's SparsePCA with as many columns
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from output import arguments_of, machine, publish, table
from rich.progress import track
from sklearn.cluster import SpectralBiclustering, SpectralCoclustering
from sklearn.decomposition import SparsePCA
from sparse_svd_settings import ERRORS, NOISE, uneven, white, with_blocks

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

Blocks = list[tuple[np.ndarray, np.ndarray]]
SHAPE, SIZES, STRENGTH = (1000, 800), [(30, 20), (30, 20)], 1.5
SHAPES = ((300, 200), (60, 400), (30, 30))


def fit(A: np.ndarray, **options: Any) -> tr.SparseSVD:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        return tr.SparseSVD(**options).fit(A)


def cells(shape: tuple[int, int], blocks: Blocks) -> np.ndarray:
    flags = np.zeros(shape, dtype=bool)
    for rows, columns in blocks:
        flags[np.ix_(rows, columns)] = True
    return flags


def jaccard(found: np.ndarray, true: np.ndarray) -> float:
    return float(np.count_nonzero(found & true) / max(np.count_nonzero(found | true), 1))


def closest(biclusters: Blocks, truth: Blocks, shape: tuple[int, int]) -> float:
    """Jaccard index of the cells, if each true block takes the bicluster that suits it best."""
    chosen = [
        max(biclusters, key=lambda one: jaccard(cells(shape, [one]), cells(shape, [block])))
        for block in truth
    ]
    return jaccard(cells(shape, chosen), cells(shape, truth))


def spectral(A: np.ndarray, truth: Blocks, seed: int) -> float:
    """scikit-learn's biclusterings of |A| with 2 to 6 clusters: the best one in hindsight."""
    best = 0.0
    for clusters in (2, 3, 4, 6):
        for model in (
            SpectralBiclustering(clusters, method="log", random_state=seed),
            SpectralBiclustering(clusters, method="bistochastic", random_state=seed),
            SpectralCoclustering(clusters, random_state=seed),
        ):
            model.fit(np.abs(A) + 1e-9)
            found = [
                (np.flatnonzero(r), np.flatnonzero(c))
                for r, c in zip(model.rows_, model.columns_, strict=True)
            ]
            best = max(best, closest(found, truth, A.shape))
    return best


def soft_thresholded(A: np.ndarray, truth: Blocks) -> float:
    """Singular vectors of rank 2, soft thresholded: the best thresholds in hindsight."""
    left, _, right = np.linalg.svd(A, full_matrices=False)
    true, best = cells(A.shape, truth), 0.0
    for a in np.quantile(np.abs(left[:, :2]), np.linspace(0.8, 0.995, 14)):
        for b in np.quantile(np.abs(right[:2]), np.linspace(0.8, 0.995, 14)):
            found = np.zeros(A.shape, dtype=bool)
            for component in range(2):
                found |= np.outer(np.abs(left[:, component]) > a, np.abs(right[component]) > b)
            best = max(best, jaccard(found, true))
    return best


def blocks(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    A, truth = with_blocks(rng, white(rng, *SHAPE), SIZES, STRENGTH)
    joint, layers = fit(A), fit(A, layers=True)
    rows = np.sort(np.concatenate([block[0] for block in truth]))
    columns = np.sort(np.concatenate([block[1] for block in truth]))
    found = [layers.get_indices(i) for i in range(layers.rank_)]
    exact = {(r.tobytes(), c.tobytes()) for r, c in found}
    return {
        "supports": np.array_equal(joint.row_support_, rows)
        and np.array_equal(joint.column_support_, columns),
        "rank": joint.rank_ == 2,
        "layers": exact == {(r.tobytes(), c.tobytes()) for r, c in truth},
        "ours": jaccard(cells(A.shape, found), cells(A.shape, truth)),
        "spectral": spectral(A, truth, seed),
        "soft": soft_thresholded(A, truth),
    }


def noise(seed: int, name: str, shape: tuple[int, int]) -> dict[str, Any]:
    return {"default": fit(NOISE[name](np.random.default_rng(seed), *shape)).rank_ == 0}


def one_block(seed: int, name: str) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    A, truth = with_blocks(rng, NOISE[name](rng, 300, 200), [(20, 15)], STRENGTH)
    svd = fit(A)
    found = cells(A.shape, [(svd.row_support_, svd.column_support_)])
    return {"rank": svd.rank_ == 1, "jaccard": jaccard(found, cells(A.shape, truth))}


def two_blocks(overlapping: bool) -> np.ndarray:
    """Θ of rank 2 with singular values 49 and 44 if the blocks are disjoint."""
    rng, theta = np.random.default_rng(overlapping), np.zeros((180, 120))
    first = (15, 10) if overlapping else (30, 20)
    for row, column, height, width, value in ((0, 0, 30, 20, 49), (*first, 35, 28, 44)):
        u, v = uneven(rng, height), uneven(rng, width)
        theta[row : row + height, column : column + width] += value * np.outer(u, v)
    return theta


def errors(seed: int, name: str) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    theta = two_blocks(bool(seed % 2)) * (0.6 if name == "signal × .6" else 1.0)
    A = theta + ERRORS[name](rng, *theta.shape)
    ours, (left, values, right) = fit(A), np.linalg.svd(A, full_matrices=False)
    found = {
        "ours": ours.factors_.theta,
        "layers": fit(A, layers=True).factors_.theta,
        "truncated": (left * values)[:, : ours.rank_] @ right[: ours.rank_],
    }
    size = float(np.linalg.norm(theta))
    relative = {key: float(np.linalg.norm(each - theta)) / size for key, each in found.items()}
    return {**relative, "rank": ours.rank_}


def same_rank(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    block = np.zeros((40, 25))
    block[:10, :8] = np.outer(rng.standard_normal(10) + 2, rng.standard_normal(8) + 1)
    E = rng.standard_normal(block.shape)
    block *= max(2.0, 2.2 * np.linalg.norm(E, 2) / np.linalg.norm(block))
    ranks = {fit(block + E, random_state=state).rank_ for state in range(30)}
    return {"same": len(ranks) == 1, "one": ranks == {1}}


def seconds(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The shortest of several CPU times, and the last result."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()  # other processes do not count; one thread
        result = function()
        times.append(time.process_time() - begin)
    return min(times), result


def speed(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    A, _ = with_blocks(rng, white(rng, *SHAPE), SIZES, STRENGTH)
    A = A - A.mean(axis=0)  # SparsePCA removes the means
    best = None
    for alpha in (2.0, 3.0, 4.0, 5.0, 6.0, 8.0):
        taken, pca = seconds(lambda a=alpha: SparsePCA(2, alpha=a, random_state=0).fit(A), 1)
        kept = int(np.count_nonzero(pca.components_.any(axis=0)))
        if kept < 2:
            continue
        error = float(np.linalg.norm(A - pca.transform(A) @ pca.components_))
        ours, svd = seconds(lambda k=kept: fit(A, rank=2, row_sparsity=None, column_sparsity=k), 3)
        our_error = float(np.linalg.norm(A - svd.inverse_transform(svd.transform(A))))
        ratio = {"kept": kept, "taken": taken, "ratio": taken / ours, "error": our_error / error}
        if best is None or ratio["ratio"] < best["ratio"]:
            best = ratio
    assert best is not None
    automatic, _ = seconds(lambda: fit(A), 1)
    return {**best, "automatic": best["taken"] / automatic}


def share(records: list[dict[str, Any]], name: str) -> str:
    return f"{sum(bool(r[name]) for r in records)} of {len(records)}"


def mean(records: list[dict[str, Any]], name: str) -> str:
    return f"{np.mean([r[name] for r in records]):.3f}"


def report(checks: Sequence[str], runs: int, seed: int) -> list[str]:
    parts = [f"{runs} runs from seed {seed}. {machine()}.", ""]
    seeds = range(seed, seed + runs)
    if "blocks" in checks:
        records = [blocks(s) for s in track(seeds, "blocks")]
        lines = [
            ["SparseSVD, automatic", share(records, "supports"), share(records, "rank"), "", ""],
            ["SparseSVD(layers=True), automatic", "", ""],
            ["SpectralBiclustering, best in hindsight", "", "", "", mean(records, "spectral")],
            ["Soft-thresholded SVD, best in hindsight", "", "", "", mean(records, "soft")],
        ]
        lines[1] += [share(records, "layers"), mean(records, "ours")]
        head = ["", "supports exact", "rank exact", "blocks exact", "Jaccard index of cells"]
        title = "**Two blocks of 30 × 20 in 1000 × 800 white noise**"
        parts += [title, "", *table(head, lines), ""]
    if "noise" in checks:
        lines = [
            [name, f"{n} × {p}", share([noise(s, name, (n, p)) for s in seeds], "default")]
            for name in track(NOISE, "noise")
            for n, p in SHAPES
        ]
        head = ["noise", "shape", "rank 0"]
        parts += ["**Pure noise: rank 0 found**", "", *table(head, lines), ""]
    if "one_block" in checks:
        lines = []
        for name in track(NOISE, "one block"):
            records = [one_block(s, name) for s in seeds]
            lines.append([name, share(records, "rank"), mean(records, "jaccard")])
        head = ["noise", "rank 1", "Jaccard index of cells"]
        parts += ["**One block of 20 × 15 in 300 × 200**", "", *table(head, lines), ""]
    if "errors" in checks:
        lines, keys = [], ("ours", "layers", "truncated", "rank")
        for name in track(ERRORS, "errors"):
            records = [errors(s, name) for s in seeds]
            lines.append([name, *(mean(records, key) for key in keys)])
        head = ["noise", "SparseSVD", "SparseSVD(layers=True)", "truncated SVD, same rank", "rank"]
        parts += ["**Two blocks in 180 × 120: mean error over ‖Θ‖**", "", *table(head, lines), ""]
    if "seeds" in checks:
        records = [same_rank(s) for s in track(range(seed, seed + 20), "seeds")]
        text = (
            f"the same rank for 30 seeds {share(records, 'same')}, rank 1 {share(records, 'one')}"
        )
        parts += [f"One strong block of 10 × 8 in 40 × 25: {text}.", ""]
    if "speed" in checks:
        records = [speed(s) for s in track(range(seed, seed + 3), "speed")]
        keys = {"kept": "", "ratio": ".1f", "error": ".4f", "automatic": ".1f"}
        lines = [[f"{r[key]:{form}}" for key, form in keys.items()] for r in records]
        head = ["columns kept", "SparsePCA's CPU time / ours, sizes given"]
        head += ["our error of reconstruction / SparsePCA's"]
        head += ["SparsePCA's CPU time / ours, automatic sizes"]
        title = "1000 × 800, rank 2, as many columns: the penalty that is worst for us of six"
        parts += [f"**{title}**", "", *table(head, lines), ""]
    return parts


def main() -> None:
    names = ("blocks", "noise", "one_block", "errors", "seeds", "speed")
    parser = arguments_of(__doc__, repetitions=20)
    parser.add_argument("--checks", nargs="+", choices=names, default=names)
    parser.add_argument("--seed", type=int, default=600_000)
    options = parser.parse_args()
    publish(report(options.checks, options.repetitions, options.seed), options.markdown)


if __name__ == "__main__":
    main()
