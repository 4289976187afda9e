"""Progress bars for long fits and searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from thinrank.core.checks import check_callback
from thinrank.core.progress import progress_bar, with_progress_bar
from thinrank.core.result import Callback, Record


def shown(
    callback: Callback | None, limit: int, verbose: int
) -> AbstractContextManager[Callback | None]:
    """The callback of a fit, with a progress bar on standard error if ``verbose`` is positive."""

    def text(record: Record) -> str:
        return f"objective {record.objective:.6g}  change {record.change:.1e}"

    return with_progress_bar(callback, text, "fitting", limit, show=verbose > 0)


@contextmanager
def searching(
    callback: Callable[[Any], object] | None, verbose: int
) -> Iterator[Callable[[float, str], None] | None]:
    """Check the callback of a search, and show a bar on standard error if ``verbose`` is positive.

    Yields a function of the share of the search that is done and of a text, or None.
    """
    check_callback(callback)
    if not verbose > 0:
        yield None
        return
    with progress_bar("searching", 1.0, count=False, time_left=True) as update:
        yield lambda share, text: update(share, text=text)
        update(1.0)
