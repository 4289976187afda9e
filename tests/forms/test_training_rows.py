"""The form of the rows that remain is that of a loss built on those rows alone."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

import thinrank as tr
from thinrank import arrays
from thinrank.designs import as_design, standardize
from thinrank.forms import GramForm, ProductForm
from thinrank.forms.training_rows import without_rows
from thinrank.losses import LeastSquares
from thinrank.losses.form_loss import FormLoss

N, P, K = 30, 11, 6
OUT = np.array([0, 3, 4, 11, 17, 29])
LEFT = np.setdiff1d(np.arange(N), OUT)


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((N, P)) < 0.5, rng.standard_normal((N, P)), 0.0)
    X *= np.linspace(0.5, 4, P)
    Y = X[:, :2] @ rng.standard_normal((2, K)) + rng.standard_normal((N, K)) + 3
    return X, Y, rng.integers(1, 4, N).astype(float)


def form_of(X, Y, weight, center, scale, kind):
    """The quadratic form of all the rows, centred and scaled, and the loss."""
    columns = standardize(as_design(X), sample_weight=weight, center=center, scale=scale)
    like = columns.design.prototype
    targets = standardize(as_design(Y), sample_weight=weight, center=center, scale=False)
    loss = LeastSquares(columns.design, targets.design, sample_weight=weight)
    if kind == "gram":
        loss.hold_for_search()
        form = loss.quadratic()
        assert isinstance(form, GramForm)
    else:
        cross = loss.cross() if kind == "product with cross" else None
        form = ProductForm(loss.moments.X, loss.moments.Y, loss.samples, loss.constant, 0.0, cross)
    return form, loss, like


def matrices(X, Y, weight, center, scale):
    """H, C and c of the remaining rows, by hand."""
    X, Y, w = X[LEFT], Y[LEFT], weight[LEFT][:, None]
    if center:
        X = X - np.sum(w * X, axis=0) / w.sum()
        Y = Y - np.sum(w * Y, axis=0) / w.sum()
    if scale:
        norms = np.sqrt(np.sum(w * X**2, axis=0) / w.sum())
        X = np.divide(X, norms, out=np.zeros_like(X), where=norms > 1e-9)
    return X.T @ (w * X) / w.sum(), X.T @ (w * Y) / w.sum(), np.sum(w * Y**2) / w.sum()


def training_rows(form, loss, like, center, scale):
    return without_rows(
        form, *loss.rows(arrays.indices(OUT.tolist(), like)), center=center, scale=scale
    )


def assert_form(form, H, C, constant, to, back, tol=1e-10):
    """Every method of a quadratic form."""
    rng = np.random.default_rng(1)
    assert form.shape == (P, K)
    assert form.constant == pytest.approx(constant, rel=tol)
    assert form.observations == pytest.approx(form.samples * K)
    pairs = [
        (form.diagonal(), np.diag(H)),
        (form.cross_columns(0, K), C),
        (form.cross_columns(2, 5), C[:, 2:5]),
        (form.cross_norms()[0], np.sum(C**2, axis=1)),
        (form.cross_norms()[1], np.sum(C**2, axis=0)),
    ]
    for _ in range(3):
        rows = np.sort(rng.choice(P, rng.integers(1, 8), replace=False))
        others = np.setdiff1d(np.arange(P), rows)[:3]
        U, V = rng.standard_normal((len(rows), 2)), rng.standard_normal((K, 2))
        index = arrays.indices(rows.tolist(), form.prototype)
        between = arrays.indices(others.tolist(), form.prototype)
        pairs += [
            (form.gram(index), H[np.ix_(rows, rows)]),
            (form.gram_between(index, between), H[np.ix_(rows, others)]),
            (form.cross_rows(index), C[rows]),
            (form.gradient(index, to(U), to(V)), H[:, rows] @ U - C @ V),
        ]
    for found, expected in pairs:
        np.testing.assert_allclose(back(found), expected, atol=tol * max(1, np.abs(H).max()))


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array, aslinearoperator])
@pytest.mark.parametrize(
    ("center", "scale", "weighted"), list(itertools.product([True, False], repeat=3))
)
def test_against_the_remaining_rows_alone(wrap, center, scale, weighted):
    X, Y, weight = data()
    if not weighted:
        weight = np.ones(N)
    form, loss, like = form_of(wrap(X), Y, weight if weighted else None, center, scale, "gram")
    form = training_rows(form, loss, like, center, scale).form
    H, C, constant = matrices(X, Y, weight, center, scale)
    assert form.samples == pytest.approx(weight[LEFT].sum())
    for ridge in (0.0, 0.3):
        ridged = H + ridge * np.eye(P)
        assert_form(form.with_ridge(ridge), ridged, C, constant, np.asarray, np.asarray)


def test_every_library(library, dtype):
    X, Y, weight = data()
    arrays_ = (library.array(a, dtype) for a in (X, Y, weight))
    form, loss, like = form_of(*arrays_, True, True, "gram")
    training = training_rows(form, loss, like, True, True)
    library.check(training.form.diagonal(), training.inverse_scale, training.center_x, dtype=dtype)
    H, C, constant = matrices(X, Y, weight, True, True)
    form = training.form
    library.check(form.gram(library.index([1, 2])), form.cross_columns(0, K), dtype=dtype)
    to = lambda a: library.array(a, dtype)  # noqa: E731
    tol = 2e-5 if dtype == "float32" else 1e-10
    assert_form(form, H, C, constant, to, library.numpy, tol)


def test_means_and_units_are_those_of_the_remaining_rows():
    """In the units of the whole, which is centred and scaled itself."""
    X, Y, weight = data()
    form, loss, like = form_of(X, Y, weight, True, True, "gram")
    training = training_rows(form, loss, like, True, True)
    whole_x = standardize(as_design(X), sample_weight=weight).design.columns(np.arange(P))
    whole_y = Y - np.average(Y, axis=0, weights=weight)
    means = np.average(whole_x[LEFT], axis=0, weights=weight[LEFT])
    np.testing.assert_allclose(training.center_x, means, atol=1e-12)
    np.testing.assert_allclose(
        training.center_y, np.average(whole_y[LEFT], axis=0, weights=weight[LEFT]), atol=1e-12
    )
    deviations = np.average((whole_x[LEFT] - means) ** 2, axis=0, weights=weight[LEFT])
    np.testing.assert_allclose(training.inverse_scale, deviations**-0.5, rtol=1e-10)


@pytest.mark.parametrize("value", [0.0, 2.5])
def test_a_column_that_is_constant_on_the_remaining_rows_is_dropped(value):
    X, Y, weight = data()
    X[:, 4] = value
    X[OUT, 4] = np.arange(6.0)
    form, loss, like = form_of(X, Y, weight, True, True, "gram")
    training = training_rows(form, loss, like, True, True)
    assert training.inverse_scale[4] == 0
    assert training.form.diagonal()[4] == 0
    H, C, constant = matrices(X, Y, weight, True, True)
    assert H[4, 4] == 0
    assert_form(training.form, H, C, constant, np.asarray, np.asarray)


def test_all_of_the_variation_of_the_responses_may_be_taken_out():
    X, Y, weight = data()
    Y[LEFT] = 1.0
    form, loss, like = form_of(X, Y, weight, True, True, "gram")
    training = training_rows(form, loss, like, True, True)
    assert 0 <= training.form.constant <= 1e-12 * form.constant


# --------------------------------------------------------------------------- FormLoss


@pytest.mark.parametrize("kind", ["gram", "product"])
@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.parametrize("weighted", [True, False])
def test_form_loss_is_least_squares(kind, ridge, weighted):
    X, Y, weight = data()
    weight = weight if weighted else None
    form, loss, _ = form_of(X, Y, weight, True, True, kind)
    reference = loss.with_ridge(ridge)
    from_form = FormLoss(form, lambda: 1.5, ridge)
    rng = np.random.default_rng(2)
    U, V = rng.standard_normal((P, 3)), rng.standard_normal((K, 3))
    U[[1, 5, 6]] = 0.0
    factors = tr.Factors(U, V)
    for found, expected in zip(
        from_form.value_and_gradient(factors), reference.value_and_gradient(factors), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-10)
    value, gradient = from_form.full_gradient(factors.theta)
    expected_value, expected_gradient = reference.full_gradient(factors.theta)
    assert value == pytest.approx(expected_value, rel=1e-10)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-10)
    np.testing.assert_allclose(from_form.row_scales(), reference.row_scales(), rtol=1e-10)
    np.testing.assert_allclose(from_form.cross(), reference.cross(), atol=1e-12)
    assert from_form.smoothness() == pytest.approx(reference.smoothness(), rel=1e-2)
    assert from_form.samples == reference.samples
    assert from_form.noise() == 1.5
    assert from_form.shape == (P, K)


def test_form_of_training_rows_is_minimised_like_the_rows_alone():
    X, Y, _ = data()
    form, loss, like = form_of(X, Y, None, True, True, "gram")
    from_form = FormLoss(training_rows(form, loss, like, True, True).form, lambda: 1.0, 0.1)
    own = standardize(as_design(X[LEFT])).design
    alone = LeastSquares(own, Y[LEFT] - Y[LEFT].mean(axis=0), ridge=0.1)
    sizes = {"rank": 2, "row_sparsity": 4, "column_sparsity": 5}
    answers = [
        tr.minimize(each, solver="pursuit", start="spectral", **sizes)
        for each in (from_form, alone)
    ]
    assert answers[0].value == pytest.approx(answers[1].value, rel=1e-9)
    np.testing.assert_allclose(answers[0].factors.theta, answers[1].factors.theta, atol=1e-8)


def test_form_loss_says_what_it_has_not():
    form, _, _ = form_of(*data()[:2], None, True, True, "gram")
    assert not {"restrict", "curvature"} & FormLoss(form, lambda: 1.0).capabilities
    assert "quadratic" in FormLoss(form, lambda: 1.0).capabilities


@pytest.mark.parametrize("scale", [True, False])
def test_what_is_constant_on_the_remaining_rows_is_dropped(scale):
    X, Y, weight = data()
    X[LEFT, 4] = 0.1 + 0.2
    form, loss, like = form_of(X, Y, weight, True, scale, "gram")
    training = training_rows(form, loss, like, True, scale)
    assert training.inverse_scale[4] == 0
    np.testing.assert_array_equal(training.form.diagonal() == 0, np.arange(P) == 4)
    np.testing.assert_array_equal(training.form.cross_rows(np.array([4])), np.zeros((1, K)))
