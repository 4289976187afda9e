"""Stacks of fits against explicit coefficients, and against each fit alone."""

import numpy as np
import pytest

import thinrank as tr
from thinrank.core.sizes import Sizes
from thinrank.designs import as_design
from thinrank.estimators.problem import Problem
from thinrank.selection.splits import held_out_samples
from thinrank.selection.stacks import Stack
from thinrank.solvers.pursuit import Pursuit

N, P, K = 45, 30, 8
HELD_OUT = [np.arange(5), np.arange(5, 24), np.arange(24, 33)]
SPLITS = [(np.setdiff1d(np.arange(N), test), test) for test in HELD_OUT]
# the second sample has 26 rows of data, fewer than its last fit has predictors
SIZES = {
    "as many rows": [Sizes(2, 5, 4, 0.0)] * 3,
    "other rows and columns": [Sizes(2, 5, 4, 0.0), Sizes(3, 9, K, 0.0), Sizes(1, 2, 3, 0.0)],
    "few columns": [Sizes(2, 7, 2, 0.0), Sizes(3, 8, 6, 0.0), Sizes(1, 4, 1, 0.0)],
    "ridge": [Sizes(1, 1, 2, 0.3), Sizes(3, 9, 3, 0.3), Sizes(3, 12, 5, 0.3)],
    "more rows than samples": [Sizes(2, 6, 5, 0.3), Sizes(2, 28, 6, 0.3), Sizes(3, 28, 4, 0.3)],
    "all columns": [Sizes(2, 5, K, 0.1), Sizes(3, 9, K, 0.1), Sizes(1, 2, K, 0.1)],
}


def data():
    X, Y, _ = tr.datasets.make_two_way_sparse(N, P, K, 3, 6, 5, correlation=0.4, random_state=0)
    rng = np.random.default_rng(0)
    return X * rng.uniform(0.2, 5, P) + 3, Y - 7


def prepared(weighted=False, library=None):
    X, Y = data()
    weight = np.random.default_rng(1).uniform(0.5, 3, N) if weighted else None
    there = [part if library is None else library.array(part) for part in (X, Y)]
    of_rows = library.array(weight) if library and weighted else weight
    return X, Y, weight, samples_of(*there, of_rows)


def samples_of(X, Y, weight=None):
    whole = Problem.prepare(
        as_design(X),
        Y,
        weight,
        fit_intercept=True,
        standardize_columns=True,
        scale_targets=False,
    )
    return held_out_samples(whole.loss, SPLITS, center=True, scale=True)


def fitted(samples, sizes):
    pairs = zip(samples, sizes, strict=True)
    return [sample.fit(each, Pursuit(max_iter=3).sized(*each[:3])) for sample, each in pairs]


class ByHand:
    """The rows of one split in the units of its training rows, and models of them."""

    def __init__(self, X, Y, weight, split, rows, ridge):
        weight = np.ones(len(X)) if weight is None else weight
        train, test = split
        of_train, self.weight = weight[train], weight[test]
        mean_x, mean_y = (np.average(part[train], axis=0, weights=of_train) for part in (X, Y))
        unit = np.sqrt(np.average((X[train] - mean_x) ** 2, axis=0, weights=of_train))
        S, self.A = (((X[part] - mean_x) / unit)[:, rows] for part in split)
        self.B = Y[test] - mean_y
        self.H = (S.T * of_train) @ S / of_train.sum() + ridge * np.eye(len(rows))
        self.C = (S.T * of_train) @ (Y[train] - mean_y) / of_train.sum()

    def squares(self, coefficients):
        """Squared errors of the responses, summed over the held-out rows."""
        return self.weight @ (self.B - self.A @ coefficients) ** 2

    def table(self, most, sets):
        """Mean squared errors, the better of the directions of several sets of columns."""
        values, vectors = np.linalg.eigh(self.H)
        root = (vectors / np.sqrt(values)) @ vectors.T
        table = np.full((most, K), np.inf)
        for columns in sets:
            left, singular, _ = np.linalg.svd((root @ self.C)[:, columns], full_matrices=False)
            known = min(most, np.count_nonzero(singular > 1e-6 * singular[0]))
            for rank in range(1, most + 1):
                L = left[:, : min(rank, known)]
                weights = L.T @ root @ self.C
                order = np.argsort(-np.sum(weights**2, axis=0))
                for count in range(1, K + 1):
                    kept = np.isin(np.arange(K), order[:count])
                    error = self.squares((root @ L @ weights) * kept).sum()
                    entry = error / (K * self.weight.sum())
                    table[rank - 1, count - 1] = min(table[rank - 1, count - 1], entry)
        return table


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("weighted", [False, True])
def test_tables_are_those_of_explicit_coefficients(sizes, weighted):
    X, Y, weight, samples = prepared(weighted)
    fits = fitted(samples, SIZES[sizes])
    stack = Stack(samples, fits)
    tables, of_all = np.array(stack.tables(7)), np.array(stack.tables(7, of_all=True))
    heights = [min(7, fit.root.shape[0], K) for fit in fits]
    assert tables.shape == of_all.shape == (3, max(heights), K)
    assert np.all(tables <= of_all)
    differs = False
    for i, fit in enumerate(fits):
        by_hand = ByHand(X, Y, weight, SPLITS[i], fit.rows, SIZES[sizes][i].ridge)
        expected = by_hand.table(max(heights), [np.arange(K)])
        np.testing.assert_allclose(of_all[i], expected, rtol=1e-7)
        expected = by_hand.table(max(heights), [np.arange(K), fit.columns])
        np.testing.assert_allclose(tables[i], expected, rtol=1e-7)
        differs |= not np.allclose(tables[i], of_all[i], rtol=1e-3)
    assert differs == any(each.columns < K for each in SIZES[sizes])


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("weighted", [False, True])
def test_response_errors_are_those_of_explicit_predictions(sizes, weighted):
    X, Y, weight, samples = prepared(weighted)
    fits = fitted(samples, SIZES[sizes])
    expected = np.zeros(K)
    for i, fit in enumerate(fits):
        by_hand = ByHand(X, Y, weight, SPLITS[i], fit.rows, SIZES[sizes][i].ridge)
        expected += by_hand.squares(np.linalg.solve(by_hand.H, by_hand.C))
    np.testing.assert_allclose(sum(Stack(samples, fits).response_errors()), expected, rtol=1e-8)


def assert_stacked_as_alone(samples, fits, rtol):
    stack = Stack(samples, fits)
    alone = [Stack([sample], [fit]) for sample, fit in zip(samples, fits, strict=True)]
    expected = [each.response_errors()[0] for each in alone]
    np.testing.assert_allclose(stack.response_errors(), expected, rtol=rtol)
    for most in (1, 3, 20):
        for of_all in (False, True):
            tables = np.array(stack.tables(most, of_all=of_all))
            singles = [each.tables(most, of_all=of_all)[0] for each in alone]
            assert tables.shape[1] == max(len(single) for single in singles)
            for table, single in zip(tables, singles, strict=True):
                ranks = np.minimum(np.arange(len(table)), len(single) - 1)
                np.testing.assert_allclose(table, single[ranks], rtol=rtol)


@pytest.mark.parametrize("sizes", SIZES)
def test_several_fits_are_judged_as_each_alone(sizes):
    *_, samples = prepared(weighted=True)
    assert_stacked_as_alone(samples, fitted(samples, SIZES[sizes]), rtol=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_rows_left_by_elimination_and_refits_can_be_stacked(ridge):
    """They have no coefficients, which tables do not need."""
    *_, samples = prepared()
    left = [sample.eliminated(rows, ridge) for sample, rows in zip(samples, (3, 9, 5), strict=True)]
    assert_stacked_as_alone(samples, left, rtol=1e-9)
    fits = fitted(samples, SIZES["other rows and columns"])
    again = [sample.refit(fit, ridge) for sample, fit in zip(samples, fits, strict=True)]
    assert_stacked_as_alone(samples, again, rtol=1e-9)
    if ridge == 0:
        tables = [np.array(Stack(samples, each).tables(4)) for each in (fits, again)]
        np.testing.assert_allclose(*tables, rtol=1e-9)


def test_the_score_of_a_fit_is_in_its_table():
    *_, samples = prepared()
    sizes = SIZES["other rows and columns"]
    fits = fitted(samples, sizes)
    tables = Stack(samples, fits).tables(5)
    for sample, fit, each, table in zip(samples, fits, sizes, tables, strict=True):
        score = sample.score(fit, each)
        entry = table[each.rank - 1, each.columns - 1]
        assert entry <= score * (1 + 1e-9)
        alone = Stack([sample], [fit]).tables(5, of_all=True)[0][each.rank - 1, each.columns - 1]
        assert each.columns < K or alone == pytest.approx(score, rel=1e-9)


def test_a_perfect_prediction_is_no_better_than_another():
    X, _ = data()
    Y = np.outer(X[:, 0], np.arange(1.0, K + 1))
    samples = samples_of(X, Y)
    fits = fitted(samples, [Sizes(1, 1, K, 0.0), Sizes(1, 2, K, 0.0), Sizes(1, 3, K, 0.0)])
    tables = Stack(samples, fits).tables(3)
    for sample, table in zip(samples, tables, strict=True):
        np.testing.assert_array_equal(table[:, -1], 1e-10 * sample.null())
        assert np.all(table[:, :-1] > 1e-3 * sample.null())


def test_a_fit_of_nothing_is_the_zero_matrix():
    *_, samples = prepared()
    fits = fitted(samples, SIZES["other rows and columns"])
    whole, gaps = Stack(samples, fits), Stack(samples, [None, *fits[1:]])
    nothing, *others = gaps.tables(4)
    np.testing.assert_array_equal(nothing, np.full((1, K), samples[0].null()))
    for table, expected in zip(others, whole.tables(4)[1:], strict=True):
        np.testing.assert_allclose(table, expected[: len(table)], rtol=1e-9)
    alone = Stack([samples[0]], [None])
    np.testing.assert_array_equal(alone.response_errors(), [samples[0].null_errors()])
    rest = Stack(samples[1:], fits[1:])
    total = alone.response_errors() + rest.response_errors()
    np.testing.assert_allclose(gaps.response_errors(), total)


@pytest.mark.parametrize("sizes", ["other rows and columns", "more rows than samples"])
def test_every_library(library, sizes):
    *_, reference = prepared(weighted=True)
    expected = Stack(reference, fitted(reference, SIZES[sizes]))
    *_, samples = prepared(weighted=True, library=library)
    stack = Stack(samples, fitted(samples, SIZES[sizes]))
    for found, wanted in (
        (np.array(stack.tables(5)), np.array(expected.tables(5))),
        (np.array(stack.response_errors()), np.array(expected.response_errors())),
    ):
        assert type(found) is np.ndarray
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, wanted, rtol=1e-8)
