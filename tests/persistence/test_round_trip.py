"""A model that is saved and loaded is the same model."""

import dataclasses
import functools
import inspect
import json
import math
import subprocess
import sys
from enum import Enum

import example_models
import numpy as np
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

import thinrank as tr
from thinrank.losses.families import Family, Poisson


@functools.cache
def example(name):
    return example_models.EXAMPLES[name]()


def assert_same(a, b, where="model"):
    """The same types and values, down to the bits; arrays in the same memory layout."""
    assert type(a) is type(b), where
    if isinstance(a, np.ma.MaskedArray):
        assert_same(a.data, b.data, where)
        assert_same(np.ma.getmaskarray(a), np.ma.getmaskarray(b), where)
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), where
        if a.dtype.kind == "O":
            assert_same(a.ravel().tolist(), b.ravel().tolist(), where)
        else:
            assert a.tobytes() == b.tobytes(), where
        if a.flags.c_contiguous or a.flags.f_contiguous:
            assert a.flags.f_contiguous == b.flags.f_contiguous, where
    elif scipy.sparse.issparse(a):
        assert (a.format, a.shape) == (b.format, b.shape), where
        assert_same([a.data, a.indices, a.indptr], [b.data, b.indices, b.indptr], where)
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{where}[{i}]")
    elif isinstance(a, dict):
        assert list(a) == list(b), where
        for key in a:
            assert_same(a[key], b[key], f"{where}[{key!r}]")
    elif isinstance(a, (float, np.floating)):
        assert a == b or (math.isnan(a) and math.isnan(b)), where
    elif isinstance(a, BaseEstimator):
        assert_same(vars(a), vars(b), where)
    elif dataclasses.is_dataclass(a):
        for each in dataclasses.fields(a):
            assert_same(getattr(a, each.name), getattr(b, each.name), f"{where}.{each.name}")
    elif isinstance(a, Family):
        for name in (*a.parameters, "has_parameters"):
            assert_same(getattr(a, name), getattr(b, name), f"{where}.{name}")
    elif hasattr(a, "__dict__") and not isinstance(a, Enum):
        public = [{k: v for k, v in vars(x).items() if not k.startswith("_")} for x in (a, b)]
        assert_same(*public, where)
    else:
        assert a == b, where


def reloaded(model, folder, **options):
    tr.save(model, folder / "model", **options)
    return tr.load(folder / "model")


def check_round_trip(model, given, folder):
    loaded = reloaded(model, folder)
    assert_same(model, loaded)
    assert repr(loaded) == repr(model)
    if isinstance(model, BaseEstimator):
        assert [n for n in dir(model) if n.endswith("_")] == [
            n for n in dir(loaded) if n.endswith("_")
        ]
    before, after = (example_models.predictions(each, given) for each in (model, loaded))
    for key in before:
        np.testing.assert_array_equal(before[key], after[key], err_msg=key)


@pytest.mark.parametrize("name", example_models.EXAMPLES)
def test_everything_is_as_it_was(name, tmp_path):
    check_round_trip(*example(name), tmp_path)


def test_every_public_estimator_can_be_saved(tmp_path):
    """Those of the package have an example above; a new baseline is found in its package."""
    tested = {type(example(name)[0]) for name in example_models.EXAMPLES}
    assert {getattr(tr, name) for name in tr.__all__ if name.startswith("Sparse")} <= tested
    for name in tr.baselines.__all__:
        if getattr(tr.baselines, name) not in tested:
            check_round_trip(*example_models.baseline(name)(), tmp_path / name)


def test_every_value_of_a_parameter_can_be_saved(tmp_path):
    for package in (tr.solvers, tr.starts, tr.losses.families):
        for name in package.__all__:
            cls = getattr(package, name)
            if isinstance(cls, type) and not inspect.isabstract(cls):
                needed = {"Constant": (0.1,), "Given": (np.eye(2),), "Mixed": ([Poisson()], [[0]])}
                model = tr.SparseReducedRankRegressor(start=cls(*needed.get(name, ())))
                loaded = reloaded(model, tmp_path / name)
                assert type(loaded.start) is cls
                assert_same(model.start, loaded.start)


def test_a_class_without_an_example_keeps_its_name_in_files(tmp_path):
    model = tr.rl.MultiTaskFQI(tr.rl.Tabular(3), 2, 0.5, tr.rl.CommonPart())
    assert_same(model, reloaded(model, tmp_path))
    text = (tmp_path / "model" / "model.json").read_text()
    assert all(name in text for name in ("rl.MultiTaskFQI", "rl.CommonPart", "rl.Tabular"))


def test_a_regressor_that_only_has_parameters(tmp_path):
    assert_same(tr.rl.CommonPart(rank=1), reloaded(tr.rl.CommonPart(rank=1), tmp_path))


@pytest.mark.parametrize(
    "features",
    [
        tr.rl.Identity(),
        tr.rl.Lookup(np.eye(3)),
        tr.rl.Fourier(np.array([0.0]), np.array([2.0]), 2),
    ],
    ids=lambda each: type(each).__name__,
)
def test_feature_maps(features, tmp_path):
    model, states = example_models.fitted_q_iteration(features)()
    loaded = reloaded(model, tmp_path)
    np.testing.assert_array_equal(loaded.q_values(0, states), model.q_values(0, states))


@pytest.mark.parametrize(
    "value",
    [
        {"start": tr.starts.Lasso(penalty="cv"), "criterion": tr.selection.Criterion("ebic")},
        {"solver": tr.solvers.Pursuit(max_iter=3), "tol": math.inf, "ridge": math.nan},
        {"start": tr.Factors.from_theta(np.eye(3), 2), "cv": [(np.arange(3), np.arange(3, 5))]},
        {"solver": tr.solvers.GDT("theory"), "rank": np.int8(3), "verbose": np.True_},
        {"random_state": 2**200, "cv": range(9, 1, -2), "tol": np.float32(0.1)},
        {"always_keep": [True, None, ("a", "ü\ud800"), {"$type": "tuple"}, {1: {"a": []}}]},
        {"always_keep": np.array([["a", None], [1, 2.5]], dtype=object)},
        {"always_keep": np.array(["2020-01-01", "NaT"], dtype="M8[D]"), "cv": np.str_("x")},
        {
            "always_keep": np.ma.MaskedArray([1.0, 2.0], [True, False]),
            "tol": np.timedelta64(3, "s"),
        },
        {
            "start": np.asfortranarray(np.arange(6, dtype=">f4").reshape(2, 3)),
            "cv": np.float64("nan"),
        },
        {"start": scipy.sparse.csc_matrix(np.eye(3)), "cv": np.arange(12).reshape(3, 4)[:, ::2]},
        {"start": np.empty((0, 3)), "cv": np.array(4.0), "always_keep": np.array([b"a", b"bc"])},
    ],
    ids=range(12),
)
def test_parameters_of_an_estimator_that_is_not_fitted(value, tmp_path):
    model = tr.SparseReducedRankRegressor(**value)
    loaded = reloaded(model, tmp_path)
    native = {
        key: each.astype(each.dtype.newbyteorder("="))
        if isinstance(each, np.ndarray) and each.dtype.kind == "f"
        else each
        for key, each in model.get_params().items()
    }
    assert_same(native, loaded.get_params())


def test_equal_arrays_are_stored_once(tmp_path):
    support = np.arange(1000)
    model, _ = example("solution")
    record = dataclasses.replace(model.history[0], row_support=support)
    many = tr.Solution(model.factors, 1.0, model.status, type(model.history)([record] * 50))
    reloaded(many, tmp_path)
    assert (tmp_path / "model" / "arrays.npz").stat().st_size < 2 * support.nbytes


def test_parameters_that_cannot_be_stored_are_named(tmp_path):
    X, Y, _ = example_models.data()
    model = tr.SparseReducedRankRegressor(
        cv=KFold(3, shuffle=True, random_state=0), callback=lambda record: None
    ).fit(X, Y)
    with pytest.warns(UserWarning, match=r"left out: callback, cv\."):
        tr.save(model, tmp_path / "model")
    loaded = tr.load(tmp_path / "model")
    assert loaded.callback is None
    assert loaded.cv == 5
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    document = json.loads((tmp_path / "model" / "model.json").read_text())
    assert document["omitted_parameters"] == ["callback", "cv"]


def test_settings_of_scikit_learn(tmp_path):
    pytest.importorskip("pandas")
    X, Y, _ = example_models.data()
    model = tr.SparseReducedRankRegressor(1, 2, 3).fit(X, Y).set_output(transform="pandas")
    loaded = reloaded(model, tmp_path)
    assert list(loaded.transform(X)) == list(model.transform(X)) == ["factor1"]


class OwnFamily(Poisson):
    pass


class OwnRegressor(tr.SparseReducedRankRegressor):
    pass


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (OwnRegressor(), "OwnRegressor cannot be saved"),
        (3, "builtins.int cannot be saved"),
        (tr.SparseReducedRankRegressor, "cannot be saved"),
        (tr.solvers.GDT(), "GDT cannot be saved"),
    ],
)
def test_other_objects_are_refused(model, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        tr.save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_fit_that_needs_an_unknown_object_is_refused(tmp_path):
    X, Y, rng = example_models.data()
    model = tr.SparseReducedRankGLM(OwnFamily(), 1, 2, None).fit(X, rng.poisson(np.exp(Y)))
    with pytest.raises(TypeError, match=r"family_ is an object of the class .*OwnFamily"):
        tr.save(model, tmp_path / "model")
    tree = DecisionTreeRegressor()
    fqi = tr.rl.MultiTaskFQI(tr.rl.Tabular(3), 2, 0.5, tree, n_iterations=2)
    fqi.fit([example_models.Ring(0)], np.arange(3))
    with pytest.raises(TypeError, match=r"values_ is an object of the class .*PredictedValues"):
        tr.save(fqi, tmp_path / "model")
    fqi = tr.rl.MultiTaskFQI(lambda states: np.eye(3)[states], 2, 0.5, Ridge(), n_iterations=2)
    fqi.fit([example_models.Ring(0)], np.arange(3))
    with pytest.raises(TypeError, match=r"values_\.features is an object .*function"):
        tr.save(fqi, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_tensors_become_numpy_arrays(torch, tmp_path):
    X, Y, _ = example_models.data()
    model = tr.SparseReducedRankRegressor(1, 2, 3).fit(torch.as_tensor(X), torch.as_tensor(Y))
    loaded = reloaded(model, tmp_path)
    assert isinstance(loaded.factors_.U, np.ndarray)
    expected = model.predict(torch.as_tensor(X)).numpy()
    np.testing.assert_allclose(loaded.predict(X), expected, rtol=1e-12)


def test_extra(tmp_path):
    model, _ = example("factors")
    extra = {"columns": {"sex": ["f", "m"]}, "scale": (1, 2.5, None, True), "ü": "\ud800"}
    tr.save(model, tmp_path / "model", extra=extra)
    assert tr.persistence.read_extra(tmp_path / "model") == {**extra, "scale": [1, 2.5, None, True]}
    tr.save(model, tmp_path / "plain")
    assert tr.persistence.read_extra(tmp_path / "plain") == {}


@pytest.mark.parametrize(
    ("extra", "error", "message"),
    [
        ([1], TypeError, "extra must be a dict"),
        ({"a": [math.nan]}, ValueError, "extra must be plain JSON: Out of range"),
        ({"a": np.ones(2)}, TypeError, "extra must be plain JSON: .*ndarray"),
    ],
)
def test_extra_that_is_not_json(extra, error, message, tmp_path):
    model, _ = example("factors")
    with pytest.raises(error, match=message):
        tr.save(model, tmp_path / "model", extra=extra)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_loading_a_regressor_loads_no_application(tmp_path):
    tr.save(example("regressor")[0], tmp_path / "model")
    code = (
        "import sys, thinrank as tr; tr.load(sys.argv[1]); print(*sys.modules); "
        "assert not {'thinrank.rl', 'thinrank.calcium', 'thinrank.baselines'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "model")], check=True)
