"""The second moments of data in row blocks, computed in few passes and kept."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.core import resources
from thinrank.designs.row_blocks import RowBlocks
from thinrank.forms.block_sums import (
    RowSums,
    bad_rows,
    first_sums,
    gram_rows,
    hessian_product,
    rough_means,
)

# XᵀX is computed in the first pass if it takes at most this number of multiplications, some tenths
# of a second, or not much more than XᵀY, which is computed anyway.
_CHEAP_GRAM = 1_000_000_000
_GRAM_PER_TARGET = 2
# It may take the memory budget divided by this number, for all sets of rows together.
_PARTS_OF_BUDGET = 4
# A pass for predictors that are not known yet computes at least this number of further ones, those
# with the largest gradients, since fits exchange predictors for these. Rule of thumb: a pass with
# 64 predictors more takes little longer than reading.
_FURTHER = 64
# For products with more predictors than this, X is multiplied twice instead of computing XᵀX.
_MOST_PREDICTORS = 2000


class RowPart:
    """Some of the rows: their means and scales, and the rows of H = XᵀX/n that are known."""

    def __init__(
        self,
        sums: RowSums,
        shift_x: np.ndarray,
        shift_y: np.ndarray,
        *,
        center: bool,
        scale: bool,
        dtype: np.dtype,
    ) -> None:
        self.weight, self.dtype = sums.weight, dtype
        self.move_x, self.move_y = sums.x / sums.weight, sums.y / sums.weight
        if not center:
            self.move_x, self.move_y = 0 * self.move_x, 0 * self.move_y
        self.mean_x, self.mean_y = shift_x + self.move_x, shift_y + self.move_y
        self._sum_x = sums.weight * self.move_x
        self.squares_x = np.maximum(sums.squares_x - self._sum_x * self.move_x, 0.0)
        self.squares_y = np.maximum(sums.squares_y - sums.weight * self.move_y**2, 0.0)
        self.cross = sums.cross - self._sum_x[:, None] * self.move_y
        self.deviation_x = self._deviations(self.squares_x, self.mean_x if center else None)
        self.deviation_y = self._deviations(self.squares_y, self.mean_y if center else None)
        self.inverse_scale = np.ones(len(self.mean_x))
        if scale:
            self.inverse_scale = arrays.divide_or_zero(1.0, self.deviation_x)
        self.live = np.arange(len(self.mean_x))
        self.rows = np.zeros((0, len(self.mean_x)), dtype)
        self.hint: np.ndarray | None = None  # how promising each live predictor is

    def _deviations(self, squares: np.ndarray, mean: np.ndarray | None) -> np.ndarray:
        """Root mean squares; 0 for columns that are constant up to rounding errors."""
        deviation = np.sqrt(squares / self.weight)
        if mean is None:
            return deviation
        floor = 100 * np.finfo(self.dtype).eps * np.abs(mean)
        return np.where(deviation <= floor, 0.0, deviation)

    def restrict(self, live: np.ndarray) -> None:
        """Use only some of the predictors."""
        self.live = live
        self.rows = np.zeros((0, len(live)), self.dtype)

    def diagonal(self) -> np.ndarray:
        """Diagonal of H over the live predictors."""
        squares = self.squares_x * self.inverse_scale**2 / self.weight
        return squares[self.live].astype(self.dtype)

    def add(self, raw: np.ndarray, columns: np.ndarray) -> None:
        """Add rows of H for further predictors, from those of XᵀX about the shift."""
        rows = raw - self._sum_x[columns][:, None] * self.move_x
        rows *= (self.inverse_scale[columns] / self.weight)[:, None]
        rows *= self.inverse_scale
        self.rows = np.concatenate([self.rows, rows[:, self.live].astype(self.dtype)])


class HeldOutRows:
    """The held-out rows of a split, about the means of its training rows and in their scales."""

    def __init__(self, sums: RowSums, training: RowPart) -> None:
        self.weight = sums.weight
        self.training = training
        self._sums = sums
        self.gram_known = np.zeros((0, 0))
        move = training.move_y
        self.squares_y = np.maximum(sums.squares_y - 2 * sums.y * move + sums.weight * move**2, 0.0)

    def add(self, raw: np.ndarray, order: np.ndarray) -> None:
        """Add inner products of further predictors, the last of all known ones in ``order``."""
        new = raw[:, order]
        old = len(self.gram_known)
        self.gram_known = np.block([[self.gram_known, new[:, :old].T], [new]])

    def gram(self, columns: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Inner products of predictors, given by their numbers and places among the known."""
        move, x = self.training.move_x[columns], self._sums.x[columns]
        gram = self.gram_known[np.ix_(places, places)] - np.outer(x, move) - np.outer(move, x)
        gram += self.weight * np.outer(move, move)
        scale = self.training.inverse_scale[columns]
        return gram * scale * scale[:, None]

    def cross(self, columns: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Inner products of predictors and responses."""
        move, move_y = self.training.move_x[columns], self.training.move_y[targets]
        cross = self._sums.cross[np.ix_(columns, targets)]
        cross = cross - np.outer(self._sums.x[columns], move_y)
        cross += np.outer(move, self.weight * move_y - self._sums.y[targets])
        return cross * self.training.inverse_scale[columns][:, None]


@dataclass(frozen=True, eq=False)
class _Split:
    """Positions of the sets of rows that a split leaves out for training, and that it tests on."""

    removed: int
    test: int


class BlockMoments:
    """XᵀY, and XᵀX for the predictors in use, of all rows and of the parts of splits.

    The first pass computes means, sums of squares and XᵀY, for all rows and for the held-out rows
    of every split at once. A predictor that comes into use needs its row of XᵀX, which is computed
    in a further pass together with those of other promising ones, and kept: fits and exchanges
    among known predictors need no pass.
    """

    def __init__(
        self,
        X: RowBlocks,
        Y: Any,
        weight: np.ndarray | None,
        *,
        center: bool,
        scale: bool,
        splits: Sequence[tuple[np.ndarray, np.ndarray]] = (),
        whole_gram: bool = False,
    ) -> None:
        self.X, self.Y, self.weight = X, Y, weight
        self.center, self.scale = center, scale
        (n, p), k = X.shape, Y.shape[1]
        self.tests = [test for _, test in splits]
        self._masks, self._splits, self._disjoint = _sets_of(splits, n, weight)
        sets = 1 if self._masks is None else self._masks.shape[1]
        resources.check_fits(
            ((sets + 1) * p, k), 8, "XᵀY of row blocks", "use fewer responses at a time"
        )
        cheap = n * p * p <= _CHEAP_GRAM or p <= _GRAM_PER_TARGET * k
        with_gram = (whole_gram or cheap) and resources.fits(
            _PARTS_OF_BUDGET * (sets + 1) * p * p, 8
        )
        self._lock = threading.Lock()
        self._place: dict[int, int] = {}
        shift = np.zeros(p), np.zeros(k)
        if center:
            # as numbers of the dtype of X, so that exactly these are subtracted
            rough = X.first(rough_means, along=(Y, weight))
            shift = tuple(mean.astype(X.prototype.dtype).astype(np.float64) for mean in rough)
        self._shift_x = shift[0]
        sums = X.reduce(first_sums, *shift, with_gram, along=(Y, weight, self._masks))
        self._check_finite(sums)
        units: dict[str, Any] = {"center": center, "scale": scale, "dtype": X.prototype.dtype}
        per_set = [RowSums(float(w), *rest) for w, *rest in zip(*sums[:6], strict=True)]
        everything = RowSums(float(self._total(sums[0])), *map(self._total, sums[1:6]))
        self.whole = RowPart(everything, *shift, **units)
        self.training, self.held_out = [], []
        for split in self._splits:
            left = everything.without(per_set[split.removed])
            if not left.weight > 1e-9 * everything.weight:
                raise ValueError("cv leaves no training rows of positive weight in a split")
            if not per_set[split.test].weight > 0:
                raise ValueError("cv leaves no held-out rows of positive weight in a split")
            part = RowPart(left, *shift, **units)
            self.training.append(part)
            self.held_out.append(HeldOutRows(per_set[split.test], part))
        live = np.flatnonzero(self.whole.deviation_x > 0)
        if scale and len(live):
            for part in [self.whole, *self.training]:
                part.restrict(live)
        if with_gram:
            self._add(np.arange(p), sums[6])

    @property
    def shape(self) -> tuple[int, int]:
        """(n_features, n_targets)."""
        return self.X.shape[1], self.Y.shape[1]

    def known(self, columns: np.ndarray, part: RowPart) -> np.ndarray:
        """Places of the rows of H of some predictors, after a pass for those not known yet."""
        with self._lock:
            missing = self.unknown(columns)
            if len(missing):
                self._read(missing, part)
        return np.array([self._place[c] for c in columns.tolist()], dtype=np.int64)

    def unknown(self, columns: np.ndarray) -> np.ndarray:
        """The predictors among some whose rows of H are not known."""
        return np.array([c for c in columns.tolist() if c not in self._place], dtype=np.int64)

    def too_many(self, columns: np.ndarray) -> bool:
        """Whether XᵀX for some predictors would take longer than products with X."""
        return len(columns) > _MOST_PREDICTORS and len(self.unknown(columns)) > _MOST_PREDICTORS

    def weights_of(self, part: RowPart) -> np.ndarray | None:
        """Weights of all rows, 0 for those that are not in a part."""
        if part is self.whole:
            return self.weight
        assert self._masks is not None
        removed = self._masks[:, self._splits[self.training.index(part)].removed]
        return np.where(removed, 0.0, 1.0 if self.weight is None else self.weight)

    def hessian_product(self, part: RowPart, other: np.ndarray) -> np.ndarray:
        """H @ other over the live predictors of a part, in one pass."""
        block = np.zeros((self.shape[0], other.shape[1]))
        block[part.live] = other * part.inverse_scale[part.live][:, None]
        # without centring the means of the data are not subtracted
        center = part.mean_x if self.center else 0 * part.mean_x
        along = (self.weights_of(part),)
        product = self.X.reduce(hessian_product, center, block, along=along)[0]
        product *= (part.inverse_scale / part.weight)[:, None]
        return product[part.live].astype(part.dtype)

    def of_splits(self, splits: Sequence[tuple[np.ndarray, np.ndarray]]) -> BlockMoments:
        """The moments of these splits: the same object if they are its own."""
        masks, _, _ = _sets_of(splits, self.X.shape[0], self.weight)
        if masks is not None and self._masks is not None and np.array_equal(masks, self._masks):
            return self
        return BlockMoments(
            self.X,
            self.Y,
            self.weight,
            center=self.center,
            scale=self.scale,
            splits=splits,
            whole_gram=len(self._place) == self.shape[0],
        )

    def _total(self, parts: np.ndarray) -> Any:
        """The sums of all rows, from those of the sets."""
        return parts.sum(axis=0) if self._disjoint else parts[-1]

    def _read(self, missing: np.ndarray, part: RowPart) -> None:
        """One pass, for predictors and for others that are promising."""
        p = self.shape[0]
        sets = 1 if self._masks is None else self._masks.shape[1]
        further = np.zeros(0, dtype=np.int64)
        room = int(resources.budget_bytes() / (_PARTS_OF_BUDGET * 8 * (sets + 1) * p)) - len(
            missing
        )
        if part.hint is not None and room > 0:
            others = self.unknown(part.live)
            others = np.setdiff1d(others, missing)
            score = np.zeros(p)
            score[part.live] = part.hint
            order = np.argsort(-score[others], kind="stable")
            further = others[order[: min(max(_FURTHER, len(missing)), room)]]
        resources.check_fits(
            ((sets + 1) * len(missing), p),
            8,
            "inner products of the predictors in use",
            "use a smaller row_sparsity",
        )
        columns = np.sort(np.concatenate([missing, further]))
        raw = self.X.reduce(gram_rows, self._shift_x, columns, along=(self.weight, self._masks))[0]
        self._add(columns, raw)

    def _add(self, columns: np.ndarray, raw: np.ndarray) -> None:
        """Keep rows of XᵀX; ``raw`` has shape (n_sets, len(columns), n_features)."""
        order = np.concatenate([np.array(list(self._place), dtype=np.int64), columns])
        total = self._total(raw)
        self.whole.add(total, columns)
        for split, part, held_out in zip(self._splits, self.training, self.held_out, strict=True):
            part.add(total - raw[split.removed], columns)
            held_out.add(raw[split.test], order)
        for i, column in enumerate(order.tolist()):
            self._place[column] = i

    def _check_finite(self, sums: list[np.ndarray]) -> None:
        """Raise a ValueError that names a row and a column that is not a number."""
        if all(np.isfinite(part).all() for part in sums[1:5]):
            return
        found = self.X.collect(bad_rows, along=(self.Y,))
        bad = np.flatnonzero(found != -1)
        if not len(bad):
            raise ValueError("X must be finite, and so must be the sums of squares of its columns")
        row, column = int(bad[0]), int(found[bad[0]])
        if column == -2:
            raise ValueError(
                f"Y has entries that are not finite, the first in row {row}. Row blocks of Y must "
                "be complete: drop these rows, or pass Y as an array, in which entries may be "
                "missing"
            )
        name = column if self.X.names is None else repr(str(self.X.names[column]))
        raise ValueError(
            f"Input X contains NaN or infinity: the first in row {row} (block "
            f"{self.X.block_of(row)}), column {name}; {len(bad)} rows have such cells. Fill them "
            "in, or drop these columns or rows"
        )


def _sets_of(
    splits: Sequence[tuple[np.ndarray, np.ndarray]], n: int, weight: np.ndarray | None
) -> tuple[np.ndarray | None, list[_Split], bool]:
    """The sets of rows whose sums are needed, one column each.

    The sums of all rows are the sum over all sets if these are disjoint; otherwise they are those
    of the last set.
    """
    if not splits:
        return None, [], True
    live = np.ones(n, dtype=bool) if weight is None else weight > 0
    columns: list[np.ndarray] = []
    known: dict[bytes, int] = {}

    def place(mask: np.ndarray) -> int:
        mask = mask & live  # rows of weight 0 are in no set
        key = mask.tobytes()
        if key not in known:
            known[key] = len(columns)
            columns.append(mask)
        return known[key]

    places = []
    for train, test in splits:
        removed, held_out = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
        removed[train], held_out[test] = False, True
        places.append(_Split(place(removed), place(held_out)))
    times = np.sum(columns, axis=0)
    disjoint = bool(times.max() <= 1)
    others = live & (times == 0)
    if not disjoint:
        columns.append(live)
    elif others.any():
        columns.append(others)
    return np.stack(columns, axis=1), places, disjoint
