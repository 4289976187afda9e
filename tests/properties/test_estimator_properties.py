"""What must not matter for any public estimator, looked for by hypothesis.

The estimators and the numbers of examples are those of ``estimator_table``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from estimator_table import (
    CASES,
    PROFILE,
    PROPERTIES,
    Case,
    Fit,
    assert_same,
    assert_same_intercept,
    fitted,
    names_for,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_problems import Problem, make_problem

import thinrank as tr

pytestmark = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")

Draw = Callable[[Any], Any]


def each_case(prop: str) -> Any:
    """Parametrise a test by the estimators that have a property."""
    assert prop in PROPERTIES
    return pytest.mark.parametrize("name", names_for(prop))


@lru_cache(maxsize=1000)
def fitted_to(name: str, seed: int) -> Fit:
    """The fit to an unchanged problem, which several tests need."""
    return fitted(CASES[name], make_problem(CASES[name].kind, seed))


def for_problems(name: str, check: Callable[[Case, Problem, Fit, Draw], None]) -> None:
    """Check random problems of the kind of an estimator; fewer if its fits take long."""
    case = CASES[name]

    @settings(PROFILE, max_examples=PROFILE.max_examples // case.cost)
    @given(st.data(), st.integers(0, 2**16))
    def run(data: Any, seed: int) -> None:
        check(case, make_problem(case.kind, seed), fitted_to(name, seed), data.draw)

    run()


@pytest.mark.parametrize(
    ("axis", "name"),
    [
        (axis, name)
        for axis in ("sample", "predictor", "response")
        for name in names_for(f"order of {axis}s")
    ],
)
def test_order_does_not_matter(axis, name):
    def check(case: Case, problem: Problem, plain: Fit, draw: Draw) -> None:
        order = np.array(draw(st.permutations(range(problem.size(axis)))))
        other = fitted(case, problem.reordered(axis, order))
        assert_same(other, problem.theta_reordered(plain.theta, axis, order), case.tol)

    for_problems(name, check)


@each_case("units of predictors")
def test_units_and_origins_of_predictors_do_not_matter(name):
    def check(case: Case, problem: Problem, plain: Fit, draw: Draw) -> None:
        units, origins = drawn_units(draw, problem.size("predictor"))
        other = fitted(case, replace(problem, X=(problem.X + origins) * units))
        back = replace(other, theta=other.theta * units[:, None])
        assert_same(back, plain.theta, case.tol)
        moved = other.intercept + origins @ back.theta
        assert_same_intercept(case, moved, plain.intercept)

    for_problems(name, check)


@each_case("units of responses")
def test_units_and_origins_of_responses_do_not_matter(name):
    def check(case: Case, problem: Problem, plain: Fit, draw: Draw) -> None:
        units, origins = drawn_units(draw, problem.size("response"))
        other = fitted(case, replace(problem, Y=(problem.Y + origins) * units))
        assert_same(replace(other, theta=other.theta / units), plain.theta, case.tol)
        moved = other.intercept / units - origins
        assert_same_intercept(case, moved, plain.intercept)

    for_problems(name, check)


def drawn_units(draw: Draw, count: int) -> tuple[np.ndarray, np.ndarray]:
    """A unit between 1e-6 and 1e6 and an origin within 10 standard deviations, per column."""
    exponents = draw(st.lists(st.integers(-6, 6), min_size=count, max_size=count))
    origins = draw(st.lists(st.integers(-10, 10), min_size=count, max_size=count))
    return 10.0 ** np.array(exponents), np.array(origins, dtype=np.float64)


@each_case("units of matrices")
def test_a_common_factor_does_not_matter(name):
    def check(case: Case, problem: Problem, plain: Fit, draw: Draw) -> None:
        factor = 10.0 ** draw(st.integers(-6, 6))
        other = fitted(case, replace(problem, X=factor * problem.X))
        assert_same(replace(other, theta=other.theta / factor), plain.theta, case.tol)

    for_problems(name, check)


@each_case("weights")
def test_weights_are_repeated_samples(name):
    def check(case: Case, problem: Problem, plain: Fit, draw: Draw) -> None:
        weighted, repeated = fitted(case, problem, weighted=True), fitted(case, problem.repeated())
        assert_same(weighted, repeated.theta, case.tol)
        assert_same_intercept(case, weighted.intercept, repeated.intercept)

    for_problems(name, check)


@pytest.mark.parametrize(
    ("value", "axis", "name"),
    [
        (value, axis, name)
        for value, axis, prop in (
            (0.0, "predictor", "zero predictor"),
            (3.0, "predictor", "constant predictor"),
            (1.0, "response", "constant response"),
        )
        for name in names_for(prop)
    ],
)
def test_a_constant_column_has_no_effect(value, axis, name):
    def check(case: Case, problem: Problem, plain: Fit, draw: Draw) -> None:
        place = draw(st.integers(0, problem.size(axis)))
        other = fitted(case, problem.with_column(axis, place, value))
        assert_same(other, problem.theta_with_zeros(plain.theta, axis, place), case.tol)

    for_problems(name, check)


@each_case("float32")
def test_single_precision_is_close(name):
    def check(case: Case, problem: Problem, plain: Fit, draw: Draw) -> None:
        rounded = replace(problem, X=problem.X.astype(np.float32).astype(np.float64))
        single = replace(problem, X=problem.X.astype(np.float32))
        if problem.kind == "numbers":
            rounded = replace(rounded, Y=problem.Y.astype(np.float32).astype(np.float64))
            single = replace(single, Y=problem.Y.astype(np.float32))
        assert_same(fitted(case, single), fitted(case, rounded).theta, 1e-3)

    for_problems(name, check)


def test_every_public_estimator_is_in_the_table():
    public = {getattr(tr, name) for name in tr.__all__ if name.startswith("Sparse")}
    assert public <= {type(case.make(None)) for case in CASES.values()}
