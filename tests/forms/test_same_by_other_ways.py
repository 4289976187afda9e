"""Forms compute the same in whichever of several ways, and decide between these at the limits."""

import numpy as np
import pytest

from thinrank.core import memory
from thinrank.designs import Blocks, Dense
from thinrank.forms import Moments, ProductForm, active_columns, block_moments, kept_cross
from thinrank.forms.active_columns import ActiveColumns
from thinrank.forms.base import AdjustableRidge
from thinrank.forms.block_form import BlockForm
from thinrank.forms.block_moments import BlockMoments
from thinrank.forms.kept_cross import KeptCross

N, P, K = 12, 20, 5


def data(p=P, k=K, seed=30_201):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, p)), rng.standard_normal((N, k))


# --------------------------------------------------------------------------- products


@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("count", [3, K, N, N + 1, P])
def test_a_product_form_is_the_matrices(known, ridge, count):
    """With XᵀY given or not, and for fewer and more rows than samples."""
    X, Y = data()
    C, H = X.T @ Y / N, X.T @ X / N
    constant = float(np.sum(Y**2)) / N
    cross = C if known else None
    form = ProductForm(Dense(X), Dense(Y), float(N), constant, 0.0, cross).with_ridge(ridge)
    rows = np.sort(np.random.default_rng(count).permutation(P)[:count])
    inside = H[np.ix_(rows, rows)] + ridge * np.eye(count)
    np.testing.assert_allclose(form.cross_rows(rows), C[rows], atol=1e-12)
    np.testing.assert_allclose(form.cross_columns(1, 4), C[:, 1:4], atol=1e-12)
    np.testing.assert_allclose(form.diagonal(), np.diag(H) + ridge, atol=1e-12)
    by_row, by_column = form.cross_norms()
    np.testing.assert_allclose(by_row, np.sum(C**2, axis=1), rtol=1e-12)
    np.testing.assert_allclose(by_column, np.sum(C**2, axis=0), rtol=1e-12)
    np.testing.assert_allclose(form.gram(rows), inside, atol=1e-12)
    assert form.has_dual(rows) == (ridge > 0 and count > N)
    if ridge or count < N:
        root, ridged = form.inverse_root(rows)
        assert not ridged
        assert root.shape == (min(count, N), count)
        solution = np.linalg.solve(inside, C[rows])
        np.testing.assert_allclose(root.T @ (root @ C[rows]), solution, rtol=1e-9, atol=1e-11)
        if form.has_dual(rows):
            np.testing.assert_allclose(form.dual_solution(rows), solution, rtol=1e-9, atol=1e-11)


def test_directions_that_no_sample_has_are_left_out():
    """Samples that depend on one another: the root has as many rows as there are directions."""
    X, Y = data()
    X[6:] = X[:6]
    form = ProductForm(Dense(X), Dense(Y), float(N), 1.0, 0.3)
    root, _ = form.inverse_root(np.arange(P))
    assert root.shape == (6, P)
    assert np.isfinite(root).all()


@pytest.mark.parametrize(("p", "way"), [(6, "gram"), (6, "direct"), (P, "direct"), (P, "gram")])
def test_moments_have_no_ridge_of_their_own(p, way):
    X, Y = data(p)
    moments = Moments(Dense(X), Dense(Y), float(N), way)
    form = moments.form()
    np.testing.assert_allclose(form.diagonal(), np.sum(X**2, axis=0) / N, rtol=1e-12)
    np.testing.assert_allclose(form.gram(np.arange(4)), X[:, :4].T @ X[:, :4] / N, atol=1e-12)
    scaled = moments.with_target_scale(np.arange(1.0, K + 1)).form()
    np.testing.assert_allclose(scaled.diagonal(), form.diagonal(), rtol=1e-12)


def test_a_form_must_say_what_h_is():
    with pytest.raises(NotImplementedError):
        AdjustableRidge().gram(np.arange(2))


# --------------------------------------------------------------------------- columns in use


def test_columns_in_use_take_as_much_room_as_they_need(monkeypatch):
    """Whatever the order of the requests and the size of the blocks, products are exact."""
    X, Y = data(p=150)
    rng = np.random.default_rng(1)
    for block in (1, 3, 128):
        monkeypatch.setattr(active_columns, "_BLOCK_COLUMNS", block)
        monkeypatch.setattr(active_columns, "_PART_OF_COLUMNS", 1000)
        active = ActiveColumns(Dense(X), Dense(Y))
        for count in (3, 35, 36, 2, 40, 70, 70, 73, 74, 1, 110):
            index = np.sort(rng.permutation(150)[:count])
            before = active._rows.shape[0]
            new = active.holds(index)
            np.testing.assert_allclose(active.gram(index), X[:, index].T @ X[:, index], atol=1e-11)
            np.testing.assert_allclose(active.cross(index), X[:, index].T @ Y, atol=1e-11)
            np.testing.assert_allclose(active.products(index, Y), X[:, index].T @ Y, atol=1e-11)
            U = rng.standard_normal((count, 2))
            np.testing.assert_allclose(active.combine(index, U), X[:, index] @ U, atol=1e-11)
            room = before if new or count <= before else count + 32 + count // 32
            held = (active._rows, active._gram, active._gram.T, active._cross)
            assert [a.shape[0] for a in held] == 4 * [room]
            assert active.holds(index)
            assert active.gram(index) is not active._gram


# --------------------------------------------------------------------------- kept XᵀY


@pytest.mark.parametrize("entries", [1, 4, 7, 20, 1000])
@pytest.mark.parametrize("units", [None, np.array([2.0, 0.5, 3.0, 1.0, 0.1, 7.0])])
def test_norms_of_kept_columns_in_any_blocks(monkeypatch, entries, units):
    monkeypatch.setattr(kept_cross, "_BLOCK_ENTRIES", entries)
    C = np.random.default_rng(2).standard_normal((4, 6))
    kept = KeptCross(4, np.zeros(0))
    kept.put(C[:, :1], slice(0, 4))
    kept.allot(3)
    for rows in (slice(3, 4), slice(0, 3)):
        kept.put(C[rows, 1:4], rows)
    kept.put(C[:, 4:], slice(0, 4))
    scaled = C if units is None else C * units
    by_row, by_column = kept.norms(units)
    np.testing.assert_allclose(by_row, np.sum(scaled**2, axis=1), rtol=1e-13)
    np.testing.assert_allclose(by_column, np.sum(scaled**2, axis=0), rtol=1e-13)
    np.testing.assert_array_equal(kept.rows(np.array([2, 0])), C[[2, 0]])


@pytest.mark.parametrize(("samples", "expected"), [(40, True), (39, False)])
def test_what_is_kept_is_small_compared_with_x(samples, expected):
    """XᵀY of 5 responses takes an eighth of X with 40 samples."""
    assert (KeptCross.of_shape(samples, (10, 5), np.zeros(0)) is not None) is expected


# --------------------------------------------------------------------------- row blocks


class Passes(Blocks):
    """Row blocks that count the passes over them."""

    passes = 0

    def reduce(self, *args, **options):
        """As of all blocks, counted."""
        self.passes += 1
        return super().reduce(*args, **options)


def moments_in_passes(monkeypatch, splits=(), further=2, p=P):
    monkeypatch.setattr(block_moments, "_CHEAP_GRAM", 0)
    monkeypatch.setattr(block_moments, "_GRAM_PER_TARGET", 0)
    monkeypatch.setattr(block_moments, "_FURTHER", further)
    X, Y = data(p)
    options = {"center": True, "scale": True, "splits": splits}
    return BlockMoments(Passes([X[:5], X[5:]], block_rows=4), Y, None, **options), X, Y


def form_of(moments):
    return BlockForm(moments, moments.whole, np.arange(K), np.ones(K))


def standardised(X):
    X = X - X.mean(axis=0)
    return X / np.sqrt(np.mean(X**2, axis=0))


def test_products_between_known_and_unknown_rows_take_no_pass(monkeypatch):
    moments, X, _ = moments_in_passes(monkeypatch, further=0)
    form, Z = form_of(moments), standardised(X)
    known, unknown = np.array([0, 3, 4]), np.array([1, 7, 8, 9])
    form.gram(known)
    before = moments.X.passes
    for rows, others in ((known, unknown), (unknown, known)):
        between = form.gram_between(rows, others)
        np.testing.assert_allclose(between, Z[:, rows].T @ Z[:, others] / N, atol=1e-12)
    assert moments.X.passes == before


def test_the_next_pass_reads_the_predictors_with_the_largest_gradients(monkeypatch):
    moments, X, Y = moments_in_passes(monkeypatch)
    form, Z = form_of(moments), standardised(X)
    C = Z.T @ (Y - Y.mean(axis=0)) / N
    form.gram(np.array([2]))
    promise = np.sum(C**2, axis=1)
    np.testing.assert_allclose(moments.whole.hint, promise, rtol=1e-9)
    promise[2] = 0
    assert set(moments._place) == {2, *np.argsort(-promise)[:2]}
    hint = moments.whole.hint
    U, V = np.ones((1, 1)), np.zeros((K, 1))
    rows = np.array([2])
    np.testing.assert_allclose(form.gradient(rows, U, V), Z.T @ Z[:, rows] / N, atol=1e-12)
    assert moments.whole.hint is hint  # without V there are no residuals
    V[1] = 1.0
    gradient = form.gradient(rows, U, V)
    np.testing.assert_allclose(gradient, Z.T @ Z[:, rows] / N - C @ V, atol=1e-12)
    np.testing.assert_allclose(moments.whole.hint, np.sum(gradient**2, axis=1), rtol=1e-9)


@pytest.mark.parametrize("room", [0, 1, 3])
def test_further_predictors_are_read_as_far_as_memory_goes(monkeypatch, room):
    moments, _, _ = moments_in_passes(monkeypatch, further=4)
    each = block_moments._PARTS_OF_BUDGET * 8 * 2 * P
    monkeypatch.setattr(memory, "budget_bytes", lambda: each * (2 + room))
    form_of(moments).gram(np.array([2, 5]))
    assert len(moments._place) == 2 + room


def test_when_the_first_pass_computes_all_products(monkeypatch):
    X, Y = data(6)
    asked = []
    monkeypatch.setattr(memory, "fits", lambda *args: asked.append(args) or True)

    def known(**options):
        options = {"center": False, "scale": False} | options
        return len(BlockMoments(Blocks([X]), Y, None, **options)._place)

    work = N * 6 * 6
    for cheap, per_target, expected in (
        (work, 0, 6), (work - 1, 0, 0), (0, 6 / K, 6), (0, 5.9 / K, 0)
    ):  # fmt: skip
        monkeypatch.setattr(block_moments, "_CHEAP_GRAM", cheap)
        monkeypatch.setattr(block_moments, "_GRAM_PER_TARGET", per_target)
        assert known() == expected
        assert known(whole_gram=True) == 6
    rows = np.arange(N)
    asked.clear()
    known(whole_gram=True)
    assert asked[-1] == (block_moments._PARTS_OF_BUDGET * 2 * 36, 8)
    known(whole_gram=True, splits=[(rows[4:], rows[:4]), (rows[:4], rows[4:])])
    assert asked[-1] == (block_moments._PARTS_OF_BUDGET * 3 * 36, 8)
    monkeypatch.setattr(memory, "fits", lambda count, size: count < 100)
    assert known(whole_gram=True) == 0


def test_overflow_of_finite_predictors_is_named(monkeypatch):
    monkeypatch.setattr(block_moments, "_CHEAP_GRAM", 0)
    monkeypatch.setattr(block_moments, "_GRAM_PER_TARGET", 0)
    X, Y = data(3)
    X[3, 1] = 1e200
    with pytest.raises(ValueError, match="so must be the sums of squares of its columns"):
        BlockMoments(Blocks([X]), Y, None, center=False, scale=False)
