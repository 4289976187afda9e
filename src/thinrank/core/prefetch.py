"""Reading the next item while the present one is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def prefetched(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, each made by another thread while the one before is used.

    An exception of the other thread is raised where its item would have come.
    """
    source = iter(items)
    with ThreadPoolExecutor(1, thread_name_prefix="thinrank-prefetch") as pool:
        coming = pool.submit(next, source, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, source, None)
            yield item
