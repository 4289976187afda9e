"""A small number of fuzzed cases of every kind; ``run_fuzz.py`` runs more."""

import pytest
from fuzz_kinds import KINDS
from fuzz_trial import LIMIT, WrongError, run_case, unchanged

COUNTS = {"tables": 60, "movies": 60, "regions": 60, "load": 40, "commands": 10}
"""Cases of each kind, from seed 0; of every estimator there are as many as below."""
PER_ESTIMATOR = 2


@pytest.mark.parametrize("kind", list(KINDS))
def test_odd_input_ends_well(kind):
    outcomes = [
        run_case(kind, seed, KINDS[kind]) for seed in range(COUNTS.get(kind, PER_ESTIMATOR))
    ]
    failed = [f"{each.kind}, seed {each.seed}: {each.label}\n{each.detail}" for each in outcomes
              if each.failed]  # fmt: skip
    assert not failed, "\n\n".join(failed)
    if kind in COUNTS:  # neither all errors nor all plain input
        assert len({each.label for each in outcomes}) > 1


def test_a_case_depends_on_its_seed_only():
    def drawn(seed):
        numbers = []
        run_case("tables", seed, lambda trial: numbers.append(trial.rng.random()))
        return numbers

    assert drawn(3) == drawn(3) != drawn(4)


def _raises(error):
    def attempt(trial):
        raise error

    return attempt


@pytest.mark.parametrize(
    ("error", "failed"),
    [
        (ValueError("X must be finite"), False),
        (TypeError("callback must be callable"), False),
        (FileNotFoundError("no model"), False),
        (MemoryError("over the budget; raise THINRANK_MEMORY_GIB"), False),
        (MemoryError("Unable to allocate 3 TiB"), True),
        (ValueError(""), True),
        (ValueError("zero-size array to reduction operation maximum"), True),
        (TypeError("'NoneType' object is not subscriptable"), True),
        (KeyError("rank"), True),
        (RecursionError("maximum recursion depth exceeded"), True),
        (WrongError("fit modified its input"), True),
    ],
)
def test_what_counts_as_a_failure(error, failed):
    outcome = run_case("made up", 0, _raises(error))
    assert outcome.failed == failed
    assert (str(error) in outcome.detail) == failed


def test_slow_cases_fail(monkeypatch):
    times = iter([0.0, LIMIT + 1])
    monkeypatch.setattr("fuzz_trial.time.process_time", lambda: next(times))
    assert run_case("made up", 0, lambda trial: None).label == "slow"


def test_changed_files_are_noticed():
    def attempt(trial):
        file = trial.folder / "a.csv"
        file.write_text("1")
        with unchanged(trial.folder):
            file.write_text("2")

    assert run_case("made up", 0, attempt).label == "WrongError"
