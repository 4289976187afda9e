"""What the histories of all iterative methods have in common."""

import numpy as np

from thinrank.core.records import RecordList
from thinrank.core.result import History, Record
from thinrank.rl import QHistory


def solver_record(iteration):
    none = np.empty(0, dtype=int)
    return Record(
        stage="fit",
        iteration=iteration,
        objective=10.0 / iteration,
        seconds=0.25 * iteration,
        change=0.5**iteration,
        row_support=none,
        column_support=none,
    )


def test_history_of_a_solver():
    history = History([solver_record(1), solver_record(2)])
    assert isinstance(history, RecordList)
    assert history.objectives == [10.0, 5.0]
    assert history.changes == [0.5, 0.25]
    assert history.seconds == 0.5


def test_histories_without_records():
    for kind in (RecordList, History, QHistory):
        assert kind().changes == []
        assert kind().seconds == 0.0
