"""Classification against scikit-learn, and its interface."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

N, P = 150, 6
FREE = {"row_sparsity": None, "column_sparsity": None, "ridge": 0.0, "tol": 1e-10}


def data(classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P)) * rng.uniform(0.5, 3, P) + 1
    theta = np.zeros((P, classes))
    theta[[0, 2]] = 0.7 * rng.standard_normal((2, classes))
    return X, np.argmax((X - 1) @ theta + rng.gumbel(size=(N, classes)), axis=1)


def labels(k=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P))
    theta = np.zeros((P, k))
    theta[:2] = 2 * rng.standard_normal((2, 1)) @ rng.standard_normal((1, k))
    Y = rng.uniform(size=(N, k)) < 1 / (1 + np.exp(-X @ theta))
    return X, Y.astype(int)


def logistic():
    return LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000)


@pytest.mark.parametrize(("classes", "weighted"), [(2, False), (3, True)])
def test_without_limits_it_is_scikit_learn(classes, weighted):
    X, y = data(classes)
    weight = np.random.default_rng(0).uniform(0.5, 2, N) if weighted else None
    est = tr.SparseReducedRankClassifier(max(classes - 1, 1), **FREE).fit(X, y, weight)
    other = logistic().fit(X, y, weight)
    np.testing.assert_allclose(est.predict_proba(X), other.predict_proba(X), atol=1e-5)
    np.testing.assert_array_equal(est.predict(X), other.predict(X))
    centred = est.coef_ if classes == 2 else est.coef_ - est.coef_.mean(axis=0)
    expected = other.coef_ if classes == 2 else other.coef_ - other.coef_.mean(axis=0)
    np.testing.assert_allclose(centred, expected, atol=1e-4)
    assert est.score(X, y) == pytest.approx(other.score(X, y))
    if classes == 2:
        np.testing.assert_allclose(est.decision_function(X), other.decision_function(X), atol=1e-4)


def test_it_is_the_model_of_the_glm():
    X, y = data(3)
    sizes = {"rank": 1, "row_sparsity": 2, "column_sparsity": None, "ridge": 0.1}
    est = tr.SparseReducedRankClassifier(**sizes).fit(X, y)
    glm = tr.SparseReducedRankGLM("multinomial", **sizes).fit(X, y)
    np.testing.assert_allclose(est.predict_proba(X), glm.predict(X), atol=1e-7)
    X, Y = labels()
    est = tr.SparseReducedRankClassifier(**sizes).fit(X, Y)
    glm = tr.SparseReducedRankGLM("bernoulli", **sizes).fit(X, Y)
    np.testing.assert_allclose(est.predict_proba(X), glm.predict(X), atol=1e-7)


@pytest.mark.parametrize("kind", [int, str])
def test_labels_of_any_kind(kind):
    X, y = data(2)
    names = {int: np.array([5, -3]), str: np.array(["yes", "no"])}
    y = names[kind][y]
    est = tr.SparseReducedRankClassifier(1, 2, None, ridge=0.0).fit(X, y)
    np.testing.assert_array_equal(est.classes_, np.unique(y))
    assert set(est.predict(X)) <= set(np.unique(y))
    assert accuracy_score(y, est.predict(X)) > 0.6
    assert est.predict_proba(X).shape == (N, 2)
    np.testing.assert_allclose(est.predict_proba(X).sum(axis=1), 1)
    assert est.coef_.shape == (1, P)
    positive = est.decision_function(X) > 0
    np.testing.assert_array_equal(est.predict(X) == est.classes_[1], positive)


def test_several_labels():
    X, Y = labels()
    est = tr.SparseReducedRankClassifier(1, 2, None, ridge=0.0).fit(X, Y)
    assert est.row_support_.tolist() == [0, 1]
    assert est.predict(X).shape == Y.shape
    assert set(np.unique(est.predict(X))) <= {0, 1}
    assert np.mean(est.predict(X) == Y) > 0.7
    assert est.predict_proba(X).shape == Y.shape
    assert est.score(X, Y) == pytest.approx(accuracy_score(Y, est.predict(X)))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(N), "at least 2 classes, got 1 class"),
        (np.linspace(0, 1, N), "Unknown label type"),
        (np.tile([0, 1, 2], (N, 1)), "matrix of zeros and ones"),
        (np.tile(np.array(["a", "b"], dtype=object), (N, 1)), "matrix of zeros and ones"),
    ],
)
def test_invalid_labels(y, message):
    with pytest.raises(ValueError, match=message):
        tr.SparseReducedRankClassifier(1, 2, None).fit(data()[0], y)


def test_entry_weights_are_for_several_labels():
    X, y = data()
    with pytest.raises(ValueError, match="entry_weight is for a matrix of labels"):
        tr.SparseReducedRankClassifier(1, 2, None).fit(X, y, entry_weight=np.ones(N))


def test_separated_classes():
    X, y = load_iris(return_X_y=True)
    est = tr.SparseReducedRankClassifier(1, None, None, ridge=0.0)
    with pytest.warns(SelectionWarning, match="predicts some responses perfectly"):
        est.fit(X, y == 0)
    assert np.all(np.isfinite(est.coef_))
    assert np.all(np.isfinite(est.predict_proba(X)))
    assert est.score(X, y == 0) == 1
    shrunk = tr.SparseReducedRankClassifier(1, None, None, ridge=0.1).fit(X, y == 0)
    assert shrunk.score(X, y == 0) == 1


@pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")
def test_automatic_sizes_with_separated_classes():
    X, y = (each[::4] for each in load_iris(return_X_y=True))
    est = tr.SparseReducedRankClassifier(1, "auto", None, cv=2).fit(X, y)
    assert est.score(X, y) > 0.9
    assert np.all(np.isfinite(est.coef_))


def test_always_keep():
    X, y = data(3)
    plain = tr.SparseReducedRankClassifier(2, **FREE).fit(X, y)
    kept = tr.SparseReducedRankClassifier(2, **FREE, always_keep=[1, 3]).fit(X, y)
    np.testing.assert_allclose(kept.predict_proba(X), plain.predict_proba(X), atol=1e-4)
    huge = tr.SparseReducedRankClassifier(1, 2, None, ridge=1e7, always_keep=[1, 3], tol=1e-10).fit(
        X, y
    )
    other = logistic().fit(X[:, [1, 3]], y)
    np.testing.assert_allclose(huge.predict_proba(X), other.predict_proba(X[:, [1, 3]]), atol=1e-4)


def test_kept_predictors_that_separate_the_classes():
    """Nothing is left to fit, and the loss is not chased to zero."""
    X = np.random.default_rng(0).standard_normal((12, 6))
    labels = np.argmax(X[:, :2] @ [[1.0, -1.0, 0.2], [0.3, 0.1, -1.0]], axis=1)
    est = tr.SparseReducedRankClassifier(2, 3, None, always_keep=[0, 1]).fit(X, labels)
    assert est.rank_ == 0
    assert est.score(X, labels) == 1.0


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_classes_with_a_single_sample():
    X = np.random.default_rng(0).standard_normal((40, 5))
    clf = tr.SparseReducedRankClassifier(1, 1, "auto", ridge=0.1, cv=3)
    with pytest.raises(ValueError, match="40 classes with a single sample"):
        clf.fit(X, np.arange(40))
    y = (X[:, 0] > 0).astype(int)
    y[7] = 2  # is never held out
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        assert clf.fit(X, y).score(X, y) > 0.7


def test_a_matrix_of_several_types():
    Y = np.array([["a", 1.0], [1.0, 0.0], [0.0, 1.0]] * 2, dtype=object)
    with pytest.raises(ValueError, match=r"matrix with other values, in row 0 \['a', 1.0\]"):
        tr.SparseReducedRankClassifier(1, 1, None).fit(np.ones((6, 2)), Y)
