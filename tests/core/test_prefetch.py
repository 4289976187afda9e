"""Items that are made ahead by another thread."""

import threading

import pytest

from thinrank.core.prefetch import prefetched


def test_the_same_items_in_the_same_order():
    assert list(prefetched(range(1, 20))) == list(range(1, 20))
    assert list(prefetched([])) == []


def test_the_next_item_is_made_while_one_is_used():
    made = [threading.Event() for _ in range(3)]

    def items():
        for number, event in enumerate(made):
            event.set()
            yield number + 1

    reader = prefetched(items())
    assert next(reader) == 1
    assert made[1].wait(10)  # before it is asked for
    assert not made[2].is_set()
    assert list(reader) == [2, 3]


def test_an_error_comes_in_the_place_of_its_item():
    def items():
        yield 1
        raise OSError("the file ends early")

    reader = prefetched(items())
    assert next(reader) == 1
    with pytest.raises(OSError, match="ends early"):
        next(reader)


def test_nothing_is_read_after_the_user_stops():
    read = []

    def items():
        for number in range(1, 100):
            read.append(number)
            yield number

    for item in prefetched(items()):
        if item == 2:
            break
    assert len(read) <= 4
