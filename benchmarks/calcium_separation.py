"""Ways to identify neurons from the factors of Θ, on the same fits of simulated movies.

"pieces": connected pieces of the active pixels. "independent components": a rotation of V by
FastICA, the connected pieces of what stands out of each. "energy peaks": the non-negative
factorization of the package, begun at the peaks of the energy of the pixels. "spike votes": the
same, begun where the spikes flash up, as the package does.
"""

from __future__ import annotations

import warnings

import numpy as np
from output import arguments_of, machine, publish, table
from rich.progress import track
from scipy.ndimage import gaussian_filter, maximum_filter
from scipy.stats import skew
from sklearn.decomposition import FastICA

from calcium import AMPLITUDES, FRAME_RATE, LEAST_PIECE, pieces
from thinrank.calcium import CalciumImaging, make_movie, score_regions
from thinrank.calcium.demixing import Components
from thinrank.calcium.regions import connected_regions, region_of
from thinrank.calcium.segments import Segments
from thinrank.calcium.separation import Separation
from thinrank.designs import RecursiveFilter

RADIUS, THRESHOLD = 5.0, 0.4
STANDS_OUT = 3.0  # standard deviations


def independent_components(imaging: CalciumImaging) -> list[np.ndarray]:
    pixels = imaging.active_pixels_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge
        maps = FastICA(whiten="unit-variance", random_state=0, max_iter=500).fit_transform(
            imaging.factors_.V[pixels].astype(float)
        )
    regions = []
    for values in maps.T * np.sign(skew(maps, axis=0))[:, None]:
        bright = pixels[values > STANDS_OUT]
        regions += connected_regions(bright, imaging.shape_[1:], LEAST_PIECE)
    return regions


def energy_peaks(imaging: CalciumImaging) -> list[np.ndarray]:
    frames, height, width = imaging.shape_
    spikes, pixels = imaging.spike_frames_, imaging.active_pixels_
    segments = Segments(spikes, imaging.decay_, frames)
    levels = (RecursiveFilter(imaging.decay_, frames, np.float32) @ imaging.factors_.U)[spikes]
    W = (levels * np.sqrt(segments.energies)[:, None]) @ imaging.factors_.V[pixels].T
    energy = np.zeros((height, width))
    energy.flat[pixels] = (W**2).sum(axis=0)
    smooth = gaussian_filter(energy, RADIUS / 5)
    peaks = np.argwhere((smooth == maximum_filter(smooth, 5)) & (energy > 0))
    rows, columns = np.divmod(pixels, width)
    masks = np.array([np.hypot(rows - y, columns - x) <= 2 * RADIUS for y, x in peaks])
    seeds = np.searchsorted(pixels, peaks @ [width, 1])
    footprints = np.maximum(W[:, seeds].T @ W, 0) * masks
    first = Components(footprints, np.zeros((len(spikes), len(peaks))), masks)
    found = Separation((height, width), RADIUS).refined(W, first, pixels, segments)
    images = np.zeros((len(found.footprints), height * width))
    images[:, pixels] = found.footprints
    return [region_of(image.reshape(height, width), THRESHOLD) for image in images]


WAYS = {
    "pieces": pieces,
    "independent components": independent_components,
    "energy peaks": energy_peaks,
    "spike votes": lambda imaging: imaging.region_coordinates_,
}


def main() -> None:
    parser = arguments_of(__doc__, repetitions=10)
    parser.add_argument("--seed", type=int, default=80020)
    options = parser.parse_args()
    rows = []
    for amplitude in AMPLITUDES:
        scores: dict[str, list[float]] = {name: [] for name in WAYS}
        for seed in track(range(options.seed, options.seed + options.repetitions)):
            movie, truth = make_movie(amplitude=amplitude, random_state=seed)
            imaging = CalciumImaging(FRAME_RATE, row_sparsity=100).fit(movie)
            for name, way in WAYS.items():
                scores[name].append(score_regions(way(imaging), truth.regions).combined)
        means = (f"{np.mean(values):.3f}" for values in scores.values())
        rows.append([f"{amplitude:g}", *means])
    command = f"python benchmarks/calcium_separation.py --seed {options.seed}"
    lines = table(["spike / noise", *WAYS], rows, text=0)
    lines += ["", "Combined score, mean over the seeds.", f"Machine: {machine()}."]
    lines.append(f"Command: `{command} --replications {options.repetitions}`.")
    publish(lines, options.markdown)


if __name__ == "__main__":
    main()
