"""Calcium imaging: neurons found in simulated movies and in a labeled one; time; memory.

The simulated movies are those of the guide: 500 frames of 96 × 96 pixels, 12 neurons with
footprints of sd 3 px, four pairs of them 6 to 7 px apart, 0.01 spikes per frame and neuron, spikes
of 3, 1.5 and 1 times the noise of a pixel. A neuron counts as found when the center of a region
is within 5 px of its own. "Pieces" are connected pieces of the active pixels: what the factors
say before they are separated.

The labeled movie is the crop in THINRANK_DATA, left out without it. Time is that of a whole fit
from array to regions with the paper's sizes, beside one `scipy.signal.lfilter` of the movie in the
same process; memory is the peak resident set beyond what was resident before, beside the movie in
float32. `--large` also writes a movie of 3000 frames of 512 × 512 pixels to disk, 1.6 GB, and fits
it from there.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np
from output import arguments_of, how, in_own_process, peak_beyond, publish, resident, table
from paper.calcium import active_pieces
from rich.console import Console
from scipy.signal import lfilter

from thinrank.calcium import CalciumImaging, make_movie, match_regions, score_regions

AMPLITUDES = (3.0, 1.5, 1.0)
PAPER = {"rank": 50, "row_sparsity": 100, "column_sparsity": 3000}
RAW = {"smoothing": 0.0, "background": 0.0, "noise_scaling": False, "floor": np.inf}
FRAME_RATE = 7.0
CLEAR = 8.0  # peak signal-to-noise ratio of the regions that a person sees at once
LEAST_PIECE = 10


def simulated(amplitude: float, seed: int, **settings) -> dict[str, float]:
    movie, truth = make_movie(amplitude=amplitude, random_state=seed)
    imaging = CalciumImaging(FRAME_RATE, row_sparsity=100, **settings).fit(movie)
    scores = imaging.score(truth.regions)
    pairs = match_regions(imaging.region_coordinates_, truth.regions)
    likeness = [np.corrcoef(imaging.traces_[i], truth.traces[j])[0, 1] for i, j in pairs]
    return {
        **scores.as_dict(),
        "pieces": score_regions(active_pieces(imaging, LEAST_PIECE), truth.regions).combined,
        "alike": float(np.sum(np.array(likeness) >= 0.8)),
        "rank": imaging.rank_,
        "pixels": len(imaging.active_pixels_),
    }


def accuracy(first: int, count: int, console: Console) -> list[str]:
    rows = []
    for amplitude in AMPLITUDES:
        with console.status(f"amplitude {amplitude:g}"):
            runs = [simulated(amplitude, first + i) for i in range(count)]
        mean = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
        matched = sum(run["n_matched"] for run in runs)
        alike = sum(run["alike"] for run in runs) / max(matched, 1)
        scores = [f"{mean[name]:.3f}" for name in ("combined", "recall", "precision")]
        overlaps = [f"{mean[name]:.2f}" for name in ("inclusion", "exclusion")]
        sizes = [f"{mean[name]:.0f}" for name in ("rank", "pixels")]
        shares = [f"{100 * alike:.0f} %", f"{mean['pieces']:.3f}"]
        rows.append([f"{amplitude:g}", *scores, *overlaps, *shares, *sizes])
    headings = [
        "spike / noise",
        *("combined", "recall", "precision", "inclusion", "exclusion"),
        *("traces ≥ 0.8", "pieces, combined", "rank", "pixels"),
    ]
    seeds = f"Means over the seeds {first} to {first + count - 1}."
    return [*table(headings, rows, text=0), "", seeds]


def load(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    with np.load(folder / "calcium" / "neurofinder0000_crop_559x135x131.npz") as stored:
        return stored["movie"], stored["masks"], stored["peak_snr"]


def crop(folder: Path) -> list[str]:
    movie, masks, snr = load(folder)
    clear = masks[snr > CLEAR]
    inside = clear.any(axis=0).ravel()
    rows = []
    for name, settings in {
        "the paper's sizes": PAPER,
        "the paper's sizes, raw pixels": PAPER | RAW,
        "automatic": {},
    }.items():
        imaging = CalciumImaging(FRAME_RATE, **settings).fit(movie)
        kept = np.zeros(inside.size, dtype=bool)
        kept[imaging.active_pixels_] = True
        share = (kept & inside).sum() / inside.sum()
        sizes = f"rank {imaging.rank_}, {len(imaging.spike_frames_)} frames, {kept.sum()} pixels"
        for stage, found in (
            ("pieces", active_pieces(imaging, LEAST_PIECE)),
            ("neurons", imaging.region_coordinates_),
        ):
            for which, labelled in ((f"{len(clear)} clear", clear), (f"all {len(masks)}", masks)):
                s = score_regions(found, labelled)
                rows.append(
                    [
                        f"{name} ({sizes})",
                        f"{100 * share:.1f} %",
                        f"{s.n_estimated} {stage}",
                        which,
                        *(f"{score:.2f}" for score in (s.recall, s.precision, s.combined)),
                    ]
                )
    headings = ["settings", "clear pixels kept", "regions", "on", "recall", "precision", "combined"]
    return table(headings, rows, text=4)


def speed(folder: Path, repetitions: int = 3) -> str:
    movie = load(folder)[0].astype(np.float32)
    flat = movie.reshape(len(movie), -1)
    gamma = 1 - 1 / FRAME_RATE

    def seconds(work) -> float:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began

    fits, filters = [], []
    for _ in range(repetitions):
        filters.append(seconds(lambda: lfilter([1], [1, -gamma], flat, axis=0)))
        fits.append(seconds(lambda: CalciumImaging(FRAME_RATE, **PAPER).fit(movie)))
    fit, one = min(fits), min(filters)
    return (
        f"Time of the labeled movie, from array to regions: {fit:.2f} s, one lfilter {one:.3f} s, "
        f"ratio {fit / one:.1f} (best of {repetitions} each)."
    )


def memory(folder: Path) -> float:
    movie = load(folder)[0]
    CalciumImaging(FRAME_RATE, rank=2, row_sparsity=5, column_sparsity=50).fit(movie[:60, :30, :30])
    peak = peak_beyond(lambda: CalciumImaging(FRAME_RATE, **PAPER).fit(movie))
    return peak / (movie.size * 4)


def write_large(path: Path, frames: int = 3000, side: int = 512, neurons: int = 300) -> None:
    """A movie with neurons at random places, a few frames at a time."""
    import tifffile

    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:side, :side]
    centres = rng.uniform(10, side - 10, (neurons, 2))
    windows = [
        np.flatnonzero(np.hypot(rows - row, columns - column).ravel() < 10)
        for row, column in centres
    ]
    lights = [
        np.exp(-((rows.flat[w] - row) ** 2 + (columns.flat[w] - column) ** 2) / 18)
        for w, (row, column) in zip(windows, centres, strict=True)
    ]
    traces = 60 * lfilter([1], [1, -6 / 7], rng.poisson(0.01, (neurons, frames)), axis=1)
    movie = tifffile.memmap(path, shape=(frames, side, side), dtype=np.uint16, bigtiff=True)
    for t in range(frames):
        frame = 200 + 20 * rng.standard_normal(side * side, dtype=np.float32)
        for n in np.flatnonzero(traces[:, t] > 0.5):
            frame[windows[n]] += traces[n, t] * lights[n]
        movie[t] = np.clip(frame, 0, 65535).reshape(side, side)
    movie.flush()
    np.save(path.with_suffix(".npy"), centres)


def measure_large(path: Path) -> str:
    began = time.perf_counter()
    imaging = CalciumImaging(FRAME_RATE).fit(path)
    seconds = time.perf_counter() - began
    centres = np.load(path.with_suffix(".npy"))
    regions = [np.round(centre).astype(int)[None] for centre in centres]
    score = score_regions(imaging.region_coordinates_, regions)
    return (
        f"A movie of 3000 frames of 512 × 512 pixels, uint16, from a memory-mapped TIFF file: peak "
        f"resident set {resident('VmHWM') / 2**30:.2f} GiB, the mapped pages of the file included; "
        f"{seconds:.0f} s; rank {imaging.rank_}, {len(imaging.spike_frames_)} frames, "
        f"{len(imaging.active_pixels_)} pixels, {imaging.n_neurons_} neurons of 300, "
        f"combined {score.combined:.2f}."
    )


def large() -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.tif"
        write_large(path)
        return str(in_own_process(measure_large, path))


def main() -> None:
    parser = arguments_of(__doc__, repetitions=10)
    parser.add_argument("--seed", type=int, default=81000)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    console = Console()
    lines = ["**Simulated movies**", "", *accuracy(options.seed, options.repetitions, console)]
    data = os.environ.get("THINRANK_DATA")
    if data:
        folder = Path(data)
        lines += ["", "**The labeled movie**", "", *crop(folder), "", speed(folder)]
        share = in_own_process(memory, folder)
        lines.append(f"Memory: {share:.2f} times the movie in float32, beyond what was resident.")
    if options.large:
        lines += ["", "**A large movie**", "", large()]
    publish([*lines, *how()], options.markdown)


if __name__ == "__main__":
    main()
