"""X with blocks along its diagonal and zeros elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design, is_design
from thinrank.designs.dense import take_rows


class BlockDiagonal:
    """The design diag(X₁, …, X_A): the zeros around the blocks are neither stored nor multiplied.

    Parameters
    ----------
    blocks : sequence of Design
        The blocks, of shapes (n_a, p_a); a block may have no rows. The same object may occur
        several times, as in I ⊗ X, and is then stored once.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> block = tr.designs.Dense(np.array([[1.0, 2.0]]))
    >>> tr.designs.BlockDiagonal([block, block]) @ np.eye(4)
    array([[1., 2., 0., 0.],
           [0., 0., 1., 2.]])
    """

    def __init__(self, blocks: Sequence[Design]) -> None:
        self.blocks = list(blocks)
        if not self.blocks:
            raise ValueError("blocks must contain at least one design, got none")
        for i, block in enumerate(self.blocks):
            if not is_design(block):
                raise TypeError(
                    f"blocks must be Designs (see tr.designs.as_design), got "
                    f"{type(block).__name__} at position {i}"
                )
        self.prototype = self.blocks[0].prototype
        dtypes = {str(block.prototype.dtype) for block in self.blocks}
        if len(dtypes) > 1:
            raise ValueError(f"blocks must have the same dtype, got {', '.join(sorted(dtypes))}")
        self._rows = _ranges(block.shape[0] for block in self.blocks)
        self._columns = _ranges(block.shape[1] for block in self.blocks)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self._rows[-1].stop, self._columns[-1].stop

    def __matmul__(self, block: Array) -> Array:
        parts = zip(self.blocks, self._columns, strict=True)
        return self._stacked([own @ block[columns, ...] for own, columns in parts])

    def transposed_product(self, block: Array) -> Array:
        """Xᵀ @ block."""
        parts = zip(self.blocks, self._rows, strict=True)
        return self._stacked([own.transposed_product(block[rows, ...]) for own, rows in parts])

    def columns(self, index: Array) -> Array:
        """The columns ``index``, dense, with the zeros around the blocks."""
        width = index.shape[0]
        strips = []
        for block, places, local in self._shares(index):
            strip = arrays.zeros((block.shape[0], width), self.prototype)
            if places.shape[0]:
                strip = arrays.scatter_rows(block.columns(local).T, places, width).T
            strips.append(strip)
        return self._stacked(strips)

    def rows(self, index: Array) -> BlockDiagonal:
        """The design of the sorted rows ``index``."""
        taken = []
        for block, rows in zip(self.blocks, self._rows, strict=True):
            inside = arrays.true_positions((index >= rows.start) & (index < rows.stop))
            taken.append(take_rows(block, arrays.take_rows(index, inside) - rows.start))
        return BlockDiagonal(taken)

    def gram(self, index: Array | None = None) -> Array:
        """XᵀX over the columns ``index``."""
        if index is None:
            index = arrays.indices(range(self.shape[1]), self.prototype)
        width = index.shape[0]
        gram = arrays.zeros((width, width), self.prototype)
        for block, places, local in self._shares(index):
            if places.shape[0]:
                strip = arrays.scatter_rows(block.gram(local), places, width)
                gram = gram + arrays.scatter_rows(strip.T, places, width)
        return gram

    def column_norms(self, row_scale: Array | None = None, center: Array | None = None) -> Array:
        """Norms of the columns of diag(row_scale)(X − 1·centerᵀ)."""
        xp = arrays.namespace(self.prototype)
        weights = arrays.zeros((self.shape[0],), self.prototype) + 1
        if row_scale is not None:
            weights = row_scale**2
        total = xp.sum(weights)
        norms = []
        for block, rows, columns in zip(self.blocks, self._rows, self._columns, strict=True):
            scale = None if row_scale is None else row_scale[rows]
            middle = None if center is None else center[columns]
            own = block.column_norms(scale, middle)
            if middle is not None:  # outside its block a column is −center
                outside = xp.clip(total - xp.sum(weights[rows]), min=0.0)
                own = xp.sqrt(own**2 + outside * middle**2)
            norms.append(own)
        return xp.concat(norms)

    def _shares(self, index: Array) -> Iterator[tuple[Design, Array, Array]]:
        """Each block, the positions in ``index`` of its columns, and their numbers in the block."""
        for block, columns in zip(self.blocks, self._columns, strict=True):
            places = arrays.true_positions((index >= columns.start) & (index < columns.stop))
            yield block, places, arrays.take_rows(index, places) - columns.start

    def _stacked(self, parts: list[Array]) -> Array:
        return arrays.namespace(self.prototype).concat(parts, axis=0)


def _ranges(sizes: Iterator[int]) -> list[slice]:
    return [slice(*ends) for ends in pairwise(accumulate(sizes, initial=0))]
