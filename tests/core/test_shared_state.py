"""A change of the process that several threads need is undone when the last one is done."""

import threading
import warnings
from contextlib import contextmanager

import pytest

from thinrank.core.shared_state import SharedChange
from thinrank.core.warnings import quiet_coordinate_descent


def test_the_first_makes_it_and_the_last_undoes_it():
    change, events = SharedChange(), []

    @contextmanager
    def made():
        events.append("made")
        yield
        events.append("undone")

    with change.made_by(made):
        with change.made_by(made):
            assert events == ["made"]
        assert events == ["made"]
    assert events == ["made", "undone"]
    with pytest.raises(KeyboardInterrupt), change.made_by(made):
        raise KeyboardInterrupt
    assert events == ["made", "undone"] * 2


def test_filters_of_warnings_are_as_before_when_threads_overlap():
    before = list(warnings.filters)
    inside, leave = threading.Event(), threading.Event()

    def other():
        with quiet_coordinate_descent():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with quiet_coordinate_descent():
        thread.start()
        inside.wait(10)
    # this thread has left first, while the other one is still inside
    assert len(warnings.filters) == len(before) + 1
    leave.set()
    thread.join(10)
    assert list(warnings.filters) == before
