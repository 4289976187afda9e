"""Responses of any family as numbers: missing entries, weights, offsets and categories."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import check_range, is_list, naming
from thinrank.core.imports import import_optional
from thinrank.designs import Dense
from thinrank.estimators.problem import TrainingData
from thinrank.estimators.validation import check_magnitudes, first_few
from thinrank.losses.families import Family, Gaussian, Multinomial, as_family, combined


@dataclass(frozen=True, eq=False)
class Responses:
    """The responses of a fit, one column per response or category."""

    # (n_samples, n_columns) numbers, 0 where an entry is missing; one column per category of a
    # categorical response
    Y: Array
    # (n_samples, n_columns) weights of the entries, 0 for missing ones; None if all are 1
    weight: Array | None
    family: Family  # the family
    names: list[str]  # names of the columns
    categories: list[np.ndarray | None]  # for each response its categories, None if it is a number
    offset: Array | None = None  # (n_samples, n_columns)

    def added_to(self, data: TrainingData) -> TrainingData:
        """Data with these responses; rows without an observed entry have weight 0, with a warning.

        Squared errors with all entries and equal weights are least squares, without a family.
        """
        entries, rows = self.weight, data.sample_weight
        if entries is not None:
            present = arrays.to_numpy(entries)
            seen = present.any(axis=1)
            if not seen.all():
                warnings.warn(
                    f"{np.count_nonzero(~seen)} of {len(present)} rows of Y have no observed entry "
                    "and do not contribute.",
                    UserWarning,
                    stacklevel=4,
                )
                weight = seen * (1.0 if rows is None else _float("sample_weight", rows))
                if not weight.any():
                    raise ValueError(
                        "sample_weight must be positive in a row with an observed entry of Y"
                    )
                weight *= np.count_nonzero(weight) / weight.sum()
                rows = arrays.from_numpy(weight, self.Y)
                if self._squared and np.all(present[seen] == 1):
                    entries = None
        if not (self._squared and entries is None):
            return data._replace(
                sample_weight=rows, entry_weight=entries, family=self.family, offset=self.offset
            )
        Y = self.Y if self.offset is None else self.Y - self.offset
        return data._replace(Y=Y, sample_weight=rows)

    @property
    def _squared(self) -> bool:
        return type(self.family) is Gaussian and self.family.scale is None


def numeric_responses(
    Y: Array, entry_weight: Any, family: Family | None, names: Iterable[str] | None
) -> Responses:
    """Responses that are numbers, NaN where missing; ``family``: None for squared errors."""
    labels = [str(j) for j in range(Y.shape[1])] if names is None else [str(x) for x in names]
    family = Gaussian() if family is None else family
    xp = arrays.namespace(Y)
    observed = ~xp.isnan(Y)
    weight = check_entry_weight(entry_weight, Y)
    if weight is not None:
        observed = observed & (weight > 0)
    everything = bool(xp.all(observed))
    empty = np.flatnonzero(~arrays.to_numpy(xp.any(observed, axis=0)))
    if len(empty):
        raise ValueError(
            f"every response must have an observed entry, but {len(empty)} of {len(labels)} have "
            f"none: {first_few(repr(labels[j]) for j in empty)}; remove them from Y"
        )
    filled = xp.where(observed, Y, arrays.zeros((1,), Y))
    family.check(filled, observed, labels)
    if weight is None:
        weight = None if everything else xp.astype(observed, Y.dtype)
    else:
        weight = xp.where(observed, weight, arrays.zeros((1,), Y))
    return Responses(filled, weight, family, labels, [None] * Y.shape[1])


def responses_of(
    Y: Any,
    families: Any,
    entry_weight: Any,
    names: Iterable[str] | None,
    like: Array,
    categories: Sequence[np.ndarray | None] | None = None,
) -> Responses:
    """Responses of one or several families, with categories in columns of their own."""
    columns = _columns(Y)
    count = len(columns)
    if count == 0:
        raise ValueError("Y must have at least one response, but it has no columns")
    members = _members(families, count)
    labels = [str(j) for j in range(count)] if names is None else [str(x) for x in names]
    weight = check_entry_weight(entry_weight, arrays.zeros((len(columns[0]), count), like))
    blocks: list[np.ndarray] = []
    spread: list[int] = []  # the response of each column
    titles: list[str] = []
    found: list[np.ndarray | None] = []
    groups: dict[Any, tuple[Family, list[int]]] = {}
    for j, (column, family) in enumerate(zip(columns, members, strict=True)):
        values = None
        if isinstance(family, Multinomial):
            known = None if categories is None else categories[j]
            block, values = _one_hot(column, labels[j], known)
            key: Any = ("categorical", j)
            family = Multinomial(len(values))
        else:
            block, key = _numbers(column, labels[j])[:, None], id(family)
        places = range(len(spread), len(spread) + block.shape[1])
        groups.setdefault(key, (family, []))[1].extend(places)
        spread += [j] * block.shape[1]
        titles += [labels[j]] if values is None else [f"{labels[j]}={value}" for value in values]
        found.append(values)
        blocks.append(block)
    matrix = arrays.from_numpy(np.concatenate(blocks, axis=1), like)
    if weight is not None:
        weight = arrays.take_columns(weight, arrays.indices(spread, like))
    families, places = zip(*groups.values(), strict=True)
    family = families[0] if len(families) == 1 else combined(families, places)
    return replace(numeric_responses(matrix, weight, family, titles), categories=found)


def check_entry_weight(entry_weight: Any, Y: Array) -> Array | None:
    """Weights of the entries, non-negative and of the shape of Y; None stays None."""
    if entry_weight is None:
        return None
    check_range("entry_weight", entry_weight)
    weight = _float("entry_weight", entry_weight)
    if weight.ndim == 1 and Y.shape[1] == 1:
        weight = weight[:, None]
    if weight.shape != tuple(Y.shape):
        raise ValueError(
            f"entry_weight must have the shape of Y, {tuple(Y.shape)}, got {weight.shape}"
        )
    known = ~np.isnan(arrays.to_numpy(Y))
    bad = known & ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        raise ValueError(
            "entry_weight must be finite and not negative where Y is observed, got "
            f"{weight[bad][0]:g}"
        )
    weight = np.where(known, weight, 0.0)
    check_magnitudes("entry_weight", Dense(weight))
    return arrays.from_numpy(weight, Y)


def check_offset(offset: Any, shape: tuple[int, int], like: Array) -> Array | None:
    """The offset as a matrix; a vector counts for all columns."""
    if offset is None:
        return None
    check_range("offset", offset)
    numbers = _float("offset", offset)
    if numbers.ndim == 1:
        numbers = numbers[:, None]
    if numbers.shape not in ((shape[0], 1), shape):
        raise ValueError(f"offset must have shape ({shape[0]},) or {shape}, got {np.shape(offset)}")
    if not np.all(np.isfinite(numbers)):
        raise ValueError(f"offset must be finite, got {numbers[~np.isfinite(numbers)][0]:g}")
    return arrays.from_numpy(np.broadcast_to(numbers, shape).copy(), like)


def _float(name: str, values: Any) -> np.ndarray:
    with naming(name):
        values = arrays.to_numpy(values) if arrays.is_array(values) else values
        return np.asarray(values, np.float64)


def _columns(Y: Any) -> list[np.ndarray]:
    """The columns of a data frame or array."""
    if hasattr(Y, "columns"):
        return [np.asarray(Y[name]) for name in Y.columns]
    matrix = arrays.to_numpy(Y) if arrays.is_array(Y) else np.asarray(Y)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2:
        raise ValueError(f"Y must have one or two dimensions, got {matrix.ndim}")
    return [matrix[:, j] for j in range(matrix.shape[1])]


def _members(families: Any, count: int) -> list[Family]:
    """One family per response."""
    if isinstance(families, (str, Family)) or not is_list(families):
        return [as_family(families)] * count  # an error for what is no family
    given = list(families)
    if len(given) != count:
        raise ValueError(
            f"family must be one family or one per response, got {len(given)} families for "
            f"{count} responses"
        )
    named = {name: as_family(name) for name in given if isinstance(name, str)}
    return [named[each] if isinstance(each, str) else as_family(each) for each in given]


def _missing(column: np.ndarray) -> np.ndarray:
    """Entries that are NaN, None or another mark of pandas."""
    if column.dtype.kind not in "fO":
        return np.zeros(len(column), dtype=bool)
    return np.isnan(column) if column.dtype.kind == "f" else import_optional("pandas").isna(column)


def _numbers(column: np.ndarray, name: str) -> np.ndarray:
    missing = _missing(column)
    check_range(f"response {name!r}", column)
    try:
        numbers = np.where(missing, np.nan, np.where(missing, 0, column).astype(np.float64))
    except (TypeError, ValueError):
        raise ValueError(
            f"response {name!r} must contain numbers, got {column[~missing][:3].tolist()}; for "
            'categories use the family "multinomial"'
        ) from None
    if np.any(np.isinf(numbers)):
        raise ValueError(f"Input y contains infinity or a value too large (response {name!r})")
    return numbers


def _one_hot(
    column: np.ndarray, name: str, known: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Indicators of the categories, NaN where the entry is missing, and the categories."""
    missing = _missing(column)
    try:
        values = np.unique(column[~missing]) if known is None else known
    except TypeError:
        types = sorted({type(value).__name__ for value in column[~missing]})
        raise ValueError(
            f"y must have categories of one type, got {' and '.join(types)} in response {name!r}"
        ) from None
    if known is None and len(values) < 2:
        raise ValueError(
            f"response {name!r} must have at least 2 categories for the family 'multinomial', "
            f"got {len(values)}"
        )
    places = np.searchsorted(values, column[~missing])
    places = np.minimum(places, len(values) - 1)
    strange = values[places] != column[~missing]
    if np.any(strange):
        other = column[~missing][strange][0]
        raise ValueError(f"response {name!r} has the category {other!r}, which fit did not have")
    block = np.zeros((len(column), len(values)))
    block[np.flatnonzero(~missing), places] = 1.0
    block[missing] = np.nan
    return block, values
