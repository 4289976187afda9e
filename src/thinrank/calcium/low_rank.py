"""The paper's fit: a Θ of low rank with few rows and columns for the whole movie.

The start comes from alternating minimization over spike frames, factors and active pixels. Given
the row space of Θ, dynamic programming finds the best spike frames. Given the frames, the best Θ is
a truncated singular value decomposition of the movie projected on their segments, on the pixels
that it explains best. The solver continues from there.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning

from thinrank import linalg
from thinrank.calcium.deconvolution import Segments, best_frames
from thinrank.core.checks import is_auto
from thinrank.core.factors import Factors
from thinrank.core.result import Outcome, Solution, Status
from thinrank.designs import Dense, RecursiveFilter
from thinrank.losses import LeastSquares
from thinrank.minimize import check_size, minimize, seed_from

# Largest rank that is chosen automatically, and relative to the number of frames. Rules of thumb.
_LARGEST_RANK, _LARGEST_PART = 200, 0.25
# Probability that a pixel without activity is counted as active.
_FALSE_PIXELS = 1e-3
# Largest noise level of the explained sums of squares, which is near 1: a larger estimate means
# that most pixels are active.
_LARGEST_NOISE = 10.0
# Up to this many frames the inner products of all frames are computed: 128 MB.
_MOST_FRAMES = 4000
# Rounds over frames and factors, and of changes of the active pixels in a round.
_ROUNDS = 4


@dataclass(frozen=True)
class MovieSizes:
    """Rank, number of spike frames (rows) and of active pixels (columns); None: to be estimated."""

    rank: int | None
    rows: int | None
    columns: int | None


def given_sizes(imaging: Any, frames: int, pixels: int) -> MovieSizes:
    """The sizes that were given, checked against the shape of the movie."""
    rank, rows, columns = (
        None if is_auto(value) else value
        for value in (imaging.rank, imaging.row_sparsity, imaging.column_sparsity)
    )
    if rows is not None:
        check_size("row_sparsity", rows, frames, "the number of frames")
    if columns is not None:
        check_size("column_sparsity", columns, pixels, "the number of pixels")
    if rank is not None:
        limit = min(frames if rows is None else rows, pixels if columns is None else columns)
        check_size("rank", rank, limit, "the smaller of row_sparsity and column_sparsity")
    return MovieSizes(rank, rows, columns)


def fit_low_rank(
    imaging: Any, Y: np.ndarray, decay: float, sizes: MovieSizes, correlated: float
) -> Solution:
    """Fit Θ to Y, (n_frames, n_pixels).

    ``correlated``: sum of the squared correlations of the noise of all pixels with that of one.
    """
    seed = seed_from(imaging.random_state)
    start, found = _start(Y, decay, sizes, correlated, seed)
    if start.rank == 0:
        message = "No frame explains more than noise would: no spikes were found, and Θ has rank 0."
        return Solution(start, 0.5 * float(np.vdot(Y, Y)) / len(Y), Status(Outcome.ZERO, message))
    solution = minimize(
        LeastSquares(RecursiveFilter(decay, len(Y), np.float32), Dense(Y)),
        rank=found.rank,
        row_sparsity=found.rows,
        column_sparsity=found.columns,
        start=start,
        solver=imaging.solver,
        max_iter=imaging.max_iter,
        random_state=seed,
    )
    if solution.status.outcome in (Outcome.ITERATION_LIMIT, Outcome.DIVERGED):
        warnings.warn(solution.status.message, ConvergenceWarning, stacklevel=4)
    return solution


def separable(theta: Factors, decay: float) -> np.ndarray:
    """What each spike adds to XΘ, in units of its noise; of shape (n_pixels, n_spike_frames)."""
    rows = theta.row_support
    segments = Segments(rows, decay, theta.shape[0])
    levels = (RecursiveFilter(decay, theta.shape[0], np.float32) @ theta.U)[rows]
    noise = 1 / segments.energies
    noise[1:] += decay ** (2 * segments.lengths[:-1]) / segments.energies[:-1]
    W = theta.V @ (segments.spikes(levels) / np.sqrt(noise)[:, None]).T
    return np.asarray(W, dtype=np.float32)


def _start(
    Y: np.ndarray, decay: float, sizes: MovieSizes, correlated: float, seed: int
) -> tuple[Factors, MovieSizes]:
    """Factors of Θ by alternating minimization."""
    Z = _leading_directions(Y, sizes.rank, seed)
    if sizes.rank is None:
        Z = Z[:, : _visible(Z, Y, correlated)]
    rank = Z.shape[1]
    frames, columns = np.empty(0, dtype=int), np.arange(Y.shape[1])
    for _ in range(_ROUNDS):
        before, frames = frames, _spike_frames(Z, decay, sizes.rows)
        if np.array_equal(before, frames) or len(frames) == 0:
            break
        segments = Segments(frames, decay, len(Y))
        left, V, columns = _fit(segments.basis() @ Y, rank, columns, sizes.columns)
        if len(columns) == 0:
            frames = frames[:0]
            break
        Z = Y[:, columns] @ np.linalg.qr(V[columns])[0]
    if len(frames) == 0:
        return Factors.zero((len(Y), Y.shape[1]), like=Y), MovieSizes(0, 0, 0)
    U = np.zeros((len(Y), left.shape[1]), dtype=np.float32)
    U[frames] = segments.spikes(left / np.sqrt(segments.energies)[:, None])
    kept = np.zeros_like(V)
    kept[columns] = V[columns]
    rows = len(frames) if sizes.rows is None else sizes.rows
    pixels = len(columns) if sizes.columns is None else sizes.columns
    return Factors(U, kept), MovieSizes(min(left.shape[1], rows, pixels), rows, pixels)


def _leading_directions(Y: np.ndarray, most: int | None, seed: int) -> np.ndarray:
    """Y times its leading right singular vectors; of shape (n_frames, n_directions)."""
    most = min(_LARGEST_RANK if most is None else most, *Y.shape)
    if len(Y) <= _MOST_FRAMES:
        largest = (len(Y) - most, len(Y) - 1)
        squares, vectors = eigh((Y @ Y.T).astype(np.float64), subset_by_index=largest)
        return np.asarray(vectors[:, ::-1] * np.sqrt(np.maximum(squares[::-1], 0.0)))
    left, values, _ = linalg.truncated_svd(Y, most, seed=seed)
    return np.asarray(left * values, dtype=np.float64)


def _visible(Z: np.ndarray, Y: np.ndarray, correlated: float) -> int:
    """Number of directions with larger singular values than noise would have.

    Noise of T frames and m pixels has squared singular values up to about σ²m(1 + √(T/m′))², where
    m′ = m/Σρ² and ρ are the correlations with one pixel.
    """
    frames, pixels = Y.shape
    squares, total = np.einsum("ij,ij->j", Z, Z), float(np.vdot(Y, Y))
    edge = (1 + (frames * correlated / pixels) ** 0.5) ** 2
    count = 0
    while count < min(len(squares), frames - 1):
        level = (total - float(squares[:count].sum())) / (frames - count)
        found = int(np.count_nonzero(squares > edge * level))
        if found <= count:
            break
        count = found
    return min(count, max(1, int(_LARGEST_PART * frames)))


def _spike_frames(Z: np.ndarray, decay: float, count: int | None) -> np.ndarray:
    """The best spike frames of all directions together, at most ``count`` of them."""
    if not Z.shape[1]:
        return np.empty(0, dtype=int)
    # one more direction of zeros: negative levels count, unlike those of a single trace
    values = np.pad(Z, ((0, 0), (0, 1)))[:, None]

    def found(penalty: float) -> np.ndarray:
        return best_frames(values, decay, np.array([penalty]), gaps=False)[0]

    if count is None:
        return found(_spike_penalty(Z))
    low, high = 0.0, float(np.vdot(Z, Z)) + 1e-300  # more than any segment explains
    best = np.empty(0, dtype=int)
    for _ in range(40):  # bisections of the penalty
        middle = 0.5 * (low + high)
        frames = found(middle)
        if len(frames) <= count:
            best, high = (frames if len(frames) >= len(best) else best), middle
            if len(frames) == count:
                break
        else:
            low = middle
    return best


def _spike_penalty(Z: np.ndarray) -> float:
    """Smallest sum of squares that a spike must explain: more than a segment of noise explains.

    That is Σ σ_d²·χ²₁, where σ_d is the noise of direction d of Z. The penalty is the bound of
    Laurent & Massart (2000), which noise exceeds with a probability of at most 1/T².
    """
    # for independent standard normal a and b, E|a − b| = 2/√π
    variances = (np.abs(np.diff(Z, axis=0)).mean(axis=0) * (np.pi**0.5 / 2)) ** 2
    tail = 2 * np.log(len(Z))
    spread = 2 * float(np.sqrt((variances**2).sum() * tail))
    return float(variances.sum()) + spread + 2 * float(variances.max(initial=0.0)) * tail


def _fit(
    W: np.ndarray, rank: int, columns: np.ndarray, count: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leading left singular vectors of W on its best columns, Wᵀ times them, and those columns."""
    rank = min(rank, *W.shape)
    for _ in range(_ROUNDS):
        chosen = W[:, columns]
        _, vectors = np.linalg.eigh((chosen @ chosen.T).astype(np.float64))
        left = vectors[:, : -rank - 1 : -1].astype(W.dtype)
        V = W.T @ left
        energies = np.einsum("ij,ij->i", V, V)
        wanted = _active_pixels(energies, rank) if count is None else count
        order = np.argsort(-energies, kind="stable")[:wanted]
        before, columns = columns, np.sort(order[energies[order] > 0])
        if np.array_equal(before, columns) or len(columns) == 0:
            break
    return left, V, columns


def _active_pixels(energies: np.ndarray, degrees: int) -> int:
    """Number of pixels of which the fit explains more than it would of noise."""
    live = energies[energies > 0]
    if live.size == 0:
        return 0
    unit = min(float(np.quantile(live, 0.25)) / float(chi2.ppf(0.25, degrees)), _LARGEST_NOISE)
    return int(np.count_nonzero(live > unit * float(chi2.isf(_FALSE_PIXELS, degrees))))
