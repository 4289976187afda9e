"""Row blocks that stay where Dask has them; functions are sent to the blocks."""

from __future__ import annotations

import functools
import itertools
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import numpy as np

from thinrank.core.imports import import_optional
from thinrank.designs.block_sources import check_matrix, read_dtype
from thinrank.designs.blocks import RowBlocks, added

# Number of results that one task adds.
_FAN_IN = 8

_Group = tuple[list[int], str | None]


class DaskBlocks(RowBlocks):
    """An array or data frame of Dask, with one block per partition of its rows.

    Estimators make it from X and Y themselves: ``est.fit(X, Y)`` with arrays or data frames of
    Dask. Every pass sends a function to the blocks and returns sums of its results, which do not
    grow with the number of rows. It runs on the cluster of the current
    ``distributed.Client``, or with the local scheduler of Dask if there is none. If a worker dies,
    Dask computes again what was lost.

    Parameters
    ----------
    data : dask.array.Array or dask.dataframe.DataFrame of shape (n_samples, n_features)
        The data. All columns of a block must be together, so an array with several chunks of
        columns is rechunked. Persist the data (``data.persist()``) if they fit into the memory of
        the cluster: otherwise each pass loads them again.
    name : str, default="X"
        Name of the data in messages.
    """

    is_local = False

    def __init__(self, data: Any, *, name: str = "X") -> None:
        self._dask = import_optional("dask")
        columns = list(getattr(data, "columns", ()))
        named = columns and all(isinstance(column, str) for column in columns)
        self.names = np.array(columns, dtype=object) if named else None
        with _connected():
            if hasattr(data, "to_dask_array"):
                data = data.to_dask_array(lengths=True)
            if any(np.isnan(size) for size in data.chunks[0]):
                data = data.compute_chunk_sizes()
        self.shape = check_matrix(data.shape, name)
        self.prototype = np.zeros(0, dtype=read_dtype(np.dtype(data.dtype), name))
        if len(data.chunks[1]) > 1:
            data = data.rechunk({1: -1})
        self._data = data
        self.n_passes = 0

    @property
    def heights(self) -> tuple[int, ...]:
        """Numbers of rows of the blocks."""
        return tuple(int(height) for height in self._data.chunks[0])

    def _total(
        self, function: Callable[..., Any], arguments: Sequence[Any], along: Sequence[Any]
    ) -> list[np.ndarray]:
        with _connected():
            parts = self._tasks(_summed, function, arguments, along, self._groups())
            add = self._dask.delayed(_sum, pure=False)
            while len(parts) > 1:
                firsts = range(0, len(parts), _FAN_IN)
                parts = [add(parts[first : first + _FAN_IN]) for first in firsts]
            return _sum(self._dask.compute(parts[0]))

    def _results(
        self, function: Callable[..., Any], arguments: Sequence[Any], along: Sequence[Any]
    ) -> list[Any]:
        with _connected():
            groups = self._groups()
            found = self._dask.compute(*self._tasks(_listed, function, arguments, along, groups))
        numbers = itertools.chain.from_iterable(blocks for blocks, _ in groups)
        parts = dict(zip(numbers, itertools.chain.from_iterable(found), strict=True))
        return [parts[number] for number in sorted(parts)]

    def first(
        self, function: Callable[..., Sequence[Any]], *arguments: Any, along: Sequence[Any] = ()
    ) -> Sequence[Any]:
        """What a function returns for the first block."""
        with _connected():
            tasks = self._tasks(_listed, function, arguments, along, [([0], None)])
            return self._dask.compute(tasks[0])[0][0]

    def beside(self, data: Any) -> Any:
        """Responses in blocks of the same rows, sent to the cluster once if they are an array."""
        if isinstance(data, DaskBlocks):
            return data
        array = import_optional("dask.array").from_array(
            np.asarray(data), chunks=(self.heights, data.shape[1])
        )
        with _connected(), warnings.catch_warnings():
            # the responses are sent as a part of the graph, so that they survive a worker's death
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return DaskBlocks(array.persist(), name="Y")

    def _groups(self) -> list[_Group]:
        """Numbers of the blocks that one task works on, and the worker that has them, if one has.

        Blocks in the memory of workers have one group for each thread of theirs: of a worker with
        no more tasks than threads, no block is sent to others. Blocks that are loaded in every pass
        are groups of their own, so that only one per thread is in memory.
        """
        alone: list[_Group] = [([number], None) for number in range(len(self.heights))]
        distributed = sys.modules.get("distributed")
        if distributed is None:
            return alone
        try:
            client = distributed.default_client()
        except ValueError:  # there is none
            return alone
        futures = {future.key: future for future in distributed.futures_of(self._data)}
        keys = [row[0] for row in self._data.__dask_keys__()]
        if not all(key in futures for key in keys):
            return alone
        places = client.who_has(list(futures.values()))
        by_worker: dict[str | None, list[int]] = {}
        for number, key in enumerate(keys):
            holders = sorted(places.get(key, ()))
            by_worker.setdefault(holders[0] if holders else None, []).append(number)
        threads = client.nthreads()
        return [
            (numbers[start::step], worker)
            for worker, numbers in by_worker.items()
            for step in [min(threads.get(worker, 1), len(numbers))]
            for start in range(step)
        ]

    def _tasks(
        self,
        apply: Callable[..., Any],
        function: Callable[..., Any],
        arguments: Sequence[Any],
        along: Sequence[Any],
        groups: Sequence[_Group],
    ) -> list[Any]:
        """One task per group of blocks; the arguments are sent to every worker once."""
        call = functools.partial(apply, function, self.prototype.dtype, arguments)
        task = self._dask.delayed(call, pure=False, traverse=False)
        rows = [self._rows_of(item) for item in (self, *along)]
        tasks = []
        for blocks, worker in groups:
            own = [[item[i] for item in rows] for i in blocks]
            # a worker that has died is replaced by others
            where = {"workers": [worker], "allow_other_workers": True}
            with self._dask.annotate(**(where if worker else {})):
                tasks.append(task(own))
        return tasks

    def _rows_of(self, data: Any) -> list[Any]:
        """The rows of something that belong to each block."""
        if data is None:
            return [None] * len(self.heights)
        if isinstance(data, DaskBlocks):
            rows = data._data
            rows = rows if data.heights == self.heights else rows.rechunk((self.heights, -1))
            return rows.to_delayed()[:, 0].tolist()
        return np.split(np.asarray(data), np.cumsum(self.heights)[:-1])


def _results_of(
    function: Callable[..., Any], dtype: np.dtype, arguments: Sequence[Any], group: list[list[Any]]
) -> Iterator[Any]:
    """The results of a function for some blocks; it may overwrite the copies that it gets."""
    for block, *rows in group:
        yield function(np.array(block, dtype=dtype, order="C"), *rows, *arguments)


def _listed(*call: Any) -> list[Any]:
    return list(_results_of(*call))


def _summed(*call: Any) -> list[np.ndarray]:
    return _sum(_results_of(*call))


def _sum(parts: Iterable[Sequence[Any]]) -> list[np.ndarray]:
    """The sum of some results, which are not overwritten."""
    return functools.reduce(added, parts, [])


@contextmanager
def _connected() -> Iterator[None]:
    """Turn the errors of a lost connection into one that says so."""
    try:
        yield
    except (OSError, CancelledError, ValueError) as error:
        # Dask raises a ValueError for persisted data whose cluster is gone
        if isinstance(error, ValueError) and "Missing dependency" not in str(error):
            raise
        distributed = import_optional("distributed")
        try:
            where = f"at {distributed.get_client().scheduler.address}"
        except (ValueError, AttributeError):  # there is no client any more
            where = "of the data"
        raise ConnectionError(
            f"the Dask scheduler {where} cannot be reached, or it has lost the data; connect to a "
            f"running one with distributed.Client(address) and load the data again ({error!r})"
        ) from error
