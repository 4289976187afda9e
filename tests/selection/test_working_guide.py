"""Sizes that a search for noise levels begins with."""

from types import SimpleNamespace

import pytest

from thinrank.selection.space import make_space
from thinrank.selection.working_guide import _candidates

P, K = 40, 6


def candidates(entries, rows=None):
    """Sizes for a number of observed entries per response."""
    space = make_space((P, K), 120, ranks=None, rows=rows, columns=None, ridges=(0.0, 0.1))
    return _candidates(SimpleNamespace(observations=entries * K, shape=(P, K)), space)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (100, [4, 8, 16, 32]),
        (46, [4, 8, 16, 32]),  # at most 0.7 rows per entry
        (45, [4, 8, 16]),
        (23, [4, 8, 16]),
        (22, [4, 8]),
        (2, [4]),  # few rows are tried anyway
    ],
)
def test_few_rows_relative_to_the_entries(entries, expected):
    assert [sizes.rows for sizes in candidates(entries)] == expected


def test_as_many_columns_as_rows_and_half_the_rank():
    assert [tuple(sizes) for sizes in candidates(100)] == [
        (2, 4, 4, 0.0),
        (3, 8, 6, 0.0),
        (3, 16, 6, 0.0),
        (3, 32, 6, 0.0),
    ]


def test_the_nearest_of_given_rows_each_of_them_once():
    found = candidates(100, rows=[5, 9])
    assert [sizes.rows for sizes in found] == [5, 9]
