"""Names as labels."""

import numpy as np
import pytest

from thinrank.plot.colours import ordinal
from thinrank.plot.labels import apart, names_at, shorten, shown_of, strongest


@pytest.mark.parametrize("width", [8, 9, 20])
def test_long_names_lose_their_middle(width):
    name = "beginning of a long name, and its end"
    short = shorten(name, width)
    assert len(short) == width
    head, tail = short.split("…")
    assert name.startswith(head)
    assert name.endswith(tail)


def test_short_names_stay_and_become_one_line():
    assert shorten("β_2") == "β_2"
    assert shorten("a\nb\t c") == "a b c"
    assert shorten(7) == "7"


def test_names_that_became_equal_are_told_apart():
    names = ["the same beginning 1 the same end", "the same beginning 2 the same end", "other"]
    labels = names_at(names, [0, 1, 2], width=16)
    assert len(set(labels)) == 3
    assert labels[0].endswith("[0]")
    assert labels[1].endswith("[1]")
    assert labels[2] == "other"
    assert all(len(label) <= 16 for label in labels)


def test_strongest_come_first_without_zeros():
    strength = np.array([0.0, 3.0, 1.0, 2.0, 0.0])
    assert strongest(strength, 2).tolist() == [1, 3]
    assert strongest(strength, 9).tolist() == [1, 3, 2]


def test_shown_of_counts_only_what_is_missing():
    assert shown_of("response", 3, 3) == "response"
    assert shown_of("response", 40, 5000) == "response (strongest 40 of 5,000 shown)"


@pytest.mark.parametrize("seed", range(5))
def test_labels_are_moved_apart_and_stay_in_order(seed):
    rng = np.random.default_rng(seed)
    places = rng.uniform(0, 10, 8).tolist()
    found = apart(places, 1.0, 0.0, 10.0)
    assert np.argsort(found).tolist() == np.argsort(places).tolist()
    assert np.diff(np.sort(found)).min() >= 1.0 - 1e-9
    assert min(found) >= 0
    assert max(found) <= 10 + 1e-9


def test_labels_that_do_not_touch_stay():
    assert apart([1.0, 5.0, 3.0], 1.0, 0.0, 6.0) == [1.0, 5.0, 3.0]


def test_too_many_labels_fill_the_range():
    assert apart([1.0, 1.1, 1.2], 5.0, 0.0, 6.0) == [0.0, 3.0, 6.0]


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_ordinal_colours_differ(count):
    colours = ordinal(count)
    assert len(set(colours)) == count
    assert all(len(colour) == 7 for colour in colours)
