"""Movies built from real footprints and traces, plus background and noise.

The small movie holds the 16 neurons of ``groundtruth_demoMovie.npz``, from the folder
``caiman/tests/comparison`` of the public repository flatironinstitute/CaImAn, where they are. The
large movies hold at least 60 neurons: footprints and traces of that file and of the labeled
regions of the movie in ``THINRANK_DATA``, placed at random, flipped, rotated and shifted in time.
All neurons of a movie have the same peak, which is given in standard deviations of the noise.

Give the file by ``--demo`` or by the environment variable ``THINRANK_DEMO_MOVIE``. Development
movies have seeds from 30000 and from 700000, movies of the record seeds from 40000.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from output import arguments_of, machine, publish, table
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from thinrank.calcium import CalciumImaging, match_regions, score_regions

PEAKS = (4.0, 2.0, 1.0)
DEMO_SHAPE, LARGE_SHAPE = (60, 80), (170, 170)
FRAME_RATE = 10.0
REGION = 0.5  # a true region is where a footprint is at least half its maximum
RIGHT = 0.8  # a trace is right if its correlation with the true one is at least this
CLEAR = 8.0  # labeled regions with a smaller peak over noise are not used
LEAST_DISTANCE = 5.0  # pixels between two centers; the nearest two of the demo file have 4.2
BACKGROUND_WIDTH = 20.0  # pixels
BACKGROUND_SIZE = 0.25  # standard deviation over pixels and time, in peaks of a neuron
WINDOW = 12  # half the side of the window that holds a footprint
COLUMNS = (
    *("combined", "recall", "precision", "inclusion", "exclusion"),
    *("traces", "found", "neurons", "seconds", "memory"),
)


@dataclass(frozen=True)
class Known:
    """A movie and its neurons."""

    movie: np.ndarray
    traces: np.ndarray
    regions: list[np.ndarray]

    @property
    def radius(self) -> float:
        """Radius of a disc with the mean area of the true regions."""
        return float(np.sqrt(np.mean([len(region) for region in self.regions]) / np.pi))


def demo_neurons(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Footprints (16, 60, 80) and traces (16, 2000), all with maximum 1."""
    # the file is a pickle of Python 2 and comes from a public repository
    with np.load(path, allow_pickle=True, encoding="latin1") as stored:
        flat, traces = np.asarray(stored["A_full"].item().todense()).T, stored["C_full"]
    footprints = np.stack([row.reshape(DEMO_SHAPE, order="F") for row in flat])
    traces = traces - np.median(traces, axis=1, keepdims=True)
    footprints = footprints / footprints.max(axis=(1, 2), keepdims=True)
    return footprints, traces / traces.max(axis=1, keepdims=True)


def labelled_neurons(folder: Path, frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Footprints and traces of the clear labeled regions, at ``frames`` times of the movie."""
    with np.load(folder / "calcium" / "neurofinder0000_crop_559x135x131.npz") as stored:
        movie, masks = stored["movie"].astype(np.float32), stored["masks"]
        masks = masks[(stored["peak_snr"] > CLEAR) & stored["fully_inside"]]
    movie = movie - np.median(movie, axis=0)
    wide = gaussian_filter(movie, (0, 15, 15))
    footprints, traces = [], []
    times = np.linspace(0, len(movie) - 1, frames)
    for mask in masks:
        near = gaussian_filter(mask.astype(float), 1.0)
        trace = gaussian_filter1d((movie - wide)[:, mask].mean(axis=1), 1.0)
        trace = np.maximum(trace - np.percentile(trace, 30), 0)
        noise = 1.48 * np.median(np.abs(np.diff(trace)))
        trace[trace < 2 * noise] = 0
        image = np.tensordot(trace, movie - wide, axes=1) / (trace @ trace)
        image = np.maximum(gaussian_filter(image, 0.7), 0) * (near > 0.2)
        footprints.append(image / image.max())
        traces.append(np.interp(times, np.arange(len(movie)), trace / trace.max()))
    return np.stack(footprints), np.stack(traces)


def cut(footprint: np.ndarray) -> np.ndarray:
    """The window of a footprint around its center of mass."""
    mass = footprint**2
    centre = [
        round(float((np.indices(footprint.shape)[i] * mass).sum() / mass.sum())) for i in (0, 1)
    ]
    padded = np.pad(footprint, WINDOW)
    return padded[centre[0] : centre[0] + 2 * WINDOW + 1, centre[1] : centre[1] + 2 * WINDOW + 1]


def background(
    frames: int, shape: tuple[int, int], rng: np.random.Generator, size: float
) -> np.ndarray:
    """Smooth light that changes slowly: four wide patterns, each with a time course of its own."""
    light = np.zeros((frames, *shape), dtype=np.float32)
    for _ in range(4):
        pattern = gaussian_filter(rng.standard_normal(shape), BACKGROUND_WIDTH)
        pattern = (pattern - pattern.min()) / np.ptp(pattern)
        course = gaussian_filter1d(rng.standard_normal(frames), 30)
        light += (course / course.std()).astype(np.float32)[:, None, None] * pattern.astype(
            np.float32
        )
    return light * np.float32(size / light.std())


def assembled(footprints: np.ndarray, traces: np.ndarray, peak: float, seed: int) -> Known:
    """Neurons, background of half their peak, a mean image, and noise of standard deviation 1."""
    rng = np.random.default_rng(seed)
    frames, shape = traces.shape[1], footprints.shape[1:]
    movie = background(frames, shape, rng, BACKGROUND_SIZE * peak)
    flat = footprints.reshape(len(footprints), -1).astype(np.float32)
    flat_movie = movie.reshape(frames, -1)
    flat_movie += (peak * traces.T).astype(np.float32) @ flat
    movie += (30 + 10 * gaussian_filter(rng.standard_normal(shape), 3)).astype(np.float32)
    for frame in movie:
        frame += rng.standard_normal(shape, dtype=np.float32)
    regions = [np.argwhere(image >= REGION * image.max()) for image in footprints]
    return Known(movie, traces, regions)


def small_movie(path: Path, peak: float, seed: int) -> Known:
    return assembled(*demo_neurons(path), peak, seed)


def large_movie(
    path: Path, folder: Path, peak: float, seed: int, frames: int, neurons: int
) -> Known:
    rng = np.random.default_rng(seed)
    demo, demo_traces = demo_neurons(path)
    labelled, labelled_traces = labelled_neurons(folder, 2000)
    shapes = [cut(image) for image in (*demo, *labelled)]
    courses = [*demo_traces, *labelled_traces]
    centres: list[np.ndarray] = []
    while len(centres) < neurons:
        place = rng.uniform(8, np.array(LARGE_SHAPE) - 8)
        if all(np.linalg.norm(place - other) >= LEAST_DISTANCE for other in centres):
            centres.append(place)
    padded = np.zeros((neurons, *(side + 2 * WINDOW for side in LARGE_SHAPE)), dtype=np.float32)
    traces = np.empty((neurons, frames))
    for n, (row, column) in enumerate(np.round(centres).astype(int)):
        image = np.rot90(shapes[rng.integers(len(shapes))], rng.integers(4))
        image = image[::-1] if rng.integers(2) else image
        padded[n, row : row + 2 * WINDOW + 1, column : column + 2 * WINDOW + 1] = image
        # two stretches of the same neuron, each begun at random
        course = courses[rng.integers(len(courses))]
        parts = [
            np.roll(course, rng.integers(len(course))) for _ in range(-(-frames // len(course)))
        ]
        traces[n] = np.concatenate(parts)[:frames]
    footprints = padded[:, WINDOW:-WINDOW, WINDOW:-WINDOW]
    footprints = footprints / footprints.max(axis=(1, 2), keepdims=True)
    traces /= traces.max(axis=1, keepdims=True)
    return assembled(footprints, traces, peak, seed + 1)


def peak_memory() -> float:
    status = Path("/proc/self/status").read_text().splitlines()
    return float(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 2**20


def measured(known: Known, **settings) -> dict[str, float]:
    """The scores of one fit; memory in GiB includes the movie."""
    forget = Path("/proc/self/clear_refs")
    if os.access(forget, os.W_OK):
        forget.write_text("5")
    began = time.perf_counter()
    imaging = CalciumImaging(**({"frame_rate": FRAME_RATE} | settings)).fit(known.movie)
    seconds = time.perf_counter() - began
    memory = peak_memory()
    scores = score_regions(imaging.region_coordinates_, known.regions)
    pairs = match_regions(imaging.region_coordinates_, known.regions)
    alike = [np.corrcoef(imaging.traces_[i], known.traces[j])[0, 1] for i, j in pairs]
    return {
        **{name: getattr(scores, name) for name in COLUMNS[:5]},
        "traces": sum(value >= RIGHT for value in alike),
        "found": scores.n_estimated,
        "neurons": scores.n_labelled,
        "seconds": seconds,
        "memory": memory,
    }


def build(options: argparse.Namespace, kind: str, peak: float, seed: int) -> Known:
    if kind == "small":
        return small_movie(options.demo, peak, seed)
    return large_movie(options.demo, options.data, peak, seed, options.frames, options.neurons)


def one(options: argparse.Namespace) -> None:
    """Print the scores of one movie, with defaults and with the true radius."""
    kind, peak, seed = options.one
    known = build(options, kind, float(peak), int(seed))
    rows = {"defaults": measured(known), "radius": measured(known, neuron_radius=known.radius)}
    print(json.dumps(rows, default=float))


def line(name: str, runs: list[dict[str, float]]) -> list[str]:
    mean = {key: float(np.mean([run[key] for run in runs])) for key in COLUMNS}
    total = {key: sum(int(run[key]) for run in runs) for key in ("traces", "found", "neurons")}
    scores = [f"{mean[key]:.2f}" for key in COLUMNS[:5]]
    counts = [f"{total['traces']} of {total['neurons']}", str(total["found"])]
    return [name, *scores, *counts, f"{mean['seconds']:.1f}", f"{mean['memory']:.2f}"]


def parser_of(description: str) -> argparse.ArgumentParser:
    """A parser with the arguments of all scripts that make such movies."""
    parser = arguments_of(description)
    demo, data = os.environ.get("THINRANK_DEMO_MOVIE"), os.environ.get("THINRANK_DATA")
    parser.add_argument("--demo", type=Path, default=demo, help="groundtruth_demoMovie.npz")
    parser.add_argument("--data", type=Path, default=data, help="THINRANK_DATA")
    parser.add_argument("--seed", type=int, default=30000)
    parser.add_argument("--frames", type=int, default=3000)
    parser.add_argument("--neurons", type=int, default=70)
    return parser


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--small", type=int, default=3, help="number of draws of the small movie")
    parser.add_argument("--large", type=int, default=2, help="number of large movies")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.demo is None or options.data is None:
        parser.error("give --demo and --data, or set THINRANK_DEMO_MOVIE and THINRANK_DATA")
    if options.one:
        one(options)
        return
    rows = []
    for kind, count in (("small", options.small), ("large", options.large)):
        for peak in PEAKS if count else ():
            runs = [_in_a_process(options, kind, peak, options.seed + i) for i in range(count)]
            for name in ("defaults", "radius"):
                label = "radius given" if name == "radius" else name
                rows.append([kind, f"{peak:g}", *line(label, [run[name] for run in runs])])
    headings = ["movie", "peak / noise", "settings", *COLUMNS[:5]]
    headings += ["right traces", "regions", "seconds", "GiB"]
    command = f"python benchmarks/calcium_movies.py --seed {options.seed} --small {options.small}"
    command += f" --large {options.large} --frames {options.frames} --neurons {options.neurons}"
    lines = [
        *table(headings, rows, text=3),
        "",
        f"Means over {options.small} draws of the small movie and {options.large} large movie(s);"
        " right traces and regions are sums. GiB: peak resident set, the movie included.",
        f"Machine: {machine()}.",
        f"Command: `{command}`.",
    ]
    publish(lines, options.markdown)


def _in_a_process(options: argparse.Namespace, kind: str, peak: float, seed: int) -> dict:
    """Fit one movie in a process of its own, so that its memory is its own."""
    command = [sys.executable, __file__, "--demo", str(options.demo), "--data", str(options.data)]
    command += ["--frames", str(options.frames), "--neurons", str(options.neurons)]
    command += ["--one", kind, str(peak), str(seed)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
