"""Blocks of lines of a movie, and medians over bins."""

import numpy as np
import pytest

from thinrank.calcium import binning
from thinrank.calcium import movie as movie_module
from thinrank.calcium.movie import Movie


@pytest.fixture
def movie(rng):
    return Movie(rng.standard_normal((6, 11, 4)).astype(np.float32), "movie")


@pytest.mark.parametrize(("cell", "heights"), [(1, [1] * 11), (3, [3, 3, 3, 2])])
def test_blocks_are_whole_cells_and_cover_the_movie(movie, cell, heights, monkeypatch):
    monkeypatch.setattr(movie_module, "_BLOCK_ENTRIES", 1)
    firsts, blocks = zip(*movie.blocks(cell), strict=True)
    assert [block.shape[1] for block in blocks] == heights
    assert list(firsts) == list(range(0, 11, cell))
    np.testing.assert_array_equal(np.concatenate(blocks, axis=1), movie.frames)


def test_lines_that_are_not_needed_are_not_read(movie, monkeypatch):
    monkeypatch.setattr(movie_module, "_BLOCK_ENTRIES", 2 * 6 * 4)
    needed = np.zeros(11, dtype=bool)
    needed[[3, 10]] = True
    assert [(first, block.shape[1]) for first, block in movie.blocks(needed=needed)] == [
        (2, 2),
        (10, 1),
    ]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("bins", [7, 8])
def test_medians_do_not_depend_on_threads(bins, threads, rng, monkeypatch):
    monkeypatch.setattr(binning, "_WORTH_THREADS", 0)
    monkeypatch.setattr(binning, "threads_in_use", lambda: threads)
    values = rng.standard_normal((5, 3, bins))
    odd = values[..., bins % 2 == 0 :]  # of an even number of bins, the first one is left out
    np.testing.assert_array_equal(binning.middle(values), np.median(odd, axis=2))
