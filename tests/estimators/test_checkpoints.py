"""A fit that was interrupted continues from its checkpoint to the same result, bit by bit."""

import signal
import subprocess
import sys

import numpy as np
import pytest

import thinrank as tr

pytestmark = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")

DATA = "tr.datasets.make_two_way_sparse(30, 10, 5, 2, 4, 3, random_state=30002)[:2]"


class StoppedError(Exception):
    pass


@pytest.fixture(scope="module")
def data():
    return tr.datasets.make_two_way_sparse(30, 10, 5, 2, 4, 3, random_state=30002)[:2]


@pytest.fixture(scope="module")
def reference(data):
    return tr.SparseReducedRankRegressor().fit(*data)


def assert_identical(found, reference):
    for name in ("coef_", "intercept_", "r2_", "factor_scale_", "held_out_r2_"):
        np.testing.assert_array_equal(getattr(found, name, None), getattr(reference, name, None))
    assert getattr(found, "best_params_", None) == getattr(reference, "best_params_", None)
    for name in ("search_", "history_"):
        mine, theirs = getattr(found, name, []), getattr(reference, name, [])
        assert [(r.objective, r.sizes) for r in mine] == [(r.objective, r.sizes) for r in theirs]


def stopping_after(count):
    """A callback that fails after some calls."""
    seen = []

    def callback(record):
        seen.append(record)
        if len(seen) == count:
            raise StoppedError

    return callback


@pytest.mark.parametrize("how", ["SIGKILL", pytest.param("SIGINT", marks=pytest.mark.slow)])
def test_a_killed_fit_is_resumed(data, reference, tmp_path, how):
    path = tmp_path / "fit.checkpoint"
    script = f"""
import os, signal, thinrank as tr
X, Y = {DATA}
seen = []
def kill(record):
    seen.append(record)
    if len(seen) == 4:
        os.kill(os.getpid(), signal.{how})
with tr.checkpoint({str(path)!r}):
    tr.SparseReducedRankRegressor(callback=kill).fit(X, Y)
"""
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", script], timeout=600, check=False)
    assert ended.returncode == (-signal.SIGKILL if how == "SIGKILL" else 0)
    before = path.read_bytes()
    assert before.count(b"\n") > 2
    with tr.checkpoint(path):
        found = tr.SparseReducedRankRegressor().fit(*data)
    assert_identical(found, reference)
    whole = before[: before.rindex(b"\n")]  # a last line may be torn
    assert path.read_bytes().startswith(whole)  # what the first process did was not done again
    assert path.stat().st_size > len(before)


def missing(Y):
    return np.where(np.arange(Y.size).reshape(Y.shape) % 11 == 0, np.nan, Y)


CASES = {
    "criterion": (lambda: tr.SparseReducedRankRegressor(criterion="pic"), lambda Y: Y),
    "two jobs": (lambda: tr.SparseReducedRankRegressor(2, cv=2, n_jobs=2), lambda Y: Y),
    "missing": (lambda: tr.SparseReducedRankRegressor(2, criterion="pic"), missing),
    "cross-validated": (
        lambda: tr.SparseReducedRankRegressorCV([2], [3, 4], [3], [0.0, 0.1]),
        lambda Y: Y,
    ),
    "baseline": (lambda: tr.baselines.MultiTaskGroupLasso(cv=3, n_penalties=5), lambda Y: Y),
    "gdt": (lambda: tr.SparseReducedRankRegressor(2, 4, 3, solver="gdt"), lambda Y: Y),
    "poisson": (
        lambda: tr.SparseReducedRankGLM("poisson", 1, "auto", 3, criterion="pic"),
        lambda Y: np.abs(Y).round(),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_fit_is_resumed(data, tmp_path, case):
    (make, change), X = CASES[case], data[0]
    Y, path = change(data[1]), tmp_path / "fit.checkpoint"
    if case == "baseline":  # which has no callback
        with tr.checkpoint(path):
            make().fit(X, Y)
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:-1]))
    else:
        with pytest.raises(StoppedError), tr.checkpoint(path):
            make().set_params(callback=stopping_after(3)).fit(X, Y)
    with tr.checkpoint(path):
        found = make().fit(X, Y)
    assert_identical(found, make().fit(X, Y))


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda X, Y: (X + 1e-13, Y, {}), "X"),
        (lambda X, Y: (X, Y[:, ::-1], {}), "y"),
        (lambda X, Y: (X, Y, {"solver": tr.solvers.Pursuit(max_iter=50)}), "solver"),
    ],
)
def test_another_fit_is_an_error(data, tmp_path, change, name):
    with tr.checkpoint(tmp_path / "file"):
        tr.SparseReducedRankRegressor(1, 2, 2).fit(*data)
        tr.SparseReducedRankRegressor(1, 2, 2, callback=lambda record: None).fit(*data)
    X, Y, options = change(*data)
    with (
        pytest.raises(ValueError, match=f"the checkpoint of another fit, which differs in {name};"),
        tr.checkpoint(tmp_path / "file"),
    ):
        tr.SparseReducedRankRegressor(1, 2, 2, **options).fit(X, Y)
    with (
        pytest.raises(ValueError, match=r"differs in .*the estimator"),
        tr.checkpoint(tmp_path / "file"),
    ):
        tr.baselines.NullRegressor().fit(*data)


def test_an_iterator_cannot_be_compared(data, tmp_path):
    splits = iter([(np.arange(20), np.arange(20, 30))])
    with pytest.raises(ValueError, match="cv cannot be compared"), tr.checkpoint(tmp_path / "file"):
        tr.SparseReducedRankRegressor(cv=splits).fit(*data)
