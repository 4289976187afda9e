"""A fit with one wait for the device is the fit step by step, or None."""

import numpy as np
import pytest

import thinrank as tr
from thinrank import arrays
from thinrank.solvers.at_once import fitted_at_once
from thinrank.solvers.pursuit import Pursuit

RANK, ROWS, COLUMNS = 3, 100, 70


@pytest.fixture
def elsewhere(torch, monkeypatch):
    monkeypatch.setattr(arrays, "on_host", lambda x: type(x) is np.ndarray)
    return torch


def form_of(torch, X, Y, ridge=0.0, dtype="float32"):
    tensors = (torch.asarray(a.astype(dtype)) for a in (X, Y))
    return tr.losses.LeastSquares(*tensors).with_ridge(ridge).quadratic()


def data(rng, signal=1.0):
    X = rng.standard_normal((400, 150))
    theta = rng.standard_normal((150, RANK)) @ rng.standard_normal((RANK, COLUMNS)) / 12
    return X, signal * X @ theta + rng.standard_normal((400, COLUMNS))


def guess_of(torch, rng, width=RANK):
    return torch.asarray(rng.standard_normal((COLUMNS, width)).astype("float32"))


@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("signal", [0.1, 1.0, 300.0])
def test_it_is_the_fit_step_by_step(elsewhere, rng, monkeypatch, ridge, signal):
    form = form_of(elsewhere, *data(rng, signal), ridge)
    rows = arrays.indices(np.sort(rng.permutation(150)[:ROWS]), form.prototype)
    guess, solver = guess_of(elsewhere, rng), Pursuit().sized(RANK, ROWS, COLUMNS)
    every = arrays.indices(range(COLUMNS), form.prototype)
    at_once = fitted_at_once(form, rows, RANK, guess)
    assert at_once is not None
    monkeypatch.setattr("thinrank.solvers.pursuit.fitted_at_once", lambda *args: None)
    steps = solver._fit(None, form, rows, every, guess)
    assert at_once.objective == pytest.approx(steps.objective, rel=1e-4)
    found, expected = at_once.U @ at_once.Q.T, steps.U @ steps.Q.T
    assert float((found - expected).norm()) < 1e-4 * float(expected.norm())
    np.testing.assert_allclose(at_once.Q.T @ at_once.Q, np.eye(RANK), atol=1e-5)
    np.testing.assert_allclose(at_once.whitened, steps.whitened, atol=1e-4 * signal)


def test_one_transfer_if_the_guess_is_good(elsewhere, rng, monkeypatch):
    X, Y = data(rng)
    form = form_of(elsewhere, X, Y)
    rows = arrays.indices(range(ROWS), form.prototype)
    first = fitted_at_once(form, rows, RANK, guess_of(elsewhere, rng))
    transfers = []

    def counted(x):
        if type(x) is not np.ndarray:
            transfers.append(x.shape)
        return np.asarray(x)

    monkeypatch.setattr(arrays, "to_numpy", counted)
    assert fitted_at_once(form, rows, RANK, first.Q) is not None
    assert len(transfers) == 1


@pytest.mark.parametrize("case", ["singular", "no covariances", "lower rank"])
def test_what_is_not_as_usual_is_left_to_the_fit_step_by_step(elsewhere, rng, case):
    X, Y = data(rng)
    if case == "singular":
        X[:, 1] = X[:, 0]
    elif case == "no covariances":
        Y[:, 5] = 0.0
    else:
        Y = np.outer(Y[:, 0], rng.standard_normal(COLUMNS))
    form = form_of(elsewhere, X, Y)
    rows = arrays.indices(range(ROWS), form.prototype)
    guess = guess_of(elsewhere, rng)
    assert fitted_at_once(form, rows, RANK, guess) is None
    every = arrays.indices(range(COLUMNS), form.prototype)
    fit = Pursuit().sized(RANK, ROWS, COLUMNS)._fit(None, form, rows, every, guess)
    assert np.isfinite(fit.objective)
    assert fit.Q.shape[1] == (1 if case == "lower rank" else RANK)
    assert fit.columns.shape[0] == (COLUMNS - 1 if case == "no covariances" else COLUMNS)


@pytest.mark.parametrize(("rows", "dtype"), [(60, "float32"), (ROWS, "float64")])
def test_only_for_many_rows_in_single_precision(elsewhere, rng, rows, dtype):
    form = form_of(elsewhere, *data(rng), dtype=dtype)
    guess = guess_of(elsewhere, rng).to(form.prototype.dtype)
    assert fitted_at_once(form, arrays.indices(range(rows), guess), RANK, guess) is None


def test_data_on_the_host_are_fitted_step_by_step(torch, rng):
    form = form_of(torch, *data(rng))
    guess = guess_of(torch, rng)
    assert fitted_at_once(form, arrays.indices(range(ROWS), guess), RANK, guess) is None
