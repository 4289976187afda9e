"""What happens around fits: copies, threads, processes, too little memory, Ctrl-C."""

import copy
import multiprocessing
import os
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

import thinrank as tr

pytestmark = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")

SIZES = {"rank": 1, "row_sparsity": 2, "column_sparsity": 2}
ESTIMATORS = [
    tr.SparseReducedRankRegressor(**SIZES),
    tr.SparseReducedRankRegressor(criterion="pic"),
    tr.SparseReducedRankRegressorCV([1], [2], [2], [0.0], cv=2),
    tr.SparseReducedRankGLM(**SIZES),
    tr.SparseReducedRankClassifier(rank=1, row_sparsity=2, column_sparsity=None, ridge=0.1),
    tr.baselines.DoubleProjectedPenalization(1, 0.1, 0.1),
    tr.baselines.ExclusiveExtraction(1, 0.01),
    tr.baselines.JointRankRowSelection(1, 0.1),
    tr.baselines.MultiTaskGroupLasso(0.1),
    tr.baselines.NullRegressor(),
    tr.baselines.RankConstrainedGroupLasso(1, 0.1),
    tr.baselines.ReducedRankRegression(1),
    tr.baselines.SeparateLassos(cv=2),
    tr.baselines.SeparateRidges(cv=2),
    tr.baselines.ThresholdingSVD(1, 0.1, 0.1),
]

MATRICES = [
    tr.SparseSVD(1, 5, 3),
    tr.SparseSVD(layers=True),
    tr.SparsePCA(1, 3),
    tr.SparseMatrixCompletion(1, 5, 3, ridge=0.1),
    tr.SparseLowRankGraph(1, 3),
]


@pytest.fixture(scope="module")
def data():
    X, Y, _ = tr.datasets.make_two_way_sparse(24, 6, 4, 1, 2, 2, random_state=30003)
    return X, Y


def fitted(estimator, X, Y):
    y = (Y[:, 0] > 0).astype(int) if hasattr(estimator, "predict_proba") else Y
    return estimator.fit(X, y)


def is_public(name):
    return isinstance(getattr(tr.baselines, name), type)


def test_all_public_estimators_are_here():
    names = {type(estimator).__name__ for estimator in [*ESTIMATORS, *MATRICES]}
    public = {name for name in tr.__all__ if name.startswith("Sparse")}
    assert names == public | {name for name in tr.baselines.__all__ if is_public(name)}


@pytest.mark.parametrize("estimator", MATRICES, ids=lambda e: type(e).__name__)
def test_decompositions_are_copied_and_left_as_they_were(data, estimator):
    """Copies, refits, and a fit that fails after a fit that did not."""
    matrix = data[0].T @ data[0] if isinstance(estimator, tr.SparseLowRankGraph) else data[0]
    found = clone(estimator).fit(matrix)
    again = clone(found).fit(matrix)
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), again):
        np.testing.assert_allclose(other.components_, found.components_, atol=1e-7)
        assert vars(other).keys() == vars(found).keys()
    before = dict(vars(found))
    with pytest.raises(ValueError, match="finit"):
        found.fit(np.full_like(matrix, np.inf))
    assert vars(found).keys() == before.keys()
    assert all(vars(found)[name] is value for name, value in before.items())


def test_fits_in_parallel_threads_are_the_same(data):
    X, Y = data
    jobs = [
        tr.SparseReducedRankRegressor(criterion="pic"),
        tr.SparseReducedRankRegressor(criterion="pic", n_jobs=2),
        tr.baselines.MultiTaskGroupLasso(cv=2, n_penalties=8),
        tr.SparseReducedRankRegressor(**SIZES, start="lasso"),
    ]
    expected = [clone(job).fit(X, Y).coef_ for job in jobs]
    threads = threads_in_use()
    # filters of warnings are of the whole process: scikit-learn's own changes of them may stay
    with warnings.catch_warnings(), ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda job: clone(job).fit(X, Y).coef_, jobs * 3))
    for i, coef in enumerate(found):
        np.testing.assert_allclose(coef, expected[i % len(jobs)], atol=1e-6)
    assert threads_in_use() == threads


def threads_in_use():
    return [pool["num_threads"] for pool in threadpool_info()]


def test_threads_of_blas_and_order_of_rows_do_not_matter():
    X, Y, _ = tr.datasets.make_two_way_sparse(random_state=30004)  # the setting of the paper
    assert_order_does_not_matter(X, Y, 8, 10, 10)


def test_threads_and_order_on_real_data(data_dir):
    with np.load(data_dir / "yeast_spls.npz") as data:
        X, Y = (np.asarray(data[key], dtype=float) for key in ("X", "Y"))
    assert_order_does_not_matter(X, Y, 2, 10, None)


def assert_order_does_not_matter(X, Y, *sizes):
    found = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            found.append(tr.SparseReducedRankRegressor(*sizes).fit(X, Y))
    order = np.random.default_rng(0).permutation(len(X))
    found.append(tr.SparseReducedRankRegressor(*sizes).fit(X[order], Y[order]))
    for other in found[1:]:
        np.testing.assert_array_equal(other.row_support_, found[0].row_support_)
        np.testing.assert_array_equal(other.column_support_, found[0].column_support_)
        np.testing.assert_allclose(other.coef_, found[0].coef_, rtol=0, atol=1e-7)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fit_after_fork(data):
    X, Y = data
    expected = tr.SparseReducedRankRegressor(**SIZES).fit(X, Y).coef_  # BLAS has threads now
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)

    def work():
        send.send(tr.SparseReducedRankRegressor(**SIZES, n_jobs=2).fit(X, Y).coef_)

    process = context.Process(target=work)
    process.start()
    assert receive.poll(300)
    np.testing.assert_allclose(receive.recv(), expected, atol=1e-7)
    process.join(300)
    assert process.exitcode == 0


def interrupted(record):
    if record.stage == "fit":
        raise KeyboardInterrupt


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_fit_that_fails_leaves_the_estimator_as_it_was(data, estimator):
    X, Y = data
    filters, threads = list(warnings.filters), threads_in_use()
    for before in (clone(estimator), fitted(clone(estimator), X, Y)):
        attributes = dict(vars(before))
        with pytest.raises(ValueError, match="infinity"):
            fitted(before, np.full_like(X, np.inf), Y)
        assert vars(before) == attributes
        if type(before) in (tr.SparseReducedRankRegressor, tr.SparseReducedRankGLM):
            before.callback = interrupted
            with pytest.raises(KeyboardInterrupt):
                fitted(before, X + 1, Y)
            assert vars(before) == attributes | {"callback": interrupted}
        assert list(warnings.filters) == filters
        assert threads_in_use() == threads


@pytest.mark.parametrize("jobs", [None, 2])
def test_a_fit_leaves_the_number_of_threads_as_it_was(data, jobs):
    with threadpool_limits(2):
        before = threads_in_use()
        tr.SparseReducedRankRegressor(1, "auto", 2, n_jobs=jobs).fit(*data)
        assert threads_in_use() == before
