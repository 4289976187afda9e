"""Matrices of noise, with and without blocks, for sparse_svd.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Noise = Callable[[np.random.Generator, int, int], np.ndarray]


def white(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    return rng.standard_normal((rows, columns))


def autoregressive(correlation: float) -> Noise:
    def noise(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
        E = rng.standard_normal((rows, columns))
        for j in range(1, columns):
            E[:, j] = correlation * E[:, j - 1] + (1 - correlation**2) ** 0.5 * E[:, j]
        return E

    return noise


def equicorrelated(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    return (rng.standard_normal((rows, columns)) + rng.standard_normal((rows, 1))) / 2**0.5


def three_factors(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    common = rng.standard_normal((rows, 3)) @ rng.standard_normal((3, columns))
    return (rng.standard_normal((rows, columns)) + common) / 2


def sparse_factors(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Three factors, each in a tenth of the columns and in all rows."""
    loadings = 2 * rng.standard_normal((3, columns)) * (rng.random((3, columns)) < 0.1)
    return rng.standard_normal((rows, columns)) + rng.standard_normal((rows, 3)) @ loadings


def heavy_tails(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    return rng.standard_t(3, (rows, columns)) / 3**0.5


def row_variances(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    scale = np.exp(0.5 * rng.standard_normal((rows, 1)))
    return scale * rng.standard_normal((rows, columns))


def column_variances(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    return row_variances(rng, columns, rows).T


def correlated_rows(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    return autoregressive(0.9)(rng, columns, rows).T


NOISE: dict[str, Noise] = {
    "white": white,
    "columns AR(.5)": autoregressive(0.5),
    "columns AR(.9)": autoregressive(0.9),
    "rows AR(.9)": correlated_rows,
    "equicorrelated columns": equicorrelated,
    "three dense factors": three_factors,
    "three factors in 10 % of the columns": sparse_factors,
    "t with 3 degrees of freedom": heavy_tails,
    "row variances differ": row_variances,
    "column variances differ": column_variances,
}

ERRORS: dict[str, Noise] = {
    "equal": white,
    "column variances differ": column_variances,
    "row variances differ": row_variances,
    "t with 3 degrees of freedom": heavy_tails,
    "signal × .6": white,
}


def uneven(rng: np.random.Generator, size: int) -> np.ndarray:
    """A vector of length 1 with entries of either sign between c/2 and c."""
    x = rng.uniform(0.5, 1, size) * rng.choice([-1.0, 1.0], size)
    return x / np.linalg.norm(x)


def with_blocks(
    rng: np.random.Generator,
    noise: np.ndarray,
    sizes: list[tuple[int, int]],
    strength: float,
) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """Noise plus disjoint blocks of rank one, and their sorted rows and columns.

    The singular value of each block is ``strength`` times √rows + √columns, which is the largest
    one of white noise of unit variance, times the standard deviation of the noise.
    """
    rows, columns = noise.shape
    free_rows, free_columns = rng.permutation(rows), rng.permutation(columns)
    value = strength * (rows**0.5 + columns**0.5) * noise.std()
    A, truth = noise.copy(), []
    for height, width in sizes:
        in_rows, free_rows = np.sort(free_rows[:height]), free_rows[height:]
        in_columns, free_columns = np.sort(free_columns[:width]), free_columns[width:]
        A[np.ix_(in_rows, in_columns)] += value * np.outer(uneven(rng, height), uneven(rng, width))
        truth.append((in_rows, in_columns))
    return A, truth
