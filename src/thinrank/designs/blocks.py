"""Row blocks that are read from files, one after the other, on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from thinrank.core import resources
from thinrank.core.resources import prefetched
from thinrank.designs.block_sources import as_source
from thinrank.designs.row_blocks import RowBlocks, added

# A block takes the memory budget divided by this number, 128 MiB by default. One is computed with
# while the next one is read, and functions make a copy or two.
_PARTS_OF_BUDGET = 32


class Blocks(RowBlocks):
    """Data larger than memory, as blocks of rows that are read one after the other.

    It may be X, Y or both: ``est.fit(Blocks("X.npy"), Blocks("Y.npy"))``; Y may also be an array.
    The next block is read while the present one is used, and only these two are in memory. The
    number of passes of a fit over X is ``est.n_passes_``.

    Parameters
    ----------
    data : path, array or iterable of blocks
        - an NPY file or an array of :class:`numpy.memmap`;
        - an HDF5 file, with ``dataset``, or an open data set of h5py;
        - a Zarr array, or the folder of one;
        - a Parquet file, or a folder of them in the order of their names, whose columns are all
          numbers; the names of the columns are kept;
        - any object that can be iterated over again and again, such as a list, whose items are
          arrays of shape (number of rows, n_features).

        float32 is kept; other numbers are converted to float64.
    dataset : str, default=None
        Name of the data set in an HDF5 file.
    block_rows : int, default=None
        Number of rows that are read at a time; None for as many as take 1/32 of the memory
        budget (``THINRANK_MEMORY_GIB``, 4 GiB by default).

    See Also
    --------
    thinrank.designs.DaskBlocks : Blocks on the machines of a Dask cluster.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(3000, n_features=40, random_state=0)
    >>> blocks = tr.designs.Blocks([X[:1000], X[1000:]])
    >>> est = tr.SparseReducedRankRegressor(8, 10, 10).fit(blocks, Y)
    >>> bool((est.row_support_ == truth.row_support).all())
    True
    """

    def __init__(self, data: Any, *, dataset: str | None = None, block_rows: int | None = None):
        self._source = as_source(data, dataset)
        if block_rows is not None:
            whole = isinstance(block_rows, Integral) and not isinstance(block_rows, bool)
            if not whole or block_rows < 1:
                raise ValueError(f"block_rows must be an integer of at least 1, got {block_rows!r}")
        self._given_rows = block_rows
        self.prototype = np.zeros(0, dtype=self._source.dtype)
        self.names = self._source.names
        self.n_passes = self._source.scans

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self._source.shape

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64."""
        return self._source.dtype

    @property
    def block_rows(self) -> int:
        """Number of rows that are read at a time."""
        n, p = self.shape
        if self._given_rows is not None:
            return min(int(self._given_rows), n)
        rows = int(resources.budget_bytes() / _PARTS_OF_BUDGET / (p * self.dtype.itemsize))
        stored = self._source.chunk_rows
        if stored and stored < rows:  # whole chunks, so that none is read twice
            rows -= rows % stored
        return max(min(rows, n), 1)

    def __repr__(self) -> str:
        return f"Blocks({self._source.label}, shape={self.shape}, dtype={self.dtype})"

    def __iter__(self) -> Iterator[np.ndarray]:
        """The blocks; this does not count as a pass."""
        return self._source.blocks(self.block_rows)

    def reduce(
        self, function: Callable[..., Sequence[Any]], *arguments: Any, along: Sequence[Any] = ()
    ) -> list[np.ndarray]:
        """Sums of what a function returns for each block; see :class:`RowBlocks`."""
        total: list[np.ndarray] | None = None
        self.n_passes += 1
        for block, rows in prefetched(self._with_rows(along)):
            total = added(total, function(block, *rows, *arguments))
        assert total is not None
        return total

    def collect(
        self, function: Callable[..., Any], *arguments: Any, along: Sequence[Any] = ()
    ) -> np.ndarray:
        """What a function returns for each block, one below the other."""
        self.n_passes += 1
        result: np.ndarray | None = None
        first = 0
        for block, rows in prefetched(self._with_rows(along)):
            last = first + len(block)
            part = np.asarray(function(block, *rows, *arguments))
            if result is None:
                result = np.empty((self.shape[0], *part.shape[1:]), dtype=part.dtype)
            result[first:last] = part
            first = last
        assert result is not None
        return result

    def first(
        self, function: Callable[..., Sequence[Any]], *arguments: Any, along: Sequence[Any] = ()
    ) -> Sequence[Any]:
        """What a function returns for the first block."""
        block, rows = next(self._with_rows(along))
        return function(block, *rows, *arguments)

    def block_of(self, row: int) -> int:
        """Number of the block that a row is in."""
        last = 0
        for i, block in enumerate(self):
            last += len(block)
            if row < last:
                return i
        raise IndexError(f"there are {last} rows, got row {row}")

    def _with_rows(self, along: Sequence[Any]) -> Iterator[tuple[np.ndarray, list[Any]]]:
        readers = [_rows_of(item) for item in along]
        for block in self:
            yield block, [reader(len(block)) for reader in readers]


def _rows_of(data: Any) -> Callable[[int], Any]:
    """A function that returns the next so many rows of an array or of other blocks."""
    if data is None:
        return lambda count: None
    if isinstance(data, Blocks):
        data.n_passes += 1
        return _Cursor(iter(data))
    first = 0

    def rows(count: int) -> Any:
        nonlocal first
        first += count
        return data[first - count : first]

    return rows


class _Cursor:
    """The next rows of blocks whose borders are others than those of X."""

    def __init__(self, blocks: Iterator[np.ndarray]) -> None:
        self._blocks = blocks
        self._rest: np.ndarray | None = None

    def __call__(self, count: int) -> np.ndarray:
        parts = []
        while count:
            block = next(self._blocks) if self._rest is None else self._rest
            parts.append(block[:count])
            count -= len(parts[-1])
            self._rest = block[len(parts[-1]) :] if len(parts[-1]) < len(block) else None
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
