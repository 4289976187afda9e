"""Parts of the core that fits hardly ever use: threads, progress bars, stored arrays, rank 0."""

import io
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from rich import progress as rich_progress
from rich.console import Console

from thinrank import Factors
from thinrank.core import factors as factors_module
from thinrank.core import threads, whole_file
from thinrank.core.progress import progress_bar
from thinrank.core.stored_values import decoded, encoded

# --------------------------------------------------------------------------- factors


def test_factors_of_rank_zero(library):
    zero = Factors.zero((5, 3), library.array(np.zeros(0)), rank=0)
    assert zero.rank == 0
    assert tuple(zero.singular_values().shape) == (0,)
    assert zero.balanced() is zero
    assert zero.norm() == 0.0
    assert tuple(zero.theta.shape) == (5, 3)
    assert zero.row_support.shape[0] == zero.column_support.shape[0] == 0


def test_the_norm_is_a_number_in_spite_of_rounding_errors(monkeypatch):
    monkeypatch.setattr(factors_module.arrays, "inner", lambda a, b: -1e-30)
    assert Factors(np.ones((2, 1)), np.ones((3, 1))).norm() == 0.0


# --------------------------------------------------------------------------- threads


class Pools:
    """Libraries with some threads, and the limits that were set."""

    def __init__(self, **threads):
        self.lib_controllers = [
            SimpleNamespace(user_api=api, num_threads=count) for api, count in threads.items()
        ]
        self.limits = []

    def limit(self, **options):
        self.limits.append(options)
        return io.StringIO()  # a context manager


@pytest.fixture
def pools(monkeypatch):
    found = Pools(blas=3, openmp=5)
    monkeypatch.setattr(threads, "_controller", lambda modules: found)
    return found


def in_a_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_threads_in_use_are_those_of_the_products(pools):
    assert threads.threads_in_use() == 3
    assert in_a_thread(threads.threads_in_use) == 1
    pools.lib_controllers = pools.lib_controllers[1:]  # none for products
    assert threads.threads_in_use() == 1


def test_one_thread_if_a_product_is_small(pools):
    limit = threads._SMALL
    for large in (1.001 * limit, float("inf"), float("nan")):
        threads.one_thread_if_small(large)
    assert pools.limits == []
    for small in (0.0, limit):
        threads.one_thread_if_small(small)
    assert pools.limits == 2 * [{"limits": 1, "user_api": "blas"}]
    in_a_thread(lambda: threads.one_thread_if_small(0.0))
    pools.lib_controllers[0].num_threads = 1
    threads.one_thread_if_small(0.0)
    assert len(pools.limits) == 2


@pytest.mark.parametrize(("cores", "jobs", "expected"), [(8, 2, [4]), (8, 16, [1]), (8, 1, [])])
def test_jobs_share_the_cores(pools, monkeypatch, cores, jobs, expected):
    monkeypatch.setattr(threads.os, "cpu_count", lambda: cores)

    def use():
        with threads.one_use_of_cores(jobs):
            return [options["limits"] for options in pools.limits]

    assert use() == expected
    pools.limits.clear()
    assert in_a_thread(use) == []
    for pool in pools.lib_controllers:
        pool.num_threads = 1
    assert use() == []  # lower limits stay as they are


def test_threads_of_an_unknown_number_of_cores(pools, monkeypatch):
    monkeypatch.setattr(threads.os, "cpu_count", lambda: None)
    with threads.one_use_of_cores(2):
        assert pools.limits == [{"limits": 1}]


# --------------------------------------------------------------------------- progress


@pytest.mark.parametrize("total", [None, 7])
@pytest.mark.parametrize("count", [True, False])
@pytest.mark.parametrize("time_left", [True, False])
def test_parts_of_a_progress_bar(monkeypatch, total, count, time_left):
    """A spinner if the total is not known, otherwise a bar; then the count, text and times."""
    made = []
    original = rich_progress.Progress

    def noted(*columns, **options):
        made.append([type(column).__name__ for column in columns])
        return original(*columns, **options)

    monkeypatch.setattr(rich_progress, "Progress", noted)
    console = Console(file=io.StringIO(), width=120)
    with progress_bar("work", total, count=count, time_left=time_left, console=console):
        pass
    expected = ["SpinnerColumn", "TextColumn"] if total is None else ["TextColumn", "BarColumn"]
    if count:
        expected.append("TextColumn" if total is None else "MofNCompleteColumn")
    expected += ["TextColumn", "TimeElapsedColumn"]
    expected += ["TextColumn", "TimeRemainingColumn"] if time_left else []
    assert made == [expected]


# --------------------------------------------------------------------------- files


def test_a_file_and_its_folder_are_on_the_disk(tmp_path, monkeypatch):
    """First the contents under another name, then, after the renaming, the entry of the folder."""
    synced = []
    monkeypatch.setattr(whole_file, "_sync", lambda path: synced.append((path, there())))

    def there():
        return (tmp_path / "new" / "a.txt").exists()

    whole_file.write_text(tmp_path / "new" / "a.txt", "é\n")
    assert (tmp_path / "new" / "a.txt").read_bytes() == "é\n".encode()
    assert [after for _, after in synced] == [False, True]
    assert synced[1][0] == tmp_path / "new"
    synced.clear()
    monkeypatch.setattr(whole_file.os, "name", "nt")
    whole_file.sync_folder(tmp_path)
    assert synced == []


# --------------------------------------------------------------------------- stored arrays

ARRAYS = {
    "a number": np.float32(1.5),
    "no dimension": np.array(2.5),
    "empty": np.zeros((0, 3)),
    "of one row": np.arange(4.0)[None, :],
    "columns first": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "every other": np.arange(20)[::2],
    "transposed part": np.arange(24.0).reshape(4, 6)[1:3, ::2].T,
    "repeated": np.broadcast_to(np.arange(3.0), (4, 3)),
    "backwards": np.arange(5.0)[::-1],
    "truth values": np.array([True, False]),
}


@pytest.mark.parametrize("name", list(ARRAYS))
def test_stored_arrays_are_the_same_and_their_own(name):
    before = ARRAYS[name]
    after = decoded(encoded(before))
    np.testing.assert_array_equal(after, before)
    assert after.dtype == before.dtype
    assert type(after) is type(before)
    if isinstance(before, np.ndarray) and before.size:
        if min(before.strides, default=0) > 0:
            assert after.strides == before.strides
        assert after.flags.writeable
        expected = before.copy()
        place = (0,) * before.ndim
        after[place] = expected[place] = 1 - expected[place]
        np.testing.assert_array_equal(after, expected)  # no other entry has changed


@pytest.mark.parametrize("value", [np.array(["a"]), np.array([1j]), np.array([None])])
def test_other_arrays_are_not_stored(value):
    with pytest.raises(TypeError, match=f"arrays of numbers, not of dtype {value.dtype}"):
        encoded(value)
