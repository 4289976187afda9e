import pickle
import sys
import types

import pytest

import thinrank
from thinrank import estimators, losses
from thinrank.core.lazy import lazy_names


@pytest.fixture
def package(monkeypatch):
    """An empty package with lazy names."""
    module = types.ModuleType("lazy_example")
    monkeypatch.setitem(sys.modules, "lazy_example", module)
    where = {"sqrt": "math", "pi": "math", "missing": "math"}
    module.__getattr__, module.__dir__ = lazy_names("lazy_example", where)
    return module


def test_names_are_looked_up_once(package):
    import math

    assert package.sqrt is math.sqrt
    assert vars(package)["sqrt"] is math.sqrt
    assert "pi" not in vars(package)
    assert {"pi", "sqrt"} <= set(dir(package))


def test_unknown_names(package):
    with pytest.raises(AttributeError, match="module 'lazy_example' has no attribute 'nothing'"):
        _ = package.nothing
    with pytest.raises(AttributeError, match="missing"):
        _ = package.missing


@pytest.mark.parametrize("module", [thinrank, estimators, losses])
def test_every_public_name_is_found(module):
    for name in module.__all__:
        found = getattr(module, name)
        assert getattr(found, "__name__", name) in (name, f"{module.__name__}.{name}")


def test_the_package_is_pickled_by_name():
    """joblib pickles functions of a script together with the modules that they use."""
    assert pickle.loads(pickle.dumps(thinrank)) is thinrank
    assert len(pickle.dumps(thinrank)) < 200
