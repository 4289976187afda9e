"""Fits find what they found before: see golden_problems.py."""

import outcomes
import pytest
from golden_problems import PROBLEMS, solve

STORED = outcomes.read()
pytestmark = pytest.mark.no_cover  # the same lines many times


def test_every_problem_is_stored():
    assert list(STORED) == list(PROBLEMS), "run: python tests/golden/record.py"


# searches that take a second and more, beside others of the same kind
SLOW = {
    "huber", "few missing", "many missing", "mixture", "classes", "negative binomial", "labels",
    "poisson", "poisson, always_keep and offset", "search 51", "search 52", "search 53",
    "search 54", "search 57", "more rows than samples 90", "more rows than samples 91",
    "more rows than samples 92", "more rows than samples 93", "sparse predictors",
    "many predictors, two responses", "one standard error", "q iteration, sizes chosen",
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in PROBLEMS]
)
def test_outcome(name):
    assert not (changes := outcomes.changes(solve(name), STORED[name])), "\n".join(changes)


def test_a_worse_outcome_is_seen():
    clear, unclear = STORED["rank given"], STORED["weak signal"]
    assert clear["clear"]
    assert outcomes.changes({**clear, "rows": clear["rows"][1:]}, clear)
    assert outcomes.changes({**clear, "norm": clear["norm"] * (1 + 1e-4)}, clear)
    assert not unclear["clear"]
    assert outcomes.changes({**unclear, "value": unclear["value"] * 1.02}, unclear)
    assert not outcomes.changes({**unclear, "value": unclear["value"] * 0.9, "rows": []}, unclear)
