"""Designs whose rows are in several blocks, and blocks that are read one after the other."""

from __future__ import annotations

import abc
import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from thinrank.core import resources
from thinrank.core.checks import positive_integer
from thinrank.core.resources import prefetched
from thinrank.designs.block_sources import as_source
from thinrank.designs.dense import BlockwiseDesign, slices

# A block takes the memory budget divided by this number, 128 MiB by default. One is computed with
# while the next one is read, and functions make a copy or two.
_PARTS_OF_BUDGET = 32


class RowBlocks(BlockwiseDesign):
    """A design of which only one block of rows is in one place at a time.

    Everything is computed by :meth:`reduce` and :meth:`collect`, which apply a function to every
    block: in this process (:class:`Blocks`) or where the blocks are (``DaskBlocks``). Each call is
    one pass over the data.
    """

    prototype: np.ndarray  # has the dtype of all products, float32 or float64
    names: np.ndarray | None  # names of the columns
    n_passes: int  # number of passes over the data so far
    is_local: ClassVar[bool] = True  # whether the blocks are read by this process

    def reduce(
        self, function: Callable[..., Sequence[Any]], *arguments: Any, along: Sequence[Any] = ()
    ) -> list[np.ndarray]:
        """Sums of what ``function(block, *rows, *arguments)`` returns for each block, as float64.

        It returns a sequence of arrays and may overwrite the block. It is a function of a module,
        so that it can be sent to other processes. ``along`` are data with as many rows as this
        design, such as responses and weights (arrays, RowBlocks or None): each call gets the rows
        of its block, and None for None.
        """
        self.n_passes += 1
        return self._total(function, arguments, along)

    def collect(
        self, function: Callable[..., Any], *arguments: Any, along: Sequence[Any] = ()
    ) -> np.ndarray:
        """What a function returns for each block, one below the other; see :meth:`reduce`.

        The function returns one array with as many rows as the block.
        """
        self.n_passes += 1
        result, last = np.empty(0), 0
        for part in self._results(function, arguments, along):
            if last == 0:
                result = np.empty((self.shape[0], *part.shape[1:]), dtype=part.dtype)
            result[last : last + len(part)] = part
            last += len(part)
        return result

    @abc.abstractmethod
    def _results(
        self, function: Callable[..., Any], arguments: Sequence[Any], along: Sequence[Any]
    ) -> Iterable[Any]:
        """What a function returns for each block, in order."""

    def _total(
        self, function: Callable[..., Any], arguments: Sequence[Any], along: Sequence[Any]
    ) -> list[np.ndarray]:
        """The sum of what a function returns for each block."""
        return functools.reduce(added, self._results(function, arguments, along), [])

    def first(
        self, function: Callable[..., Sequence[Any]], *arguments: Any, along: Sequence[Any] = ()
    ) -> Sequence[Any]:
        """What a function returns for the first block; not counted as a pass."""
        return next(iter(self._results(function, arguments, along)))

    def block_of(self, row: int) -> int:
        """Number of the block that a row is in, for messages: all blocks are read."""
        heights = [len(part) for part in self._results(_columns, (slice(0),), ())]
        return int(np.searchsorted(np.cumsum(heights), row, side="right"))

    def __matmul__(self, block: np.ndarray) -> np.ndarray:
        width = 1 if block.ndim == 1 else block.shape[1]
        resources.check_fits(
            (self.shape[0], width), self.prototype.itemsize, "X @ A", "use fewer columns or rows"
        )
        return self.collect(operator.matmul, np.asarray(block, dtype=self.prototype.dtype))

    def transposed_product(self, block: np.ndarray) -> np.ndarray:
        """Xᵀ @ block."""
        return self._cast(self.reduce(_transposed_product, along=(np.asarray(block),))[0])

    def columns(self, index: np.ndarray) -> np.ndarray:
        """The columns ``index``."""
        resources.check_fits(
            (self.shape[0], len(index)), self.prototype.itemsize, "columns of X", "use fewer rows"
        )
        return self.collect(_columns, np.asarray(index))

    def gram(self, index: np.ndarray | None = None) -> np.ndarray:
        """XᵀX over the columns ``index``."""
        count = self.shape[1] if index is None else len(index)
        if not resources.fits(2 * count**2, 8):
            return super().gram(index)
        return self._cast(self.reduce(_gram, slice(None) if index is None else index)[0])

    def column_norms(
        self, row_scale: np.ndarray | None = None, center: np.ndarray | None = None
    ) -> np.ndarray:
        """Norms of the columns of diag(row_scale)(X − 1·centerᵀ)."""
        if center is None:
            center = np.zeros(self.shape[1], dtype=self.prototype.dtype)
        weight = None if row_scale is None else np.asarray(row_scale) ** 2
        return self._cast(np.sqrt(self.reduce(_squares, center, along=(weight,))[0]))

    def beside(self, data: Any) -> Any:
        """Responses in blocks, where the blocks of this design are."""
        return data if isinstance(data, RowBlocks) else Blocks(data)

    def everything(self) -> np.ndarray:
        """All rows as one array, in one pass."""
        resources.check_fits(
            self.shape, self.prototype.itemsize, "the rows of all blocks", "use fewer columns"
        )
        return self.collect(_columns, slice(None))

    def _cast(self, values: np.ndarray) -> np.ndarray:
        return values.astype(self.prototype.dtype, copy=False)


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
            block_rows = positive_integer("block_rows", block_rows)
        self._given_rows = block_rows
        self.shape, self.dtype = self._source.shape, self._source.dtype
        self.prototype = np.zeros(0, dtype=self.dtype)
        self.names = self._source.names
        self.n_passes = self._source.scans

    @property
    def block_rows(self) -> int:
        """Number of rows that are read at a time."""
        n, p = self.shape
        if self._given_rows is not None:
            return min(self._given_rows, n)
        rows = int(resources.budget_bytes() / _PARTS_OF_BUDGET / (p * self.dtype.itemsize))
        stored = self._source.chunk_rows
        if stored and stored < rows:  # whole chunks, so that none is read twice
            rows -= rows % stored
        return max(min(rows, n), 1)

    def __repr__(self) -> str:
        return f"Blocks({self._source.label}, shape={self.shape}, dtype={self.dtype})"

    def __iter__(self) -> Iterator[np.ndarray]:
        """The blocks; this does not count as a pass."""
        return self._source.read(self.block_rows)

    def _results(
        self, function: Callable[..., Any], arguments: Sequence[Any], along: Sequence[Any]
    ) -> Iterator[Any]:
        for block, rows in prefetched(self._with_rows(along)):
            yield function(block, *rows, *arguments)

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
    blocks = iter(data if isinstance(data, Blocks) else (data,))
    rest = np.empty(0)

    def rows(count: int) -> np.ndarray:
        nonlocal rest
        parts = []
        while count:
            rest = rest if len(rest) else next(blocks)
            parts.append(rest[:count])
            rest, count = rest[count:], count - len(parts[-1])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    return rows


def added(total: list[Any], part: Sequence[Any]) -> list[Any]:
    """A sum of results, overwritten, with further ones added in double precision."""
    if not total:
        return [np.array(x, dtype=np.float64) for x in part]
    return [np.add(x, y, out=x) if x.ndim else x + y for x, y in zip(total, part, strict=True)]


def column_sums(block: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the columns of a block, and of their squares, in double precision."""
    sums, squares = np.zeros(block.shape[1]), np.zeros(block.shape[1])
    for some in slices(len(block), max(1, resources.BLOCK_ENTRIES // max(block.shape[1], 1))):
        part = block[some]
        own = (np.ones(len(part)) if weight is None else weight[some]).astype(block.dtype)
        sums += own @ part
        squares += own @ (part * part)
    return sums, squares


def _transposed_product(block: np.ndarray, other: np.ndarray) -> list[np.ndarray]:
    return [block.T @ other.astype(block.dtype, copy=False)]


def _columns(block: np.ndarray, index: Any) -> np.ndarray:
    return block[:, index]


def _gram(block: np.ndarray, index: Any) -> list[np.ndarray]:
    part = block[:, index]
    return [part.T @ part]


def _squares(block: np.ndarray, weight: np.ndarray | None, center: np.ndarray) -> list[np.ndarray]:
    block -= center.astype(block.dtype, copy=False)
    return [column_sums(block, weight)[1]]
