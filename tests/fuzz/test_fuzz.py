"""A few fuzzed cases of every kind; ``run_fuzz.py`` runs more."""

import pytest
from fuzz_trial import run_case
from run_fuzz import FILES, KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_odd_input_ends_well(kind):
    seeds = range(20) if kind in FILES else (1, 2)
    outcomes = [run_case(kind, seed, KINDS[kind]) for seed in seeds]
    assert not [f"{each.label}\n{each.detail}" for each in outcomes if each.failed]
    if kind in FILES:  # neither all errors nor all plain input
        assert len({each.label for each in outcomes}) > 1
