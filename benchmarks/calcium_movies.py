"""Movies with known neurons, drawn anew: radii 2 to 8, unequal peaks, SNR 1 to 6, neuropil.

Cell bodies are ellipses with soft edges, a texture and, in every third, a dim nucleus. Their radii
vary by a tenth within a movie and their peaks by a factor of 1.4, and SNR is the mean peak at the
brightest pixel over the noise of a pixel. Neuropil is light of four wide patterns and of many
narrower ones, with courses of their own, with a standard deviation of 0 to half the mean peak.

Three tables: scores of movies with everything drawn; a scan of the true radius, the given radius
and the SNR in steps of a tenth on the same cells and noise, with the largest fall of the score from
one step to the next; and right traces like for like: raw ΔF/F with F − 0.7 neuropil, and denoised
traces with the deconvolved ones, convolved again. Development movies have even seeds, those of the
record odd ones. With ``--suite2p``, suite2p gets the same movies.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from output import arguments_of, how, publish, table
from rich.progress import track
from scipy.ndimage import gaussian_filter, gaussian_filter1d
from scipy.signal import lfilter
from scipy.stats import skew

from thinrank.calcium import CalciumImaging, match_regions, score_regions

FRAME_RATE, DECAY = 10.0, 0.9
SHAPE, FRAMES = (128, 128), 1500
RIGHT = 0.8  # a trace is right if its correlation with the true one is at least this
COVERED = 0.2  # part of the frame that cells cover
APART = 1.7  # smallest distance between two centres, in radii
RADII, LEVELS, NEUROPIL = (2.0, 8.0), (1.0, 6.0), (0.0, 0.5)
STEP = 1.1


@dataclass(frozen=True)
class Known:
    """A movie and its neurons."""

    movie: np.ndarray
    traces: np.ndarray
    regions: list[np.ndarray]


def drawn(seed: int, radius: float, level: float, neuropil: float) -> Known:
    """A movie; the same seed gives the same cells and noise at every SNR."""
    rng = np.random.default_rng(seed)
    count = max(6, int(COVERED * np.prod(SHAPE) / (np.pi * radius**2)))
    centres = places(rng, min(count, 120), radius)
    footprints = np.stack([body(rng, centre, radius) for centre in centres])
    traces = np.stack([course(rng) for _ in centres])
    peaks = np.exp(0.35 * rng.standard_normal(len(centres)))
    traces *= level * (peaks / peaks.mean())[:, None]
    movie = light(rng, radius) * np.float32(neuropil * level)
    movie += np.tensordot(traces.T.astype(np.float32), footprints, axes=1)
    rest = 30 + 10 * gaussian_filter(rng.standard_normal(SHAPE), 3) + 5 * footprints.max(axis=0)
    movie += rest.astype(np.float32)
    movie += rng.standard_normal(movie.shape, dtype=np.float32)
    return Known(movie, traces, [np.argwhere(image >= 0.5) for image in footprints])


def places(rng: np.random.Generator, count: int, radius: float) -> np.ndarray:
    centres: list[np.ndarray] = []
    for _ in range(100 * count):
        place = rng.uniform(radius, np.array(SHAPE) - 1 - radius)
        if all(np.linalg.norm(place - other) >= APART * radius for other in centres):
            centres.append(place)
        if len(centres) == count:
            break
    return np.array(centres)


def body(rng: np.random.Generator, centre: np.ndarray, radius: float) -> np.ndarray:
    """A footprint with maximum 1."""
    angle, long = rng.uniform(0, np.pi), rng.uniform(1, 1.2)
    own = radius * np.exp(0.1 * rng.standard_normal())
    down, right = np.indices(SHAPE) - centre[:, None, None]
    first = (down * np.cos(angle) + right * np.sin(angle)) / (own * long)
    second = (right * np.cos(angle) - down * np.sin(angle)) * long / own
    distance = np.hypot(first, second)
    image = 1 / (1 + np.exp((distance - 1) / 0.15))
    if rng.random() < 1 / 3:
        image *= 1 - 0.4 * np.exp(-((distance / 0.4) ** 2))
    image *= 1 + 0.25 * gaussian_filter(rng.standard_normal(SHAPE), 1)
    image = np.where(image > 0.03, image, 0)
    return (image / image.max()).astype(np.float32)


def course(rng: np.random.Generator) -> np.ndarray:
    """Transients with maximum 1: bursts of spikes, three to twenty times."""
    spikes = np.zeros(FRAMES)
    bursts = rng.integers(3, 20)
    for begin in rng.integers(0, FRAMES - 10, bursts):
        spikes[begin + rng.integers(0, 8, rng.integers(1, 5))] += rng.gamma(4, 0.25)
    trace = lfilter([1.0], [1.0, -DECAY], spikes)
    return trace / trace.max()


def light(rng: np.random.Generator, radius: float) -> np.ndarray:
    """Neuropil with standard deviation 1."""
    total = np.zeros((FRAMES, *SHAPE), dtype=np.float32)
    for width, count, pace in ((20.0, 4, 30), (4 * radius, 6, 8)):
        for _ in range(count):
            pattern = gaussian_filter(rng.standard_normal(SHAPE), width)
            pattern = (pattern - pattern.min()) / np.ptp(pattern)
            times = gaussian_filter1d(rng.standard_normal(FRAMES), pace)
            total += np.multiply.outer(times / times.std(), pattern).astype(np.float32)
    return total / total.std()


def right(known: Known, regions: list[np.ndarray], traces: np.ndarray) -> list[float]:
    """Correlations of the traces of matched regions with the true ones."""
    pairs = match_regions(regions, known.regions)
    return [float(np.corrcoef(traces[i], known.traces[j])[0, 1]) for i, j in pairs]


def convolved(spikes: np.ndarray, decay: float = DECAY) -> np.ndarray:
    return lfilter([1.0], [1.0, -decay], spikes, axis=1)


def by_thinrank(movie: np.ndarray, **settings: Any) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        imaging = CalciumImaging(FRAME_RATE, **settings).fit(movie)
    light = imaging.fluorescence_
    return {
        "regions": imaging.region_coordinates_,
        "raw": light.corrected - light.baseline,
        "denoised": imaging.traces_,
        "deconvolved": convolved(light.deconvolved, imaging.decay_),
    }


def by_tiles(movie: np.ndarray, **settings: Any) -> dict[str, Any]:
    """The paper's fit to overlapping tiles, with sizes chosen in each; a tile keeps its centre."""
    radius = settings.get("neuron_radius") or CalciumImaging(FRAME_RATE).fit(movie).radius_
    margin = round(3 * radius)  # as wide as the filter of the background
    edges = [
        np.linspace(0, side, 1 + max(1, round(side / (8 * radius))), dtype=int) for side in SHAPE
    ]
    found: dict[str, list[Any]] = {"regions": [], "raw": [], "denoised": [], "deconvolved": []}
    for top, bottom in pairwise(edges[0]):
        for left, right in pairwise(edges[1]):
            corner = np.maximum([top - margin, left - margin], 0)
            tile = movie[:, corner[0] : bottom + margin, corner[1] : right + margin]
            part = by_thinrank(tile, detection="low_rank", neuron_radius=radius)
            for i, region in enumerate(part["regions"]):
                row, column = region.mean(axis=0) + corner
                if top <= row < bottom and left <= column < right:
                    found["regions"].append(region + corner)
                    for kind in ("raw", "denoised", "deconvolved"):
                        found[kind].append(part[kind][i])
    return found


def by_suite2p(movie: np.ndarray, cells: bool = False) -> dict[str, Any]:
    """Regions of suite2p's detection with its defaults, F − 0.7 neuropil, and deconvolution.

    ``cells``: only those that its classifier takes for cells.
    """
    import suite2p
    import torch
    from suite2p.extraction import dcnv

    settings, device = suite2p.default_settings(), torch.device("cpu")
    counts = np.round(20 * movie).astype(np.int16)
    try:
        stat = suite2p.detection_wrapper(
            counts, tau=1.0, fs=FRAME_RATE, yrange=[0, SHAPE[0]], xrange=[0, SHAPE[1]],
            settings=settings["detection"], device=device,
        )[1]  # fmt: skip
    except ValueError as error:
        if "no ROIs were found" not in str(error):
            raise
        return {"regions": [], "raw": counts[:0], "deconvolved": counts[:0]}
    extracted = suite2p.extraction_wrapper(
        stat, counts, settings=settings["extraction"], device=device
    )
    raw = extracted[0] - 0.7 * extracted[1]
    if cells:
        for each, line in zip(stat, raw, strict=True):
            each["skew"] = skew(line)
        accepted = suite2p.classify(stat, suite2p.classification.builtin_classfile)[:, 0] > 0
        stat, raw = [stat[i] for i in np.flatnonzero(accepted)], raw[accepted]
    flat = dcnv.preprocess(raw.copy(), fs=FRAME_RATE, device=device, **settings["dcnv_preprocess"])
    spikes = dcnv.oasis(F=flat, batch_size=500, tau=1.0, fs=FRAME_RATE)
    regions = [np.column_stack([each["ypix"], each["xpix"]]) for each in stat]
    return {"regions": regions, "raw": raw, "deconvolved": convolved(spikes)}


def measured(known: Known, fit: Any, **settings: Any) -> dict[str, float]:
    began = time.process_time()
    found = fit(known.movie, **settings)
    seconds = time.process_time() - began
    scores = score_regions(found["regions"], known.regions)
    names = ("combined", "recall", "precision", "inclusion", "exclusion")
    row = {name: getattr(scores, name) for name in names}
    for kind in ("raw", "denoised", "deconvolved"):
        alike = right(known, found["regions"], found[kind]) if kind in found else []
        count = sum(value >= RIGHT for value in alike) if kind in found else np.nan
        row[kind] = count / len(known.regions)
        row[f"{kind} median"] = float(np.median(alike)) if alike else np.nan
    return row | {"seconds": seconds}


def everything(seeds: range, fits: dict[str, Any]) -> list[str]:
    """Movies with radius, SNR and neuropil drawn."""
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in fits}
    about = []
    for seed in track(seeds):
        rng = np.random.default_rng([seed, 1])
        radius, level = np.exp([rng.uniform(*np.log(ends)) for ends in (RADII, LEVELS)])
        neuropil = rng.uniform(*NEUROPIL)
        known = drawn(seed, float(radius), float(level), neuropil)
        about.append((radius, level, neuropil, len(known.regions)))
        for name, fit in fits.items():
            runs[name].append(measured(known, fit))
    rows = []
    for i, (radius, level, neuropil, count) in enumerate(about):
        scores = [f"{runs[name][i]['combined']:.2f}" for name in fits]
        rows.append(
            [f"{seeds[i]}", f"{radius:.1f}", f"{level:.1f}", f"{neuropil:.2f}", f"{count}", *scores]
        )
    lines = table(["seed", "radius", "SNR", "neuropil", "neurons", *fits], rows, text=0)
    keys = list(next(iter(runs.values()))[0])
    means = [
        [name, *(f"{np.nanmean([run[key] for run in some]):.2f}" for key in keys)]
        for name, some in runs.items()
    ]
    return [*lines, "", *table(["means", *keys], means, text=1)]


def scan(seeds: range) -> list[str]:
    """Scores in steps of a tenth of the true radius, the given radius and the SNR."""
    steps = {
        "true radius": [(r, 3.0, None) for r in _steps(*RADII)],
        "given radius, true 4": [(4.0, 3.0, r) for r in _steps(*RADII)],
        "SNR, radius 4": [(4.0, level, None) for level in _steps(*LEVELS)],
    }
    lines = []
    for name, cells in steps.items():
        values = []
        for radius, level, given in track(cells, name):
            settings = {} if given is None else {"neuron_radius": given}
            runs = [
                measured(drawn(seed, radius, level, 0.2), by_thinrank, **settings)["combined"]
                for seed in seeds
            ]
            values.append(float(np.mean(runs)))
        where = [
            given or (radius if "true radius" in name else level) for radius, level, given in cells
        ]
        falls = -np.diff(values)
        worst = int(np.argmax(falls))
        rows = [[f"{place:.2f}" for place in where], [f"{value:.2f}" for value in values]]
        lines += [f"**{name}**", "", *table(rows[0], [rows[1]], text=0), ""]
        lines += [f"Largest fall {falls[worst]:.3f}, after {where[worst]:.2f}.", ""]
    return lines


def _steps(first: float, last: float) -> list[float]:
    count = int(np.log(last / first) / np.log(STEP)) + 1
    return [float(first * STEP**i) for i in range(count)]


def main() -> None:
    parser = arguments_of(__doc__, repetitions=12)
    parser.add_argument("--seed", type=int, default=40001)
    parser.add_argument("--tiles", action="store_true", help="fit the paper's model to tiles, too")
    parser.add_argument("--suite2p", action="store_true", help="fit the movies with suite2p, too")
    parser.add_argument("--scan", type=int, default=3, help="number of movies of each step")
    options = parser.parse_args()
    fits = {"thinrank": by_thinrank}
    if options.tiles:
        fits["low-rank tiles"] = by_tiles
    if options.suite2p:
        fits |= {"suite2p": by_suite2p, "suite2p, iscell": partial(by_suite2p, cells=True)}
    lines = []
    if options.repetitions:
        last = options.seed + 2 * options.repetitions
        lines += everything(range(options.seed, last, 2), fits)
    if options.scan:
        lines += ["", *scan(range(options.seed, options.seed + 2 * options.scan, 2))]
    publish([*lines, *how()], options.markdown)


if __name__ == "__main__":
    main()
