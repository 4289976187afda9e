"""Names of the rows: whether a column has them, and tables with such a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from thinrank.tables.cells import is_missing, number_of
from thinrank.tables.options import ReadOptions
from thinrank.tables.table import Table

# Names of columns that identify rows, also with _id or _name behind them.
_NAMES = frozenset({"id", "ids", "index", "idx", "key", "name", "names", "row", "rowname"}) | {
    "rownames",
    "sample",
    "samples",
    "sampleid",
    "subject",
    "subjectid",
    "patient",
    "patientid",
    "participant",
}


def are_row_names(header: str | None, cells: Sequence[str]) -> bool:
    """Whether a first column has names of the rows.

    Its cells must be complete and all different, and the column must have no name, a name such as
    "id" or "sample", or consist of texts.

    ``header``: None if the file has no header.
    """
    stripped = [cell.strip() for cell in cells]
    if len(set(stripped)) < len(stripped) or any(is_missing(cell) for cell in stripped):
        return False
    if header is not None:
        name = header.lower().replace(" ", "_").replace(".", "_").replace("-", "_")
        name = name.removesuffix("_id").removesuffix("_name").removesuffix("_names")
        if not name or name.startswith("unnamed:") or name in _NAMES:
            whole = [number_of(cell, ".") for cell in stripped]
            return all(number is None or number.is_integer() for number in whole)
    # a single text may be a category
    return len(stripped) > 1 and all(
        number_of(cell, ".") is None and number_of(cell, ",") is None for cell in stripped
    )


def with_row_names(table: Table, options: ReadOptions) -> Table:
    """A table whose names of the rows come from the column that is wanted or found.

    For formats other than text, which have types: only a first column of texts is examined.
    """
    if options.index is False:
        return replace(table, index=None, index_name="")
    if table.index is not None and options.index == table.index_name:
        return table
    wanted = isinstance(options.index, str) and (
        options.index_required or options.index in table.names
    )
    if wanted:
        place = table.position(str(options.index))
    elif table.index is None and table.shape[1] > 1 and 0 in table.texts:
        place = 0
    else:
        return table
    name = table.names[place]
    cells = ["" if cell is None else as_text(cell) for cell in table.column(place)]
    if not wanted and (options.is_data(name) or not are_row_names(name, cells)):
        return table
    note = f"{table.file}: column {name!r} has the names of the rows"
    return replace(table.without(name), index=cells, index_name=name, notes=[*table.notes, note])


def as_text(cell: object) -> str:
    """A cell as it would be in a CSV file; 2.0 is 2, since whole numbers with gaps are floats."""
    if isinstance(cell, (float, np.floating)) and float(cell).is_integer():
        return str(int(cell))
    return str(cell)
