r"""SparseSVD: blocks in noise of several kinds, pure noise, and speed.

    python benchmarks/sparse_svd.py --checks blocks noise one_block \
        --markdown docs/benchmarks/sparse_svd.md
    python benchmarks/sparse_svd.py --checks speed --markdown docs/benchmarks/sparse_svd_speed.md
    python benchmarks/sparse_svd.py --checks blocks --runs 10

blocks    1000 × 800, two blocks of 30 × 20 whose singular values are 1.5 times the largest one of
          the noise: supports and rank, and how well the blocks are found by others, each with its
          best setting in hindsight
noise     no block, noise of several kinds: how often rank 0 is found; also with parts of the test
          only
one_block 300 × 200, one block of 20 × 15 in noise of several kinds
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
from scipy.special import gammaln
from sklearn.cluster import SpectralBiclustering, SpectralCoclustering
from sklearn.decomposition import SparsePCA
from sparse_svd_settings import NOISE, white, with_blocks

import thinrank as tr
from thinrank.core.warnings import SelectionWarning
from thinrank.designs import as_design
from thinrank.matrices.layers import CellSquares, Side, evidence, find_layer

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


def first_layer(search: Callable[..., Any], A: np.ndarray) -> Any:
    design = as_design(A)
    return search(design, Side(), Side(), CellSquares.of(design))


def criterion_accepts(A: np.ndarray) -> bool:
    """Whether a layer is worth its parameters if noise were white: d² against its supports."""
    layer = first_layer(find_layer, A)
    if layer is None:
        return False
    rows, columns = np.count_nonzero(layer.left), np.count_nonzero(layer.right)
    sigma = float(np.median(np.abs(A - np.median(A)))) * 1.4826
    choices = sum(
        gammaln(size + 1) - gammaln(kept + 1) - gammaln(size - kept + 1)
        for size, kept in zip(A.shape, (rows, columns), strict=True)
    )
    return bool(layer.value**2 > sigma**2 * 2 * (choices + rows + columns))


def noise(seed: int, name: str, shape: tuple[int, int]) -> dict[str, Any]:
    A = NOISE[name](np.random.default_rng(seed), *shape)
    found = first_layer(evidence, A)
    return {
        "default": fit(A).rank_ == 0,
        "block": found.agreement <= 3,
        "criterion": not criterion_accepts(A),
    }


def one_block(seed: int, name: str) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    A, truth = with_blocks(rng, NOISE[name](rng, 300, 200), [(20, 15)], STRENGTH)
    svd = fit(A)
    found = cells(A.shape, [(svd.row_support_, svd.column_support_)])
    return {"rank": svd.rank_ == 1, "jaccard": jaccard(found, cells(A.shape, truth))}


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
    parts = [
        f"{runs} runs from seed {seed}. {machine()}.",
        "",
    ]
    seeds = range(seed, seed + runs)
    if "blocks" in checks:
        records = [blocks(s) for s in track(seeds, "blocks")]
        lines = [
            ["SparseSVD, automatic", share(records, "supports"), share(records, "rank"), "", ""],
            [
                "SparseSVD(layers=True), automatic",
                "",
                "",
                share(records, "layers"),
                mean(records, "ours"),
            ],
            ["SpectralBiclustering, best in hindsight", "", "", "", mean(records, "spectral")],
            ["Soft-thresholded SVD, best in hindsight", "", "", "", mean(records, "soft")],
        ]
        head = ["", "supports exact", "rank exact", "blocks exact", "Jaccard index of cells"]
        parts += [
            "**Two blocks of 30 × 20 in 1000 × 800 white noise**",
            "",
            *table(head, lines),
            "",
        ]
    if "noise" in checks:
        lines = []
        for name in track(NOISE, "noise"):
            for shape in SHAPES:
                records = [noise(s, name, shape) for s in seeds]
                size = f"{shape[0]} × {shape[1]}"
                rules = [share(records, rule) for rule in ("default", "block", "criterion")]
                lines.append([name, size, *rules])
        head = ["noise", "shape", "default", "held-out block only", "criterion for white noise"]
        parts += ["**Pure noise: rank 0 found**", "", *table(head, lines), ""]
    if "one_block" in checks:
        lines = []
        for name in track(NOISE, "one block"):
            records = [one_block(s, name) for s in seeds]
            lines.append([name, share(records, "rank"), mean(records, "jaccard")])
        head = ["noise", "rank 1", "Jaccard index of cells"]
        parts += ["**One block of 20 × 15 in 300 × 200**", "", *table(head, lines), ""]
    if "speed" in checks:
        records = [speed(s) for s in track(range(seed, seed + 3), "speed")]
        keys = {"kept": "", "ratio": ".1f", "error": ".4f", "automatic": ".1f"}
        lines = [[f"{r[key]:{form}}" for key, form in keys.items()] for r in records]
        head = [
            "columns kept",
            "SparsePCA's CPU time / ours, sizes given",
            "our error of reconstruction / SparsePCA's",
            "SparsePCA's CPU time / ours, automatic sizes",
        ]
        title = "1000 × 800, rank 2, as many columns: the penalty that is worst for us of six"
        parts += [f"**{title}**", "", *table(head, lines), ""]
    return parts


def main(argv: Sequence[str] | None = None) -> None:
    names = ("blocks", "noise", "one_block", "speed")
    parser = arguments_of(__doc__, repetitions=20)
    parser.add_argument("--checks", nargs="+", choices=names, default=names)
    parser.add_argument("--seed", type=int, default=600_000)
    options = parser.parse_args(argv)
    publish(report(options.checks, options.repetitions, options.seed), options.markdown)


if __name__ == "__main__":
    main()
