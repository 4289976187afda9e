"""Sentences about a table of selection frequencies."""

import numpy as np
import pandas as pd
import pytest

from thinrank.selection.stability_table import AxisSummary
from thinrank.selection.stability_words import stable_sentences, unstable_sentences


def table(frequencies, **columns):
    part = pd.DataFrame(
        {
            "axis": "row",
            "name": [f"x{i}" for i in range(len(frequencies))],
            "frequency": frequencies,
            "stable": np.array(frequencies) >= 0.75,
            **columns,
        }
    )
    part.attrs = {"threshold": 0.75, "n_resamples": 10}
    return part


def test_a_summary_has_the_bounds_of_its_table():
    found = AxisSummary.of_table(table([1.0, 0.8, 0.2], bound=0.5, unimodal_bound=0.25), "row")
    assert (found.stable, found.among, found.mean) == (2, 3, pytest.approx(2.0))
    assert (found.bound, found.unimodal_bound) == (0.5, 0.25)
    without = AxisSummary.of_table(table([1.0, 0.8, 0.2]), "row")
    assert np.isnan(without.bound)
    assert np.isnan(without.unimodal_bound)
    assert AxisSummary.of_table(table([1.0]), "pair") is None


def test_stable_names_come_with_their_frequencies():
    first, second, *_ = stable_sentences(table([0.8, 0.1, 1.0], bound=0.5, unimodal_bound=0.25))
    assert "at least 75 % of the 20 fits to 10 pairs of random halves" in first
    assert first.endswith("x2 (1.00), x0 (0.80).")
    assert second == "A fit selected 1.9 of 3 predictors on average."


def test_predictors_of_a_model_that_are_not_stable():
    frequencies = [1.0, 0.6, 0.5, 0.9]
    assert unstable_sentences(table(frequencies), np.array([0, 3])) == []
    (found,) = unstable_sentences(table(frequencies), np.array([0, 1, 2]))
    assert found.startswith("2 of the 3 predictors of the model are not stable")
    assert found.endswith("x2 (0.50), x1 (0.60).")


@pytest.mark.parametrize(("selected", "few"), [(3, False), (4, True)])
def test_fits_that_select_far_fewer_had_no_place_for_others(selected, few):
    """Here 2.6 on average: less than four fifths of four predictors, but not of three."""
    (found,) = unstable_sentences(table([1.0, 0.8, 0.5, 0.3]), np.arange(selected))
    assert ("had few places to be selected for" in found) is few
