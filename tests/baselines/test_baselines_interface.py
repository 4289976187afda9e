"""What a user sees of the baselines: tuning, refitting, shapes, weights, messages."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator
from sklearn.model_selection import PredefinedSplit

import thinrank as tr
from thinrank import baselines

# a new baseline takes part without any change here
BASELINES = [getattr(baselines, name) for name in baselines.__all__ if name != "NullRegressor"]
SPARSE_COLUMNS = [
    baselines.DoubleProjectedPenalization,
    baselines.ThresholdingSVD,
    baselines.ExclusiveExtraction,
]
SPLIT = PredefinedSplit(np.repeat([-1, 0], [60, 30]))


@pytest.fixture(scope="module")
def easy():
    return tr.datasets.make_two_way_sparse(90, 25, 10, 2, 5, 4, random_state=5)


@pytest.fixture(scope="module")
def tuned(easy):
    """Fits with parameters that one split chooses."""
    return cache(lambda baseline: baseline(cv=SPLIT).fit(*easy[:2]))


def error(est, truth):
    return np.linalg.norm(est.coef_.T - truth.theta) / truth.norm()


@pytest.mark.parametrize("baseline", BASELINES)
def test_tunes_itself(baseline, easy):
    X, Y, truth = easy
    est = baseline(cv=3).fit(X, Y + 1)
    assert est.coef_.shape == (10, 25)
    assert est.intercept_.shape == (10,)
    assert error(est, truth) < 0.25
    assert len(set(truth.row_support) - set(est.row_support_)) <= 1
    if baseline in SPARSE_COLUMNS:
        assert len(est.column_support_) < 10
    if hasattr(est, "rank") and baseline is not baselines.MultiTaskGroupLasso:
        assert est.rank_ == 2
    np.testing.assert_allclose(est.predict(X), X @ est.coef_.T + est.intercept_, atol=1e-10)


@pytest.mark.parametrize("baseline", BASELINES)
def test_chosen_parameters_fit_the_training_rows(baseline, easy, tuned):
    X, Y, truth = easy
    tuned = tuned(baseline)
    assert set(tuned.best_params_) <= set(tuned.get_params())
    refit = baseline(**tuned.best_params_).fit(X[:60], Y[:60])
    assert refit.best_params_ == tuned.best_params_
    assert error(refit, truth) < 0.35
    if hasattr(tuned, "cv_results_"):
        scores = tuned.cv_results_["mean_test_score"]
        assert tuned.cv_results_["params"][int(np.argmax(scores))] == tuned.best_params_
        assert tuned.cv_results_["rank_test_score"][int(np.argmax(scores))] == 1


@pytest.mark.parametrize("baseline", BASELINES)
def test_one_dimensional_y(baseline):
    X, Y, _ = tr.datasets.make_two_way_sparse(60, 8, 1, 1, 3, 1, signal=10.0, random_state=5)
    y = Y[:, 0]
    est = baseline(cv=2).fit(X, y)
    assert est.coef_.shape == (8,)
    assert isinstance(est.intercept_, float)
    assert est.predict(X).shape == (60,)
    assert est.score(X, y) > 0.6


@pytest.mark.parametrize("baseline", BASELINES)
def test_units_of_y_do_not_matter(baseline, easy, tuned):
    X, Y, _ = easy
    tiny = baseline(cv=SPLIT).fit(X, 1e-6 * Y)
    np.testing.assert_allclose(1e6 * tiny.coef_, tuned(baseline).coef_, atol=2e-3)


@pytest.mark.parametrize("baseline", BASELINES)
def test_pure_noise_gives_next_to_nothing(baseline, rng):
    X, Y = rng.standard_normal((60, 10)), rng.standard_normal((60, 8))
    est = baseline(cv=2).fit(X, Y)
    assert est.score(X, Y) < 0.15


def test_bayes_criterion_leaves_noise_alone(rng):
    X, Y = rng.standard_normal((60, 10)), rng.standard_normal((60, 8))
    assert baselines.ExclusiveExtraction(rank=2).fit(X, Y).rank_ == 0


def test_sparse_x_is_made_dense(easy):
    X, Y, _ = easy
    X = np.where(np.abs(X) > 1, X, 0)
    dense = baselines.RankConstrainedGroupLasso(2, 0.3).fit(X, Y)
    sparse = baselines.RankConstrainedGroupLasso(2, 0.3).fit(scipy.sparse.csr_array(X), Y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)


@pytest.mark.parametrize(
    ("baseline", "parameters", "message"),
    [
        (baselines.MultiTaskGroupLasso, {"penalty": -1}, "penalty must be .* got -1"),
        (baselines.MultiTaskGroupLasso, {"penalty": "much"}, "penalty must be .* got 'much'"),
        (
            baselines.MultiTaskGroupLasso,
            {"n_penalties": 0},
            "n_penalties must be a positive integer",
        ),
        (baselines.RankConstrainedGroupLasso, {"rank": 11}, "rank must be .* 1 to 10 .* got 11"),
        (baselines.RankConstrainedGroupLasso, {"rank": 0}, "rank must be .* got 0"),
        (
            baselines.RankConstrainedGroupLasso,
            {"max_iter": 0},
            "max_iter must be a positive integer",
        ),
        (baselines.DoubleProjectedPenalization, {"column_threshold": np.inf}, "column_threshold"),
        (baselines.ThresholdingSVD, {"row_threshold": None}, "row_threshold must be"),
        (baselines.ExclusiveExtraction, {"gamma": -0.5}, "gamma must be"),
        (baselines.ReducedRankRegression, {"ridge": "big"}, "ridge must be"),
        (baselines.ReducedRankRegression, {"rank": 2.5}, "rank must be .* got 2.5"),
        (baselines.SeparateRidges, {"penalty": "much"}, "penalty must be .* got 'much'"),
        *(
            (make, {"tol": value}, "tol must be a finite number")
            for make in BASELINES
            for value in ("auto", -1.0)
            if hasattr(make(), "tol")
        ),
    ],
)
def test_bad_parameters_are_named(baseline, parameters, message, easy):
    X, Y, _ = easy
    with pytest.raises(ValueError, match=message):
        baseline(**parameters).fit(X, Y)


def test_bad_data_are_named(easy):
    X, Y, _ = easy
    est = baselines.MultiTaskGroupLasso(0.1)
    with pytest.raises(ValueError, match=r"X must be a NumPy array.*MultiTaskGroupLasso"):
        est.fit(aslinearoperator(X), Y)
    with pytest.raises(ValueError, match="same number of rows: X has 90, Y has 89"):
        est.fit(X, Y[:-1])


@pytest.mark.parametrize(
    "est",
    [
        baselines.RankConstrainedGroupLasso(2, 0.3, max_iter=1),
        baselines.ThresholdingSVD(2, 0.2, 1.0, max_iter=1),
        baselines.ExclusiveExtraction(2, 0.001, max_iter=1),
    ],
)
def test_too_few_iterations_warn(est, easy):
    X, Y, _ = easy
    with pytest.warns(Warning, match="max_iter=1"):
        est.fit(X, Y)
    assert est.n_iter_ == 1


def test_folds_without_weight_are_left_out(easy):
    X, Y, truth = easy
    weight = np.ones(90)
    weight[:30] = 0  # the first of three folds
    est = baselines.JointRankRowSelection(cv=3).fit(X, Y, sample_weight=weight)
    assert error(est, truth) < 0.25
    assert "split1_test_score" in est.cv_results_
    assert "split2_test_score" not in est.cv_results_
    weight[30:] = 0
    weight[:2] = 1  # both in one fold
    with pytest.raises(ValueError, match="cv must have a split with rows of positive weight"):
        baselines.MultiTaskGroupLasso(cv=3).fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize(
    "estimator",
    [baselines.ReducedRankRegression(rank=2), baselines.JointRankRowSelection(2, penalty=0.01)],
)
def test_coefficients_of_nearly_equal_columns_are_moderate(estimator):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 8))
    X[:, 1] = X[:, 0] + 1e-8 * rng.normal(size=40)
    Y = X[:, [0, 2]] @ rng.normal(size=(2, 5)) + rng.normal(size=(40, 5))
    found = estimator.fit(X, Y)
    assert np.abs(found.coef_).max() < 10
    np.testing.assert_allclose(found.coef_[:, 0], found.coef_[:, 1], atol=1e-5)
