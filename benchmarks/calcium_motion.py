"""Neurons that are found in movies that move, with and without registration.

The simulated movies of ``make_movie`` with a resting light like that of tissue: a texture with a
standard deviation of twice the noise. Each frame is shifted by normal random numbers of rows and
columns, independently of the others.
"""

from __future__ import annotations

import warnings

import numpy as np
from output import arguments_of, how, publish, table
from rich.progress import track
from scipy.ndimage import gaussian_filter, shift

from thinrank.calcium import CalciumImaging, MovieTruth, make_movie

FRAME_RATE = 7.0
JITTER = (0.0, 0.25, 0.5, 1.5)  # pixels
TEXTURE_WIDTH, TEXTURE_HEIGHT = 1.5, 2.0  # pixels; standard deviations of the noise


def moving_movie(jitter: float, seed: int) -> tuple[np.ndarray, np.ndarray, MovieTruth]:
    """A movie, the shifts of its frames, and its neurons."""
    movie, truth = make_movie(random_state=seed)
    rng = np.random.default_rng(seed)
    texture = gaussian_filter(rng.standard_normal(movie.shape[1:]), TEXTURE_WIDTH)
    movie += (TEXTURE_HEIGHT * texture / texture.std()).astype(np.float32)
    shifts = rng.normal(0, jitter, (len(movie), 2)) if jitter else np.zeros((len(movie), 2))
    moved = [shift(f, by, order=3, mode="nearest") for f, by in zip(movie, shifts, strict=True)]
    return np.stack(moved), shifts, truth


def measure(jitter: float, seed: int) -> tuple[bool, float, float, float]:
    """Whether a warning was given, both scores, and the error of the shifts."""
    movie, shifts, truth = moving_movie(jitter, seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plain = CalciumImaging(FRAME_RATE).fit(movie)
    warned = any("shift by about" in str(each.message) for each in caught)
    registered = CalciumImaging(FRAME_RATE, register=True).fit(movie)
    error = registered.shifts_ - shifts
    scores = (each.score(truth.regions).combined for each in (plain, registered))
    return warned, *scores, float((error - np.median(error, axis=0)).std())


def main() -> None:
    parser = arguments_of(__doc__, repetitions=5)
    parser.add_argument("--seed", type=int, default=80060)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.repetitions)
    rows = []
    for jitter in JITTER:
        results = np.array([measure(jitter, seed) for seed in track(seeds)], dtype=float)
        warned, plain, registered, error = results.mean(axis=0)
        told = f"{round(warned * len(seeds))} of {len(seeds)}"
        rows.append([f"{jitter:g}", told, f"{plain:.2f}", f"{registered:.2f}", f"{error:.2f}"])
    headings = ["jitter", "warnings", "not registered", "registered", "error of the shifts"]
    lines = table(headings, rows, text=0)
    lines += [
        "",
        "Standard deviation of the shifts in pixels per axis; number of movies with a warning;",
        "combined scores, means over the seeds; standard deviation of the error of the shifts.",
    ]
    publish([*lines, *how()], options.markdown)


if __name__ == "__main__":
    main()
