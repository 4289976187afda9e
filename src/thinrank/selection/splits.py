"""Splits: the rows that models are fitted to, and the score that they get."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from numbers import Integral
from typing import Any, cast

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, check_cv

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core import resources
from thinrank.core.checks import is_list, naming
from thinrank.core.contracts import Design, QuadraticForm, Start
from thinrank.core.factors import Factors
from thinrank.core.result import Sizes
from thinrank.designs import Dense, Transformed, kept_basis, standardize, take_rows
from thinrank.designs.dense import view_rows
from thinrank.designs.transformed import unprojected
from thinrank.forms.moments import ProductForm
from thinrank.losses import LeastSquares
from thinrank.losses.generalized_linear import FEW_MISSING, GeneralizedLinear
from thinrank.minimize import solve
from thinrank.selection.scores import (
    Deviance,
    Errors,
    HeldOutLoss,
    MomentError,
    Score,
    SquaredError,
    tables_of,
)
from thinrank.selection.tables import (
    directions,
    lower_table,
    mean_table,
    root_directions,
    roots_of,
    stage_directions,
)
from thinrank.solvers.pursuit import Pursuit
from thinrank.solvers.row_fit import Fit, as_fit
from thinrank.starts import Auto, Backward
from thinrank.starts.elimination import (
    default_ridge,
    eliminate,
    eliminated_around,
    first_rows,
    penalized_fit,
    rows_of_stage,
)

Indices = list[tuple[np.ndarray, np.ndarray]]
"""Training and held-out rows of the splits of one partition."""

# Rows are partitioned again until about _ENOUGH_PREDICTIONS of them were predicted, in at most
# _MAX_PARTITIONS partitions: the fewer rows, the more scores depend on the partition. On the
# development sets with 270 and 320 training rows 500 cost 0.9 % and 0.5 %.
_ENOUGH_PREDICTIONS = 1000
_MAX_PARTITIONS = 3
# Data are small if they fit this number of times into the memory budget: a copy costs nothing.
_PART_OF_BUDGET = 64
# Tolerances of fits of a search to a loss that is not quadratic, and to squared errors with missing
# entries. On sets of counts and presences 1e-4 took 1.5 times as long, with the same held-out
# deviance; with half of the entries missing 1e-3 increased the error from .12 to .17.
_TOL = 1e-3
_TOL_MISSING = _TOL / 10


class Split:
    """Rows to fit, by least squares or under a family, and the score of the models.

    ``training`` is the loss of the rows, without ridge; ``start`` is for fits that exchange rows.
    """

    def __init__(self, training: Any, score: Score, start: Start, seed: int = 0) -> None:
        self.training, self.score = training, score
        self._given_start, self._seed = start, seed
        self._exact = "quadratic" in training.capabilities
        # rows and costs of the stages of elimination with a ridge, by the number of rows
        self.stages: dict[float, dict[int, tuple[Array, Array]]] = {}

    @cached_property
    def around(self) -> Fit | None:
        """The ridge fit that an approximation of the loss is around; None for least squares."""
        if self._exact:
            return None
        factors = penalized_fit(self.training)
        form = self.training.majorizer(factors)
        return as_fit(form, first_rows(form), self.training.targets, factors)

    @cached_property
    def form(self) -> QuadraticForm:
        """The loss without ridge, or its approximation."""
        return self.form_around(self.around)

    def form_around(self, fit: Fit | None) -> QuadraticForm:
        """The loss without ridge, or its approximation around a fit."""
        if self._exact:
            return self.training.quadratic()
        assert fit is not None
        return self.training.majorizer(fit.factors if fit.completed is None else fit.completed)

    @cached_property
    def first_rows(self) -> Array:
        """The rows that elimination begins with."""
        return first_rows(self.form)

    def fit(self, sizes: Sizes, solver: Pursuit, near: Fit | None = None) -> Fit | None:
        """The fit of the estimator to these rows; None if there is nothing to fit.

        If the loss is not quadratic, exchanges of rows begin with those of the fit ``near``.
        """
        loss = self.training.with_ridge(sizes.ridge)
        if not self._exact:
            solver = self._quick(solver)
        solver = replace(solver, exchanges=sizes.exchange).sized(*sizes[:3])
        start: Any = functools.partial(self._start, sizes)
        if near is not None and near.U.shape[1] and sizes.exchange and not self._exact:
            known, rows = near.factors, rows_of_stage(near.rows, near.costs, sizes.rows)
            U = arrays.take_rows(known.U, rows)
            start = Factors.on_rows(U, rows, near.shape[0], known.V)
        found = solve(loss, solver, start, self._seed, records=False)
        if found is None:
            return None
        return found.state if self._exact else self._completed(loss, found.state)

    def scored(
        self, sizes: Sizes, solver: Pursuit, near: Fit | None = None
    ) -> tuple[Fit | None, float, Errors | None]:
        """The fit of a model, its score, and its errors; an infinite score if the fit failed."""
        try:
            fit = self.fit(sizes, solver, near) if sizes.rank > 0 else None
            score, errors = self.score.of(fit, sizes)
        except np.linalg.LinAlgError:
            fit, score, errors = None, np.inf, self.score.of(None, sizes)[1]
        return fit, score if np.isfinite(score) else np.inf, errors

    def _start(
        self, sizes: Sizes, loss: Any, rank: int, rows: int, columns: int, seed: int
    ) -> Factors:
        """The start; elimination is done once for all sizes."""
        start = self._given_start if sizes.exchange else Backward()
        if self._exact and isinstance(start, Auto):
            start = start.suited(loss, rows)
        if not isinstance(start, (Auto, Backward)):
            return start(loss, rank, rows, columns, seed)
        form: Any = self.form.with_ridge(sizes.ridge)
        return eliminated_around(form, rows, rank, self._stage_near(sizes))

    def _stage_near(self, sizes: Sizes) -> tuple[Array, Array] | None:
        """A stage of elimination with the ridge; with one nearby, if rows are exchanged then."""
        ridge = sizes.ridge
        if ridge not in self.stages and sizes.exchange and self.stages:
            ridge = min(self.stages, key=lambda other: abs(np.log((other + 1e-9) / (ridge + 1e-9))))
        stages = self.stages.get(ridge, {})
        larger = [size for size in stages if size >= sizes.rows]
        return stages[min(larger)] if larger else None

    def _quick(self, solver: Pursuit) -> Pursuit:
        """The solver with the tolerance of a search, and neighbors if many entries are missing.

        Fits then often end with wrong rows: with 50 % missing in simulations, not with 15.
        """
        n, k = self.training.Y.shape
        many = self.training.observations < (1 - FEW_MISSING) * n * k
        tol = _TOL_MISSING if self.training.family.quadratic else _TOL
        return replace(solver, tol=max(solver.tol, tol), neighbours=solver.neighbours or many)

    def _completed(self, loss: GeneralizedLinear, fit: Fit) -> Fit:
        """A fit whose tables are around coefficients of all responses, if entries are missing.

        An approximation around coefficients that are zero takes missing entries to be at the mean,
        so that a response that the fit leaves out would be predicted badly in all tables.
        """
        n, k = loss.Y.shape
        full = fit.columns.shape[0] == k or loss.observations == n * k
        if full or fit.U.shape[1] == 0 or (steps := loss.column_steps(fit.factors)) is None:
            return fit
        completed = Factors(fit.factors.U, steps[0])
        whitened = fit.root @ loss.majorizer(completed).cross_rows(fit.rows)
        return replace(fit, whitened=whitened, completed=completed)


class TaskSplit(Split):
    """Rows to fit with any loss that has folds, scored by the loss of the others; no tables."""

    def __init__(self, training: Any, held_out: Any, start: Start, seed: int = 0) -> None:
        super().__init__(training, HeldOutLoss(held_out.with_ridge(0.0)), start, seed)

    def fit(self, sizes: Sizes, solver: Any, near: Any = None) -> Any:
        """The fit; None if there is nothing to fit."""
        loss = self.training.with_ridge(sizes.ridge)
        found = solve(loss, solver.sized(*sizes[:3]), self._given_start, self._seed, records=False)
        return None if found is None else found.state


PathTables = tuple[list[tuple[int, np.ndarray]], list[tuple[int, Array, Array]]]
"""Numbers of rows with their tables, and all numbers of rows with the rows and their costs."""


def _alike(keys: Sequence[Any]) -> Iterator[tuple[Any, list[int]]]:
    """The different keys, with the positions of each."""
    for key in dict.fromkeys(keys):
        yield key, [i for i, own in enumerate(keys) if own == key]


def path_tables(
    jobs: Sequence[tuple[Split, float, Container[int]]], sizes: Sequence[int], most: int
) -> list[PathTables]:
    """Tables of splits, with ridges and decreasing numbers of rows, by elimination from all."""
    found: list[PathTables] = [([], []) for _ in jobs]
    keys = [(split.first_rows.shape[0], ridge > 0) for split, ridge, _ in jobs]
    for (count, shrunk), places in _alike(keys):
        form = jobs[places[0]][0].form
        dual = shrunk and isinstance(form, ProductForm)
        entries = count * (int(form.samples) if dual else count)
        width = max(resources.BLOCK_ENTRIES // max(entries, 1), 1)
        for first in range(0, len(places) if count else 0, width):
            few = places[first : first + width]
            _path_tables([(*jobs[i], found[i]) for i in few], sizes, most)
    return found


def _path_tables(
    jobs: Sequence[tuple[Split, float, Container[int], PathTables]], sizes: Sequence[int], most: int
) -> None:
    """Put tables of splits with as many rows, and ridges that are all 0 or all positive."""
    forms = paths = [split.form.with_ridge(ridge) for split, ridge, *_ in jobs]
    shrunk = jobs[0][1] > 0
    if not shrunk:
        paths = [form.with_ridge(default_ridge(form)) for form in forms]
    xp = arrays.namespace(forms[0].prototype)
    first = xp.stack([split.first_rows for split, *_ in jobs])
    for size, stage in zip(sizes, eliminate(paths, first, sizes), strict=True):
        for i, (*_, (_, stages)) in enumerate(jobs):
            stages.append((size, stage.rows[i, :], stage.costs[i, :]))
        places = [i for i, (_, _, wanted, _) in enumerate(jobs) if size in wanted]
        if not places:
            continue
        some = [forms[i] for i in places]
        index = arrays.indices(places, stage.rows)
        rows, B = (xp.take(x, index, axis=0) for x in (stage.rows, stage.coefficients))
        few = min(most, size)
        known = stage_directions(some, rows, B, few) if shrunk else root_directions(some, rows, few)
        scores, arounds = [jobs[i][0].score for i in places], [jobs[i][0].around for i in places]
        for i, table in zip(places, tables_of(scores, known, some, arounds), strict=True):
            jobs[i][3][0].append((size, table))


def fit_tables(
    splits: Sequence[Split], fits: Sequence[Fit | None], ridges: Sequence[float], most: int
) -> list[np.ndarray]:
    """Mean scores of all ranks and numbers of columns on the rows of fits, for each of the ridges.

    Directions are those of all columns, or those of the columns of the fit where they are better.
    """
    if not ridges:
        return []
    none = [split for split, fit in zip(splits, fits, strict=True) if fit is None]
    empty = [np.full((1, split.training.shape[1]), split.score.null) for split in none]
    tables: list[list[np.ndarray]] = [list(empty) for _ in ridges]
    pairs = [(split, fit) for split, fit in zip(splits, fits, strict=True) if fit is not None]
    keys = [(fit.rows.shape[0], fit.columns.shape[0]) for _, fit in pairs]
    for (_, columns), places in _alike(keys):
        each = [pairs[i] for i in places for _ in ridges]
        bare = [split.form_around(fit) for split, fit in each[:: len(ridges)]]
        forms = [form.with_ridge(ridge) for form in bare for ridge in ridges]
        rows = arrays.namespace(each[0][1].rows).stack([fit.rows for _, fit in each])
        roots, whitened = roots_of(forms, rows)
        scores, arounds = [split.score for split, _ in each], [fit for _, fit in each]
        known = directions(rows, roots, whitened, most)
        found = tables_of(scores, known, forms, arounds)
        if 0 < columns < forms[0].shape[1]:
            own = arrays.namespace(rows).stack([fit.columns for fit in arounds])
            known = directions(rows, roots, whitened, most, own)
            others = tables_of(scores, known, forms, arounds)
            found = [lower_table(*both) for both in zip(found, others, strict=True)]
        for i, table in enumerate(found):
            tables[i % len(ridges)].append(table)
    return [mean_table(own) for own in tables]


def forecasts(
    fitted: Sequence[tuple[Split, Fit]], ridge: float, sizes: Sequence[int]
) -> np.ndarray:
    """Mean scores for fewer rows, by elimination from fits with their row spaces held fixed."""
    total = np.zeros(len(sizes))
    # fits may have fewer rows than they may have
    for (count, rank), places in _alike([(fit.rows.shape[0], fit.Q.shape[1]) for _, fit in fitted]):
        splits, fits = zip(*(fitted[i] for i in places), strict=True)
        forms = [s.form_around(fit).with_ridge(ridge) for s, fit in zip(splits, fits, strict=True)]
        bases, scores = [fit.Q for fit in fits], [split.score for split in splits]
        rows = arrays.namespace(fits[0].rows).stack([fit.rows for fit in fits])
        stages = eliminate(forms, rows, [count, *sizes], bases)
        next(stages)
        for i, stage in enumerate(stages):
            known = stage_directions(forms, stage.rows, stage.coefficients, rank, bases)
            for fit, table in zip(fits, tables_of(scores, known, forms, fits), strict=True):
                total[i] += table[-1, max(fit.columns.shape[0], 1) - 1]
    return total / len(fitted)


def held_out_splits(
    loss: Any,
    indices: Iterable[tuple[np.ndarray, np.ndarray]],
    *,
    center: bool,
    scale: bool,
    forced: Array | None,
    start: Start,
    seed: int,
    filled: Callable[[np.ndarray], tuple[Design, Array | None]] | None = None,
) -> list[Split]:
    """One split for each pair of sorted positions of training and held-out rows.

    ``loss`` is that of all rows, without ridge, centered if ``center``. ``forced`` predictors, of
    shape (n_samples, n_forced), are projected out of it; they are projected out of each part anew.
    ``filled`` returns the predictors and the forced ones with missing cells filled from some rows.
    """
    parts: list[tuple[Any, Score]]
    if "splits" in loss.capabilities:
        both = loss.splits(list(indices))
        parts = [(training, MomentError(held_out)) for training, held_out in both]
    else:
        given = unprojected(loss.X), forced
        parts = [
            _part(loss, *(given if filled is None else filled(train)), train, test, center, scale)
            for train, test in indices
        ]
    return [Split(*part, start, seed) for part in parts]


def _part(
    loss: Any,
    X: Design,
    forced: Array | None,
    train: np.ndarray,
    test: np.ndarray,
    center: bool,
    scale: bool,
) -> tuple[Any, Score]:
    """The loss of the training rows, and the score of the others, in units of the former."""
    inside, outside = (arrays.indices(rows.tolist(), loss.prototype) for rows in (train, test))
    xp = arrays.namespace(loss.prototype)
    weight = None if loss.sample_weight is None else arrays.take_rows(loss.sample_weight, inside)
    if weight is not None and not bool(xp.any(weight > 0)):
        raise ValueError("cv leaves no training rows of positive weight in a split")
    basis = basis_out = None
    if forced is not None:
        own = arrays.take_rows(forced, inside)
        basis = kept_basis(own, like=loss.prototype, sample_weight=weight, center=center)
        basis_out = basis.of_rows(arrays.take_rows(forced, outside))
    units: dict[str, Any] = {"sample_weight": weight, "center": center, "kept": basis}
    # a copy of the training rows of every split would take four times the memory of X
    moved = standardize(view_rows(X, inside), scale=scale, **units)
    X_in = _copied_if_small(moved.design)
    X_out = moved.applied_to(take_rows(X, outside), basis_out)
    if isinstance(loss, GeneralizedLinear):
        training, held_out = loss.of_rows(inside), loss.of_rows(outside)
        unforced = training = training.with_predictors(X_in, training.free)
        outer = held_out.free
        if basis is not None:  # the first free predictor is the intercept
            inner, outer = (
                cast(Array, part.free)[:, : int(center)] for part in (training, held_out)
            )
            unforced = training.with_predictors(X_in, inner)
            training = training.with_predictors(X_in, xp.concat([inner, basis.basis], axis=1))
            outer = xp.concat([outer, basis_out], axis=1)
        Y = held_out.Y, held_out.weights(), held_out.offset
        return training, Deviance(training, unforced, test, _copied_if_small(X_out), *Y, outer)
    responses = unprojected(loss.Y)
    targets = standardize(take_rows(responses, inside), scale=False, **units)
    squares = LeastSquares(X_in, targets.design, sample_weight=weight)
    squares.hold_for_search()
    roots, total = None, float(len(test))
    if loss.sample_weight is not None:
        roots = xp.sqrt(arrays.take_rows(loss.sample_weight, outside))
        total = arrays.norm(roots) ** 2
    rows = take_rows(responses, outside)
    everything = arrays.indices(range(loss.shape[1]), loss.prototype)
    means_only = Transformed(rows, roots, targets.center).columns(everything)
    Y_out = Transformed(targets.applied_to(rows, basis_out), roots).columns(everything)
    X_out = _copied_if_small(Transformed(X_out, roots))
    return squares, SquaredError(test, X_out, Y_out, total, means_only)


def is_small(rows: int, columns: int, itemsize: int) -> bool:
    """Whether a matrix is small enough to be copied."""
    return resources.fits(_PART_OF_BUDGET * rows * columns, itemsize)


def _copied_if_small(X: Design) -> Design:
    """The design as a dense array, for faster predictions, if it is small."""
    if is_small(*X.shape, arrays.itemsize(X.prototype)):
        return Dense(X.columns(arrays.indices(range(X.shape[1]), X.prototype)))
    return X


# ---------------------------------------------------------------------- rows of the splits


def make_partitions(
    cv: Any, weight: np.ndarray | None, rows: int, seed: int, groups: Any = None
) -> list[Indices]:
    """Training and held-out rows of one partition, or of several if cv is a number and rows few."""
    if groups is not None and np.shape(groups) != (rows,):
        got = f"shape {np.shape(groups)}" if np.ndim(groups) else repr(groups)
        raise ValueError(f"groups must have one entry for each of the {rows} rows of X, got {got}")
    if groups is not None and isinstance(cv, Integral) and int(cv) > 1:
        cv = GroupKFold(int(cv))
    if not isinstance(cv, Integral) or isinstance(cv, bool):
        return [given_splits(cv, np.zeros((rows, 1)), None, groups)]
    live = np.arange(rows) if weight is None else np.flatnonzero(weight > 0)
    if cv < 2:
        raise ValueError(f"cv must be at least 2 folds, a splitter or splits, got {cv!r}")
    if len(live) < 2:
        raise ValueError(
            f'"auto" sizes need at least 2 samples of positive weight, got {len(live)} sample'
        )
    folds = min(int(cv), len(live))
    count = min(max(_ENOUGH_PREDICTIONS // len(live), 1), _MAX_PARTITIONS)
    if folds == len(live):
        count = 1  # there is only one way to leave out single rows
    splitters = [KFold(folds, shuffle=True, random_state=seed + i) for i in range(count)]
    return [[(live[a], live[b]) for a, b in splitter.split(live)] for splitter in splitters]


def given_splits(cv: Any, X: Any, Y: Any = None, groups: Any = None) -> Indices:
    """The splits of a splitter, an iterable or, without shuffling, a number of folds."""
    expected = "cv must be a number of folds, a splitter or a list of (training, held-out) rows"
    if is_list(cv):
        cv = list(cv)
        if not all(isinstance(split, (tuple, list)) and len(split) == 2 for split in cv):
            raise ValueError(f"{expected}, got {cv!r}")
    elif isinstance(cv, (bool, np.bool_, str, type)) or not (
        cv is None or isinstance(cv, Integral) or hasattr(cv, "split")
    ):
        raise ValueError(f"{expected}, got {cv!r}")
    with naming(f"cv={cv!r} cannot split the rows"):
        splits = list(check_cv(cv).split(X, Y, groups))
    if not splits:
        raise ValueError("cv must have at least one split, got none")
    return splits


def checked_splits(splits: Iterable[tuple[np.ndarray, np.ndarray]], rows: int) -> Indices:
    """Sorted positions of training and held-out rows; raise a ValueError if a split is invalid."""
    checked = [(_positions(train, rows), _positions(test, rows)) for train, test in splits]
    for train, test in checked:
        if len(train) == 0 or len(test) == 0:
            raise ValueError(
                f"every split of cv must have training and held-out rows, got one with "
                f"{len(train)} training and {len(test)} held-out rows"
            )
        if len(np.unique(train)) < len(train) or len(np.unique(test)) < len(test):
            raise ValueError("cv must not repeat a row within a split; use sample_weight for that")
    return [(np.sort(train), np.sort(test)) for train, test in checked]


def _positions(rows: np.ndarray, count: int) -> np.ndarray:
    """Positions, from positions or from a mask."""
    rows = np.asarray(rows)
    if rows.shape == (0,):
        return np.empty(0, dtype=np.int64)
    mask = rows.dtype == bool
    if rows.ndim != 1 or rows.dtype.kind not in "biu" or (mask and len(rows) != count):
        expected = f"positions of rows or a mask of {count} entries"
        raise ValueError(f"every part of a split of cv must have {expected}, got {rows!r}")
    if mask:
        rows = np.flatnonzero(rows)
    if rows.size and not (rows.min() >= 0 and rows.max() < count):
        raise ValueError(f"cv must give rows from 0 to {count - 1}, got {rows.min()}..{rows.max()}")
    return rows
