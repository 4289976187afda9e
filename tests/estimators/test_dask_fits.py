"""Fits to arrays and data frames of Dask against fits to the same data in memory."""

import os
import signal

import numpy as np
import pytest

import thinrank as tr

da = pytest.importorskip("dask.array")

SIZES = {"rank": 2, "row_sparsity": 5, "column_sparsity": 4}


def simulated(n=2100, p=25, k=8):  # with at most 2000 rows they are read into memory
    X, Y, _ = tr.datasets.make_two_way_sparse(
        n, p, k, rank=2, row_sparsity=5, column_sparsity=4, random_state=30006
    )
    return X, Y


def assert_same(one, other, tol=1e-7):
    np.testing.assert_array_equal(one.row_support_, other.row_support_)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=0, atol=tol)
    np.testing.assert_allclose(one.r2_, other.r2_, rtol=0, atol=tol)


def test_arrays_in_any_chunks():
    X, Y = simulated()
    lazy = da.from_array(X, chunks=(700, 10))
    one = tr.SparseReducedRankRegressor().fit(X, Y)
    for target in (Y, da.from_array(Y, chunks=(400, 3))):
        other = tr.SparseReducedRankRegressor().fit(lazy, target)
        assert_same(one, other)
        assert other.n_passes_ >= 1
    np.testing.assert_allclose(other.predict(lazy), one.predict(X), atol=1e-6)
    assert other.score(lazy, target) == pytest.approx(one.score(X, Y))


def test_chunks_of_unknown_size_and_counts():
    X, Y = simulated()
    kept = np.arange(2100) % 25 > 0
    lazy = da.from_array(X, chunks=(700, 25))
    lazy = lazy[da.from_array(kept, chunks=700)]
    one = tr.SparseReducedRankRegressor(**SIZES).fit(X[kept], Y[kept])
    assert_same(one, tr.SparseReducedRankRegressor(**SIZES).fit(lazy, Y[kept]))
    with pytest.raises(ValueError, match="same number of rows: X has 2016, Y has 2100"):
        tr.SparseReducedRankRegressor(**SIZES).fit(lazy, Y)


def test_data_frames_keep_their_names():
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    X, Y = simulated()
    X, Y = pd.DataFrame(X).add_prefix("gene"), pd.DataFrame(Y).add_prefix("trait")
    one = tr.SparseReducedRankRegressor(**SIZES).fit(X, Y)
    lazy = dd.from_pandas(X, npartitions=3)
    other = tr.SparseReducedRankRegressor(**SIZES).fit(lazy, dd.from_pandas(Y, npartitions=2))
    assert_same(one, other)
    assert other.feature_names_in_.tolist() == X.columns.tolist()
    assert other.target_names_in_.tolist() == Y.columns.tolist()


def test_other_estimators_take_them():
    X, Y = simulated()
    counts = np.round(np.exp(Y / (2 * Y.std())))
    est = tr.SparseReducedRankGLM(family="poisson", **SIZES, ridge=0.1)
    one = est.fit(X, counts).coef_
    other = est.fit(da.from_array(X, chunks=(700, 25)), da.from_array(counts)).coef_
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_a_cluster_that_is_gone():
    distributed = pytest.importorskip("distributed")
    X, Y = simulated()
    where = {"n_workers": 1, "processes": False, "dashboard_address": None, "protocol": "inproc://"}
    with distributed.LocalCluster(**where) as cluster, distributed.Client(cluster):
        lazy = da.from_array(X, chunks=(700, 25)).persist()
        tr.SparseReducedRankRegressor(**SIZES).fit(lazy, Y)
    with pytest.raises(ConnectionError, match="Dask scheduler of the data cannot be reached"):
        tr.SparseReducedRankRegressor(**SIZES).fit(lazy, Y)


def _sent(dask_worker):
    """Sizes of the messages with results that a worker has sent."""
    return [message["total"] for message in dask_worker.transfer_outgoing_log]


@pytest.mark.slow
def test_a_worker_dies_and_nothing_large_is_sent():
    distributed = pytest.importorskip("distributed")
    X, Y = simulated(20_000, 50, 4)
    one = tr.SparseReducedRankRegressor().fit(X, Y)
    where = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**where) as cluster, distributed.Client(cluster) as client:
        lazy, target = (da.from_array(x, chunks=(4000, -1)).persist() for x in (X, Y))
        distributed.wait([lazy, target])
        block = 4000 * 50 * 8
        before = {worker: len(sizes) for worker, sizes in client.run(_sent).items()}
        est = tr.SparseReducedRankRegressor().fit(lazy, target)
        after = client.run(_sent)
        sizes = [size for worker, all_ in after.items() for size in all_[before[worker] :]]
        # the largest result has the XᵀX and XᵀY of five folds
        assert sizes
        assert max(sizes) < block / 4
        assert_same(one, est)

        # its part of the data is lost, and computed again
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        assert_same(one, tr.SparseReducedRankRegressor().fit(lazy, target))
