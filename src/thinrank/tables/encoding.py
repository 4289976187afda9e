"""Categories of data frames as predictors: one indicator for each but the most frequent one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from thinrank.core.imports import import_optional
from thinrank.tables.errors import listed


def encoded_frame(X: Any, known: dict[str, list[str]] | None = None) -> tuple[Any, dict[str, Any]]:
    """A data frame with predictors "column=category" in place of its categories, and these.

    Columns of the dtype ``category`` are encoded, NaN where they are missing; with the ``known``
    categories of a fit those columns, of any dtype, unless they are encoded already. Anything but
    a data frame of pandas is returned as it is.
    """
    if known is None:
        kinds = list(X.dtypes) if hasattr(X, "iloc") else []
        marked = [kind.kind == "O" and str(kind) == "category" for kind in kinds]
        found = X.columns[marked] if any(marked) else ()
        known = {str(name): most_frequent_first(X[name].dropna().map(str)) for name in found}
    columns = {str(name): name for name in getattr(X, "columns", ())} if known else {}
    if not (known and known.keys() <= columns.keys()):
        return X, known
    pandas = import_optional("pandas")
    blocks = {}
    for name, categories in known.items():
        column = X[columns[name]].astype(object)
        missing = column.isna().to_numpy()
        codes = pandas.Index(categories).get_indexer(column.map(str))
        for row in np.flatnonzero((codes < 0) & ~missing).tolist():
            raise ValueError(
                f"X has the category {str(column.iloc[row])!r} in row {row} of the column "
                f"{name!r}, where fit had {listed(categories)}"
            )
        block = np.where(missing[:, None], np.nan, codes[:, None] == np.arange(1, len(categories)))
        titles = [f"{name}={category}" for category in categories[1:]]
        blocks[name] = type(X)(block, index=X.index, columns=titles)
    plain = X.drop(columns=[columns[name] for name in known])
    pieces = [blocks[name].columns if name in blocks else [own] for name, own in columns.items()]
    joined = pandas.concat([plain, *blocks.values()], axis=1)
    return joined[[name for piece in pieces for name in piece]], known


def most_frequent_first(values: Any) -> list[str]:
    """Categories in their order: the most frequent one, then the others sorted."""
    counts = Counter(values)
    ordered = sorted(counts)
    return sorted(ordered, key=lambda each: each != max(ordered, key=counts.__getitem__))
