"""Gradients of similar fits need few products with X."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse

from thinrank.designs import Dense, Sparse
from thinrank.forms import Moments, kept_span


class Counted(Dense):
    """A design that notes the widths of its products."""

    def transposed_product(self, block):
        """Xᵀ @ block."""
        self.widths.append(block.shape[1])
        return super().transposed_product(block)


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(kept_span, "_WORTH_KEEPING", 0)
    rng = np.random.default_rng(30_111)
    X = Counted(rng.standard_normal((96, 600)))
    X.widths = []
    Y = X.array[:, :4] @ rng.standard_normal((4, 14)) + rng.standard_normal((96, 14))
    return Moments(X, Dense(Y), 96.0, "direct")


def best_on(form, rows, columns):
    """The best coefficients on given rows, for a row space of rank 2 on given columns."""
    rows, Q = np.array(rows), np.zeros((14, 2))
    Q[columns] = np.linalg.qr(np.random.default_rng(len(rows)).standard_normal((len(columns), 2)))[
        0
    ]
    root, _ = form.inverse_root(rows)
    return SimpleNamespace(rows=rows, U=root.T @ (root @ form.cross_rows(rows) @ Q), Q=Q)


def check(form, moments, fit, U=None):
    """The gradient, by whatever products, against the definition; the widths of the products."""
    moments.X.widths.clear()
    U = fit.U if U is None else U
    found = form.gradient(fit.rows, U, fit.Q)
    widths = list(moments.X.widths)
    X = moments.X.array
    everything = np.arange(moments.Y.shape[1])
    residual = X[:, fit.rows] @ U - moments.Y.columns(everything) @ fit.Q
    expected = X.T @ residual / 96
    expected[fit.rows] += form._ridge * U
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())
    return widths


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_in_other_units_no_product_is_needed(known, ridge):
    form, columns = known.form().with_ridge(ridge), [1, 4, 5, 9]
    assert check(form, known, best_on(form, [0, 1, 7], columns)) == [4]
    scaled = known.with_target_scale(np.linspace(0.5, 3, 14))
    form = scaled.form().with_ridge(ridge)
    fit = best_on(form, [0, 1, 7], columns)
    assert check(form, scaled, fit) == []


def test_after_an_exchange_of_a_row_few_vectors_are_new(known):
    form, columns = known.form(), [1, 4, 5, 9, 10, 12]
    assert check(form, known, best_on(form, [0, 1, 7], columns)) == [6]
    (few,) = check(form, known, best_on(form, [0, 1, 2], columns))
    assert few <= 2
    assert check(form, known, best_on(form, [0, 1, 7], columns)) == []  # still known


def test_coefficients_that_are_not_the_best_take_a_product_of_their_own(known):
    form = known.form()
    fit = best_on(form, [0, 1, 7], [1, 4, 5, 9])
    assert check(form, known, fit, fit.U + 0.1) == [2]
    assert check(form, known, fit) == [4]


def test_the_basis_is_replaced_when_it_would_take_too_much_memory(known):
    form, columns = known.form(), [1, 4, 5, 9, 10, 12, 13]
    for rows in ([0, 1], [2, 3], [5, 6], [7, 8], [0, 1]):
        check(form, known, best_on(form, rows, columns))
        kept = sum(products.size for _, products in known._shared.span._kept)
        assert 0 < kept <= known.X.array.size / 8


def test_nothing_is_kept_for_many_responses_or_a_small_x(known, monkeypatch):
    form = known.form()
    assert check(form, known, best_on(form, [0, 1, 7], range(13))) == [2]
    assert not known._shared.span._kept
    monkeypatch.undo()
    form = Moments(known.X, known.Y, 96.0, "direct").form()
    fit = best_on(form, [0, 1, 7], [1, 4, 5, 9])
    assert [check(form, known, fit), check(form, known, fit)] == [[2], [2]]


def test_responses_that_the_rows_explain(known):
    X = known.X
    moments = Moments(X, Dense(X.array[:, [3, 3, 8] + [8] * 11] * 1.0), 96.0, "direct")
    form = moments.form()
    fit = best_on(form, [3, 8], [0, 1, 2])
    np.testing.assert_allclose(form.gradient(fit.rows, fit.U, fit.Q), 0, atol=1e-12)


@pytest.mark.parametrize("size", [1e-3, 1e-8, 1e-11, 2e-12])
def test_small_new_directions_are_orthogonal_to_those_that_are_known(rng, monkeypatch, size):
    monkeypatch.setattr(kept_span, "_WORTH_KEEPING", 0)
    X = rng.standard_normal((200, 300))
    span = kept_span.KeptSpan(Dense(X))
    vectors = np.linalg.qr(rng.standard_normal((200, 3)))[0]
    span.product(vectors, vectors)
    others = vectors + rng.standard_normal((200, 3)) * [0.1, 0.1 * size, 0]
    np.testing.assert_allclose(span.product(others, others), X.T @ others, atol=1e-12)


def test_an_interrupted_product_leaves_what_was_known(rng, monkeypatch):
    monkeypatch.setattr(kept_span, "_WORTH_KEEPING", 0)
    X, vectors = rng.standard_normal((200, 300)), rng.standard_normal((200, 3))
    span = kept_span.KeptSpan(Dense(X))
    with monkeypatch.context() as patched:
        patched.setattr(kept_span.np, "concatenate", interrupted)
        with pytest.raises(KeyboardInterrupt):
            span.product(vectors, vectors)
    np.testing.assert_allclose(span.product(vectors, vectors), X.T @ vectors, atol=1e-12)


def interrupted(*args, **options):
    raise KeyboardInterrupt


def test_room_within_the_memory_of_x_and_the_budget(rng, monkeypatch):
    monkeypatch.setattr(kept_span, "_WORTH_KEEPING", 0)
    X = rng.standard_normal((160, 1024))
    assert kept_span.KeptSpan(Dense(X)).most == 12
    assert kept_span.KeptSpan(Dense(X[:80])).most == 10
    assert kept_span.KeptSpan(Sparse(scipy.sparse.csr_array(X))).most == 0
    monkeypatch.setenv("THINRANK_MEMORY_GIB", str(8 * 3 * X[0].nbytes / 2**30))
    assert kept_span.KeptSpan(Dense(X)).most == 3
