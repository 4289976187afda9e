"""Splits from what scikit-learn takes as cv."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit

from thinrank.selection.cv_splits import given_splits, make_splits


def assert_partition(splits, rows):
    held_out = np.concatenate([test for _, test in splits])
    np.testing.assert_array_equal(np.sort(held_out), rows)
    for train, test in splits:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), rows)


@pytest.mark.parametrize("n", [20, 100, 5000])
def test_folds_and_further_partitions(n):
    """Several partitions of few rows, one of many."""
    first, further = make_splits(5, None, n, seed=0)
    assert len(first) == 5
    assert len(further) == (0 if n == 5000 else 2)
    for part in [first, *further]:
        assert len(part) == 5
        assert_partition(part, np.arange(n))
        sizes = [len(test) for _, test in part]
        assert max(sizes) - min(sizes) <= 1


def test_partitions_are_random_and_different():
    first, further = make_splits(5, None, 40, seed=0)
    tests = [tuple(test) for part in [first, *further] for _, test in part]
    assert len(tests) == 15
    assert len(set(tests)) == len(tests)
    assert tests[0] != tuple(range(8))
    again, _ = make_splits(5, None, 40, seed=0)
    other, _ = make_splits(5, None, 40, seed=7)
    np.testing.assert_array_equal(again[0][1], first[0][1])
    assert tuple(other[0][1]) != tests[0]


def test_rows_without_weight_are_on_neither_side():
    weight = np.resize([1.0, 0.0, 2.0], 30)
    first, further = make_splits(4, weight, 30, seed=0)
    live = np.flatnonzero(weight)
    assert_partition(first, live)
    assert len(further) == 2
    for part in further:
        assert_partition(part, live)
    without, _ = make_splits(4, None, 20, seed=0)
    for (_, ours), (_, theirs) in zip(first, without, strict=True):
        np.testing.assert_array_equal(ours, live[theirs])


def test_no_more_folds_than_rows():
    first, further = make_splits(5, None, 3, seed=0)
    assert len(first) == 3
    assert further == []  # there is one way to leave out single rows
    assert_partition(first, np.arange(3))


def test_what_is_given_is_taken():
    fold = np.resize([0, 1, -1], 12)
    for cv in (KFold(3), PredefinedSplit(fold), list(KFold(4).split(np.zeros(12)))):
        splits, further = make_splits(cv, None, 12, seed=0)
        assert further == []
        expected = cv if isinstance(cv, list) else list(cv.split(np.zeros(12)))
        for (a, b), (c, d) in zip(splits, expected, strict=True):
            np.testing.assert_array_equal(a, c)
            np.testing.assert_array_equal(b, d)


def test_groups_stay_together():
    groups = np.repeat(np.arange(4), 3)
    splits, _ = make_splits(GroupKFold(2), None, 12, seed=0, groups=groups)
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])


@pytest.mark.parametrize("cv", [1, 0, -2])
def test_too_few_folds(cv):
    with pytest.raises(ValueError, match=rf"cv must be at least 2 folds.*got {cv}"):
        make_splits(cv, None, 10, seed=0)


def test_nothing_to_split():
    with pytest.raises(ValueError, match="at least one split"):
        make_splits([], None, 10, seed=0)
    with pytest.raises(ValueError, match="at least 2 samples"):
        make_splits(5, np.array([0.0, 1.0, 0.0]), 3, seed=0)


@pytest.mark.parametrize(
    "cv", ["abc", True, np.True_, 2.5, object(), [(0, 1, 2)], [3], [([0], [1]), "ab"]]
)
def test_what_is_not_a_way_to_split(cv):
    with pytest.raises(ValueError, match=r"^cv must be a number of folds, a splitter or a list"):
        given_splits(cv, np.zeros((6, 2)))


def test_a_number_of_folds_without_shuffling():
    for cv, folds in ((3, 3), (None, 5)):
        splits = given_splits(cv, np.zeros((15, 2)))
        assert [list(test) for _, test in splits] == np.arange(15).reshape(folds, -1).tolist()
