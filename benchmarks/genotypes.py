"""Time and memory of fits to genotypes in a PLINK file, and how much of the truth they find.

    python benchmarks/genotypes.py --markdown docs/benchmarks/genotypes.md

The simulated samples are mosaics of 100 founders, whose neighboring variants are correlated, so
that variants are in linkage disequilibrium. Minor alleles have frequencies from 0.01 to 0.5, one
variant of 200 is monomorphic and one genotype of 100 is missing. The responses depend on 30
variants, through three factors in 20 of the 50 responses. A fit is given these sizes. A causal
variant counts as tagged if it, or one with a squared correlation of at least 0.8, was found. Memory
is the peak resident set of a fresh process, beyond what was resident after the imports and a small
fit; X would take 8 bytes per genotype in double precision.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from output import arguments_of, how, in_own_process, peak_beyond, publish, table
from scipy.stats import norm

import thinrank as tr

MIB = 2**20
FOUNDERS, CORRELATION, STAY = 100, 0.97, 0.98
SIZES = {"rank": 3, "row_sparsity": 30, "column_sparsity": 20}
RESPONSES = 50
SEED = 30_000
# PLINK's codes of 0, 1 and 2 copies of the first allele and of a missing genotype.
CODES = np.array([3, 2, 0, 1], dtype=np.uint8)
BLOCK = 1000


def simulate(folder: Path, n: int, p: int) -> None:
    """Write the .bed, .bim and .fam files, the responses and the causal variants."""
    rng = np.random.default_rng(SEED)
    causal = np.sort(rng.choice(np.arange(BLOCK // 20, p, p // 200), 30, replace=False))
    columns = np.sort(rng.choice(RESPONSES, 20, replace=False))
    dosages = np.empty((n, 30))
    latent = rng.standard_normal(FOUNDERS)
    picks = rng.integers(FOUNDERS, size=(2, n))
    with (folder / "x.bed").open("wb") as file:
        file.write(b"\x6c\x1b\x01")
        for first in range(0, p, BLOCK):
            width = min(BLOCK, p - first)
            block = np.empty((width, n), dtype=np.uint8)
            for j in range(width):
                kick = rng.standard_normal(FOUNDERS)
                latent = CORRELATION * latent + (1 - CORRELATION**2) ** 0.5 * kick
                moved = rng.random((2, n)) > STAY
                picks[moved] = rng.integers(FOUNDERS, size=int(moved.sum()))
                rare = 0.0 if rng.random() < 0.005 else rng.uniform(0.01, 0.5)
                if first + j in causal:
                    rare = rng.uniform(0.1, 0.5)
                allele = latent < norm.ppf(rare)
                block[j] = allele[picks[0]].astype(np.uint8) + allele[picks[1]]
                place = np.searchsorted(causal, first + j)
                if place < 30 and causal[place] == first + j:
                    dosages[:, place] = block[j]
            block[rng.random(block.shape) < 0.01] = 3
            file.write(packed(CODES[block]).tobytes())
    bim = (f"1 rs{j} 0 {j + 1} A G" for j in range(p))
    (folder / "x.bim").write_text("\n".join(bim) + "\n")
    (folder / "x.fam").write_text("\n".join(f"f s{i} 0 0 0 -9" for i in range(n)) + "\n")
    theta = np.zeros((30, RESPONSES))
    theta[:, columns] = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 20))
    standardised = (dosages - dosages.mean(axis=0)) / dosages.std(axis=0)
    signal = standardised @ theta
    Y = signal + np.std(signal[:, columns]) * rng.standard_normal((n, RESPONSES))
    np.savez(folder / "y.npz", Y=Y, causal=causal, columns=columns)


def packed(codes: np.ndarray) -> np.ndarray:
    """Four genotypes per byte, the first in the lowest bits."""
    missing = -codes.shape[1] % 4
    codes = np.pad(codes, ((0, 0), (0, missing))).reshape(len(codes), -1, 4)
    return codes[..., 0] | codes[..., 1] << 2 | codes[..., 2] << 4 | codes[..., 3] << 6


def measure(folder: Path, automatic: bool) -> dict:
    """Fit in a process of its own."""
    warnings.simplefilter("ignore")
    known = np.load(folder / "y.npz")
    Y, causal, columns = known["Y"], known["causal"], known["columns"]
    X = tr.designs.Genotypes(folder / "x.bed")
    estimator = tr.SparseReducedRankRegressor(**({} if automatic else SIZES))
    tr.SparseReducedRankRegressor(1, 1, 1).fit(X.columns(np.arange(20)), Y)  # deferred imports
    X = tr.designs.Genotypes(folder / "x.bed")
    began, cpu = time.perf_counter(), time.process_time()
    used = peak_beyond(lambda: estimator.fit(X, Y)) / MIB
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    found = estimator.row_support_
    genotypes = np.corrcoef(X.columns(np.concatenate([causal, found])), rowvar=False)
    squares = genotypes[: len(causal), len(causal) :] ** 2
    return {
        "seconds": seconds,
        "cpu": cpu,
        "used": used,
        "exact": len(np.intersect1d(found, causal)),
        "tagged": int(np.sum(np.max(squares, axis=1, initial=0) >= 0.8)),
        "found": len(found),
        "columns": len(np.intersect1d(estimator.column_support_, columns)),
        "all_columns": len(estimator.column_support_),
        "missing": X.n_missing / (X.shape[0] * X.shape[1]),
    }


def main() -> None:
    parser = arguments_of(__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--variants", type=int, default=200_000)
    parser.add_argument("--automatic", action="store_true", help="also with sizes chosen by folds")
    options = parser.parse_args()
    n, p = options.samples, options.variants
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        simulate(folder, n, p)
        size = (folder / "x.bed").stat().st_size / MIB
        for automatic in (False, True) if options.automatic else (False,):
            r = in_own_process(measure, folder, automatic)
            rows.append(
                [
                    f"{n:,} × {p:,} → {RESPONSES}",
                    "chosen" if automatic else "given",
                    f"{size:.0f}",
                    f"{8 * n * p / MIB:.0f}",
                    f"{r['used']:.0f}",
                    f"{r['seconds']:.0f}",
                    f"{r['cpu']:.0f}",
                    f"{r['exact']} / {r['tagged']} / {r['found']}",
                    f"{r['columns']} / {r['all_columns']}",
                    f"{100 * r['missing']:.2f} %",
                ]
            )
    headings = ["genotypes", "sizes", "file, MiB", "X as array, MiB", "peak of the fit, MiB"]
    headings += ["seconds", "processor seconds", "variants: causal / tagged of 30 / all found"]
    headings += ["responses: true of 20 / all found", "missing"]
    publish([*table(headings, rows, text=2), *how()], options.markdown)


if __name__ == "__main__":
    main()
