"""Records of a search: scores that are amended, and the model within one standard error."""

import math
import time
from dataclasses import replace

import pytest

from thinrank.core.result import Record
from thinrank.core.sizes import Sizes
from thinrank.selection.base_search import BaseSearch
from thinrank.selection.evaluation import Evaluation
from thinrank.selection.records import amend_scores, last_search, one_standard_error, standard_error


def record(rows, scores, number=1, rank=2):
    mean = sum(scores) / len(scores)
    return Record(
        stage="search",
        iteration=1,
        objective=mean,
        seconds=0.0,
        sizes=Sizes(rank, rows, 3, 0.0),
        split_scores=tuple(scores),
        rank_scores=((1, 5.0), (2, mean)),
        search_round=number,
    )


def test_scores_of_further_splits_are_put_into_the_records_of_one_search():
    records = [record(4, [1.0, 2.0]), record(4, [1.0, 2.0], 2), record(8, [1.0, 1.0], 2)]
    parts = (1.0, 2.0, 3.0, 4.0)
    point = Evaluation(Sizes(2, 4, 3, 0.0), 2.5, parts, (), None, 0.0)
    amend_scores(records, 2, {point.sizes: point})
    assert records[0] == record(4, [1.0, 2.0])
    assert records[2] == record(8, [1.0, 1.0], 2)
    assert (records[1].objective, records[1].split_scores) == (2.5, parts)
    assert records[1].rank_scores == ((1, 5.0), (2, 2.5))


def test_models_with_fewer_splits_than_the_best_are_not_compared_with_it():
    best = record(20, [0.8, 1.2, 0.9, 1.1])
    confirmed = record(10, [0.85, 1.25, 0.95, 1.15])
    tried_once = record(5, [0.9, 1.2])
    assert one_standard_error([best, confirmed, tried_once]) is confirmed
    assert one_standard_error([best, confirmed]) is confirmed
    assert one_standard_error([record(20, [1.0])]) is None
    assert one_standard_error([]) is None


def test_the_standard_error_of_a_mean():
    assert standard_error(record(4, [1.0, 2.0, 6.0])) == pytest.approx((7 / 3) ** 0.5)
    assert math.isnan(standard_error(record(4, [1.0])))


@pytest.mark.parametrize("number", [1, 2])
def test_the_last_search_counts(number):
    records = [record(4, [1.0, 2.0]), record(8, [1.0, 1.0], number)]
    assert len(last_search(records)) == (2 if number == 1 else 1)


class NoSearch(BaseSearch):
    def _search(self):
        """Nothing."""


def test_a_further_search_goes_on_with_the_records_of_the_last():
    """It has the next number, and its seconds are counted from the first one on."""
    first = NoSearch()
    assert (first.records, first._round) == ([], 1)
    assert first._began == pytest.approx(time.perf_counter(), abs=60)
    known = [replace(record(4, [1.0, 2.0], 3), seconds=5e6), replace(record(4, [1.0]), seconds=7e6)]
    further = NoSearch(records=known)
    assert further.records is known
    assert further._round == 2
    assert time.perf_counter() - further._began == pytest.approx(7e6, rel=1e-4)
