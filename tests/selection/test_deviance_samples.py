"""Samples scored by deviance: on complete data with squared errors they are those of regression."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

import thinrank as tr
from thinrank.core.sizes import Sizes
from thinrank.losses import GeneralizedLinear, LeastSquares
from thinrank.losses.families import Bernoulli, Gaussian, Poisson
from thinrank.selection.criteria import Criterion
from thinrank.selection.criterion_sample import CriterionSample
from thinrank.selection.deviance_splits import deviance_samples
from thinrank.selection.loss_criterion_sample import LossCriterionSample
from thinrank.selection.splits import held_out_samples
from thinrank.selection.stacks import Stack
from thinrank.selection.tables import directions
from thinrank.solvers.pursuit import Pursuit

N, P, K = 48, 10, 6
SPLITS = list(KFold(3, shuffle=True, random_state=0).split(np.zeros(N)))
SIZES = Sizes(2, 4, 4, 0.0)
SOLVER = Pursuit(tol=1e-12)


def data(seed=0):
    X, Y, _ = tr.datasets.make_two_way_sparse(N, P, K, 2, 4, 4, random_state=seed)
    return X - X.mean(axis=0), Y + 2


def both(weighted=False, center=True):
    """Samples of least squares and of the deviance, on the same splits."""
    X, Y = data()
    weight = np.random.default_rng(0).uniform(0.5, 2, N) if weighted else None
    if center:
        X = X - np.average(X, axis=0, weights=weight)
    else:
        Y = Y - 2
    centred = Y - np.average(Y, axis=0, weights=weight) if center else Y
    squares = LeastSquares(X, centred, sample_weight=weight)
    free = np.ones((N, 1)) if center else None
    deviance = GeneralizedLinear(X, Y, Gaussian(), sample_weight=weight, free=free)
    options = {"center": center, "scale": True}
    return held_out_samples(squares, SPLITS, **options), deviance_samples(
        deviance, SPLITS, **options
    )


every_case = pytest.mark.parametrize(
    ("weighted", "center"), [(False, True), (True, True), (False, False), (True, False)]
)


def fitted(samples, sizes):
    return [sample.fit(sizes, SOLVER.sized(*sizes[:3])) for sample in samples]


@every_case
@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_scores(weighted, center, ridge):
    sizes = SIZES._replace(ridge=ridge)
    ours, theirs = both(weighted, center)
    for a, b, fit, other in zip(
        ours, theirs, fitted(ours, sizes), fitted(theirs, sizes), strict=True
    ):
        assert b.null() == pytest.approx(a.null(), rel=1e-10)
        np.testing.assert_allclose(b.null_errors(), a.null_errors(), rtol=1e-9)
        np.testing.assert_array_equal(a.index, b.index)
        assert b.entries == pytest.approx(a.entries)
        assert b.weight == pytest.approx(a.weight)
        np.testing.assert_array_equal(fit.rows, other.rows)
        np.testing.assert_array_equal(fit.columns, other.columns)
        assert b.score(other, sizes) == pytest.approx(a.score(fit, sizes), rel=1e-8)
        np.testing.assert_allclose(b.row_errors(other), a.row_errors(fit), rtol=1e-6)
        np.testing.assert_allclose(
            b.predictors(other.rows), a.predictors(fit.rows) / a._roots[:, None], atol=1e-10
        )


@every_case
@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_tables(weighted, center, ridge):
    """Held-out rows of weights other than 1 have another table, which agrees at the fit."""
    sizes = SIZES._replace(ridge=ridge)
    ours, theirs = both(weighted, center)
    fits, others = fitted(ours, sizes), fitted(theirs, sizes)
    tables, right = Stack(theirs, others).tables(4), Stack(ours, fits).tables(4)
    for sample, other, table, expected in zip(theirs, others, tables, right, strict=True):
        assert table.shape == expected.shape
        if not weighted:
            np.testing.assert_allclose(table, expected, rtol=1e-7)
        # the approximation has the score of the fit at the fit itself
        view, score = sample.view(other), sample.score(other, sizes)
        values = (sample.predictors(other.rows) @ other.U) @ other.Q.T
        change = np.sum(values**2) - 2 * np.sum(values * view.targets)
        assert view.base + change / sample.entries == pytest.approx(score, rel=1e-9)
        assert table[1, 3] <= score * (1 + 1e-8)  # fits have this precision
    if not weighted:
        for near, ridge_now in ((0, 0.0), (0, 0.5)):
            a = Stack(ours[:1], [ours[0].refit(fits[near], ridge_now)]).tables(4)[0]
            b = Stack(theirs[:1], [theirs[0].refit(others[near], ridge_now)]).tables(4)[0]
            np.testing.assert_allclose(b, a, rtol=1e-7)


def test_forecasts():
    ours, theirs = both()
    rows = np.arange(1, P + 1)
    for a, b, fit, other in zip(
        ours, theirs, fitted(ours, SIZES), fitted(theirs, SIZES), strict=True
    ):
        np.testing.assert_allclose(
            b.rows_forecast(other, SIZES, rows), a.rows_forecast(fit, SIZES, rows), rtol=1e-7
        )


def test_tables_predict_responses_that_a_fit_leaves_out():
    # around a fit of one response fewer, the table has about the score of a fit with all of them
    X, Y = data()
    seen = (np.random.default_rng(3).random(Y.shape) > 0.4).astype(float)
    loss = GeneralizedLinear(X, Y, Gaussian(), entry_weight=seen, free=np.ones((N, 1)))
    samples = deviance_samples(loss, SPLITS, center=True, scale=True)
    thin, full = fitted(samples, SIZES._replace(columns=3)), fitted(samples, SIZES)
    tables = Stack(samples, thin).tables(2)
    for sample, fit, other, table in zip(samples, thin, full, tables, strict=True):
        without, score = sample.score(fit, SIZES), sample.score(other, SIZES)
        assert score < without
        assert table[1, 3] == pytest.approx(score, abs=0.3 * (without - score))
    # responses that are left out have their deviance without predictors
    only = thin[2].columns
    own = Stack(samples[2:], thin[2:])
    table = own._errors(2, own._columns_in_use)[0]
    assert set(directions(thin[2].root, thin[2].whitened, 2).order[1, :3]) == set(only)
    assert table[1, 2] == pytest.approx(samples[2].score(thin[2], SIZES), rel=1e-4)


def test_elimination():
    ours, theirs = both()
    for rows in (2, 5, 8):
        a = Stack(ours, [s.eliminated(rows, 0.1) for s in ours])
        b = Stack(theirs, [s.eliminated(rows, 0.1) for s in theirs])
        for table, expected in zip(b.tables(3), a.tables(3), strict=True):
            np.testing.assert_allclose(table, expected, rtol=1e-6)
        for errors, expected in zip(b.response_errors(), a.response_errors(), strict=True):
            np.testing.assert_allclose(errors, expected, rtol=1e-6)


def test_growing_from_a_fit_of_other_sizes():
    ours, theirs = both()
    larger = SIZES._replace(rows=6)
    for a, b, fit, other in zip(
        ours, theirs, fitted(ours, SIZES), fitted(theirs, SIZES), strict=True
    ):
        solver = SOLVER.sized(*larger[:3])
        one, two = a.grow(larger, solver, fit), b.grow(larger, solver, other)
        assert len(two.rows) == 6
        assert set(other.rows) <= set(two.rows)
        # which rows of noise are added depends on the path
        assert two.objective == pytest.approx(one.objective, rel=0.03)


@pytest.mark.parametrize("share", [0.0, 0.25])
@pytest.mark.parametrize("name", ["bernoulli", "poisson"])
def test_deviance_of_held_out_entries_by_hand(name, share):
    rng = np.random.default_rng(0)
    X, eta = data()
    eta = 0.5 * (eta - eta.mean(axis=0))
    family = {"bernoulli": Bernoulli(), "poisson": Poisson()}[name]
    Y = rng.poisson(np.exp(eta.clip(-2, 2))).astype(float)
    if name == "bernoulli":
        Y = (Y > 0).astype(float)
    seen = (rng.uniform(size=Y.shape) >= share).astype(float)
    offset = 0.3 * rng.standard_normal(Y.shape)
    loss = GeneralizedLinear(
        X, Y, family, entry_weight=seen, offset=offset, free=np.ones((N, 1)), least_ridge=1e-8
    )
    for sample, (train, test) in zip(
        deviance_samples(loss, SPLITS, center=True, scale=True), SPLITS, strict=True
    ):
        fit = sample.fit(SIZES, SOLVER.sized(*SIZES[:3]))
        Z = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
        intercept = sample.loss.at(fit.factors).free
        linear = Z[test] @ fit.factors.theta + offset[test] + intercept
        deviances = family.deviance(Y[test], linear) * seen[test]
        assert sample.score(fit, SIZES) == pytest.approx(deviances.sum() / seen[test].sum())
        np.testing.assert_allclose(sample.row_errors(fit), deviances.sum(axis=1), rtol=1e-8)
        # the table agrees with the score at the fit itself
        table = Stack([sample], [fit]).tables(2)[0]
        place = table[fit.U.shape[1] - 1, fit.columns.shape[0] - 1]
        assert place == pytest.approx(sample.score(fit, SIZES), rel=0.05)


def test_splits_without_held_out_entries_are_refused():
    X, Y = data()
    seen = np.ones((N, K))
    seen[SPLITS[0][1]] = 0
    loss = GeneralizedLinear(X, Y, Gaussian(), entry_weight=seen, free=np.ones((N, 1)))
    with pytest.raises(ValueError, match="no held-out entries"):
        deviance_samples(loss, SPLITS, center=True, scale=True)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [False, True])
def test_kept_predictors(weighted, offset):
    """With squared errors, the samples of a regression whose kept predictors are projected out."""
    X, Y = data(1)
    rng = np.random.default_rng(1)
    kept = rng.standard_normal((N, 2)) + 1
    Y = Y + kept @ rng.standard_normal((2, K))
    moved = rng.standard_normal((N, K)) if offset else np.zeros((N, K))
    weight = rng.uniform(0.5, 2, N) if weighted else np.ones(N)
    free = np.column_stack([np.ones(N), kept])
    out = free @ np.linalg.pinv(np.sqrt(weight)[:, None] * free) * np.sqrt(weight)
    X = X - out @ X
    squares = LeastSquares(X, Y - moved - out @ (Y - moved), sample_weight=weight)
    deviance = GeneralizedLinear(
        X, Y, Gaussian(), sample_weight=weight, free=free, offset=moved if offset else None
    )
    options = {"center": True, "scale": True, "kept": kept}
    ours = held_out_samples(squares, SPLITS, **options)
    theirs = deviance_samples(deviance, SPLITS, **options)
    for a, b, fit, other, (train, test) in zip(
        ours, theirs, fitted(ours, SIZES), fitted(theirs, SIZES), SPLITS, strict=True
    ):
        np.testing.assert_allclose(b.null_errors(), a.null_errors(), rtol=1e-8)
        np.testing.assert_array_equal(fit.rows, other.rows)
        assert b.score(other, SIZES) == pytest.approx(a.score(fit, SIZES), rel=1e-8)
        np.testing.assert_allclose(b.row_errors(other), a.row_errors(fit), rtol=1e-6)
        # without any predictor: the errors of the training means
        plain = Y - moved
        mean = np.average(plain[train], axis=0, weights=weight[train])
        expected = np.sum(weight[test, None] * (plain[test] - mean) ** 2, axis=0)
        np.testing.assert_allclose(b.total_errors, expected, rtol=1e-8)


# --------------------------------------------------------------------------- criteria


def criterion_sample(family, Y, name="bic"):
    X, _ = data()
    loss = GeneralizedLinear(X, Y, family, free=np.ones((N, 1)), least_ridge=1e-8)
    return LossCriterionSample(loss, Criterion(name), True, True)


@pytest.mark.parametrize("name", ["aic", "bic", "ebic"])
def test_criteria_are_the_deviance_plus_a_penalty(name):
    """Rank 1 on one row and one column is a single regression, with one degree of freedom."""
    rng = np.random.default_rng(0)
    X, _ = data()
    Y = rng.poisson(np.exp(0.8 * X[:, [1]] * np.array([[1.0, 0, 0, 0, 0, 0]]))).astype(float)
    sample = criterion_sample(Poisson(), Y, name)
    sizes = Sizes(1, 1, 1, 0.0)
    fit = sample.fit(sizes, SOLVER.sized(1, 1, 1))
    assert fit.rows.tolist() == [1]
    assert fit.columns.tolist() == [0]
    loss = sample.loss
    drop = 2 * N * (loss.value(fit.factors) - loss.magnitude)
    penalty = {
        "aic": 2.0,
        "bic": np.log(N * K),
        "ebic": np.log(N * K) + 2 * (np.log(P) + np.log(K)),
    }[name]
    assert sample.score(fit, sizes) == pytest.approx(drop + penalty, rel=1e-5)
    assert sample.null() == 0.0
    assert sample.score(None, sizes) == 0.0
    table = sample.table(fit, 0.0, 1)
    assert table[0, 0] == pytest.approx(sample.score(fit, sizes), rel=1e-5)


def test_better_fits_of_the_same_sizes_have_lower_criteria():
    rng = np.random.default_rng(0)
    X, _ = data()
    Y = (rng.uniform(size=(N, K)) < 1 / (1 + np.exp(-2 * X[:, [1]]))).astype(float)
    sample = criterion_sample(Bernoulli(), Y)
    sizes = Sizes(1, 1, K, 0.0)
    right = sample.fit(sizes, SOLVER.sized(1, 1, K))
    X[:, 1] = X[:, 0]  # the same model without the predictor that matters
    loss = GeneralizedLinear(X, Y, Bernoulli(), free=np.ones((N, 1)), least_ridge=1e-8)
    worse = LossCriterionSample(loss, Criterion("bic"), True, True)
    wrong = worse.fit(sizes, SOLVER.sized(1, 1, K))
    assert sample.score(right, sizes) < worse.score(wrong, sizes)
    assert sample.score(right, sizes) < 0


def test_one_response_with_squared_errors_has_nearly_the_criterion_of_regression():
    """With one response both have N·log(RSS); small samples are corrected here only."""
    X, Y = data()
    y = Y[:, [0]]
    loss = GeneralizedLinear(X, y, Gaussian(y.std()), free=np.ones((N, 1)))
    sample = LossCriterionSample(loss, Criterion("aic"), True, True)
    squares = LeastSquares(X, y - y.mean())
    other = CriterionSample(squares.quadratic(), lambda: 1.0, Criterion("aic"), True, True)
    sizes = Sizes(1, 3, 1, 0.0)
    fit, expected = (s.fit(sizes, SOLVER.sized(1, 3, 1)) for s in (sample, other))
    np.testing.assert_array_equal(fit.rows, expected.rows)
    corrected = 2 * 3 * (N / (N - 3 - 1) - 1)
    assert sample.score(fit, sizes) == pytest.approx(other.score(expected, sizes) + corrected)
