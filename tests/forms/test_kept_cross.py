"""Fits with the responses in other units share the products with X."""

import numpy as np
import pytest

from thinrank.designs import Dense
from thinrank.forms import Moments, ProductForm
from thinrank.forms.kept_cross import KeptCross
from thinrank.losses import LeastSquares


class Counted(Dense):
    """A design that counts its products."""

    products = 0

    def transposed_product(self, block):
        """Xᵀ @ block, counted."""
        type(self).products += 1
        return super().transposed_product(block)


def moments(k):
    rng = np.random.default_rng(30_101)
    X, Y = rng.standard_normal((64, 600)), rng.standard_normal((64, k))
    Counted.products = 0
    return Moments(Counted(X), Dense(Y), 64.0, "direct"), X, Y


def test_norms_in_other_units_need_no_product():
    known, X, Y = moments(k := 8)
    known.form().cross_norms()
    assert Counted.products == 1
    units = np.linspace(0.3, 4, k)
    by_row, by_column = known.with_target_scale(units).with_target_scale(units).form().cross_norms()
    assert Counted.products == 1
    cross = X.T @ (Y / units**2) / 64
    np.testing.assert_allclose(by_row, (cross**2).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(by_column, (cross**2).sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("k", [9, 30])
def test_not_kept_if_it_is_large(k):
    known, X, Y = moments(k)
    form = known.form()
    assert isinstance(form, ProductForm)
    form.cross_norms()
    before = Counted.products
    by_row, _ = known.with_target_scale(np.full(k, 2.0)).form().cross_norms()
    assert Counted.products > before
    np.testing.assert_allclose(by_row, ((X.T @ Y / 128) ** 2).sum(axis=1), rtol=1e-12)


def test_it_takes_an_eighth_of_x_at_most():
    like = np.zeros(0)
    assert KeptCross.of_shape(200, (1000, 25), like) is not None
    assert KeptCross.of_shape(200, (1000, 26), like) is None
    assert KeptCross.of_shape(200, (1000, 26), np.zeros(0, np.float32)) is None


@pytest.mark.parametrize("k", [8, 16, 30])
@pytest.mark.parametrize("norms_first", [False, True])
def test_rows_of_the_cross_products_in_other_units(k, norms_first):
    known, X, Y = moments(k)
    units = np.linspace(0.3, 4, k)
    scaled = known.with_target_scale(units).form()
    if norms_first:  # then XᵀY is kept if it is small
        scaled.cross_norms()
    for rows in ([3, 5, 8], [5, 8, 100, 200], [1, 3]):
        for form, expected in ((known.form(), X.T @ Y / 64), (scaled, X.T @ (Y / units) / 64)):
            np.testing.assert_allclose(form.cross_rows(np.array(rows)), expected[rows], atol=1e-13)


def test_columns_are_copied_once_for_all_units():
    known, X, _ = moments(10)
    rows = np.array([4, 17, 23])
    known.form().gram(rows)
    taken = []
    known.X.columns = taken.append  # any further copy would fail
    scaled = known.with_target_scale(np.full(10, 3.0))
    np.testing.assert_allclose(scaled.form().gram(rows), (X.T @ X / 64)[np.ix_(rows, rows)])
    U = np.ones((3, 2))
    np.testing.assert_allclose(scaled.scores(rows, U), X[:, rows] @ U)
    assert not taken


def test_what_depends_on_x_alone_is_shared_between_units():
    known, *_ = moments(10)
    first, second = known.form(), known.with_target_scale(np.full(10, 3.0)).form()
    rows = np.arange(600)
    a = first.with_ridge(2.0)
    root, _ = a.inverse_root(rows)
    expected = root.T @ (root @ a.cross_rows(rows))
    np.testing.assert_allclose(a.dual_solution(rows), expected, atol=1e-12)
    np.testing.assert_allclose(second.with_ridge(2.0).dual_solution(rows), expected / 3, atol=1e-12)
    assert first._shared is second._shared
    assert not first.has_dual(rows)  # no ridge
    assert not a.has_dual(rows[:64])


def test_residuals_from_few_columns():
    rng = np.random.default_rng(30_102)
    X, Y = rng.standard_normal((30, 50)), rng.standard_normal((30, 4))
    from thinrank import Factors

    for rows in ([2, 9], list(range(40))):
        U = np.zeros((50, 2))
        U[rows] = rng.standard_normal((len(rows), 2))
        factors = Factors(U, rng.standard_normal((4, 2)))
        expected = ((Y - X @ factors.theta) ** 2).sum(axis=0)
        np.testing.assert_allclose(LeastSquares(X, Y).residual_squares(factors), expected)
