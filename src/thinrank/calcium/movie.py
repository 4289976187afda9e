"""Movies from arrays and files, read a few lines of all frames at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from thinrank.calcium.readers import MovieError, opened
from thinrank.core.resources import prefetched

_FEWEST_FRAMES = 3  # one before a spike, the spike, and one after it
# Number of entries of a block of lines: 16 MiB in single precision.
_BLOCK_ENTRIES = 1 << 22


class Movie:
    """The frames of a movie, and its name for error messages.

    Shapes: ``frames`` (n_frames, height, width).
    """

    def __init__(self, frames: Any, name: str) -> None:
        shape = tuple(frames.shape)
        if len(shape) == 4 and shape[-1] in (3, 4):
            raise MovieError(name, f"color (RGB) frames of shape {shape}; a movie has one channel")
        if len(shape) == 2:
            raise MovieError(name, f"a single picture of shape {shape}; a movie has (T, H, W)")
        if len(shape) != 3:
            raise MovieError(name, f"shape {shape}; a movie has (T, H, W)")
        if 0 in shape:
            raise MovieError(name, f"is empty: shape {shape}")
        if np.dtype(frames.dtype).kind not in "uifb":
            raise MovieError(name, f"has dtype {frames.dtype}; a movie must contain real numbers")
        if shape[0] < _FEWEST_FRAMES:
            only = "a single frame" if shape[0] == 1 else f"{shape[0]} frames"
            raise MovieError(name, f"has {only}; at least {_FEWEST_FRAMES} are needed")
        self.frames = frames
        self.name = name
        self.shape: tuple[int, int, int] = shape

    def lines(self, first: int, last: int, frames: slice = slice(None)) -> np.ndarray:
        """Lines ``first`` to ``last`` − 1 of all frames or of some, as a new float32 array.

        Pixels of margins that are NaN in one of these frames are zero in all of them.
        """
        try:
            block = np.array(self.frames[frames, first:last, :], dtype=np.float32, order="C")
        except (OSError, RuntimeError) as error:  # what h5py raises about a damaged file
            raise MovieError(self.name, f"cannot be read to the end ({error})") from error
        except MemoryError:
            what = f"lines {first} to {last - 1} of {self.shape[0]} frames"
            raise MovieError(
                self.name, f"there is not enough memory for {what}; the file may be damaged"
            ) from None
        # the sum is not finite if an entry is not, but also after an overflow: then check entries
        with np.errstate(over="ignore", invalid="ignore"):
            suspect = not np.isfinite(block.sum())
        if suspect:
            _clear_margins(block)
            bad = np.argwhere(~np.isfinite(block))
            if len(bad):
                frame, line, column = (bad[0] + [frames.start or 0, first, 0]).tolist()
                raise MovieError(
                    self.name,
                    f"contains NaN or infinity: frame {frame}, row {line}, column {column}",
                )
        return block

    def blocks(
        self, cell: int = 1, needed: np.ndarray | None = None
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Blocks of lines of all frames, each with the number of its first line.

        Another thread reads the next block while one is used.

        Shapes: ``needed`` (height,), ``block`` (n_frames, n_lines, width).
        """
        frames, height, width = self.shape
        step = cell * max(_BLOCK_ENTRIES // (frames * width * cell), 1)
        starts = [
            first
            for first in range(0, height, step)
            if needed is None or needed[first : first + step].any()
        ]
        return prefetched((first, self.lines(first, min(first + step, height))) for first in starts)


def _clear_margins(block: np.ndarray) -> None:
    """Set pixels at the margins of the lines to zero in all frames if they are NaN in any.

    Registration leaves such margins. A pixel belongs to a margin if it and all pixels between it
    and the left or the right edge are NaN in at least one frame; so do all pixels of a line that
    has nothing else. Pixels that never change are not used.
    """
    missing = np.isnan(block).any(axis=0)
    left = np.logical_and.accumulate(missing, axis=1)
    right = np.logical_and.accumulate(missing[:, ::-1], axis=1)[:, ::-1]
    block[:, left | right] = 0


@contextmanager
def open_movie(movie: Any, dataset: str | None = None) -> Iterator[Movie]:
    """Open a movie from an array or a file, which is closed afterwards.

    Shapes: ``movie`` (n_frames, height, width).
    """
    if isinstance(movie, (str, os.PathLike)):
        path = Path(movie)
        with opened(path, dataset) as frames:
            yield Movie(frames, str(path))
        return
    if dataset is not None:
        raise ValueError("dataset is the name of an array in a file, but this movie is not a file")
    if isinstance(movie, np.ma.MaskedArray):
        raise MovieError("movie", "is a masked array; fill the masked entries first")
    if not hasattr(movie, "shape") or not hasattr(movie, "dtype"):
        movie = np.asarray(movie)
    yield Movie(movie, "movie")
