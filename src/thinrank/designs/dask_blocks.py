"""Row blocks that stay where Dask has them; functions are sent to the blocks."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import numpy as np

from thinrank.core.extras import import_optional
from thinrank.designs.block_sources import check_matrix, read_dtype
from thinrank.designs.row_blocks import RowBlocks, added

__all__ = ["DaskBlocks"]

# Number of results that one task adds.
_FAN_IN = 8


class DaskBlocks(RowBlocks):
    """An array or data frame of Dask, with one block per partition of its rows.

    Estimators make it from X and Y themselves: ``est.fit(X, Y)`` with arrays or data frames of
    Dask. Every pass sends a function to the blocks and returns sums of its results, which do not
    grow with the number of rows. It runs on the cluster of the current
    ``distributed.Client``, or with the local scheduler of Dask if there is none. If a worker dies,
    Dask computes again what was lost.

    Parameters
    ----------
    data : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
        The data. All columns of a block must be together, so an array with several chunks of
        columns is rechunked. Persist the data (``data.persist()``) if they fit into the memory of
        the cluster: otherwise each pass loads them again.
    name : str, default="X"
        Name of the data in messages.
    """

    is_local = False

    def __init__(self, data: Any, *, name: str = "X") -> None:
        self._dask = import_optional("dask")
        columns = getattr(data, "columns", None)
        self.names = None
        if columns is not None:
            if all(isinstance(column, str) for column in columns):
                self.names = np.array(list(columns), dtype=object)
            with _connected():
                data = data.to_dask_array(lengths=True)
        if any(np.isnan(size) for size in data.chunks[0]):
            with _connected():
                data = data.compute_chunk_sizes()
        self._shape = check_matrix(data.shape, name)
        self._dtype = read_dtype(np.dtype(data.dtype), name)
        if len(data.chunks[1]) > 1:
            data = data.rechunk({1: -1})
        self._data = data
        self.prototype = np.zeros(0, dtype=self._dtype)
        self.n_passes = 0

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self._shape

    @property
    def heights(self) -> tuple[int, ...]:
        """Numbers of rows of the blocks."""
        return tuple(int(height) for height in self._data.chunks[0])

    def reduce(
        self, function: Callable[..., Sequence[Any]], *arguments: Any, along: Sequence[Any] = ()
    ) -> list[np.ndarray]:
        """Sums of what a function returns for each block; see :class:`RowBlocks`."""
        add = self._dask.delayed(_sum, pure=False)
        parts = self._tasks(function, arguments, along)
        while len(parts) > 1 or parts[0] is None:
            parts = [
                add(*parts[first : first + _FAN_IN]) for first in range(0, len(parts), _FAN_IN)
            ]
        self.n_passes += 1
        with _connected():
            return added(None, self._dask.compute(parts[0])[0])

    def collect(
        self, function: Callable[..., Any], *arguments: Any, along: Sequence[Any] = ()
    ) -> np.ndarray:
        """What a function returns for each block, one below the other."""
        self.n_passes += 1
        with _connected():
            return np.concatenate(self._dask.compute(*self._tasks(function, arguments, along)))

    def first(
        self, function: Callable[..., Sequence[Any]], *arguments: Any, along: Sequence[Any] = ()
    ) -> Sequence[Any]:
        """What a function returns for the first block."""
        with _connected():
            return self._dask.compute(self._tasks(function, arguments, along, count=1)[0])[0]

    def block_of(self, row: int) -> int:
        """Number of the block that a row is in."""
        return int(np.searchsorted(np.cumsum(self.heights), row, side="right"))

    def beside(self, data: Any) -> Any:
        """Responses in blocks of the same rows, sent to the cluster once if they are an array."""
        if isinstance(data, DaskBlocks):
            return data
        array = import_optional("dask.array").from_array(
            np.asarray(data), chunks=(self.heights, data.shape[1])
        )
        with _connected(), warnings.catch_warnings():
            # the responses are sent as a part of the graph, so that they survive a worker's death
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return DaskBlocks(array.persist(), name="Y")

    def _tasks(
        self,
        function: Callable[..., Any],
        arguments: Sequence[Any],
        along: Sequence[Any],
        count: int | None = None,
    ) -> list[Any]:
        """One task per block; the arguments are sent to every worker once."""
        apply = self._dask.delayed(_applied, pure=False)
        shared = self._dask.delayed(_Arguments(tuple(arguments)), pure=False, traverse=False)
        blocks = self._delayed_blocks()[:count]
        rows = [self._rows_of(item)[:count] for item in along]
        return [
            apply(function, self._dtype, shared, block, *beside)
            for block, *beside in zip(blocks, *rows, strict=True)
        ]

    def _delayed_blocks(self) -> list[Any]:
        return self._data.to_delayed()[:, 0].tolist()

    def _rows_of(self, data: Any) -> list[Any]:
        """The rows of something that belong to each block."""
        if data is None:
            return [None] * len(self.heights)
        if isinstance(data, DaskBlocks):
            if data.heights != self.heights:
                data = DaskBlocks(data._data.rechunk((self.heights, -1)))
            return data._delayed_blocks()
        lasts = list(itertools.accumulate(self.heights))
        firsts = [0, *lasts[:-1]]
        return [np.asarray(data[a:b]) for a, b in zip(firsts, lasts, strict=True)]


class _Arguments:
    """Arguments of a function as one object, so that Dask sends them together."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values


def _applied(
    function: Callable[..., Any], dtype: np.dtype, shared: _Arguments, block: Any, *rows: Any
) -> Any:
    """A function of a copy of a block, which it may overwrite."""
    return function(np.array(block, dtype=dtype, order="C"), *rows, *shared.values)


def _sum(*parts: Sequence[Any]) -> list[np.ndarray]:
    """The sum of some results; results of other tasks must not be overwritten."""
    total = added(None, parts[0])
    for part in parts[1:]:
        total = added(total, part)
    return total


@contextmanager
def _connected() -> Iterator[None]:
    """Turn the errors of a lost connection into one that says so."""
    try:
        yield
    except (OSError, CancelledError, ValueError) as error:
        # Dask raises a ValueError for persisted data whose cluster is gone
        if isinstance(error, ValueError) and "Missing dependency" not in str(error):
            raise
        distributed = import_optional("distributed")
        try:
            where = f"at {distributed.get_client().scheduler.address}"
        except (ValueError, AttributeError):  # there is no client any more
            where = "of the data"
        raise ConnectionError(
            f"the Dask scheduler {where} cannot be reached, or it has lost the data; connect to a "
            f"running one with distributed.Client(address) and load the data again ({error!r})"
        ) from error
