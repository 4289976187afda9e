"""Orders in memory, memory maps, lists and data frames give the same, and stay as they were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimator_table import CASES, assert_same, assert_same_intercept, fitted, names_for
from tiny_problems import Problem, make_problem

pytestmark = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")


def strided(array: np.ndarray, folder: Path) -> np.ndarray:
    """Every second row and column of a larger array, backwards."""
    larger = np.full(tuple(2 * size for size in array.shape), 7, dtype=array.dtype)
    view = larger[tuple(slice(None, None, -2) for _ in array.shape)]
    view[...] = array
    return view


def mapped(array: np.ndarray, folder: Path) -> np.ndarray:
    """A read-only memory map."""
    path = folder / f"{array.shape}.npy"
    np.save(path, array)
    return np.load(path, mmap_mode="r")


def pandas_frame(array: np.ndarray, folder: Path) -> Any:
    pd = pytest.importorskip("pandas")
    if array.ndim == 1:
        return pd.Series(array, name="y")
    return pd.DataFrame(array, columns=[f"c{j}" for j in range(array.shape[1])])


def polars_frame(array: np.ndarray, folder: Path) -> Any:
    pl = pytest.importorskip("polars")
    if array.ndim == 1:
        return pl.Series("y", array)
    return pl.DataFrame({f"c{j}": array[:, j] for j in range(array.shape[1])})


CONTAINERS: list[Callable[[np.ndarray, Path], Any]] = [
    lambda array, folder: np.asfortranarray(array),
    strided,
    mapped,
    lambda array, folder: array.tolist(),
    pandas_frame,
    polars_frame,
]


def results(estimator: Any, problem: Problem) -> dict[str, np.ndarray]:
    """What the methods of an estimator return for its training data."""
    answers = {
        method: getattr(estimator, method)(problem.X)
        for method in ("predict", "transform")
        if hasattr(estimator, method)
    }
    if hasattr(estimator, "score"):
        answers["score"] = estimator.score(problem.X, problem.Y)
    return {method: np.asarray(answer) for method, answer in answers.items()}


@pytest.mark.parametrize("name", names_for("containers"))
def test_the_container_does_not_matter(name, tmp_path):
    case = CASES[name]
    problem = make_problem(case.kind, 30_000)
    plain = fitted(case, problem)
    expected = results(plain.estimator, problem)
    # fewer for fits that take long: all estimators read their input by the same functions
    for convert in CONTAINERS[:: case.cost]:
        Y = None if problem.Y is None else convert(problem.Y, tmp_path)
        other = replace(problem, X=convert(problem.X, tmp_path), Y=Y)
        found = fitted(case, other)
        # the order in memory may change the order of sums
        assert_same(found, plain.theta, case.tol)
        assert_same_intercept(case, found.intercept, plain.intercept)
        for method, answer in results(found.estimator, other).items():
            np.testing.assert_allclose(answer, expected[method], atol=100 * case.tol)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", names_for("input unchanged"))
def test_no_input_is_modified(name, order):
    case = CASES[name]
    problem = make_problem(case.kind, 30_001)
    # writable and of the type that is not converted, so that nothing forces a copy
    X, weight = np.array(problem.X, order=order), problem.weight.astype(np.float64)
    Y = None if problem.Y is None else np.array(problem.Y, order=order)
    given = replace(problem, X=X, Y=Y, weight=weight)
    fit = fitted(case, given, weighted=problem.Y is not None)
    results(fit.estimator, given)
    np.testing.assert_array_equal(X, problem.X)
    np.testing.assert_array_equal(weight, problem.weight)
    if Y is not None:
        np.testing.assert_array_equal(Y, problem.Y)
