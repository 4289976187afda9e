"""Validation of the arguments of fit and predict: numbers, data frames, masked and lazy data."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_n_features,
    _check_sample_weight,
    check_array,
    check_consistent_length,
    validate_data,
)

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import (
    check_callback,
    check_finite,
    check_flags,
    check_range,
    is_auto,
    is_list,
    naming,
)
from thinrank.core.contracts import Design, is_design
from thinrank.designs import Dense, Operator, Sparse, as_design
from thinrank.designs.blocks import RowBlocks
from thinrank.designs.dense import MeanFilled
from thinrank.selection.choice import check_refit_rule
from thinrank.selection.criteria import Criterion, as_criterion
from thinrank.selection.splits import is_small
from thinrank.starts.elimination import MOST_ROWS

if TYPE_CHECKING:
    from thinrank.losses.families import Family


# Powers of two beyond which magnitudes cannot be squared and summed over the rows, by the size of
# a number: half of the exponents of the dtypes, 1023 and 126, less what the sums and the squares of
# small deviations need.
_ORDINARY = {8: 440, 4: 40}
# Columns whose values are larger than their range by this factor are centered in double precision:
# single precision has 24 binary digits, of which 8 would be those of the mean.
_OFFSET = 256

_FLOATS = (np.float64, np.float32)
# Classes of lazy data by the package that they are from, and what makes data of them.
_LAZY = {
    "polars": (("LazyFrame",), "collect()"),
    "dask": (("DataFrame", "Series", "Array"), "compute()"),
    "dask_expr": (("DataFrame", "Series"), "compute()"),
}


def check_magnitudes(name: str, data: Design, scaled: bool = False) -> None:
    """Raise a ValueError if squares overflow, or all underflow; if ``scaled``, in any column."""
    what = f"{name} has entries"
    if 0 in data.shape:
        return
    moments = getattr(data, "column_moments", None)
    if moments is not None:
        largest = np.max(moments.lengths)
    elif isinstance(data, Dense):
        xp, known = arrays.namespace(data.array), data.array
        sizes = xp.maximum(xp.max(known, axis=0), -xp.min(known, axis=0))
        if bool(xp.any(xp.isnan(sizes))):  # missing cells; else no copy
            known = xp.where(xp.isnan(known), arrays.zeros((1,), known), known)
            sizes = xp.maximum(xp.max(known, axis=0), -xp.min(known, axis=0))
        lost = (sizes > 0) & (sizes < float(np.finfo(f"f{arrays.itemsize(sizes)}").tiny) ** 0.5)
        largest = arrays.max_abs(sizes[lost] if scaled and bool(xp.any(lost)) else sizes)
    elif isinstance(data, Sparse):
        largest = arrays.max_abs(data.matrix.data)
    elif isinstance(data, Operator):
        what = f"{name} is an operator with products"
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(data.shape[0], 1))
        with arrays.without_overflow_warnings():
            # with random signs about as large as the norms of the columns
            largest = arrays.max_abs(data.transposed_product(signs.astype(data.prototype.dtype)))
    else:
        return
    size, bytes_each = float(largest), arrays.itemsize(data.prototype)
    limit = 2.0 ** _ORDINARY[bytes_each]
    if not size > 0 or 1 / limit <= size <= limit:
        return
    words = "so small that their squares are 0" if size < 1 else "too large to be squared"
    raise ValueError(
        f"{what} of magnitude {size:.2g}, {words} as numbers of the dtype "
        f"{np.dtype(f'f{bytes_each}')}; divide them by a number"
    )


def _needs_double(matrix: np.ndarray) -> bool:
    """Whether float32 cannot hold a column, or its mean takes many digits of what varies."""
    if 0 in matrix.shape or matrix.dtype.kind not in "fiu":
        return False
    high, low = (f.reduce(matrix, axis=0).astype(np.float64) for f in (np.fmax, np.fmin))
    half, largest, limit = high / 2 - low / 2, np.maximum(high, -low), 2.0 ** _ORDINARY[4]
    beyond = (largest > limit) | ((largest > 0) & (largest < 1 / limit))
    return bool(np.any(beyond | ((half > 0) & (largest > 2 * _OFFSET * half))))


def always_kept(estimator: Any) -> np.ndarray:
    """Sorted indices of the predictors that are always kept."""
    always_keep, n_features = estimator.always_keep, estimator.n_features_in_
    if always_keep is None:
        return np.empty(0, dtype=np.int64)
    if not is_list(always_keep):
        raise ValueError(
            f"always_keep must be a list of names or indices of predictors, got {always_keep!r}"
        )
    categories = getattr(estimator, "feature_categories_", {})
    given: list[Any] = []
    for item in always_keep:  # a column of categories stands for its predictors
        known = categories.get(item) if isinstance(item, str) else None
        given += [item] if known is None else [f"{item}={each}" for each in known[1:]]
    if given and all(isinstance(item, (bool, np.bool_)) for item in given):
        if len(given) != n_features:
            raise ValueError(
                f"always_keep is a mask of {len(given)} entries, but X has {n_features} columns"
            )
        given = np.flatnonzero(given).tolist()
    names = getattr(estimator, "feature_names_in_", None)
    places = [position("always_keep", item, n_features, names) for item in given]
    index = np.unique(np.asarray(places, dtype=np.int64))
    counts = Counter(places)
    for item, place in zip(given, places, strict=True):
        if counts[place] > 1:
            raise ValueError(f"always_keep must name every predictor once, got {item!r} repeatedly")
    if len(index) == n_features:
        raise ValueError(
            f"always_keep must leave predictors to choose from, got all {n_features} of them; for "
            "a regression without selection use sklearn.linear_model.LinearRegression"
        )
    return index


def position(argument: str, item: Any, count: int, names: Iterable[str] | None) -> int:
    """Position of a predictor or response that is given by its name or position."""
    if isinstance(item, str):
        known = [] if names is None else list(names)
        if item in known:
            return known.index(item)
        shown = first_few(map(repr, known))
        shown = shown or "no names; names need X to be a data frame whose columns all have names"
        raise ValueError(f"{argument} has the unknown name {item!r}; there are {shown}")
    whole = isinstance(item, Integral) and not isinstance(item, bool)
    if not whole or not 0 <= int(item) < count:
        raise ValueError(
            f"{argument} must have names or positions from 0 to {count - 1}, got {item!r}"
        )
    return int(item)


def check_responses(
    estimator: BaseEstimator, Y: Any, design: Design, *, missing: bool = False
) -> Any:
    """Y as an array with the dtype of X, or in row blocks with it; ``missing`` allows NaN."""
    if isinstance(Y, RowBlocks) and isinstance(design, RowBlocks):
        return Y
    Y = in_memory(Y)
    if arrays.is_array(Y) and not isinstance(Y, np.ndarray):  # of another library
        xp = arrays.namespace(Y)
        check_finite("Y", xp.where(Y == Y, Y, arrays.zeros((1,), Y)) if missing else Y)
    else:
        finite = "allow-nan" if missing else True
        options = {"ensure_2d": False, "dtype": "numeric", "ensure_all_finite": finite}
        with naming("Y"):
            Y = check_array(Y, input_name="y", estimator=estimator, **options)
    if Y.ndim not in (1, 2):
        raise ValueError(f"Y must have one or two dimensions, got {Y.ndim}")
    with naming("Y"):
        return arrays.from_numpy(Y, design.prototype)


def in_memory(Y: Any) -> Any:
    """Responses in row blocks as one array; anything else as it is."""
    return Y.everything() if isinstance(Y, RowBlocks) else Y


def check_matrix(estimator: BaseEstimator, X: Any) -> Design:
    """X, the only data of an estimator without responses, as a Design."""
    check_flags(estimator)
    check_kind("X", X)
    design = _own_design(estimator, X) if _is_ours(X) else as_design(_validated(estimator, X))
    check_magnitudes("X", design)
    return design


def check_predictors(estimator: BaseEstimator, X: Any, Y: Any, *, numeric: bool = False) -> Design:
    """X as a Design, with as many rows as Y, which is not checked unless it is ``numeric``."""
    check_flags(estimator)
    if Y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    X = lazy_rows("X", X)
    check_kind("X", X)
    check_row_names(X, Y)
    rows_x, rows_y = getattr(X, "shape", None), getattr(Y, "shape", None)
    if rows_x and rows_y and rows_x[0] != rows_y[0]:
        raise ValueError(
            f"X and Y must have the same number of rows: X has {rows_x[0]}, Y has {rows_y[0]}"
        )
    keep_or_delete(estimator, "feature_categories_", None)
    if _is_ours(X):
        return _own_design(estimator, X)
    Y = in_memory(Y)
    if hasattr(X, "iloc"):
        from thinrank.tables.encoding import encoded_frame  # imported for data frames only

        X, categories = encoded_frame(X)
        keep_or_delete(estimator, "feature_categories_", categories or None)
    check_columns("Y", Y, numeric=numeric)
    X = _validated(estimator, X)
    with naming("X and Y must have the same number of rows"):
        check_consistent_length(X, Y)
    if X.dtype == np.float32 and any(
        _needs_double(values) for values in (X, np.asarray(Y)) if isinstance(values, np.ndarray)
    ):
        X = X.astype(np.float64)
    return as_design(X)


def check_new_X(estimator: BaseEstimator, X: Any) -> Design:
    """X for predict and transform as a Design, with the number of columns of fit."""
    X = lazy_rows("X", X)
    check_kind("X", X)
    if not _is_ours(X):
        if hasattr(estimator, "feature_categories_"):
            from thinrank.tables.encoding import encoded_frame

            X = encoded_frame(X, estimator.feature_categories_)[0]
        return as_design(_validated(estimator, X, reset=False))
    design = as_design(X)
    _check_n_features(estimator, design, reset=False)
    names = X.names if isinstance(X, RowBlocks) else getattr(design, "feature_names", None)
    known = getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None:
        for place, (name, wanted) in enumerate(zip(names, known, strict=True)):
            if name != wanted:
                raise ValueError(
                    f"X must have the predictors that {type(estimator).__name__} was fitted to, in "
                    f"the same order; predictor {place} is {name!r} instead of {wanted!r}"
                )
    return design


def _validated(estimator: BaseEstimator, X: Any, *, reset: bool = True) -> Any:
    """X as an array or sparse matrix of numbers, in ``fit`` with NaN if these are imputed."""
    check_columns("X", X)
    # that X is finite is checked afterwards, to name the columns
    options = {"accept_sparse": ("csr", "csc"), "dtype": _FLOATS, "ensure_all_finite": False}
    with naming("X"):
        X = validate_data(estimator, X, reset=reset, **options)
    imputing = imputes(estimator)
    if imputing and not reset and not issparse(X):
        X = np.where(np.isnan(X), estimator.imputed_means_.astype(X.dtype), X)
    if not (imputing and reset):
        check_finite_predictors(X, getattr(estimator, "feature_names_in_", None))
    return X


def _own_design(estimator: BaseEstimator, X: Any) -> Design:
    """An operator, a Design or an array of another library as a Design.

    Row blocks that are small are read into memory, and so are those with few rows: then models with
    more predictors than rows are compared, which need inner products of rows.
    """
    if isinstance(X, RowBlocks):
        names, small = X.names, X.is_local and is_small(*X.shape, X.prototype.itemsize)
        stays = X.shape[0] > MOST_ROWS and not small
        design: Design = X if stays else Dense(X.everything())
        X = getattr(design, "array", None)
    else:
        design = as_design(X)
        names = getattr(design, "feature_names", None)
    if arrays.is_array(X):
        check_finite_predictors(X, names)
    estimator.n_features_in_ = design.shape[1]
    keep_or_delete(estimator, "feature_names_in_", names)
    return design


def imputes(estimator: Any) -> bool:
    """Whether missing cells of X are replaced; raise a ValueError for an unknown way to do it."""
    way = getattr(estimator, "impute", None)
    if way is not None and not (isinstance(way, str) and way == "mean"):
        raise ValueError(f'impute must be "mean" or None, got {way!r}')
    return way is not None


def imputed(estimator: Any, design: Design, weight: Array | None) -> Design:
    """X with means in place of missing cells, if the estimator imputes."""
    keep_or_delete(estimator, "imputed_means_", None)
    if not imputes(estimator):
        return design
    names = getattr(estimator, "feature_names_in_", None)
    if not isinstance(design, Dense) or not isinstance(design.array, np.ndarray):
        if isinstance(design, Sparse):
            check_finite_predictors(design.matrix, names)
        raise ValueError(
            f'impute="mean" needs X as an array or a data frame, got {type(design).__name__}'
        )
    filled = MeanFilled(design.array, np.isnan(design.array), weight)
    empty = np.flatnonzero(filled.missing.all(axis=0))
    if len(empty):
        shown = first_few(str(j if names is None else names[j]) for j in empty)
        raise ValueError(
            f"columns of X without an observed cell cannot be imputed; leave them out: {shown}"
        )
    check_finite_predictors(filled.array, names)
    estimator.imputed_means_ = filled.means
    return filled if filled.missing.any() else design


def imputed_message(estimator: Any, design: Design) -> list[str]:
    """How many cells of which predictors means have replaced."""
    if not isinstance(design, MeanFilled):
        return []
    counts = design.missing.sum(axis=0)
    columns, names = np.flatnonzero(counts), getattr(estimator, "feature_names_in_", None)
    shown = [f"{f'x{j}' if names is None else names[j]} ({counts[j]})" for j in columns]
    total = counts.sum()
    return [
        f"{total} missing cell{'s were' if total > 1 else ' was'} replaced by the mean of the "
        f"predictor: {first_few(shown)}."
    ]


def check_loss(loss: Any) -> Family | None:
    """The family of the parameter ``loss``; None for least squares."""
    if isinstance(loss, str) and loss == "squared":
        return None
    # imported on first use: most fits are least squares
    from thinrank.losses.families import Family, Gaussian, Huber

    if isinstance(loss, str) and loss == "huber":
        return Huber()
    if isinstance(loss, Family) and loss.units:
        return None if type(loss) is Gaussian and loss.scale is None else loss
    raise ValueError(
        'loss must be "squared", "huber", or tr.losses.families.Huber(threshold=...); for counts '
        f"and classes use SparseReducedRankGLM; got {loss!r}"
    )


def check_weights(sample_weight: Any, design: Design, *, unit_mean: bool = True) -> Array | None:
    """Weights of the rows, non-negative and not all 0; None stays None.

    With ``unit_mean`` they are scaled to a mean of 1 over those that are positive, so that the
    scale of the given weights has no effect.
    """
    if sample_weight is None:
        return None
    n = design.shape[0]
    check_range("sample_weight", sample_weight)
    given = arrays.to_numpy(sample_weight) if arrays.is_array(sample_weight) else sample_weight
    if not np.any(np.asarray(given)):
        raise ValueError("sample_weight must have a positive entry, but all are zero")
    like = np.empty((n, 0))
    with naming("sample_weight"):
        weight = _check_sample_weight(given, like, dtype=_FLOATS, ensure_non_negative=True)
    if unit_mean:
        weight = weight.astype(np.float64) / weight.max()  # avoids overflow in the sum
        weight *= np.count_nonzero(weight) / weight.sum()
    return arrays.from_numpy(weight, design.prototype)


def rows_of_data(design: Design, weight: Any) -> int:
    """Number of rows of positive weight."""
    if weight is None:
        return design.shape[0]
    return int(arrays.namespace(weight).count_nonzero(weight))


def keep_or_delete(estimator: Any, name: str, value: Any) -> None:
    """Set an attribute; delete that of an earlier fit if there is no value."""
    if value is not None:
        setattr(estimator, name, value)
    elif hasattr(estimator, name):
        delattr(estimator, name)


def _is_ours(X: Any) -> bool:
    foreign = arrays.is_array(X) and not isinstance(X, (np.ndarray, np.generic))
    return isinstance(X, LinearOperator) or is_design(X) or foreign


_REMEDIES = (
    'Fill in NaN, with impute="mean" or make_pipeline(SimpleImputer(), estimator) of scikit-learn, '
    "or drop these columns or rows. (Missing entries are allowed in Y, not in X.)"
)
_INFINITE = "Correct infinity, or replace it by NaN first: X[np.isinf(X)] = np.nan."


def check_finite_predictors(X: Any, names: Any = None) -> None:
    """Raise a ValueError that names the columns of X with NaN or infinite cells."""
    if get_config()["assume_finite"] or arrays.all_finite(X.data if issparse(X) else X):
        return
    entries = X.tocoo() if issparse(X) else None
    numbers = arrays.to_numpy(X) if entries is None else entries.data
    columns = np.broadcast_to(np.arange(X.shape[1]), X.shape) if entries is None else entries.col
    missing, infinite = (
        np.bincount(columns[bad], minlength=X.shape[1])
        for bad in (np.isnan(numbers), np.isinf(numbers))
    )
    bad = missing + infinite
    at = np.flatnonzero(bad)
    named = [f"{j if names is None else repr(str(names[j]))} ({bad[j]})" for j in at]
    counts = (("NaN", int(missing.sum())), ("infinity", int(infinite.sum())))
    what = [f"{kind} in {n} cell{'s' * (n > 1)}" for kind, n in counts if n]
    raise ValueError(
        f"Input X contains {' and '.join(what)}, in column{'s' * (len(at) > 1)} "
        f"{first_few(named)} (with the number of such cells in each)."
        + (f" {_REMEDIES}" if missing.any() else "")
        + (f" {_INFINITE}" if infinite.any() else "")
    )


def check_parameters(estimator: Any) -> None:
    """Check parameters that all estimators with a choice of sizes have."""
    check_callback(estimator.callback)
    criterion_of(estimator)
    check_refit_rule(estimator.refit_rule)
    exchange = estimator.exchange
    if not is_auto(exchange) and not isinstance(exchange, (bool, np.bool_)):
        raise ValueError(f'exchange must be True, False or "auto", got {exchange!r}')


def criterion_of(estimator: Any) -> Criterion | None:
    """The criterion that chooses the sizes; None for the error on held-out rows."""
    criterion = getattr(estimator, "criterion", "cv")  # the class with grids has no parameter
    if isinstance(criterion, str) and criterion in ("auto", "cv"):
        return None
    return as_criterion(criterion)


# ---------------------------------------------------------------------- kinds of data


def first_few(texts: Iterable[str], most: int = 5) -> str:
    """The first of some texts, and how many more there are, for a message."""
    every = list(texts)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def check_kind(name: str, data: Any) -> None:
    """Raise an error if data are lazy, masked in some entries, or too large for floats."""
    package = type(data).__module__.partition(".")[0]
    kinds, method = _LAZY.get(package, ((), ""))
    kind = type(data).__name__
    if kind in kinds:
        article = "an" if kind[0] == "A" else "a"
        raise TypeError(
            f"{name} is {article} {kind} of {package}, which does not hold its data; pass "
            f"{name}.{method}"
        )
    if isinstance(data, np.ma.MaskedArray) and np.ma.is_masked(data):
        count = int(np.count_nonzero(np.ma.getmaskarray(data)))
        raise ValueError(
            f"{name} is a masked array with {count} masked cell{'s' * (count > 1)}. Fill them in, "
            "for example with SimpleImputer of scikit-learn, or drop these columns or rows. "
            "(Masked cells are allowed in Y, where they count as missing, not in X.)"
        )
    check_range(name, data)


def without_mask(data: Any) -> Any:
    """A masked array as an array with NaN for masked cells; anything else as it is."""
    if not isinstance(data, np.ma.MaskedArray):
        return data
    if not np.ma.is_masked(data):
        return data.data
    texts = data.dtype.kind in "OSU"
    numbers = data.data.astype(object) if texts else data.data
    return np.where(np.ma.getmaskarray(data), np.nan, numbers)


def plain_responses(Y: Any, *, in_blocks: bool = False) -> Any:
    """Responses with NaN for masked cells; an error if they are sparse, complex or lazy."""
    if issparse(Y):
        raise TypeError(
            "Sparse data was passed for Y, but dense data is required, because zeros in Y are "
            "values like others; pass Y.toarray()"
        )
    Y = lazy_rows("Y", Y)
    if isinstance(Y, RowBlocks):
        return Y if in_blocks else Y.everything()
    if type(Y).__module__.partition(".")[0] == "dask" and type(Y).__name__ == "Array":
        return np.asarray(Y)
    if isinstance(Y, np.ma.MaskedArray):
        return without_mask(Y)
    check_kind("Y", Y)
    if arrays.is_array(Y) and arrays.namespace(Y).isdtype(Y.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported: Y has dtype {Y.dtype}")
    return Y


def lazy_rows(name: str, data: Any) -> Any:
    """Arrays and data frames of Dask as row blocks; anything else as it is."""
    if type(data).__module__.partition(".")[0] not in ("dask", "dask_expr"):
        return data
    if getattr(data, "ndim", 0) != 2:
        return data
    from thinrank.designs.dask_blocks import DaskBlocks  # imports Dask

    return DaskBlocks(data, name=name)


def column_names(Y: Any) -> np.ndarray | None:
    """Names of the columns of a data frame, or of a series, if they are all strings."""
    if isinstance(Y, RowBlocks):
        return Y.names
    columns = getattr(Y, "columns", None)
    if columns is None and len(getattr(Y, "shape", ())) == 1:
        name = getattr(Y, "name", None)  # of a series; polars has "" for none
        columns = [name] if name else None
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(list(columns), dtype=object)


def check_columns(argument: str, X: Any, *, numeric: bool = True) -> None:
    """Raise a ValueError about columns of a data frame with one name, or that are no numbers."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return
    names, dtypes = list(X.columns), list(X.dtypes)
    repeated = [f"{name!r} ({count} times)" for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"{argument} must have columns with different names, got {first_few(repeated)}; rename "
            f"the columns, or pass {argument}.to_numpy(), which has no names"
        )
    bad = [
        (name, dtype)
        for j, (name, dtype) in enumerate(zip(names, dtypes, strict=True))
        if not _is_numeric(X, j, dtype)
    ]
    if not (bad and numeric):
        return
    shown = first_few(f"{name!r} ({_kind(dtype)})" for name, dtype in bad)
    remedy = (
        "Columns of categories of pandas need the dtype category: "
        f"X.astype({{{bad[0][0]!r}: 'category'}}); drop columns that are identifiers."
    )
    if argument == "Y":
        remedy = (
            "Drop these columns; for categories use SparseReducedRankClassifier or "
            'SparseReducedRankGLM(family="multinomial").'
        )
    raise ValueError(
        f"{argument} must contain numbers, but could not convert {len(bad)} of its {len(names)} "
        f"columns: {shown}. {remedy}"
    )


def check_row_names(X: Any, Y: Any) -> None:
    """Raise a ValueError if X and Y have the same row names in another order.

    Rows are matched by position, as in scikit-learn, so that the responses would be those of other
    samples. If the names are different texts, a warning is issued; for genotypes, whose samples
    always have names, it is an error.
    """
    if not hasattr(Y, "iloc"):  # polars has no row names
        return
    ids, names_y = getattr(X, "sample_ids", None), Y.index
    texts = all(isinstance(name, str) for name in names_y)
    if ids is not None and texts and list(names_y) != list(ids):
        raise ValueError(
            f"the {len(names_y)} rows of Y are not the {len(ids)} samples of X in the same order; "
            "pass X.for_samples(Y.index), or, if the order is right, Y.to_numpy()"
        )
    if not hasattr(X, "iloc") or len(X) != len(Y) or X.index.equals(names_y):
        return
    names_x = X.index
    if names_x.is_unique and names_y.is_unique and names_x.isin(names_y).all():
        raise ValueError(
            "the rows of X and Y have the same names in another order, and are matched by "
            "position; pass Y.loc[X.index], or, if the order is right, Y.set_axis(X.index)"
        )
    if all(isinstance(names[0], str) for names in (names_x, names_y)):
        place = next(i for i, (a, b) in enumerate(zip(names_x, names_y, strict=True)) if a != b)
        warnings.warn(
            f"the rows of X and Y have different names, such as {names_x[place]!r} and "
            f"{names_y[place]!r} in row {place}; they are matched by position",
            UserWarning,
            stacklevel=5,
        )


def _is_numeric(X: Any, j: int, dtype: Any) -> bool:
    kind = getattr(dtype, "kind", None)
    if kind is None:  # polars
        numeric = getattr(dtype, "is_numeric", None)
        return numeric is None or bool(numeric()) or str(dtype) in ("Boolean", "Null")
    if kind != "O":
        return kind in "biufc"
    if str(dtype) == "category" or not hasattr(X, "iloc"):
        return False
    try:  # numbers may be held as objects
        np.asarray(X.iloc[:, j].dropna(), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _kind(dtype: Any) -> str:
    """What a column contains, in words."""
    text = str(dtype).lower()
    if text.startswith(("cat", "enum")):
        return "categories"
    if text.startswith(("date", "time", "duration")):
        return "dates or times"
    return "text" if text in ("object", "str", "string", "utf8") else text
