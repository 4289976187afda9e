"""A few fuzzed cases of every kind; ``run_fuzz.py`` runs more."""

import pytest
from fuzz_trial import WrongError, run_case
from run_fuzz import FILES, KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_odd_input_ends_well(kind):
    seeds = range(20) if kind in FILES else (1, 2)
    outcomes = [run_case(kind, seed, KINDS[kind]) for seed in seeds]
    assert not [f"{each.label}\n{each.detail}" for each in outcomes if each.failed]
    if kind in FILES:  # neither all errors nor all plain input
        assert len({each.label for each in outcomes}) > 1


@pytest.mark.parametrize(
    ("error", "failed"),
    [
        (ValueError("X must be finite"), False),
        (FileNotFoundError("no model"), False),
        (MemoryError("over the budget; raise THINRANK_MEMORY_GIB"), False),
        (MemoryError("Unable to allocate 3 TiB"), True),
        (ValueError(""), True),
        (TypeError("'NoneType' object is not subscriptable"), True),
        (KeyError("rank"), True),
        (WrongError("fit modified its input"), True),
    ],
)
def test_what_counts_as_a_failure(error, failed):
    def attempt(trial):
        raise error

    assert run_case("made up", 0, attempt).failed == failed
