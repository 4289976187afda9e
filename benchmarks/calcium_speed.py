"""Detection and extraction of a large movie beside suite2p: time, memory and scores.

The movies are the large ones of ``benchmarks/calcium_movies.py``, with 20 counts per standard
deviation of the noise, as 16-bit integers, which is what suite2p reads. Both packages get the same
array in memory and give regions and traces: suite2p's ``detection_wrapper`` and
``extraction_wrapper`` with its defaults, without registration, and then its non-negative
deconvolution; ``CalciumImaging.fit`` with its defaults. The movies, frame rate and decay time
(1 second, suite2p's default ``tau``) are the same.

Every fit has a process of its own, in which a small movie is fitted first, so that compilation and
imports are not counted. The two packages take turns. Processor time is that of all threads; memory
is the peak resident set, the movie included.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from calcium_movies import FRAME_RATE, RIGHT, Known, large_movie, parser_of, peak_memory
from output import machine, publish, table

from thinrank.calcium import CalciumImaging, match_regions, score_regions

COUNTS = 20.0  # counts per standard deviation of the noise
SMALL = (slice(400), slice(64), slice(64))  # the part that is fitted first
SCORES = ("combined", "recall", "precision", "exclusion")
PACKAGES = ("suite2p", "thinrank")


def by_suite2p(movie: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Regions, and fluorescence minus neuropil, of suite2p."""
    import suite2p

    ops = suite2p.default_ops() | {"fs": FRAME_RATE}
    ops, stat = suite2p.detection_wrapper(movie, ops=ops)
    stat, light, neuropil, _, _ = suite2p.extraction_wrapper(stat, movie, ops=ops)
    traces = light - ops["neucoeff"] * neuropil
    names = ("baseline", "win_baseline", "sig_baseline", "prctile_baseline")
    flat = suite2p.extraction.preprocess(
        F=traces.copy(), fs=FRAME_RATE, **{name: ops[name] for name in names}
    )
    suite2p.extraction.oasis(F=flat, batch_size=ops["batch_size"], tau=ops["tau"], fs=FRAME_RATE)
    return [np.column_stack([each["ypix"], each["xpix"]]) for each in stat], traces


def by_thinrank(movie: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Regions and traces of thinrank."""
    imaging = CalciumImaging(FRAME_RATE).fit(movie)
    return imaging.region_coordinates_, imaging.traces_


def measured(package: str, path: Path) -> None:
    """Fit the movie in a file; print time and memory, and store regions and traces beside it."""
    fit = by_suite2p if package == "suite2p" else by_thinrank
    movie = np.load(path)
    with contextlib.redirect_stdout(io.StringIO()):
        fit(np.ascontiguousarray(movie[SMALL]))
        forget = Path("/proc/self/clear_refs")
        if os.access(forget, os.W_OK):
            forget.write_text("5")
        began, used = time.perf_counter(), time.process_time()
        regions, traces = fit(movie)
        wall, processor = time.perf_counter() - began, time.process_time() - used
    memory = peak_memory()
    bounds = np.cumsum([0, *map(len, regions)])
    found = path.with_name(f"{package}.npz")
    np.savez(found, pixels=np.concatenate(regions), bounds=bounds, traces=traces)
    print(json.dumps({"wall": wall, "processor": processor, "memory": memory}))


def scored(package: str, path: Path, known: Known) -> dict[str, float]:
    """Scores of what :func:`measured` has stored."""
    with np.load(path.with_name(f"{package}.npz")) as found:
        regions = np.split(found["pixels"], found["bounds"][1:-1])
        traces = found["traces"]
    scores = score_regions(regions, known.regions)
    pairs = match_regions(regions, known.regions)
    alike = [np.corrcoef(traces[i], known.traces[j])[0, 1] for i, j in pairs]
    return {
        **{name: getattr(scores, name) for name in SCORES},
        "right": float(sum(value >= RIGHT for value in alike)),
        "regions": float(len(regions)),
    }


def compared(options: argparse.Namespace, peak: float) -> tuple[list[list[str]], str]:
    """Rows of the table for one movie, and a sentence with the ratios."""
    known = large_movie(
        options.demo, options.data, peak, options.seed, options.frames, options.neurons
    )
    runs: dict[str, list[dict[str, float]]] = {package: [] for package in PACKAGES}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "movie.npy"
        np.save(path, np.round(known.movie * COUNTS).astype(np.int16))
        known = Known(known.movie[:0], known.traces, known.regions)
        for _ in range(options.repetitions):
            for package in PACKAGES:
                runs[package].append(_in_a_process(package, path))
        scores = {package: scored(package, path, known) for package in PACKAGES}
    rows = []
    for package in PACKAGES:
        middle = {key: np.median([run[key] for run in runs[package]]) for key in runs[package][0]}
        own = scores[package]
        rows.append(
            [f"{peak:g}", package]
            + [f"{middle['processor']:.1f}", f"{middle['wall']:.1f}", f"{middle['memory']:.2f}"]
            + [f"{own[name]:.2f}" for name in SCORES]
            + [f"{own['right']:.0f} of {len(known.regions)}", f"{own['regions']:.0f}"]
        )
    ratios = {
        key: [ours[key] / theirs[key] for theirs, ours in zip(*runs.values(), strict=True)]
        for key in ("processor", "wall")
    }
    words = [
        f"{name} {np.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
        for name, values in (
            ("processor time", ratios["processor"]),
            ("wall time", ratios["wall"]),
        )
    ]
    return rows, f"Peak over noise {peak:g}: {', '.join(words)}."


def _in_a_process(package: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", package, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--peaks", type=float, nargs="+", default=[4.0, 2.0, 1.0])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measured(options.measure[0], Path(options.measure[1]))
        return
    if options.demo is None or options.data is None:
        parser.error("give --demo and --data, or set THINRANK_DEMO_MOVIE and THINRANK_DATA")
    from importlib.metadata import version

    rows, sentences = [], []
    for peak in options.peaks:
        more, sentence = compared(options, peak)
        rows += more
        sentences.append(sentence)
    headings = ["peak / noise", "package", "processor s", "wall s", "GiB", *SCORES]
    headings += ["right traces", "regions"]
    peaks = " ".join(f"{peak:g}" for peak in options.peaks)
    command = f"python benchmarks/calcium_speed.py --seed {options.seed} --peaks {peaks}"
    command += f" --frames {options.frames} --neurons {options.neurons}"
    command += f" --repetitions {options.repetitions}"
    lines = [
        *table(headings, rows, text=2),
        "",
        f"{options.frames} frames of 170 × 170 pixels; medians of {options.repetitions} fits of"
        " each package, which took turns. GiB: peak resident set, the movie included. Traces of"
        " suite2p are fluorescence minus neuropil, not denoised.",
        "",
        "Ratios thinrank / suite2p, median of the pairs (smallest to largest):",
        "",
        *[f"- {sentence}" for sentence in sentences],
        "",
        f"Machine: {machine()}, suite2p {version('suite2p')}, numba {version('numba')}.",
        f"Command: `{command}`.",
    ]
    publish(lines, options.markdown)


if __name__ == "__main__":
    main()
