"""The bound of the theorem, term by term."""

import math

import pytest
from paper.q_bound import q_error_bound

KNOWN = {"n_tasks": 20, "n_features": 600, "rank": 3, "row_sparsity": 10, "discount": 0.9}


def test_the_printed_formula():
    found = q_error_bound(
        50, **KNOWN, feature_norm=2.0, n_iterations=7, contraction=0.8, constant=3.0
    )
    first = 3.0 / 0.1**4 * (1 / 50 * 10**2 * 2.0**4 * (3 + 10 / 20 * (3 + math.log(600))))
    second = 4 * 10**2 / 0.1**4 * (3.0 * 0.8**7 + 0.9**7) ** 2
    assert found == pytest.approx(first + second, rel=1e-9)


def test_infinitely_many_iterations_leave_the_statistical_error():
    assert q_error_bound(50, **KNOWN) == pytest.approx(q_error_bound(50, **KNOWN, n_iterations=1e9))
    assert q_error_bound(50, **KNOWN) == pytest.approx(3 * q_error_bound(150, **KNOWN))
    assert q_error_bound(50, **KNOWN, q_max=1.0) == pytest.approx(q_error_bound(50, **KNOWN) / 100)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"discount": 1.0}, "discount must be in .0, 1."),
        ({"rank": 0}, "rank must be positive"),
        ({"contraction": 1.0}, "contraction must be in"),
        ({"n_iterations": -1}, "n_iterations must be at least 0"),
    ],
)
def test_errors(change, message):
    with pytest.raises(ValueError, match=message):
        q_error_bound(50, **(KNOWN | change))
