"""Progress bars for long fits and searches."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from thinrank.core.checks import check_callback
from thinrank.core.progress import with_progress_bar
from thinrank.core.result import Callback, Record

__all__ = ["searching", "shown"]


def shown(
    callback: Callback | None, limit: int, verbose: int
) -> AbstractContextManager[Callback | None]:
    """The callback of a fit, with a progress bar on standard error if ``verbose`` is positive."""

    def text(record: Record) -> str:
        return f"objective {record.objective:.6g}  change {record.change:.1e}"

    return with_progress_bar(callback, text, "fitting", limit, show=verbose > 0)


def searching(
    callback: Callable[[Any], object] | None, verbose: int
) -> AbstractContextManager[Callback | None]:
    """The callback of a search, with progress on standard error if ``verbose`` is positive.

    There is no bar, since the number of models is not known in advance.
    """
    check_callback(callback)

    def text(record: Record) -> str:
        if record.sizes is None:
            return "models"
        rank, rows, columns, ridge = record.sizes
        return (
            f"models, now rank {rank}, {rows} × {columns}, ridge {ridge:.2g}  "
            f"best score {record.best:.6g}"
        )

    return with_progress_bar(callback, text, "searching", show=verbose > 0)
