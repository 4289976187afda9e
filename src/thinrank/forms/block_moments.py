"""The second moments of data in row blocks, computed in few passes and kept."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from thinrank import arrays
from thinrank.core import resources
from thinrank.designs.blocks import RowBlocks, column_sums
from thinrank.forms.moments import CHEAP_FOR_SEARCH, HeldCross, plus_ridge, plus_rows

# XᵀX of all sets of rows together may take the memory budget divided by this number.
_PARTS_OF_BUDGET = 4
# A pass for predictors that are not known yet computes at least this number of further ones, those
# with the largest gradients, since fits exchange predictors for these. Rule of thumb: a pass with
# 64 predictors more takes little longer than reading.
_FURTHER = 64
# For products with more predictors than this, X is multiplied twice instead of computing XᵀX.
_MOST_PREDICTORS = 2000

Splits = Sequence[tuple[np.ndarray, np.ndarray]]


class RowSums(NamedTuple):
    """Weighted sums over some rows, of columns minus fixed numbers: about the shift."""

    weight: Any  # sum of the weights
    x: np.ndarray  # sums of the columns
    squares_x: np.ndarray  # sums of their squares
    y: np.ndarray
    squares_y: np.ndarray
    cross: np.ndarray  # (n_features, n_targets) sums of products, XᵀY


class RowPart:
    """Some of the rows, about their means and in their scales, or in those of another part.

    Their XᵀX is that of the first of ``sets``, minus that of the second if there are two.
    """

    def __init__(
        self,
        moments: BlockMoments,
        sums: RowSums,
        sets: tuple[int, ...],
        about: RowPart | None = None,
    ) -> None:
        self.sums, self.sets, self.weight = sums, sets, float(sums.weight)
        share = float(moments.center) / self.weight
        self.move_x, self.move_y = share * sums.x, share * sums.y  # from the shift to the center
        if about is not None:
            self.move_x, self.move_y = about.move_x, about.move_y
        self.left_x = sums.x - self.weight * self.move_x  # sums about the center
        self.left_y = sums.y - self.weight * self.move_y
        squares_x = sums.squares_x - (sums.x + self.left_x) * self.move_x
        squares_y = sums.squares_y - (sums.y + self.left_y) * self.move_y
        self.squares_x, self.squares_y = np.maximum(squares_x, 0.0), np.maximum(squares_y, 0.0)
        self.mean_x, self.mean_y = moments.shift[0] + self.move_x, moments.shift[1] + self.move_y
        floor = 100 * np.finfo(moments.dtype).eps * float(moments.center)
        self.deviation_x = self._deviations(self.squares_x, floor * np.abs(self.mean_x))
        self.deviation_y = self._deviations(self.squares_y, floor * np.abs(self.mean_y))
        self.inverse_scale = np.ones(len(self.move_x))
        if about is not None:
            self.inverse_scale = about.inverse_scale
        elif moments.scale:
            self.inverse_scale = arrays.divide_or_zero(1.0, self.deviation_x)
        self.hint: np.ndarray | None = None  # how promising each live predictor is

    def _deviations(self, squares: np.ndarray, floor: np.ndarray) -> np.ndarray:
        """Root mean squares; 0 for columns that are constant up to rounding errors."""
        deviation = np.sqrt(squares / self.weight)
        return np.where(deviation <= floor, 0.0, deviation)


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
        Y: RowBlocks,
        weight: np.ndarray | None,
        *,
        center: bool,
        scale: bool,
        splits: Splits = (),
        whole_gram: bool = False,
    ) -> None:
        self.X, self.Y, self.weight = X, Y, weight
        self.center, self.scale, self.dtype = center, scale, X.prototype.dtype
        (n, p), k = X.shape, Y.shape[1]
        self._masks, places, self._disjoint = _sets_of(splits, n, weight)
        self._n_sets = 1 if self._masks is None else self._masks.shape[1]
        resources.check_fits(
            ((self._n_sets + 1) * p, k), 8, "XᵀY of row blocks", "use fewer responses at a time"
        )
        # XᵀX is computed in the first pass if it takes not much longer than XᵀY
        cheap = n * p * p <= CHEAP_FOR_SEARCH or p <= 2 * k
        fits = resources.fits(_PARTS_OF_BUDGET * (self._n_sets + 1) * p * p, 8)
        with_gram = fits and (whole_gram or cheap)
        self._lock = threading.Lock()
        # rows of XᵀX about the shift by the places of predictors, for sets of rows, all rows last
        self._place: dict[int, int] = {}
        self._gram = np.zeros((self._n_sets + 1, 0, p))
        self.shift = np.zeros(p), np.zeros(k)
        if center:
            # as numbers of the dtype of X, so that exactly these are subtracted
            rough = X.first(rough_means, along=(Y, weight))
            self.shift = tuple(mean.astype(self.dtype).astype(np.float64) for mean in rough)
        found = X.reduce(first_sums, *self.shift, with_gram, along=(Y, weight, self._masks))
        self._check_finite(found)
        sums = [self._with_total(part) for part in found[:6]]
        everything = RowSums(*(part[-1] for part in sums))
        self.whole = RowPart(self, everything, (-1,))
        self.parts: list[tuple[RowPart, RowPart]] = []  # training and held-out rows of splits
        for removed, test in places:
            left = RowSums(*(part[-1] - part[removed] for part in sums))
            out = RowSums(*(part[test] for part in sums))
            if not left.weight > 1e-9 * everything.weight:
                raise ValueError("cv leaves no training rows of positive weight in a split")
            if not out.weight > 0:
                raise ValueError("cv leaves no held-out rows of positive weight in a split")
            training = RowPart(self, left, (-1, removed))
            self.parts.append((training, RowPart(self, out, (test,), training)))
        live = np.flatnonzero(self.whole.deviation_x > 0)
        self.live = live if scale and len(live) else np.arange(p)
        if with_gram:
            self._add(np.arange(p), found[6])

    def known(self, columns: np.ndarray, part: RowPart) -> np.ndarray:
        """Places of the rows of XᵀX of some predictors, after a pass for those not known yet."""
        with self._lock:
            missing = self.unknown(columns)
            if len(missing):
                self._read(missing, part)
        return np.array([self._place[c] for c in columns.tolist()], dtype=np.int64)

    def unknown(self, columns: np.ndarray) -> np.ndarray:
        """The predictors among some whose rows of XᵀX are not known."""
        return np.array([c for c in columns.tolist() if c not in self._place], dtype=np.int64)

    def too_many(self, columns: np.ndarray) -> bool:
        """Whether XᵀX for some predictors would take longer than products with X."""
        return len(columns) > _MOST_PREDICTORS and len(self.unknown(columns)) > _MOST_PREDICTORS

    def weights_of(self, part: RowPart) -> np.ndarray | None:
        """Weights of all rows, 0 for those that are not in a part."""
        if self._masks is None or part is self.whole:
            return self.weight
        place, *removed = part.sets
        inside = np.ones(len(self._masks), bool) if place < 0 else self._masks[:, place]
        for other in removed:
            inside = inside & ~self._masks[:, other]
        return np.where(inside, 1.0 if self.weight is None else self.weight, 0.0)

    def gram(self, part: RowPart, index: Any) -> np.ndarray:
        """Entries of XᵀX about the shift of a part, by the places of the predictors."""
        first, *removed = (self._gram[place][index] for place in part.sets)
        return first - removed[0] if removed else first

    def of_splits(self, splits: Splits) -> BlockMoments:
        """The moments of these splits: the same object if they are its own."""
        masks, _, _ = _sets_of(splits, self.X.shape[0], self.weight)
        if masks is not None and self._masks is not None and np.array_equal(masks, self._masks):
            return self
        every = len(self._place) == self.X.shape[1]
        units = {"center": self.center, "scale": self.scale}
        return BlockMoments(self.X, self.Y, self.weight, **units, splits=splits, whole_gram=every)

    def _with_total(self, parts: np.ndarray) -> np.ndarray:
        """Sums over sets of rows, those of all rows last."""
        if not self._disjoint or len(parts) == 1:
            return parts
        return np.concatenate([parts, parts.sum(axis=0, keepdims=True)])

    def _read(self, missing: np.ndarray, part: RowPart) -> None:
        """One pass, for predictors and for others that are promising."""
        p, columns = self.X.shape[1], missing
        size = 8 * (self._n_sets + 1) * p
        room = int(resources.budget_bytes() / (_PARTS_OF_BUDGET * size)) - len(missing)
        if part.hint is not None and room > 0:
            score = np.zeros(p)
            score[self.live] = part.hint
            others = np.setdiff1d(self.unknown(self.live), missing)
            order = np.argsort(-score[others], kind="stable")
            further = others[order[: min(max(_FURTHER, len(missing)), room)]]
            columns = np.sort(np.concatenate([missing, further]))
        resources.check_fits(
            ((self._n_sets + 1) * len(missing), p),
            8,
            "inner products of the predictors in use",
            "use a smaller row_sparsity",
        )
        along = self.weight, self._masks
        self._add(columns, self.X.reduce(gram_rows, self.shift[0], columns, along=along)[0])

    def _add(self, columns: np.ndarray, raw: np.ndarray) -> None:
        """Keep rows of XᵀX; ``raw`` has shape (n_sets, len(columns), n_features)."""
        raw = self._with_total(raw)
        self._gram = np.concatenate([self._gram, raw], axis=1) if self._place else raw
        for column in columns.tolist():  # at last, since other threads read
            self._place[column] = len(self._place)

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


class BlockForm(HeldCross):
    """The form of some rows, predictors that vary, and some responses over a scale each."""

    def __init__(
        self, moments: BlockMoments, part: RowPart, targets: np.ndarray, scale: np.ndarray
    ) -> None:
        self.moments, self.part, self.targets, self.scale = moments, part, targets, scale
        live, inverse = moments.live, arrays.divide_or_zero(1.0, scale)
        self._units = part.inverse_scale[live]
        cross = part.sums.cross[np.ix_(live, targets)]
        cross -= np.outer(part.sums.x[live], part.move_y[targets])
        cross -= np.outer(part.move_x[live], part.left_y[targets])
        cross *= (self._units / part.weight)[:, None]
        cross *= inverse
        self.constants = part.squares_y[targets] * inverse**2 / part.weight
        constant = float(self.constants.sum())
        super().__init__(cross.astype(moments.dtype, copy=False), constant, part.weight)
        mean_squares = part.squares_x[live] * self._units**2 / part.weight
        self._diagonal = mean_squares.astype(moments.dtype)

    def with_target_scale(self, scale: np.ndarray) -> BlockForm:
        """The form of the responses divided by a further scale each, without ridge."""
        return BlockForm(self.moments, self.part, self.targets, self.scale * scale)

    def splits(self, pairs: Splits) -> list[tuple[BlockForm, BlockForm]]:
        """Forms of training rows, and of held-out rows about their means and in their scales."""
        moments = self.moments.of_splits(pairs)
        units = self.targets, self.scale
        return [
            (BlockForm(moments, a, *units), BlockForm(moments, b, *units)) for a, b in moments.parts
        ]

    def of_scores(
        self, rows: np.ndarray, U: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Inner products of XU, centered, with itself and with all responses, and the means of XU.

        ``rows`` are positions among all predictors, and everything is in the user's units.
        """
        part, within = self.part, np.searchsorted(self.moments.live, rows)
        scaled = U / part.inverse_scale[rows][:, None]
        inner = part.weight * (scaled.T @ self.gram(within) @ scaled)
        products = np.zeros((len(part.move_y), U.shape[1]))
        products[self.targets] = self.cross_rows(within).T @ scaled
        products[self.targets] *= (part.weight * self.scale)[:, None]
        return inner, products, float(self.moments.center) * (part.mean_x[rows] @ U)

    def diagonal(self) -> np.ndarray:
        """Diagonal of H."""
        return self._diagonal + self._diagonal.dtype.type(self.ridge)

    def gram(self, rows: np.ndarray) -> np.ndarray:
        """H over ``rows``."""
        return plus_ridge(self._between(rows, rows), self.ridge)

    def gram_between(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """H between ``rows`` and ``others``, of which only one set need be known."""
        if len(self.moments.unknown(self.moments.live[others])) == 0:
            return self._between(others, rows).T
        return self._between(rows, others)

    def _between(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        part, live = self.part, self.moments.live
        places = self._places(rows)  # may replace what is stored
        gram = self.moments.gram(part, np.ix_(places, live[others]))
        gram -= np.outer(part.sums.x[live[rows]], part.move_x[live[others]])
        gram -= np.outer(part.move_x[live[rows]], part.left_x[live[others]])
        gram *= (self._units[rows] / part.weight)[:, None]
        gram *= self._units[others]
        return gram.astype(self.prototype.dtype, copy=False)

    def gradient(self, rows: np.ndarray, U: np.ndarray, V: np.ndarray | None = None) -> np.ndarray:
        """H[:, rows] @ U − C @ V."""
        part, live = self.part, self.moments.live
        columns, W = live[rows], self._units[rows][:, None] * U.astype(np.float64)
        if self.moments.too_many(columns):
            everything = arrays.scatter_rows(W, columns, len(part.move_x))
            center = part.mean_x if self.moments.center else 0 * part.mean_x
            along = (self.moments.weights_of(part),)
            image = self.moments.X.reduce(hessian_product, center, everything, along=along)[0]
        else:
            places = self._places(rows)  # may replace what is stored
            image = self.moments.gram(part, places).T @ W
            image -= np.outer(part.move_x, part.sums.x[columns] @ W)
            image -= np.outer(part.left_x, part.move_x[columns] @ W)
        gradient = image[live] * (self._units / part.weight)[:, None]
        gradient = gradient.astype(self.prototype.dtype, copy=False)
        if V is not None and V.any():
            gradient -= self._cross @ V
            self._set_hint(arrays.row_norms_squared(gradient))
        return plus_rows(gradient, rows, U, self.ridge)

    def _places(self, rows: np.ndarray) -> np.ndarray:
        if self.part.hint is None:
            self._set_hint(self.cross_norms()[0])
        return self.moments.known(self.moments.live[rows], self.part)

    def _set_hint(self, squares: np.ndarray) -> None:
        self.part.hint = arrays.divide_or_zero(squares, self._diagonal)

    @property
    def responses(self) -> BlockResponses:
        """The centered and scaled responses of the rows."""
        return BlockResponses(self)


class BlockResponses:
    """Responses of some rows as a design, of which only inner products are needed."""

    def __init__(self, form: BlockForm) -> None:
        self._form, self.prototype = form, form.prototype
        self.shape = form.moments.X.shape[0], form.shape[1]

    def gram(self, index: np.ndarray) -> np.ndarray:
        """Inner products of the columns ``index``, after a pass over Y."""
        moments, part = self._form.moments, self._form.part
        columns = self._form.targets[index]
        center = part.mean_y[columns] * float(moments.center)
        along = (moments.weights_of(part),)
        gram = moments.Y.reduce(target_gram, columns, center, along=along)[0]
        scale = arrays.divide_or_zero(1.0, self._form.scale[index])
        return gram * scale * scale[:, None]


def _sets_of(
    splits: Splits, n: int, weight: np.ndarray | None
) -> tuple[np.ndarray | None, list[tuple[int, int]], bool]:
    """The sets of rows whose sums are needed, one column each; positions for every split.

    The positions are those of the rows that a split leaves out for training, and that it tests on;
    all rows are the last set unless the sets are disjoint.
    """
    if not splits:
        return None, [], True
    live = np.ones(n, dtype=bool) if weight is None else weight > 0
    wanted = np.zeros((2 * len(splits), n), dtype=bool)
    for i, (train, test) in enumerate(splits):
        wanted[2 * i] = True
        wanted[2 * i, train], wanted[2 * i + 1, test] = False, True
    sets, places = np.unique(wanted & live, axis=0, return_inverse=True)
    times = sets.sum(axis=0)
    disjoint = bool(times.max() <= 1)
    others = live & (times == 0) if disjoint else live
    if others.any():
        sets = np.concatenate([sets, others[None]])
    removed, tests = places.reshape(-1, 2).T.tolist()
    return sets.T, list(zip(removed, tests, strict=True)), disjoint


# -------------------------------- functions of a block, which may be called in another process


def rough_means(
    X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Means of a block, subtracted from all blocks, since sums about zero would lose digits."""
    share = np.full(len(X), 1.0 / len(X))
    if weight is not None and weight.any():
        share = weight / weight.sum()
    # in the dtypes of the data, since a product of two dtypes would copy the block
    return share.astype(X.dtype) @ X, share.astype(Y.dtype) @ Y


def first_sums(
    X: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray | None,
    masks: np.ndarray | None,
    center_x: np.ndarray,
    center_y: np.ndarray,
    with_gram: bool,
) -> list[np.ndarray]:
    """The sums of RowSums, and of XᵀX if requested, one per set of rows; no masks: one of all."""
    X -= center_x.astype(X.dtype)
    Y = Y.astype(X.dtype)
    Y -= center_y.astype(X.dtype)
    found = []
    for rows in _sets(masks):
        part, target, own = X[rows], Y[rows], None if weight is None else weight[rows]
        total = len(part) if own is None else own.sum(dtype=np.float64)
        sums = [total, *column_sums(part, own), *column_sums(target, own)]
        sums.append(part.T @ _weighted(target, own))
        found.append([*sums, part.T @ _weighted(part, own)] if with_gram else sums)
    return [np.stack(parts) for parts in zip(*found, strict=True)]


def gram_rows(
    X: np.ndarray,
    weight: np.ndarray | None,
    masks: np.ndarray | None,
    center: np.ndarray,
    columns: np.ndarray,
) -> list[np.ndarray]:
    """Rows of XᵀX for some columns, of shape (n_sets, len(columns), n_features)."""
    X -= center.astype(X.dtype)
    found = []
    for rows in _sets(masks):
        part, own = X[rows], None if weight is None else weight[rows]
        found.append(_weighted(part[:, columns], own).T @ part)
    return [np.stack(found)]


def hessian_product(
    X: np.ndarray, weight: np.ndarray | None, center: np.ndarray, other: np.ndarray
) -> list[np.ndarray]:
    """Xᵀ diag(weight) X @ other, with X minus ``center``."""
    X -= center.astype(X.dtype)
    return [X.T @ _weighted(X @ other.astype(X.dtype), weight)]


def target_gram(
    Y: np.ndarray, weight: np.ndarray | None, columns: np.ndarray, center: np.ndarray
) -> list[np.ndarray]:
    """Inner products of some responses minus ``center``."""
    part = Y[:, columns] - center
    return [part.T @ _weighted(part, weight)]


def bad_rows(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Number of the first column of X that is not finite, −2 for one of Y, −1 if there is none."""
    wrong = ~np.isfinite(X)
    found = np.where(wrong.any(axis=1), wrong.argmax(axis=1), -1)
    return np.where((found < 0) & ~np.isfinite(Y).all(axis=1), -2, found)


def _weighted(X: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    return X if weight is None else X * weight[:, None].astype(X.dtype)


def _sets(masks: np.ndarray | None) -> list[Any]:
    return [slice(None)] if masks is None else [np.flatnonzero(mask) for mask in masks.T]
