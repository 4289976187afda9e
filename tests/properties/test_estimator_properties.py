"""What must not matter for any public estimator, looked for by hypothesis.

The estimators are those of ``estimator_table.CASES``. By default few examples are tried, always the
same ones; ``HYPOTHESIS_PROFILE=many`` tries more, other ones in each run.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimator_table import CASES, PROPERTIES, Case, Fit, fitted, names_for
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tiny_problems import Problem, make_problem

import thinrank as tr
from thinrank import baselines

pytestmark = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")

# without shrinking, which takes long
settings.register_profile(
    "few", max_examples=5, deadline=None, derandomize=True, phases=[Phase.generate]
)
settings.register_profile("many", max_examples=100, deadline=None, print_blob=True)
PROFILE = settings.get_profile(os.environ.get("HYPOTHESIS_PROFILE", "few"))

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

    @settings(PROFILE, max_examples=max(1, PROFILE.max_examples // case.cost))
    @given(st.data(), st.integers(0, 2**16))
    def run(data: Any, seed: int) -> None:
        check(case, make_problem(case.kind, seed), fitted_to(name, seed), data.draw)

    run()


def assert_same(found: Fit, theta: np.ndarray, tol: float) -> None:
    """Same supports, and same coefficients up to ``tol`` times the largest."""
    assert found.rows == np.flatnonzero(np.any(theta != 0, axis=1)).tolist()
    assert found.columns == np.flatnonzero(np.any(theta != 0, axis=0)).tolist()
    largest = np.max(np.abs(theta), initial=0.0)
    np.testing.assert_allclose(found.theta, theta, rtol=0, atol=tol * largest)


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
        np.testing.assert_allclose(moved, plain.intercept, atol=10 * case.tol)

    for_problems(name, check)


@each_case("units of responses")
def test_units_and_origins_of_responses_do_not_matter(name):
    def check(case: Case, problem: Problem, plain: Fit, draw: Draw) -> None:
        units, origins = drawn_units(draw, problem.size("response"))
        other = fitted(case, replace(problem, Y=(problem.Y + origins) * units))
        assert_same(replace(other, theta=other.theta / units), plain.theta, case.tol)
        moved = other.intercept / units - origins
        np.testing.assert_allclose(moved, plain.intercept, atol=10 * case.tol)

    for_problems(name, check)


def drawn_units(draw: Draw, count: int) -> tuple[np.ndarray, np.ndarray]:
    """A unit between 1e-6 and 1e6 and an origin within 10 standard deviations, per column."""
    exponents = draw(st.lists(st.integers(-6, 6), min_size=count, max_size=count))
    origins = draw(st.lists(st.integers(-10, 10), min_size=count, max_size=count))
    return 10.0 ** np.array(exponents), np.array(origins, dtype=np.float64)


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if case.kind in ("matrix", "graph")]
)
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
        np.testing.assert_allclose(weighted.intercept, repeated.intercept, atol=10 * case.tol)

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


def strided(array: np.ndarray) -> np.ndarray:
    """The same numbers, every second row and column of a larger array in reverse order."""
    larger = np.full(tuple(2 * size for size in array.shape), 7, dtype=array.dtype)
    view = larger[tuple(slice(None, None, -2) for _ in array.shape)]
    view[...] = array
    return view


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def mapped(array: np.ndarray) -> np.ndarray:
    """A read-only memory map of a file, which is removed when the array is."""
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "array.npy"
    np.save(path, array)
    loaded = np.load(path, mmap_mode="r")
    assert isinstance(loaded, np.memmap)
    loaded.folder = folder
    return loaded


def frame_of(library: str) -> Callable[[np.ndarray], Any]:
    """Convert to a data frame, or a series, of pandas or polars."""

    def convert(array: np.ndarray) -> Any:
        module = pytest.importorskip(library)
        if array.ndim == 1:
            return module.Series(array, name="y")
        return module.DataFrame({f"c{j}": array[:, j] for j in range(array.shape[1])})

    return convert


CONTAINERS: dict[str, Callable[[np.ndarray], Any]] = {
    "Fortran order": np.asfortranarray,
    "strides": strided,
    "read-only": read_only,
    "memory map": mapped,
    "lists": np.ndarray.tolist,
    "pandas": frame_of("pandas"),
    "polars": frame_of("polars"),
}


@each_case("containers")
def test_the_container_does_not_matter(name):
    case = CASES[name]
    problem = make_problem(case.kind, 30_000)
    plain = fitted(case, problem)
    for container, convert in CONTAINERS.items():
        other = replace(
            problem, X=convert(problem.X), Y=None if problem.Y is None else convert(problem.Y)
        )
        found = fitted(case, other)
        # the order in memory may change the order of sums
        assert_same(found, plain.theta, case.tol), container
        np.testing.assert_allclose(found.intercept, plain.intercept, atol=10 * case.tol)
        for method in ("predict", "transform"):
            if hasattr(plain.estimator, method) and problem.kind != "graph":
                expected = getattr(plain.estimator, method)(problem.X)
                answer = getattr(found.estimator, method)(other.X)
                np.testing.assert_allclose(answer, expected, atol=100 * case.tol)


@each_case("input unchanged")
def test_no_input_is_modified(name):
    case = CASES[name]
    for order in "CF":
        problem = make_problem(case.kind, 30_001)
        inputs = {
            key: np.array(getattr(problem, key), dtype=np.float64, order=order)
            for key in ("X", "Y", "weight")
            if getattr(problem, key) is not None
        }
        before = {key: array.copy() for key, array in inputs.items()}
        fit = fitted(case, replace(problem, **inputs), weighted="weights" not in case.except_for)
        for method in ("predict", "transform", "score"):
            if hasattr(fit.estimator, method) and problem.kind != "graph":
                arguments = [inputs["X"]] + [inputs["Y"]] * (
                    method == "score" and problem.Y is not None
                )
                getattr(fit.estimator, method)(*arguments)
        for key, array in inputs.items():
            np.testing.assert_array_equal(array, before[key], err_msg=f"{key}, order {order}")


def test_every_public_estimator_is_in_the_table():
    classes = [getattr(tr, name) for name in tr.__all__] + [
        getattr(baselines, name) for name in baselines.__all__
    ]
    public = {cls for cls in classes if isinstance(cls, type) and hasattr(cls, "fit")}
    assert public == {type(case.make(None)) for case in CASES.values()}
