"""Designs whose rows are in several blocks: one contract for files and for clusters."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from thinrank.core import resources
from thinrank.designs.blockwise import blockwise_gram

# Entries of a block that are centred and squared at a time, so that they stay in the cache.
_CACHED_ENTRIES = 1 << 18


class RowBlocks(abc.ABC):
    """A design of which only one block of rows is in one place at a time.

    Everything is computed by :meth:`reduce` and :meth:`collect`, which apply a function to every
    block: in this process (:class:`thinrank.designs.Blocks`) or where the blocks are
    (:class:`thinrank.designs.DaskBlocks`). The results are small in comparison with a block. Each
    call is one pass over the data, and ``n_passes`` counts them.

    Attributes
    ----------
    prototype : ndarray of shape (0,)
        Has the dtype of all products, float32 or float64.
    names : ndarray of str, or None
        Names of the columns.
    n_passes : int
        Number of passes over the data so far.
    is_local : bool
        Whether the blocks are read by this process.
    """

    prototype: np.ndarray
    names: np.ndarray | None
    n_passes: int
    is_local: ClassVar[bool] = True

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""

    @abc.abstractmethod
    def reduce(
        self, function: Callable[..., Sequence[Any]], *arguments: Any, along: Sequence[Any] = ()
    ) -> list[np.ndarray]:
        """Sums of what a function returns for each block, as float64.

        Parameters
        ----------
        function : callable
            ``function(block, *rows, *arguments) -> sequence of arrays``. The block is an array
            that the function may overwrite. It is a function of a module, so that it can be sent
            to other processes.
        *arguments
            Passed to every call.
        along : sequence of (array, RowBlocks or None)
            Data with as many rows as this design, such as responses and weights; each call gets
            the rows of its block. None stays None.

        Returns
        -------
        list of ndarray
        """

    @abc.abstractmethod
    def collect(
        self, function: Callable[..., Any], *arguments: Any, along: Sequence[Any] = ()
    ) -> np.ndarray:
        """What a function returns for each block, one below the other; see :meth:`reduce`.

        The function returns one array with as many rows as the block.
        """

    @abc.abstractmethod
    def first(
        self, function: Callable[..., Sequence[Any]], *arguments: Any, along: Sequence[Any] = ()
    ) -> Sequence[Any]:
        """What a function returns for the first block; not counted as a pass."""

    @abc.abstractmethod
    def block_of(self, row: int) -> int:
        """Number of the block that a row is in."""

    def __matmul__(self, block: np.ndarray) -> np.ndarray:
        width = 1 if block.ndim == 1 else block.shape[1]
        resources.check_fits(
            (self.shape[0], width), self.prototype.itemsize, "X @ A", "use fewer columns or rows"
        )
        return self.collect(_product, np.asarray(block, dtype=self.prototype.dtype))

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
            return blockwise_gram(self)
        return self._cast(self.reduce(_gram, None if index is None else np.asarray(index))[0])

    def column_norms(
        self, row_scale: np.ndarray | None = None, center: np.ndarray | None = None
    ) -> np.ndarray:
        """Norms of the columns of diag(row_scale)(X − 1·centerᵀ)."""
        if center is None:
            center = np.zeros(self.shape[1], dtype=self.prototype.dtype)
        weight = None if row_scale is None else np.asarray(row_scale) ** 2
        return self._cast(np.sqrt(self.reduce(_squares, center, along=(weight,))[0]))

    def beside(self, data: Any) -> Any:
        """Responses where the blocks of this design are; here they stay as they are."""
        return data

    def everything(self) -> np.ndarray:
        """All rows as one array, in one pass."""
        resources.check_fits(
            self.shape, self.prototype.itemsize, "the rows of all blocks", "use fewer columns"
        )
        return self.collect(_identity)

    def _cast(self, values: np.ndarray) -> np.ndarray:
        return values.astype(self.prototype.dtype, copy=False)


def added(
    total: list[np.ndarray] | None, part: Sequence[Any], *, own: bool = True
) -> list[np.ndarray]:
    """A sum of results, with further ones added, in double precision.

    ``total``: None for nothing.
    """
    if total is None:
        return [np.array(x, dtype=np.float64) for x in part]
    if not own:
        return [np.add(x, y, dtype=np.float64) for x, y in zip(total, part, strict=True)]
    for i, (x, y) in enumerate(zip(total, part, strict=True)):
        if x.ndim:
            x += y
        else:
            total[i] = np.asarray(x + y)
    return total


def centred(
    block: np.ndarray, center: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Subtract centres from the columns of a block, in place.

    Shapes: ``block`` (m, p), ``center`` (p,), ``sums``, ``squares`` (p,).
    """
    center = center.astype(block.dtype, copy=False)
    sums, squares = np.zeros(block.shape[1]), np.zeros(block.shape[1])
    height = max(1, _CACHED_ENTRIES // max(block.shape[1], 1))
    ones = np.ones(min(height, len(block)), dtype=block.dtype)
    moves = bool(center.any())
    for first in range(0, len(block), height):
        part = block[first : first + height]
        if moves:
            part -= center
        if weight is None:
            sums += ones[: len(part)] @ part
            squares += np.einsum("ij,ij->j", part, part)
        else:
            own = weight[first : first + height].astype(block.dtype, copy=False)
            sums += own @ part
            squares += np.einsum("i,ij,ij->j", own, part, part)
    return sums, squares


def _product(block: np.ndarray, other: np.ndarray) -> np.ndarray:
    return block @ other


def _transposed_product(block: np.ndarray, other: np.ndarray) -> list[np.ndarray]:
    return [block.T @ other.astype(block.dtype, copy=False)]


def _columns(block: np.ndarray, index: np.ndarray) -> np.ndarray:
    return block[:, index]


def _identity(block: np.ndarray) -> np.ndarray:
    return block


def _gram(block: np.ndarray, index: np.ndarray | None) -> list[np.ndarray]:
    part = block if index is None else block[:, index]
    return [part.T @ part]


def _squares(block: np.ndarray, weight: np.ndarray | None, center: np.ndarray) -> list[np.ndarray]:
    return [centred(block, center, weight)[1]]
